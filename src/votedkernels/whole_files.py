"""Files that appear under their name when they are complete, or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def writing_whole(path: Path) -> Iterator[IO[bytes]]:
    """Give a file to write to, which gets its name at the end; where writing fails, it is gone."""
    # In the same folder, so that the last step is a rename within one file system.
    handle, unfinished = tempfile.mkstemp(
        dir=path.parent, prefix=f".{path.name[:32]}.", suffix=".part"
    )
    try:
        with open(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(unfinished, _usual_mode())
        os.replace(unfinished, path)
    except BaseException:
        os.unlink(unfinished)
        raise


def _usual_mode() -> int:
    """The mode that a new file would have; those of `tempfile` are for their owner only."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
