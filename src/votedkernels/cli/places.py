"""Where commands write: checked before the work starts."""

from pathlib import Path

import click


def check_output(path: Path) -> None:
    """Raise if no file can be written to this path."""
    if path.is_dir():
        raise click.ClickException(f"{path} is a folder; give the path of a file.")
    if not path.parent.is_dir():
        raise click.ClickException(f"{path}: there is no folder {path.parent}; create it first.")
