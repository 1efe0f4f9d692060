"""``votedkernels score``: compare predictions with labels."""

from pathlib import Path
from typing import Any

import click
import numpy as np
from rich import box
from rich.table import Table as Printed
from sklearn.metrics import mean_pinball_loss, r2_score

from votedkernels.cli.console import messages, output, printable, table_of_facts
from votedkernels.cli.models import load_vote, predicts_numbers
from votedkernels.cli.predict import (
    decide,
    find_features,
    pieces_for,
    probabilities_of,
    quantiles_of,
)
from votedkernels.cli.tables import check_names, open_table
from votedkernels.cli.training_table import as_integers, read_labels, read_numbers
from votedkernels.estimators._voting import classes_of
from votedkernels.report.held_out import HeldOut


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--target", required=True, metavar="COLUMN", help="Column of class labels, or of numbers."
)
@click.help_option("-h", "--help", help="Show this message and exit.")
def score(model: Path, data: Path, target: str) -> None:
    """Compare the predictions of a saved model with the labels of a table.

    MODEL is a model file, DATA a .csv or .parquet file with the columns of the model and the
    target, or - for CSV from standard input. The command prints the error, a table of true and
    predicted classes and, if the model has probabilities, their log loss and Brier score. For a
    regression model, it prints errors in the unit of the target; for several quantiles, the
    pinball loss of each and how many targets are below it.
    """
    loaded = load_vote(model)
    with open_table(data) as table:
        check_names(table, [target])
        features = find_features(loaded, table, [target])
        pieces = list(pieces_for(loaded, table, features, [target]))
        votes = np.concatenate([decide(loaded, piece, table) for piece in pieces])
    if predicts_numbers(loaded):
        facts = score_numbers(loaded, votes, read_numbers(table, pieces, target))
        output().print(table_of_facts(facts))
        return
    labels = np.array(as_integers(read_labels(table, pieces, target)))
    outcome = compare(loaded, votes, labels)
    wrong = classes_of(votes, loaded.classes_).astype(str) != labels.astype(str)
    facts = {"rows": str(len(labels)), "error": f"{wrong.mean():.4f} ({wrong.sum()} rows)"}
    if outcome is not None and outcome.probabilities is not None:
        facts["log loss"] = f"{outcome.log_loss():.4f}"
        facts["Brier score"] = f"{outcome.brier_score():.4f} (summed over classes)"
    output().print(table_of_facts(facts))
    if outcome is not None:
        output().print(describe_confusion(outcome))


def score_numbers(model: Any, votes: Any, truth: Any) -> dict[str, str]:
    """Return what to print about predicted numbers or quantiles."""
    levels, facts = quantiles_of(model), {"rows": str(len(truth))}
    if levels is None:
        facts["mean absolute error"] = f"{np.abs(truth - votes).mean():.6g}"
        facts["root mean square error"] = f"{np.sqrt(np.mean((truth - votes) ** 2)):.6g}"
        if len(truth) > 1 and np.ptp(truth) > 0:
            facts["R2"] = f"{r2_score(truth, votes):.4f}"
        return facts
    for level, values in zip(levels, votes.T, strict=True):
        loss, below = mean_pinball_loss(truth, values, alpha=level), np.mean(truth <= values)
        facts[f"quantile {level:g}"] = f"pinball loss {loss:.6g}, {below:.1%} of the targets below"
    return facts


def compare(model: Any, votes: Any, labels: Any) -> HeldOut | None:
    """Return predictions and true classes; rows of unknown classes are left out, with a note."""
    names = [str(label) for label in model.classes_.tolist()]
    place_of = {name: place for place, name in enumerate(names)}
    places = np.array([place_of.get(str(label), -1) for label in labels.tolist()])
    known = places >= 0
    if not known.all():
        unknown = sorted({str(label) for label in labels[~known].tolist()})
        messages().print(
            f"note: {int((~known).sum())} rows have labels that the model does not know "
            f"({printable(', '.join(unknown[:5]))}); they count as errors, and the table of "
            "classes leaves them out.",
            soft_wrap=True,
        )
    if not known.any():
        return None
    each = votes[:, None] if votes.ndim == 1 else votes
    predicted = (votes > 0).astype(np.intp) if votes.ndim == 1 else votes.argmax(axis=1)
    probabilities = (
        probabilities_of(model, each[known]) if hasattr(model, "predict_proba") else None
    )
    errors = np.array([np.mean(predicted[known] != places[known])])
    return HeldOut(model.classes_, places[known], predicted[known], probabilities, errors)


def describe_confusion(outcome: HeldOut) -> Printed:
    """Return a table of true classes (rows) and predicted classes (columns)."""
    table = Printed(box=box.SIMPLE_HEAD)
    table.add_column("true class", overflow="fold")
    for label in outcome.classes:
        table.add_column(printable(f"as {label}"), justify="right")
    table.add_column("error", justify="right")
    for label, row, own in zip(
        outcome.classes, outcome.confusion(), range(len(outcome.classes)), strict=True
    ):
        error = f"{1 - row[own] / row.sum():.4f}" if row.sum() else "-"
        table.add_row(printable(label), *map(str, row), error)
    return table
