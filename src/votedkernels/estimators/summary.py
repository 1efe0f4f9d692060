"""What a model has learned, in one table."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from ..kernels.coded import CodedFamily
from ._fitted_attributes import (
    CROSS_VALIDATION,
    N_SAMPLES,
    PROBABILITY_SCALE,
    TRAINING_ERROR,
    vote_of,
)

#: Up to this many classes are listed by name.
MOST_CLASSES = 8
HEADINGS = ("kernel", "share", "terms", "penalty")


@dataclass(frozen=True)
class ModelSummary:
    """A table of facts about a fitted model, and a table of the kernels that vote.

    `VotedKernelClassifier.summary` returns it. Print it, or let a notebook show it.

    Attributes
    ----------
    facts : dict of str
    kernels : list of tuples of str
        Name, share of the absolute weights, number of terms, and penalty of each kernel that votes,
        the largest share first.
    """

    facts: dict[str, str]
    kernels: list[tuple[str, str, str, str]]

    def __str__(self) -> str:
        width = max(len(name) for name in self.facts)
        lines = [f"{name:<{width}}  {value}" for name, value in self.facts.items()]
        if not self.kernels:
            return "\n".join(lines)
        table = [HEADINGS, *self.kernels]
        widths = [max(len(row[column]) for row in table) for column in range(len(HEADINGS))]
        lines.append("")
        for name, *numbers in table:
            cells = [f"{text:>{w}}" for text, w in zip(numbers, widths[1:], strict=True)]
            lines.append("  ".join([f"{name:<{widths[0]}}", *cells]))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the tables for a notebook."""
        right = ' style="text-align: right"'
        facts = "".join(
            f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>"
            for name, value in self.facts.items()
        )
        heads = "".join(f"<th>{escape(name)}</th>" for name in HEADINGS)
        rows = "".join(
            f"<tr><td>{escape(name)}</td>"
            + "".join(f"<td{right}>{escape(text)}</td>" for text in numbers)
            + "</tr>"
            for name, *numbers in self.kernels
        )
        kernels = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        return f"<table><tbody>{facts}</tbody></table>" + (kernels if self.kernels else "")


def summarise(model: Any, X: Any = None, y: Any = None) -> ModelSummary:
    """Return the summary of a fitted model."""
    facts = {"model": type(model).__name__}
    if hasattr(model, "classes_"):
        facts["classes"] = list_classes(model.classes_)
    else:
        facts["loss"] = describe_loss(model)
    if hasattr(model, "n_features_in_"):
        facts["features"] = str(model.n_features_in_)
    if hasattr(model, N_SAMPLES):
        facts["rows"] = str(getattr(model, N_SAMPLES))
    facts["support vectors"] = str(len(model.support_))
    facts["terms"] = str(model.term_weights_.shape[1])
    facts["penalties"] = (
        f"complexity {model.complexity_penalty_:.3g}, l1 {model.l1_penalty_:.3g} "
        f"({how_chosen(model)})"
    )
    search = describe_search(model)
    if search is not None:
        facts["cross-validation"] = search
    facts["objective"] = describe_gap(model.objective_, model.dual_gap_, model.stop_reason_)
    if hasattr(model, "relaxed_objective_"):
        facts["relaxed"] = describe_gap(model.relaxed_objective_, model.relaxed_dual_gap_)
    if hasattr(model, "classes_"):
        facts["probabilities"] = "yes" if hasattr(model, PROBABILITY_SCALE) else "no"
    facts |= describe_errors(model, X, y)
    return ModelSummary(facts, kernels_that_vote(model))


def describe_errors(model: Any, X: Any, y: Any) -> dict[str, str]:
    """Return the error on the training rows, and on rows that the user passed."""
    errors = {}
    if hasattr(model, TRAINING_ERROR):
        measure = ""
        if not hasattr(model, "classes_"):
            measure = " (pinball loss)" if model.loss == "quantile" else " (mean absolute error)"
        errors["training error"] = f"{getattr(model, TRAINING_ERROR):.4g}{measure}"
    if X is not None and hasattr(model, "classes_"):
        wrong = np.asarray(model.predict(X)) != np.asarray(y)
        errors["error on given rows"] = f"{wrong.mean():.4f} ({wrong.sum()} of {len(wrong)})"
    elif X is not None:
        distances = np.abs(np.asarray(model.predict(X)) - np.asarray(y))
        errors["mean absolute error on given rows"] = f"{distances.mean():.4g}"
    return errors


