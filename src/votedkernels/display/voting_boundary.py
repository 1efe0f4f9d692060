"""`VotingBoundaryDisplay`: the decision in the plane, and the points that vote for it.

scikit-learn's `DecisionBoundaryDisplay` draws the regions of any classifier. It is not used here,
because it does not draw the lines at margin 1, and its arguments for more than two classes differ
between the supported versions of scikit-learn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ..estimators._fitted_attributes import vote_of
from ..kernels.base import FloatArray, IntArray
from .figure import COLOURS, GREY, INK, MARKERS, add_title, axes_for, import_pyplot
from .models import earlier_steps, first_step, require_vote
from .planes import (
    check_rows,
    decide,
    dense,
    in_units_of_input,
    require_plane,
    sums_by_point,
    ticks,
)

FEATURES = ("feature 0", "feature 1")
SMALLEST, LARGEST = 25.0, 320.0
#: The share of white in the colour of a region; the rest is the colour of its class.
WHITENESS = 0.78


class VotingBoundaryDisplay:
    """Decision boundary of a model with two features, with the points that vote.

    Create it with `from_estimator`. Regions have the colours of the classes. The solid line is
    the boundary; for two classes, dashed lines show where f is -1 and +1. The area of a voting
    point shows the sum of its absolute weights over all kernels. Its colour is that of the class
    it votes for, by the sign of the sum of its weights. With more than two classes, a point may
    vote in several one-vs-rest problems. Its colour is then that of the problem in which it has
    the most weight, and it is hollow if it votes against that class.

    Parameters
    ----------
    x0, x1 : arrays of shape (n_0,) and (n_1,)
        Coordinates of the grid on which f is evaluated.
    decision : array of shape (n_1, n_0, n_problems)
        The vote f; one problem for two classes, one per class for more.
    voters : array of shape (n_support, 2)
        The points that vote.
    votes : array of shape (n_problems, n_support)
        Sums of their weights.
    masses : array of shape (n_problems, n_support)
        Sums of their absolute weights.
    classes : list
    X : array of shape (n_samples, 2), default=None
        Other rows, drawn as small points.
    codes : array of shape (n_samples,), default=None
        Indices of their classes; None draws them in grey.
    feature_names : (str, str), default=("feature 0", "feature 1")

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    surface_ : matplotlib QuadMesh
        The regions.
    contours_ : list of matplotlib ContourSet
        The lines.
    voters_ : dict of (class, bool) to matplotlib PathCollection
        Points that vote for a class (True) or against it (False).
    rows_ : list of matplotlib PathCollection
        The other rows.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from votedkernels import VotedKernelClassifier, VotingBoundaryDisplay
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> model = VotedKernelClassifier(l1_penalty=1e-2).fit(X, y)
    >>> display = VotingBoundaryDisplay.from_estimator(model, X, y)
    >>> len(display.voters) == len(model.support_)
    True

    A pipeline is drawn in the units of its input:

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> pipeline = make_pipeline(StandardScaler(), model).fit(1000 * X, y)
    >>> display = VotingBoundaryDisplay.from_estimator(pipeline, 1000 * X, y)
    >>> bool((display.voters == 1000 * X[model.support_]).all())
    True
    """

    def __init__(
        self,
        *,
        x0: FloatArray,
        x1: FloatArray,
        decision: FloatArray,
        voters: FloatArray,
        votes: FloatArray,
        masses: FloatArray,
        classes: Sequence[Any],
        X: FloatArray | None = None,
        codes: IntArray | None = None,
        feature_names: Sequence[str] = FEATURES,
    ) -> None:
        self.x0 = x0
        self.x1 = x1
        self.decision = decision
        self.voters = voters
        self.votes = votes
        self.masses = masses
        self.classes = classes
        self.X = X
        self.codes = codes
        self.feature_names = feature_names

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        grid_resolution: int = 200,
        margin: float = 0.1,
        ax: Any = None,
        voter_kw: dict[str, Any] | None = None,
        row_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the boundary of a fitted model.

        Parameters
        ----------
        estimator : VotedKernelClassifier, VotedKernelClassifierCV or Pipeline
            A fitted model with two features, or a pipeline with two features that ends in one. A
            pipeline is drawn in the units of its input. Its voting points are rows of X if X holds
            the training rows; otherwise they are found by ``inverse_transform``.
        X : array-like of shape (n_samples, 2), default=None
            Rows to draw in addition to the voting points. The axes include them.
        y : array-like of shape (n_samples,), default=None
            Their labels.
        grid_resolution : int, default=200
            Number of grid points in each direction.
        margin : float, default=0.1
            Space around the points, as a fraction of their extent.
        ax, voter_kw, row_kw : as for `plot`

        Returns
        -------
        display : VotingBoundaryDisplay
        """
        caller = f"{cls.__name__}.from_estimator"
        import_pyplot(caller)
        model, steps = require_vote(estimator, caller), earlier_steps(estimator)
        first = first_step(estimator)
        require_plane(first, model, caller)
        vote, classes = vote_of(model), list(model.classes_)
        names = getattr(first, "feature_names_in_", None)
        rows, codes = check_rows(X, y, classes)
        voters = dense(vote.points)
        voters = in_units_of_input(steps, voters, vote.support, rows, names)
        points = voters if rows is None else np.concatenate([voters, rows])
        x0, x1 = (ticks(column, margin, grid_resolution) for column in points.reshape(-1, 2).T)
        grid = np.stack(np.meshgrid(x0, x1), axis=-1).reshape(-1, 2)
        display = cls(
            x0=x0,
            x1=x1,
            decision=decide(model, steps, grid, names).reshape(len(x1), len(x0), -1),
            voters=voters,
            votes=sums_by_point(vote.weights, vote.places, len(voters)),
            masses=sums_by_point(np.abs(vote.weights), vote.places, len(voters)),
            classes=classes,
            X=rows,
            codes=codes,
            feature_names=FEATURES if names is None else [str(name) for name in names],
        )
        return display.plot(ax, voter_kw=voter_kw, row_kw=row_kw)

    def plot(
        self,
        ax: Any = None,
        *,
        voter_kw: dict[str, Any] | None = None,
        row_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draw regions, boundary, rows and voting points.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None creates a new figure.
        voter_kw, row_kw : dict, default=None
            Passed to ``ax.scatter`` for the voting points and for the other rows.

        Returns
        -------
        self
        """
        ax = axes_for(ax, f"{type(self).__name__}.plot")
        self.surface_ = self._draw_regions(ax)
        self.contours_ = self._draw_lines(ax)
        self.rows_ = self._draw_rows(ax, row_kw or {})
        self.voters_ = self._draw_voters(ax, voter_kw or {})
        ax.set(xlabel=self.feature_names[0], ylabel=self.feature_names[1])
        ax.set(xlim=(self.x0[0], self.x0[-1]), ylim=(self.x1[0], self.x1[-1]))
        if self.voters_:
            legend = ax.legend(
                title="voting points\n(area: " + r"$|$weight$|$)",
                fontsize="small",
                title_fontsize="small",
                loc="upper left",
                bbox_to_anchor=(1.0, 1.0),
                frameon=False,
            )
            for handle in legend.legend_handles:
                handle.set_sizes([70.0])
        add_title(ax, "Decisions, and the points that vote")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_regions(self, ax: Any) -> Any:
        from matplotlib.colors import ListedColormap

        f = self.decision
        codes = (f[..., 0] > 0).astype(int) if f.shape[-1] == 1 else f.argmax(axis=-1)
        pale = ListedColormap([self._region_colour(code) for code in range(len(self.classes))])
        return ax.pcolormesh(
            self.x0, self.x1, codes, cmap=pale, vmin=-0.5, vmax=len(self.classes) - 0.5,
            shading="nearest", rasterized=True, zorder=0,
        )  # fmt: skip

    def _region_colour(self, code: int) -> Any:
        from matplotlib.colors import to_rgb

        return WHITENESS + (1 - WHITENESS) * np.array(to_rgb(self._colour(code)))

    def _colour(self, code: int) -> str:
        return COLOURS[code % len(COLOURS)]

    def _draw_lines(self, ax: Any) -> list[Any]:
        """Draw lines where the class changes and, for two classes, where the margin is 1."""
        f = self.decision
        if f.shape[-1] == 1:
            surfaces, levels = [f[..., 0]], {-1.0: "--", 0.0: "-", 1.0: "--"}
        else:
            ahead = [f[..., k] - np.delete(f, k, axis=-1).max(axis=-1) for k in range(f.shape[-1])]
            surfaces, levels = ahead, {0.0: "-"}
        drawn = []
        for surface in surfaces:
            # matplotlib warns about levels that the surface does not reach.
            reached = [v for v in levels if surface.min() < v < surface.max()]
            if not reached:
                continue
            lines = ax.contour(
                self.x0, self.x1, surface, reached, colors=INK, zorder=1,
                linestyles=[levels[v] for v in reached],
                linewidths=[1.6 if v == 0 else 0.9 for v in reached],
            )  # fmt: skip
            drawn.append(lines)
        return drawn

    def _draw_rows(self, ax: Any, row_kw: dict[str, Any]) -> list[Any]:
        if self.X is None:
            return []
        if self.codes is None:
            style = {"s": 10, "color": GREY, "zorder": 2} | row_kw
            return [ax.scatter(self.X[:, 0], self.X[:, 1], **style)]
        drawn = []
        for code in range(len(self.classes)):
            rows = self.X[self.codes == code]
            style = {
                "s": 14, "color": self._colour(code), "marker": MARKERS[code % len(MARKERS)],
                "linewidths": 0, "alpha": 0.8, "zorder": 2,
            } | row_kw  # fmt: skip
            drawn.append(ax.scatter(rows[:, 0], rows[:, 1], **style))
        return drawn

    def _draw_voters(self, ax: Any, voter_kw: dict[str, Any]) -> dict[tuple[Any, bool], Any]:
        codes, approves = self.sides()
        mass = np.asarray(self.masses).sum(axis=0)
        sizes = SMALLEST + (LARGEST - SMALLEST) * mass / mass.max(initial=np.finfo(float).tiny)
        drawn = {}
        for code, name in enumerate(self.classes):
            for approving in (True, False):
                which = (codes == code) & (approves == approving)
                if not which.any():
                    continue
                colour = self._colour(code)
                style = {
                    "s": sizes[which],
                    "marker": MARKERS[code % len(MARKERS)],
                    "facecolors": colour if approving else "white",
                    "edgecolors": "black" if approving else colour,
                    "linewidths": 1.0 if approving else 1.8,
                    "alpha": 0.85,
                    "label": f"for {name}" if approving else f"against {name}",
                    "zorder": 3,
                } | voter_kw
                drawn[name, approving] = ax.scatter(
                    self.voters[which, 0], self.voters[which, 1], **style
                )
        return drawn

    def sides(self) -> tuple[IntArray, Any]:
        """Return the class that each point votes about, and whether it votes for or against it.

        Returns
        -------
        codes : array of shape (n_points,)
            Index of the class in whose problem the point has the most weight; for two classes,
            of the class that it votes for.
        agree : bool array of shape (n_points,)
            Whether the point votes for that class.
        """
        votes = np.asarray(self.votes)
        if len(votes) == 1:
            return (votes[0] > 0).astype(np.intp), np.ones(votes.shape[1], dtype=bool)
        codes = np.asarray(self.masses).argmax(axis=0)
        return codes, votes[codes, np.arange(votes.shape[1])] > 0
