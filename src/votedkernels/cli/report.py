"""``votedkernels report``: write the report again, from the records alone."""

from collections.abc import Sequence
from pathlib import Path

import click

from votedkernels.cli.console import messages, printable
from votedkernels.experiments.report import write_report


@click.command()
@click.argument("records", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("."),
    show_default=True,
    help="Folder for report.html, tables.md and tables.csv.",
)
@click.help_option("-h", "--help", help="Show this message and exit.")
def report(records: Sequence[Path], output: Path) -> None:
    """Write a report from files of records written by 'reproduce'.

    All tables, statistics, verdicts and figures are recomputed from RECORDS.
    """
    output.mkdir(parents=True, exist_ok=True)
    with messages().status("writing the report"):
        write_report(list(records), output)
    messages().print(f"Wrote the report to {printable(output / 'report.html')}.", soft_wrap=True)
