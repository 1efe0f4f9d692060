"""Checks where commands write, before the work starts."""

from pathlib import Path

import click


def check_output(path: Path) -> None:
    """Raise if no file can be written to this path."""
    if path.is_dir():
        raise click.ClickException(f"{path} is a directory; use the path of a file.")
    if not path.parent.is_dir():
        raise click.ClickException(f"{path}: there is no folder {path.parent}; create it first.")


OTHER_KINDS = {
    ".csv": "a table",
    ".html": "a page",
    ".joblib": "a pickle, which can run code when it is read",
    ".json": "JSON",
    ".onnx": "an ONNX graph (use 'votedkernels export' for one)",
    ".parquet": "a table",
    ".pickle": "a pickle, which can run code when it is read",
    ".pkl": "a pickle, which can run code when it is read",
}


def check_model_path(path: Path) -> None:
    """Raise if no model can be written to this path, or if it has another format's extension."""
    check_output(path)
    kind = OTHER_KINDS.get(path.suffix.lower())
    if kind is not None:
        raise click.ClickException(
            f"{path}: a model file is not {kind}; use {path.with_suffix('.safetensors').name}."
        )
