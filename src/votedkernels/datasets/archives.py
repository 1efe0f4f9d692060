"""Read one file of a downloaded archive, in memory and with limits on its size.

Nothing is unpacked to disk, so no member can be written to an unexpected place. Archives with links
or with members outside their folder are refused anyway, because no honest archive has them.
"""

import io
import stat
import struct
import zipfile
import zlib
from pathlib import PurePosixPath

from votedkernels.datasets.reading import MAX_BYTES
from votedkernels.exceptions import DataFileError

# What zipfile raises for archives that are damaged (ValueError if the directory points before the
# file), encrypted, or compressed by an unknown method (RuntimeError for both).
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OverflowError,
    RuntimeError,
    ValueError,
)

MAX_MEMBERS = 1000
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_CLEAR = 256  # the code with which compress(1) clears its table


def read_member(archive: bytes, name: str, where: str) -> bytes:
    """Return the content of the file ``name``, or of ``name.Z``, in any folder of a ZIP archive.

    Parameters
    ----------
    archive : bytes
        The archive.

    name : str
        The name of the file, without folders.

    where : str
        What error messages call the archive.
    """
    # zipfile reads all entries into memory first; the archives in the catalogue have fewer than 20.
    if archive.count(b"PK\x01\x02") > MAX_MEMBERS:
        raise DataFileError(f"{where}: the archive has more than {MAX_MEMBERS} members.")
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            member = _find(opened.infolist(), name, where)
            with opened.open(member) as file:
                content = file.read(MAX_BYTES + 1)  # the size in the directory may be wrong
    except DataFileError:
        raise
    except _DAMAGED as error:
        raise DataFileError(f"{where}: this is not a readable ZIP archive ({error}).") from error
    inside = f"{where}, {name}"
    if len(content) > MAX_BYTES:
        raise DataFileError(f"{inside}: more than {MAX_BYTES} bytes, uncompressed.")
    return uncompress(content, inside) if member.filename.endswith(".Z") else content


def uncompress(data: bytes, where: str) -> bytes:
    """Undo compress(1), which writes ``.Z`` files by the LZW method.

    Codes have 9 bits at first, and one more whenever the table is full, up to the maximum in the
    third byte. They are written in groups of eight; if the width changes, the rest of the group is
    padding.
    """
    if data[:2] != b"\x1f\x9d" or len(data) < 3 or not 9 <= data[2] & 0x1F <= 16:
        raise DataFileError(f"{where}: this is not a file written by compress(1).")
    max_width, has_clear = data[2] & 0x1F, bool(data[2] & 0x80)
    first_free = _CLEAR + 1 if has_clear else _CLEAR
    body, end = data[3:], 8 * (len(data) - 3)
    pieces: list[bytes] = []
    size = 0
    table, width, group, position, previous = _fresh(first_free), 9, 0, 0, b""
    while position + width <= end:
        byte, shift = divmod(position, 8)
        bits = int.from_bytes(body[byte : byte + 3], "little")
        code = bits >> shift & (1 << width) - 1
        position += width
        if has_clear and code == _CLEAR:
            group = position = _group_end(group, position, width)
            table, width, previous = _fresh(first_free), 9, b""
            continue
        if code < len(table):
            piece = table[code]
        elif code == len(table) and previous:
            piece = previous + previous[:1]  # the entry that this code completes
        else:
            raise DataFileError(f"{where}: damaged, an undefined code before bit {position}.")
        if previous and len(table) < 1 << max_width:
            table.append(previous + piece[:1])
        previous = piece
        pieces.append(piece)
        size += len(piece)
        if size > MAX_BYTES:
            raise DataFileError(f"{where}: more than {MAX_BYTES} bytes, uncompressed.")
        if len(table) == 1 << width and width < max_width:
            group = position = _group_end(group, position, width)
            width += 1
    return b"".join(pieces)


def _fresh(first_free: int) -> list[bytes]:
    return [bytes([i]) for i in range(256)] + [b""] * (first_free - 256)


def _group_end(group: int, position: int, width: int) -> int:
    """Return the end of the current group of eight codes; groups start at the bit ``group``."""
    return group - (group - position) // (8 * width) * (8 * width)


def _find(members: list[zipfile.ZipInfo], name: str, where: str) -> zipfile.ZipInfo:
    for member in members:
        parts = member.filename.replace("\\", "/").split("/")
        if not parts[0] or ":" in parts[0] or ".." in parts:  # absolute, on a drive, or upwards
            raise DataFileError(f"{where}: the member {member.filename!r} is outside its folder.")
        mode = member.external_attr >> 16
        if stat.S_ISLNK(mode):
            raise DataFileError(f"{where}: the member {member.filename!r} is a link.")
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise DataFileError(
                f"{where}: the member {member.filename!r} is neither a file nor a folder."
            )
    found = [m for m in members if PurePosixPath(m.filename).name in (name, f"{name}.Z")]
    if len(found) != 1:
        raise DataFileError(f"{where}: there are {len(found)} files named {name}, not one.")
    if found[0].compress_type not in _METHODS:
        raise DataFileError(f"{where}, {name}: compressed with an unsupported method.")
    if found[0].file_size > MAX_BYTES:
        raise DataFileError(f"{where}, {name}: more than {MAX_BYTES} bytes.")
    return found[0]
