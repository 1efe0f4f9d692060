"""``votedkernels explain``: which training examples decided the prediction for a row."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from sklearn.utils import _safe_indexing

from votedkernels.cli.console import printable
from votedkernels.cli.models import classifier_of, features_for, load_vote, rows_without_names
from votedkernels.cli.predict import find_features, pieces_for, quantiles_of
from votedkernels.cli.tables import open_table


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("data", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--row",
    "rows",
    type=click.IntRange(1),
    multiple=True,
    metavar="N",
    help="Row to explain, counted from 1 after the header; repeatable.  [default: the first five]",
)
@click.option(
    "--votes",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    help="How many of the largest votes to show for each row.",
)
@click.help_option("-h", "--help", help="Show this message and exit.")
def explain(model: Path, data: Path, rows: Sequence[int], votes: int) -> None:
    """Show which training examples decided the prediction for a row, and by how much.

    MODEL is a model file, DATA a .csv or .parquet file, or - for CSV from standard input. Training
    rows are numbered from 0, in the order of the table that the model was fitted to. Votes with a
    minus sign are against the predicted class.
    """
    loaded = load_vote(model)
    if quantiles_of(loaded) is not None:
        raise click.ClickException(
            f"{model}: a model of several quantiles cannot be explained; fit one quantile in "
            "Python, with quantile=... instead of quantiles."
        )
    with open_table(data) as table:
        features = find_features(loaded, table, ())
        pieces = [piece.numbers for piece in pieces_for(loaded, table, features, ())]
    numbers = joined(pieces)
    wanted = list(rows) or list(range(1, min(5, len(numbers)) + 1))
    if max(wanted) > len(numbers):
        raise click.BadParameter(f"there is no row {max(wanted)}; {data} has {len(numbers)} rows.")
    with rows_without_names():
        chosen = [row - 1 for row in wanted]
        ready = features_for(loaded, _safe_indexing(numbers, chosen))
        explanation = classifier_of(loaded).explain(ready)
    for place, row in enumerate(wanted):
        label = printable(explanation.predictions()[place])
        click.echo(f"{'' if place == 0 else chr(10)}row {row}: {label}")
        for line in explanation.table(place, votes).splitlines():
            click.echo(f"  {printable(line)}")


def joined(pieces: Sequence[Any]) -> Any:
    """Stack arrays or data frames, one below the other."""
    if not hasattr(pieces[0], "columns"):
        return np.concatenate(pieces)
    import pandas as pd

    return pd.concat(pieces, ignore_index=True)
