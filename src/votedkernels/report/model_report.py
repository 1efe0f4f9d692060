"""`model_report`: a page about a model and its data."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from .._system.atomic_files import writing_whole
from .._system.progress_display import ProgressDisplay
from .._version import __version__
from ..display.models import require_vote
from . import figures
from .advice import Findings, advise
from .contents import (
    DataFacts,
    describe_data,
    table_of_classes,
    table_of_confusion,
    table_of_examples,
    table_of_features,
)
from .curves import SearchCurve, curve_of_search
from .held_out import HeldOut, predict_held_out
from .page import render_page
from .parts import Panel

#: The most bars in the figure of kernels.
MOST_KERNELS = 12


@dataclass(frozen=True)
class ModelReport:
    """A page about a model. Notebooks show it; `save` writes it to a file.

    Attributes
    ----------
    html : str
        The page, which needs no other files.
    held_out_error : float or None
        The error on held-out rows.
    """

    html: str = field(repr=False)
    held_out_error: float | None = None

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page to a file, which is replaced only when the new one is complete.

        Parameters
        ----------
        path : str or path-like
        """
        with writing_whole(Path(path)) as file:
            file.write(self.html.encode("utf-8", "backslashreplace"))

    def _repr_html_(self) -> str:
        """Return the page in its own frame, so that its styles stay inside."""
        return (
            f'<iframe srcdoc="{escape(self.html)}" title="model report" '
            'style="width: 100%; height: 40rem; border: 1px solid #ccc"></iframe>'
        )


def model_report(
    model: Any, X: Any, y: Any, *, title: str | None = None, n_folds: int = 5, verbose: int = 0
) -> ModelReport:
    """Write a page about a fitted model and the data it was fitted on.

    The page shows the data at a glance, how penalties were chosen, the kernels and the examples
    that vote most, errors and probabilities on held-out rows, the certificate, and what to try
    next. Held-out rows come from folds in which the whole fit is repeated, so the report takes
    ``n_folds`` times as long as the fit. It needs ``pip install votedkernels[report]``.

    Parameters
    ----------
    model : VotedKernelClassifier, VotedKernelClassifierCV or Pipeline
        A fitted model, or a pipeline that ends in one.
    X, y : the training rows and their labels
    title : str, default=None
        The heading of the page.
    n_folds : int, default=5
        Number of folds. 0 leaves out what needs held-out rows.
    verbose : int, default=0
        1 shows progress on standard error.

    Returns
    -------
    ModelReport

    Examples
    --------
    >>> from votedkernels import VotedKernelClassifier, model_report
    >>> from votedkernels.datasets import make_waveform
    >>> X, y = make_waveform(100, random_state=0)
    >>> model = VotedKernelClassifier().fit(X, y)
    >>> report = model_report(model, X, y, n_folds=2)
    >>> report.save("report.html")  # doctest: +SKIP
    """
    classifier = require_vote(model, "model_report")
    if n_folds not in (0, *range(2, 101)):
        raise ValueError(f"n_folds must be 0 or an integer from 2 to 100, got {n_folds!r}.")
    if not verbose:
        return build_report(model, classifier, X, y, title, n_folds, None)
    with ProgressDisplay("model_report", verbose) as display:
        return build_report(model, classifier, X, y, title, n_folds, display)


def build_report(
    model: Any,
    classifier: Any,
    X: Any,
    y: Any,
    title: str | None,
    n_folds: int,
    display: ProgressDisplay | None,
) -> ModelReport:
    """Gather what the page shows, and render it."""
    data = describe_data(model, X, y)
    on_fold = None if display is None else display.step
    held_out = predict_held_out(model, X, y, n_folds, on_fold) if n_folds else None
    curve = curve_of_search(classifier)
    training_error = float(np.mean(np.asarray(model.predict(X)) != np.asarray(y)))
    found = Findings(model, classifier, data, curve, held_out, training_error)
    summary = classifier.summary()
    certificate = {name: summary.facts[name] for name in ("objective", "relaxed")
                   if name in summary.facts}  # fmt: skip
    context = {
        "title": title or "A vote of kernels, and the data it learned from",
        "lead": describe_lead(found),
        "data": data,
        "class_table": table_of_classes(data),
        "feature_table": table_of_features(data),
        "facts": summary.facts | {"training error": f"{training_error:.1%}"},
        "search_panels": [] if curve is None else panels_of_search(curve),
        "curve": curve,
        "kernel_panel": panel_of_kernels(classifier),
        "kernels": summary.kernels,
        "examples": table_of_examples(model, classifier, X, y),
        "held_out": held_out,
        "confusion": None if held_out is None else table_of_confusion(held_out),
        "reliability": None if held_out is None else panel_of_reliability(held_out),
        "n_folds": 0 if held_out is None else len(held_out.fold_errors),
        "certificate": certificate,
        "has_relaxation": "relaxed" in summary.facts,
        "advice": advise(found),
        "version": __version__,
    }
    html = render_page("votedkernels.report", "model.html.j2", context)
    return ModelReport(html, None if held_out is None else held_out.error)


def describe_lead(found: Findings) -> str:
    """Return a few sentences that sum up the model and its error."""
    data: DataFacts = found.data
    parts = [f"{data.n_rows:,} rows, {len(data.classes)} classes."]
    if found.held_out is not None:
        parts.append(
            f"On held-out rows, {found.held_out.error:.1%} of the predictions are wrong; always "
            f"predicting the most frequent class would be wrong on {data.guess_error:.1%}."
        )
    parts.append(f"{len(found.classifier.support_):,} training examples vote.")
    return " ".join(parts)


def panels_of_search(curve: SearchCurve) -> list[Panel]:
    """Return the figures of a search."""
    chosen = "none" if curve.chosen is None else curve.steps[curve.chosen]
    values = ", ".join(f"{value:.3g}" for value in curve.values)
    counts = ", ".join(f"{count:.0f}" for count in curve.n_support)
    name = curve.label.capitalize()
    return [
        Panel(f"{name} in cross-validation", figures.draw_values(curve),
              f"{values}; chosen: {chosen}"),
        Panel("Support vectors", figures.draw_counts(curve), f"{counts}; chosen: {chosen}"),
    ]  # fmt: skip


def panel_of_kernels(classifier: Any) -> Panel | None:
    """Return the figure of the kernels that vote."""
    mass = np.asarray(classifier.kernel_mass_)
    order = [k for k in np.argsort(-mass, kind="stable")[:MOST_KERNELS] if mass[k] > 0]
    if not order:
        return None
    names = [classifier.kernel_names_[k] for k in order]
    shares = [float(mass[k] / mass.sum()) for k in order]
    words = ", ".join(f"{name} {share:.0%}" for name, share in zip(names, shares, strict=True))
    return Panel("Kernels by weight", figures.draw_shares(names, shares), words)


def panel_of_reliability(held_out: HeldOut) -> Panel | None:
    """Return the figure of the probabilities, if the model has any."""
    if held_out.probabilities is None:
        return None
    predicted, observed, rows = held_out.reliability()
    if len(held_out.classes) == 2:
        what = f"predicted probability of {held_out.classes[1]}"
    else:
        what = "probability of the predicted class"
    words = ", ".join(f"{p:.2f}: {o:.2f}" for p, o in zip(predicted, observed, strict=True))
    svg = figures.draw_reliability(predicted, observed, rows, what)
    return Panel("Are the probabilities right?", svg, f"predicted and observed: {words}")
