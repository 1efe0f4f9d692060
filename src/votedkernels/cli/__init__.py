"""The command line: ``votedkernels``.

It uses only the public API. Each command has its own file and an entry in the table in
`votedkernels.cli.group`. ``pip install votedkernels[cli]`` installs what the commands need.
"""

import sys
from collections.abc import Sequence
from typing import NoReturn

__all__ = ["main"]

_EXTRA = ("click", "jinja2", "matplotlib", "pooch", "rich")


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run a command and end the process.

    The exit code is 0 for success, 2 for an expected error (which prints one line on standard
    error), and 130 after Ctrl-C.

    Parameters
    ----------
    args : sequence of str, default=None
        The arguments; by default those of the process.
    """
    try:
        from votedkernels.cli.group import run

        code = run(args)
    except ModuleNotFoundError as error:
        if error.name not in _EXTRA:
            raise
        print(
            f"votedkernels: this needs {error.name}; try pip install 'votedkernels[cli]'.",
            file=sys.stderr,
        )
        code = 2
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)
