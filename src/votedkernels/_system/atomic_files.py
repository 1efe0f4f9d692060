"""Files that appear under their final name only when they are complete."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

#: Error codes for a full disk. When writing fails in this way, the error does not name the file.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def writing_whole(path: Path) -> Iterator[IO[bytes]]:
    """Yield a temporary file to write to; rename it at the end, or delete it on failure.

    Errors name the file that the caller asked for, not the temporary one.
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
        with contextlib.suppress(OSError):  # report the first error, not this one
            os.unlink(unfinished)
        raise


@contextmanager
def naming(path: Path, *codes: int) -> Iterator[None]:
    """Add a file's name to operating system errors: to all, or only to those with these codes."""
    try:
        yield
    except OSError as error:
        if error.errno is None or (codes and error.errno not in codes):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error


def _usual_mode() -> int:
    """Return the usual mode of new files; `tempfile` lets only the owner read its files."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
