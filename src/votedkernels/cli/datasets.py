"""``votedkernels datasets``: which data sets are on this machine, and where."""

from collections.abc import Sequence
from pathlib import Path

import click
from rich import box
from rich.table import Table

from votedkernels.cli.console import messages, output, printable
from votedkernels.datasets import CATALOGUE, DataFileError, DownloadError, load, locate


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(CATALOGUE)), metavar="[NAME]...")
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    help="Folder to search first.",
)
@click.option("--fetch", is_flag=True, help="Download missing data sets into your cache folder.")
@click.option("--check", is_flag=True, help="Read each file that was found and check its content.")
@click.help_option("-h", "--help", help="Show this message and exit.")
def datasets(names: Sequence[str], data_dir: Path | None, fetch: bool, check: bool) -> None:
    """List, download and check the data sets of the paper.

    [NAME]... selects data sets; by default all eleven are listed. A data set is searched for in
    --data-dir, in the folder named by the environment variable VOTEDKERNELS_DATA, in your cache
    folder and in the package.
    """
    # Without names, skip ocr49, which has no address; if it is named, its error says what to do.
    fetched = names or [name for name, facts in CATALOGUE.items() if facts.address]
    shown = names or list(CATALOGUE)
    try:
        failures = _fetch(fetched, data_dir) if fetch else []
    except KeyboardInterrupt:
        raise click.Abort("data sets that were downloaded are kept.") from None
    if check:
        failures += _check(shown, data_dir)
    output().print(_table(shown, data_dir))
    if failures:
        raise click.ClickException(" ".join(failures))


def _fetch(names: Sequence[str], data_dir: Path | None) -> list[str]:
    """Download missing data sets; return the messages of downloads that failed."""
    missing = [name for name in names if locate(name, data_dir=data_dir) is None]
    return _load_each(missing, data_dir, "downloading")


def _check(names: Sequence[str], data_dir: Path | None) -> list[str]:
    """Read data sets that were found; return the messages of those with wrong content."""
    here = [name for name in names if locate(name, data_dir=data_dir) is not None]
    return _load_each(here, data_dir, "reading")


def _load_each(names: Sequence[str], data_dir: Path | None, doing: str) -> list[str]:
    failures = []
    with messages().status("") as status:
        for name in names:
            status.update(f"{doing} {name}")
            try:
                load(name, data_dir=data_dir)
            except (DataFileError, DownloadError) as error:
                failures.append(str(error))
    return failures


def _table(names: Sequence[str], data_dir: Path | None) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("name", no_wrap=True)
    for heading in ("rows", "features", "+1", "-1"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("where", overflow="fold")
    table.add_column("licence")
    for name in names:
        facts = CATALOGUE[name]
        path = locate(name, data_dir=data_dir)
        counts = (facts.n_samples, facts.n_features, facts.n_positive, facts.n_negative)
        where = "not here" if path is None else printable(path)
        table.add_row(name, *map(str, counts), where, facts.licence)
    return table
