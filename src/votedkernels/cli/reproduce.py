"""``votedkernels reproduce``: repeat the paper's experiments, resuming where they stopped."""

import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import click
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

from votedkernels.cli.console import messages, printable
from votedkernels.cli.progress import TerminalProgress
from votedkernels.experiments.algorithms import ALGORITHMS
from votedkernels.experiments.protocol import SCALINGS, Unit
from votedkernels.experiments.records import Record, RecordFile
from votedkernels.experiments.report import write_report
from votedkernels.experiments.runner import (
    DATASETS,
    algorithms_of,
    list_units,
    load_data,
    run_units,
)

RECORDS = "records.jsonl"


@click.command()
@click.option(
    "--kernels",
    "family",
    type=click.Choice(list(ALGORITHMS)),
    default="polynomial",
    show_default=True,
    help="The paper's first or second set of experiments, or votes over both kinds of kernels.",
)
@click.option(
    "--scaling",
    "scalings",
    type=click.Choice(list(SCALINGS)),
    multiple=True,
    help="How to scale the features, fitted on the training folds; repeatable.  [default: range]",
)
@click.option(
    "--seeds",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Number of random partitions.",
)
@click.option(
    "--dataset",
    "names",
    multiple=True,
    metavar="NAME",
    help="Run only this data set: one of the paper's, or the name of a CSV file in the data "
    "folder; repeatable.",
)
@click.option(
    "--algorithm",
    "algorithms",
    multiple=True,
    metavar="NAME",
    help="Run only this algorithm; repeatable.",
)
@click.option(
    "--peers", is_flag=True, help="Run other classifiers instead, on standardised features."
)
@click.option(
    "--jobs",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Number of parallel processes.",
)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    help="Folder to search for data first.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("reproduced"),
    show_default=True,
    help="Folder for the records and the report.",
)
@click.help_option("-h", "--help", help="Show this message and exit.")
def reproduce(
    family: str,
    scalings: Sequence[str],
    seeds: int,
    names: Sequence[str],
    algorithms: Sequence[str],
    peers: bool,
    jobs: int,
    data_dir: Path | None,
    output: Path,
) -> None:
    """Repeat the paper's experiments and report which of its claims hold.

    Each run of each algorithm is recorded when it ends. After an interruption, by Ctrl-C or by
    force, the same command continues where it stopped.
    """
    if peers:
        family, scalings = "peers", ("standard",)
    known = list(algorithms_of(family))
    for name in algorithms:
        if name not in known:
            raise click.BadParameter(
                f"there is no algorithm {name!r}; the algorithms are {', '.join(known)}."
            )
    units = [
        unit
        for scaling in scalings or ("range",)
        for unit in list_units(family, scaling, range(seeds), names or DATASETS, algorithms or None)
    ]
    check_data(units, data_dir)
    output.mkdir(parents=True, exist_ok=True)
    path = output / RECORDS
    try:
        with RecordFile(path, {"versions": versions()}) as file:
            run_with_progress(units, file, jobs, data_dir)
    except KeyboardInterrupt:
        if path.stat().st_size:
            write_report([path], output)
        raise click.Abort(
            "finished runs are recorded, and the report on them is "
            f"{printable(output / 'report.html')}. Run the same command again to continue."
        ) from None
    write_report([path], output)
    messages().print(f"Wrote the report to {printable(output / 'report.html')}.", soft_wrap=True)


def check_data(units: Sequence[Unit], data_dir: Path | None) -> None:
    """Load each data set once, so that missing or damaged files are reported first."""
    for name in dict.fromkeys(unit.dataset for unit in units):
        load_data(name, None if data_dir is None else str(data_dir))


def run_with_progress(
    units: Sequence[Unit], file: RecordFile, jobs: int, data_dir: Path | None
) -> None:
    """Run the units, with a progress bar in a terminal and one line per unit elsewhere."""
    console = messages()
    waiting = sum(unit.key not in file.keys for unit in units)
    if waiting < len(units):
        console.print(f"{len(units) - waiting} of {len(units)} units are already recorded.")
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
    )  # fmt: skip
    with TerminalProgress(*columns, console=console) as progress:
        task = progress.add_task("units", total=len(units), completed=len(units) - waiting)

        def on_record(record: Record) -> None:
            progress.update(task, advance=1, description=record["key"].rpartition("/run")[0])
            if not console.is_terminal:
                console.print(f"{record['key']}  {record['fit_seconds']:.1f} s", soft_wrap=True)

        run_units(
            units,
            file,
            jobs=jobs,
            data_dir=None if data_dir is None else str(data_dir),
            on_record=on_record,
        )


def versions() -> dict[str, str]:
    """Return the versions of the packages that compute the records."""
    packages = ("votedkernels", "numpy", "scipy", "scikit-learn", "highspy")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}