def describe_loss(model: Any) -> str:
    """Return the loss of a regressor, and its parameter."""
    several = getattr(model, "quantiles", None)
    if several is not None:
        return "quantiles " + ", ".join(f"{quantile:g}" for quantile in several)
    if model.loss == "quantile":
        return f"quantile {model.quantile:g}"
    return str(model.loss) + (
        f", epsilon {model.epsilon_:.4g}" if hasattr(model, "epsilon_") else ""
    )


def list_classes(classes: Any) -> str:
    """Return the classes, or the first of many."""
    names = [str(label) for label in np.asarray(classes).tolist()]
    if len(names) <= MOST_CLASSES:
        return ", ".join(names)
    return ", ".join(names[:MOST_CLASSES]) + f", ... ({len(names)} classes)"


def how_chosen(model: Any) -> str:
    """Return a phrase that says where the penalties come from."""
    if hasattr(model, "cv_results_"):
        return "chosen by cross-validation" if model.best_params_ else "default; no time to search"
    from_search = hasattr(model, PROBABILITY_SCALE) and not getattr(model, "probability", False)
    if hasattr(model, CROSS_VALIDATION) or from_search:
        # A model from a file. Older files do not describe the search, but only a search has
        # probabilities by default.
        return "chosen by cross-validation"
    if "auto" in (model.complexity_penalty, model.l1_penalty):
        return "default for this number of rows"
    return "given"


def describe_search(model: Any) -> str | None:
    """Return the score of the best setting, and the setting; None if there was no search."""
    if not np.isfinite(getattr(model, "best_score_", np.nan)):
        text: str | None = getattr(model, CROSS_VALIDATION, None)
        return text
    spread = model.cv_results_["std_test_score"][model.best_index_]
    score = "score"
    if model.scoring is None:
        score = "accuracy" if hasattr(model, "classes_") else "minus the mean loss"
    found = f"{score} {model.best_score_:.4f} +- {spread:.4f} in {model.n_splits_} folds"
    shown = {"kernel": "{}", "kernels": "{}", "relaxation": "rho {:.2g}"}
    parts = [form.format(model.best_params_[name]) for name, form in shown.items()
             if name in model.best_params_]  # fmt: skip
    if hasattr(model, "members_"):
        parts.append(f"committee of {len(model.members_)}")
    return "; ".join([found, ", ".join(parts)] if parts else [found])


def describe_gap(objective: float, gap: float, reason: str | None = None) -> str:
    """Return an objective and how far it can be from the optimum."""
    if not np.isfinite(objective):
        return "unknown: the weights were rounded after the fit"
    relative = gap / objective if objective > 0 else 0.0
    end = "" if reason is None else f" ({reason})"
    return f"{objective:.6g}, at most {relative:.1g} of it above the optimum{end}"


def kernels_that_vote(model: Any) -> list[tuple[str, str, str, str]]:
    """Return a row for each kernel with a weight, the largest share first."""
    mass = np.asarray(model.kernel_mass_)
    n_terms = np.bincount(model.term_kernel_indices_, minlength=len(mass))
    order = [k for k in np.argsort(-mass, kind="stable") if n_terms[k]]
    total = mass.sum() or 1.0
    names = names_with_features(model)
    return [
        (
            names[k],
            f"{mass[k] / total:.1%}",
            str(n_terms[k]),
            f"{model.penalties_[k]:.3g}",
        )
        for k in order
    ]


def names_with_features(model: Any) -> list[str]:
    """Return the names of the kernels; rules about x3 get the name of that feature, if it has one.

    ``kernel_names_`` counts features, since two features may have names that look alike.
    """
    names, features = list(model.kernel_names_), getattr(model, "feature_names_in_", None)
    if features is None:
        return names
    first = 0
    for family in vote_of(model).families:
        if isinstance(family, CodedFamily):
            for place, feature in enumerate(family.features_, start=first):
                if feature >= 0:
                    names[place] = names[place].replace(f"(x{feature})", f"({features[feature]})")
        first += family.n_kernels
    return names
