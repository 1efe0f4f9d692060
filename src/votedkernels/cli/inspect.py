"""``votedkernels inspect``: show what a model file contains."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.table import Table

from votedkernels import ModelFileError, load_model, read_summary
from votedkernels.cli.console import output, printable, table_of_facts
from votedkernels.cli.models import classifier_of
from votedkernels.estimators.summary import names_with_features

SAID_BY_SUMMARY = (
    "rows",
    "training error",
    "penalties",
    "cross-validation",
    "relaxed",
    "probabilities",
)
"""Facts that only ``summary()`` has; the others are in the header of the file."""


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.help_option("-h", "--help", help="Show this message and exit.")
def inspect(model: Path, as_json: bool) -> None:
    """Show what a model file contains.

    The summary of MODEL lists classes, features, scaling, kernels with their shares of the vote,
    the proved gap, and the versions that wrote the file. The content is checked against its digest.
    """
    summary = read_summary(model)
    if as_json:
        click.echo(json.dumps(summary, indent=2, allow_nan=False))
        return
    vote = vote_in(model)
    output().print(describe(summary, {} if vote is None else vote.summary().facts))
    names = [kernel["name"] for kernel in summary["kernels"]]
    if vote is not None:
        names = names_with_features(vote)
    output().print(describe_kernels(summary["kernels"], names))


def vote_in(path: Path) -> Any:
    """Return the classifier or regressor; None if the file needs a function, or is calibrated."""
    try:
        model = classifier_of(load_model(path))
    except ModelFileError:
        return None
    return model if hasattr(model, "summary") else None


def describe(summary: dict[str, Any], learned: Mapping[str, str]) -> Table:
    """Return a table of everything except the kernels, given what ``summary()`` says."""
    names = summary["feature_names"]
    facts = {
        "classifier": summary["classifier"],
        "classes": ", ".join(map(str, summary["classes"] or ["numbers"])),
        "features": summary["n_features"] if names is None else ", ".join(names),
        "scaling": summary["scaling"] or "none",
        "support vectors": summary["n_support"],
        "terms": summary["n_terms"],
        **{name: learned[name] for name in SAID_BY_SUMMARY if name in learned},
        "complexity penalty": number(summary["complexity_penalty"]),
        "l1 penalty": number(summary["l1_penalty"]),
        "l2 penalty": number(summary["l2_penalty"]),
        "objective": number(summary["objective"]),
        "dual bound": number(summary["dual_bound"]),
        "dual gap": number(summary["dual_gap"]),
        "rounds": f"{summary['n_iter']} ({summary['stop_reason']})",
        "format": f"version {summary['format_version']}, sha256 {summary['sha256']}",
        "written by": ", ".join(f"{name} {text}" for name, text in summary["versions"].items()),
    }
    return table_of_facts(facts)


def describe_kernels(kernels: list[dict[str, Any]], names: list[str]) -> Table:
    """Return a table of the kernels under these names, sorted by their share of the vote."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("kernel", overflow="fold")
    for heading in ("mass", "share", "complexity", "penalty"):
        table.add_column(heading, justify="right", no_wrap=True)
    total = sum(kernel["mass"] or 0.0 for kernel in kernels)
    named = zip(names, kernels, strict=True)
    for name, kernel in sorted(named, key=lambda pair: -(pair[1]["mass"] or 0.0)):
        share = f"{(kernel['mass'] or 0.0) / total:.1%}" if total else "-"
        table.add_row(
            printable(name),
            number(kernel["mass"]),
            share,
            number(kernel["complexity"]),
            number(kernel["penalty"]),
        )
    return table


def number(value: float | str | None) -> str:
    """Return a number with six digits, a word as it is, or a dash for None."""
    if isinstance(value, str):
        return value
    return "-" if value is None else f"{value:.6g}"
