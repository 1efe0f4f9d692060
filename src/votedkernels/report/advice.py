"""What to try next, according to the findings of a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..display.models import earlier_steps
from .contents import DataFacts
from .curves import SearchCurve
from .held_out import HeldOut

#: Features whose spreads differ by this factor should be scaled.
UNEQUAL_SPREADS = 100.0
#: A class with at most this share of the rows is rare.
RARE = 0.2
#: Class errors that differ by this factor call for class weights.
UNEQUAL_ERRORS = 2.0
#: The training error is far below the held-out error if it is less than this share of it.
OPTIMISTIC = 0.5
#: A model with more than this share of the rows is large.
MANY_EXAMPLES = 0.5


@dataclass(frozen=True)
class Advice:
    """Something to try: the reason, and the code."""

    reason: str
    code: str = ""


@dataclass(frozen=True)
class Findings:
    """What a report knows about a model."""

    model: Any
    classifier: Any
    data: DataFacts
    curve: SearchCurve | None
    held_out: HeldOut | None
    training_error: float


def advise(found: Findings) -> list[Advice]:
    """Return what to try next, the most urgent first."""
    steps = (
        _reach_the_optimum,
        _have_a_vote,
        _scale,
        _search,
        _widen,
        _weigh_classes,
        _simplify,
        _probabilities,
        _drop_constants,
    )
    return [advice for step in steps if (advice := step(found)) is not None]


def _reach_the_optimum(found: Findings) -> Advice | None:
    reason = found.classifier.stop_reason_
    if reason == "optimal":
        return None
    return Advice(
        f"The fit stopped early ({reason}), so a better vote may exist. Allow more time or "
        "rounds, or use larger penalties.",
        "model.set_params(time_limit=None, max_iter=None)",
    )


def _have_a_vote(found: Findings) -> Advice | None:
    if len(found.classifier.support_):
        return None
    return Advice(
        "No example votes: the model predicts the same class for every row. Smaller penalties "
        "admit votes, if the features say anything about the classes.",
        "VotedKernelClassifierCV().fit(X, y)",
    )


def _scale(found: Findings) -> Advice | None:
    table = found.data.table
    if table is None or earlier_steps(found.model):
        return None
    spreads = np.nanstd(table, axis=0)
    spreads = spreads[spreads > 0]
    if len(spreads) < 2 or spreads.max() < UNEQUAL_SPREADS * spreads.min():
        return None
    return Advice(
        "The features have very different spreads, so those with the largest spread decide what is "
        "similar. Standardise them first.",
        "make_pipeline(StandardScaler(), VotedKernelClassifierCV()).fit(X, y)",
    )


def _search(found: Findings) -> Advice | None:
    if hasattr(found.classifier, "cv_results_"):
        return None
    return Advice(
        "The penalties were not chosen for these data. A search usually finds a better vote.",
        "VotedKernelClassifierCV().fit(X, y)",
    )


def _widen(found: Findings) -> Advice | None:
    curve = found.curve
    if curve is None or not curve.axis.startswith("complexity") or len(curve.steps) < 2:
        return None
    if curve.chosen not in (0, len(curve.steps) - 1):
        return None
    side = "larger" if curve.chosen == 0 else "smaller"
    return Advice(
        f"The chosen complexity penalty is at the end of the grid. Add {side} ones, or leave the "
        "grid out.",
        "VotedKernelClassifierCV().fit(X, y)",
    )


def _weigh_classes(found: Findings) -> Advice | None:
    if found.held_out is None or found.classifier.class_weight is not None:
        return None
    counts = found.held_out.confusion()
    rows = counts.sum(axis=1)
    errors = 1 - np.diag(counts) / rows
    rare = int(rows.argmin())
    if rows[rare] > RARE * rows.sum() or errors[rare] <= UNEQUAL_ERRORS * found.held_out.error:
        return None
    return Advice(
        f"Class {found.held_out.classes[rare]} is rare, and {errors[rare]:.0%} of its rows are "
        "wrong. If its errors matter as much as those of the others, weigh the classes.",
        'model.set_params(class_weight="balanced")',
    )


def _simplify(found: Findings) -> Advice | None:
    n_support, n_rows = len(found.classifier.support_), found.data.n_rows
    if n_support > MANY_EXAMPLES * n_rows:
        return Advice(
            f"{n_support} of {n_rows} rows vote, so prediction is slow. A sparser model may be as "
            "good.",
            'VotedKernelClassifierCV(prefer="sparse").fit(X, y)',
        )
    held_out = found.held_out
    if held_out is None or held_out.error <= 2 * held_out.standard_error:
        return None
    if found.training_error >= OPTIMISTIC * held_out.error:
        return None
    return Advice(
        f"The error on the training rows ({found.training_error:.1%}) is far below that on "
        f"held-out rows ({held_out.error:.1%}). A sparser model, or more rows, may bring them "
        "together.",
        'VotedKernelClassifierCV(prefer="sparse").fit(X, y)',
    )


def _probabilities(found: Findings) -> Advice | None:
    if hasattr(found.classifier, "probability_scale_"):
        return None
    return Advice(
        "The model has no probabilities. A search includes them; a plain fit needs a parameter.",
        "model.set_params(probability=True)",
    )


def _drop_constants(found: Findings) -> Advice | None:
    constant = found.data.constant
    if not constant:
        return None
    shown = ", ".join(constant[:5]) + (", ..." if len(constant) > 5 else "")
    return Advice(f"These features have a single value and can be left out: {shown}.")
