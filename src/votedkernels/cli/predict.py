"""``votedkernels predict``: classify the rows of a table of any size, piece by piece."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

from votedkernels.cli.console import messages, printable, shortened
from votedkernels.cli.models import classifier_of, load_classifier, rows_without_names
from votedkernels.cli.places import check_output
from votedkernels.cli.progress import TerminalProgress
from votedkernels.cli.results import open_results
from votedkernels.cli.tables import (
    STANDARD,
    Piece,
    Table,
    check_names,
    count,
    file_kind,
    open_table,
)
from votedkernels.datasets import DataFileError
from votedkernels.estimators._probabilities import probabilities as probabilities_from
from votedkernels.estimators._voting import classes_of


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--output",
    type=click.Path(path_type=Path, allow_dash=True),
    default=STANDARD,
    show_default=True,
    help="The .csv or .parquet file to write, or - for CSV on standard output.",
)
@click.option(
    "--keep", multiple=True, metavar="COLUMN", help="Column to copy to the result; repeatable."
)
@click.option(
    "--probabilities",
    is_flag=True,
    help="Add a column with the probability of each class; a model with given penalties needs "
    "--probabilities in 'fit'.",
)
@click.help_option("-h", "--help", help="Show this message and exit.")
def predict(
    model: Path, data: Path, output: Path, keep: Sequence[str], probabilities: bool
) -> None:
    """Classify each row of a table with a saved model.

    MODEL is a model file. DATA is a .csv or .parquet file, or - for CSV from standard input.
    Columns are matched by name; columns that the model does not use are ignored. The result has
    the --keep columns, then prediction, then decision (with more than two classes, one decision
    column per class), then probability_CLASS for each class, if asked for.
    """
    file_kind(output)
    if output != STANDARD:
        check_output(output)
    loaded = load_classifier(model)
    if probabilities and not hasattr(loaded, "predict_proba"):
        raise click.ClickException(
            f"{model}: this model has no probabilities; fit it without penalties, or with "
            "--probabilities."
        )
    with saying_what_is_kept(output), open_table(data) as table:
        features = find_features(loaded, table, keep)
        columns = result_columns(loaded, keep, probabilities=probabilities)
        with open_results(output, columns) as results, row_progress() as progress:
            task = progress.add_task("rows", total=table.size)
            for piece in table.pieces(features, keep):
                decision = decide(loaded, piece, table)
                values = [decision] if decision.ndim == 1 else list(decision.T)
                if probabilities:
                    values.extend(probabilities_of(loaded, np.array(values).T).T)
                results.append([*piece.others, classes_of(decision, loaded.classes_), *values])
                progress.update(task, completed=table.position)


@contextmanager
def saying_what_is_kept(path: Path) -> Iterator[None]:
    """After Ctrl-C, say what was kept."""
    try:
        yield
    except KeyboardInterrupt:
        kept = "the output is not complete."
        if path != STANDARD:
            kept = f"{path} {'is unchanged' if path.exists() else 'was not written'}."
        raise click.Abort(kept) from None


def find_features(model: Any, table: Table, keep: Sequence[str]) -> list[str]:
    """Return the columns that the model uses, in the model's order."""
    check_names(table, keep)
    if not hasattr(model, "n_features_in_"):
        raise click.ClickException(
            "the model takes strings, but this command reads numbers; use load_model in Python."
        )
    names = getattr(model, "feature_names_in_", None)
    if names is None:  # fitted on an array, in Python
        features = [name for name in table.columns if name not in keep]
        if len(features) != model.n_features_in_:
            raise DataFileError(
                f"{table.name}: {count(len(features), 'column')} besides --keep, but the model "
                f"needs {model.n_features_in_}; without feature names, the numbers must agree."
            )
        return features
    features = [str(name) for name in names]
    check_names(table, features)
    used = {*features, *keep}
    ignored = [name for name in table.columns if name not in used]
    if ignored:
        shown = printable(shortened(ignored, 5))
        messages().print(f"note: {count(len(ignored), 'column')} ignored: {shown}", soft_wrap=True)
    return features


def result_columns(model: Any, keep: Sequence[str], *, probabilities: bool) -> list[str]:
    """Return the column names of the result."""
    classes = model.classes_.tolist()
    votes = ["decision"] if len(classes) == 2 else [f"decision_{label}" for label in classes]
    columns = [*keep, "prediction", *votes]
    if probabilities:
        columns += [f"probability_{label}" for label in classes]
    repeated = [name for name, n in Counter(columns).items() if n > 1]
    if repeated:
        raise click.BadParameter(
            f"the result would have two columns named {repeated[0]!r}; change --keep."
        )
    return columns


def decide(model: Any, piece: Piece, table: Table) -> Any:
    """Return the decision values; an overflow is reported as an error in the data."""
    with rows_without_names():
        try:
            return model.decision_function(piece.numbers)
        except ValueError as error:
            where = f"{table.name}, {table.unit}s {piece.places[0]} to {piece.places[-1]}"
            raise click.ClickException(f"{where}: {error}") from error


def probabilities_of(model: Any, votes: Any) -> Any:
    """Return the probabilities of all classes, given votes of shape (n_rows, n_problems)."""
    return probabilities_from(votes, classifier_of(model).probability_scale_)


def row_progress() -> TerminalProgress:
    """Return a progress bar for the rows, which shows in terminals only."""
    columns = (TextColumn("deciding on"), TextColumn("{task.description}"), BarColumn())
    return TerminalProgress(*columns, TimeRemainingColumn(), console=messages(), transient=True)
