"""The group of all commands, and how their errors are reported.

To add a command, write it in its own file, add it to `COMMANDS`, and document it in
``docs/command-line.md``. A command is imported only when it is called, so that
``votedkernels --help`` stays fast.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from votedkernels import __version__
from votedkernels._system.atomic_files import NO_ROOM
from votedkernels.cli.suggestions import did_you_mean

COMMANDS = {
    "fit": "Fit a model to a table and save it.",
    "predict": "Predict the class, or the number, of each row of a table with a saved model.",
    "score": "Compare the predictions of a saved model with the labels of a table.",
    "explain": "Show which training examples decided the prediction for a row, and by how much.",
    "inspect": "Show what a model file contains.",
    "export": "Convert a model file to ONNX, which runs without Python.",
    "datasets": "List, download and check the data sets of the paper.",
    "reproduce": "Repeat the paper's experiments and report which of its claims hold.",
    "report": "Write a report from files of records written by 'reproduce'.",
}
"""What each command does. The command ``x`` is the function ``x`` in the module ``x``."""


class _Lazy(click.Group):
    """A group that imports a command only when it is called; click sets the arguments."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"votedkernels.cli.{cmd_name}"), cmd_name)
        command.short_help = COMMANDS[cmd_name]
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(
                f"there is no command {args[0]!r}; {did_you_mean(args[0], COMMANDS)}"
                f"the commands are {', '.join(COMMANDS)}"
            )
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Lazy, invoke_without_command=True)
@click.version_option(__version__, prog_name="votedkernels", help="Show the version and exit.")
@click.help_option("-h", "--help", help="Show this message and exit.")
@click.pass_context
def votedkernels(ctx: click.Context) -> None:
    """Sparse votes of kernels, with a penalty on the complexity of each kernel."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def run(args: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; see :func:`votedkernels.cli.main`."""
    try:
        code = votedkernels.main(args, prog_name="votedkernels", standalone_mode=False)
    except click.Abort as stop:  # click's name for Ctrl-C
        print("votedkernels: stopped;", str(stop) or "nothing was written.", file=sys.stderr)
        return 130
    except click.NoSuchOption as error:
        known = [word for word in error.possibilities or () if word.startswith("--")]
        meant = did_you_mean(error.option_name, known)
        command = error.ctx.command_path if error.ctx is not None else "votedkernels"
        return _report(
            f"there is no option {error.option_name}; {meant}'{command} -h' lists all options."
        )
    except click.ClickException as error:
        return _report(error.format_message())
    except OSError as error:
        # File errors name the file. If the disk is full and none is named, it is standard output.
        where = error.filename or ("standard output" if error.errno in NO_ROOM else "")
        return _report(f"{where}: {error.strerror}" if where else str(error))
    except ValueError as error:
        if not is_ours(error):
            raise
        return _report(str(error))
    return code if isinstance(code, int) else 0


def is_ours(error: ValueError) -> bool:
    """Whether this package defines the error's class; a plain ValueError is a bug."""
    return type(error).__module__.partition(".")[0] == "votedkernels"


def _report(message: str) -> int:
    from votedkernels.cli.console import printable  # imports rich, which --help does not need

    print("votedkernels:", printable(" ".join(message.split())), file=sys.stderr)
    return 2
