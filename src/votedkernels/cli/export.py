"""``votedkernels export``: convert a model file to ONNX."""

from pathlib import Path
from typing import Any

import click
from rich.table import Table

from votedkernels import load_model, read_summary
from votedkernels._system.atomic_files import writing_whole
from votedkernels.cli.console import messages, output, printable, table_of_facts
from votedkernels.cli.places import check_output


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("onnx_path", metavar="OUTPUT", type=click.Path(path_type=Path))
@click.option("--input-name", default="X", show_default=True, help="Name of the graph's input.")
@click.option("--no-scores", is_flag=True, help="Output labels only, no scores.")
@click.option(
    "--opset",
    type=int,
    help="Version of the ONNX operators, 13 or newer; old runtimes need an older version.  "
    "[default: the newest that skl2onnx supports]",
)
@click.help_option("-h", "--help", help="Show this message and exit.")
def export(
    model: Path, onnx_path: Path, input_name: str, no_scores: bool, opset: int | None
) -> None:
    """Convert a model file to ONNX, which runs without Python.

    MODEL is the model file, OUTPUT the ONNX file to write. The graph expects rows of doubles, with
    the features in the order that this command prints, and returns labels and scores. It includes
    the scaling of the features. This needs pip install 'votedkernels[onnx]'.
    """
    check_output(onnx_path)
    if onnx_path.exists() and model.exists() and onnx_path.samefile(model):
        raise click.ClickException(f"{onnx_path} is the model file; use another path for OUTPUT.")
    try:
        from votedkernels.onnx import check_family, to_onnx
    except ImportError as error:
        raise click.ClickException(str(error)) from error
    summary = read_summary(model)
    for kernel in summary["kernels"]:
        check_family(kernel["family"])
    exported = to_onnx(
        load_model(model), input_name=input_name, scores=not no_scores, target_opset=opset
    )
    content = exported.SerializeToString()
    with writing_whole(onnx_path) as file:
        file.write(content)
    output().print(describe(exported, summary, len(content)))
    messages().print(f"Saved the ONNX model to {printable(onnx_path)}.", soft_wrap=True)


def describe(exported: Any, summary: dict[str, Any], n_bytes: int) -> Table:
    """Return a table of the inputs and outputs of the graph."""
    names = summary["feature_names"]
    width = f"{summary['n_features']} features without names"
    facts = {
        "input": exported.graph.input[0].name,
        "columns": width if names is None else ", ".join(names),
        "outputs": ", ".join(value.name for value in exported.graph.output),
        "classes": ", ".join(map(str, summary["classes"] or ["numbers"])),
        "scaling": summary["scaling"] or "none",
        "support vectors": summary["n_support"],
        "opset": next(entry.version for entry in exported.opset_import if entry.domain == ""),
        "bytes": n_bytes,
    }
    return table_of_facts(facts)
