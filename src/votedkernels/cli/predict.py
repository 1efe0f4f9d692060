"""``votedkernels predict``: classify the rows of a table of any size, chunk by chunk."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

from votedkernels.cli.column_kinds import rows_for
from votedkernels.cli.console import messages, printable, shortened
from votedkernels.cli.models import (
    classifier_of,
    features_for,
    load_vote,
    predicts_numbers,
    rows_without_names,
)
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
    help="Add a column with the probability of each class; a model fitted with penalties needs "
    "--probabilities in 'fit'.",
)
@click.help_option("-h", "--help", help="Show this message and exit.")
def predict(
    model: Path, data: Path, output: Path, keep: Sequence[str], probabilities: bool
) -> None:
    """Predict the class, or the number, of each row of a table with a saved model.

    MODEL is a model file. DATA is a .csv or .parquet file, or - for CSV from standard input.
    Columns are matched by name; columns that the model does not use are ignored. The result has
    the --keep columns, then prediction, then decision (with more than two classes, one decision
    column per class), then probability_CLASS for each class, if asked for. A regression model
    adds only prediction or, for several quantiles, a column quantile_LEVEL for each.
    """
    file_kind(output)
    if output != STANDARD:
        check_output(output)
    loaded = load_vote(model)
    if probabilities and predicts_numbers(loaded):
        raise click.ClickException(f"{model}: a regression model has no probabilities.")
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
            for piece in pieces_for(loaded, table, features, keep):
                values = predicted_columns(loaded, piece, table, probabilities=probabilities)
                results.append([*piece.others, *values])
                progress.update(task, completed=table.position)


@contextmanager
def saying_what_is_kept(path: Path) -> Iterator[None]:
    """After Ctrl-C, report what was kept."""
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
            "the model expects strings, but this command reads numbers; use load_model in Python."
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


def predicted_columns(model: Any, piece: Piece, table: Table, *, probabilities: bool) -> list[Any]:
    """Return the columns of the result that the model computes, for some rows."""
    decision = decide(model, piece, table)
    values = [decision] if decision.ndim == 1 else list(decision.T)
    if predicts_numbers(model):
        return values
    if probabilities:
        values.extend(probabilities_of(model, np.array(values).T).T)
    return [classes_of(decision, model.classes_), *values]


def pieces_for(
    model: Any, table: Table, features: Sequence[str], others: Sequence[str]
) -> Iterator[Piece]:
    """Yield pieces of a table, whose numbers are a data frame if the model takes categories."""
    if not hasattr(classifier_of(model), "table_"):
        yield from table.pieces(features, others)
        return
    for piece in table.pieces((), [*others, *features]):
        frame = rows_for(classifier_of(model), table, piece, features)
        yield piece._replace(numbers=frame, others=piece.others[: len(others)])


def result_columns(model: Any, keep: Sequence[str], *, probabilities: bool) -> list[str]:
    """Return the column names of the result."""
    if predicts_numbers(model):
        levels = quantiles_of(model)
        numbers = ["prediction"] if levels is None else [f"quantile_{q:g}" for q in levels]
        columns = [*keep, *numbers]
    else:
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


def quantiles_of(model: Any) -> Any:
    """Return the levels of a regressor with several quantiles; None for other models."""
    return getattr(classifier_of(model), "quantiles", None)


def decide(model: Any, piece: Piece, table: Table) -> Any:
    """Return decision values or predicted numbers; an overflow is an error in the data."""
    with rows_without_names():
        try:
            if not predicts_numbers(model):
                return model.decision_function(piece.numbers)
            if quantiles_of(model) is None:
                return model.predict(piece.numbers)
            rows = features_for(model, piece.numbers)
            return classifier_of(model).predict_quantiles(rows)
        except ValueError as error:
            where = f"{table.name}, {table.unit}s {piece.places[0]} to {piece.places[-1]}"
            raise click.ClickException(f"{where}: {error}") from error


def probabilities_of(model: Any, votes: Any) -> Any:
    """Return the probabilities of all classes, given votes of shape (n_rows, n_problems)."""
    return probabilities_from(votes, classifier_of(model).probability_scale_)


def row_progress() -> TerminalProgress:
    """Return a progress bar for the rows, which is shown only in terminals."""
    columns = (TextColumn("deciding on"), TextColumn("{task.description}"), BarColumn())
    return TerminalProgress(*columns, TimeRemainingColumn(), console=messages(), transient=True)
