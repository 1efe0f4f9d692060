"""Files that appear under their name when they are complete, or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

#: What writing raises without the name of the file: there is no room.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def writing_whole(path: Path) -> Iterator[IO[bytes]]:
    """Give a file to write to, which gets its name at the end; where writing fails, it is gone.

    Errors name the file that was to be written, and not the unfinished one.
    """
    # In the same folder, so that the last step is a rename within one file system.
    with naming(path):
        handle, unfinished = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.name[:32]}.", suffix=".part"
        )
    try:
        with naming(path, *NO_ROOM), open(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with naming(path):
            os.chmod(unfinished, _usual_mode())
            os.replace(unfinished, path)
    except BaseException:
        with contextlib.suppress(OSError):  # the first error is the one to tell
            os.unlink(unfinished)
        raise


@contextmanager
def naming(path: Path, *codes: int) -> Iterator[None]:
    """Name a file in the errors of the system, or only in those of some codes."""
    try:
        yield
    except OSError as error:
        if error.errno is None or (codes and error.errno not in codes):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def _usual_mode() -> int:
    """The mode that a new file would have; those of `tempfile` are for their owner only."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
