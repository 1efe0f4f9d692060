"""Progress bars, in terminals only."""

from rich.console import Console
from rich.progress import Progress, ProgressColumn


class TerminalProgress(Progress):
    """A progress bar in a terminal, and no output at all elsewhere.

    Before rich 14.3, even a disabled bar prints an empty line at the end.
    """

    def __init__(self, *columns: ProgressColumn, console: Console, transient: bool = False) -> None:
        super().__init__(
            *columns, console=console, disable=not console.is_terminal, transient=transient
        )

    def stop(self) -> None:
        """End the bar, if there is one."""
        if not self.disable:
            super().stop()
