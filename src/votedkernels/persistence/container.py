"""The bytes of a model file: a safetensors file with a digest.

    8 bytes     length of the header, little-endian
    header      JSON, padded with spaces: the metadata, then dtype, shape and offsets of each array
    arrays      one after another, in the order of the header, without gaps

The header begins with ``PREFIX`` and the SHA-256 digest of the whole file, computed with zeros in
place of the digest itself. So a change to any byte is detected, and a file that another program has
rewritten is refused. Before anything is allocated, the sizes in the header are compared with the
size of the file.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._system.atomic_files import writing_whole
from ..exceptions import ModelFileError

#: Anything that JSON can represent.
Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]
Array = NDArray[Any]
Result = TypeVar("Result")

#: The newest format version. Version 2 has trees of estimators; plain models remain version 1.
FORMAT_VERSION = 2
PREFIX = b'{"__metadata__":{"format":"votedkernels","sha256":"'
NO_DIGEST = b"0" * 64
#: The position of the digest in a file.
DIGEST = slice(8 + len(PREFIX), 8 + len(PREFIX) + len(NO_DIGEST))
MAX_HEADER = 16 * 2**20
MAX_DIMENSIONS = 8
CHUNK = 2**20

#: The dtypes that arrays in a file can have, by their names in safetensors.
DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("<i1"),
    "U64": np.dtype("<u8"),
    "U32": np.dtype("<u4"),
    "U16": np.dtype("<u2"),
    "U8": np.dtype("<u1"),
    "BOOL": np.dtype("?"),
}
_NAMES = {dtype: name for name, dtype in DTYPES.items()}


@dataclass(frozen=True)
class Place:
    """Type, shape and position of an array, as the header gives them."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    n_bytes: int


@dataclass(frozen=True)
class Container:
    """The content of a file.

    Attributes
    ----------
    header : everything about the model except the arrays, in plain types
    places : dtype, shape and size of each array
    arrays : the arrays by name; empty if only the header was read
    digest : SHA-256 of the file, in hexadecimal
    """

    header: object
    places: dict[str, Place]
    arrays: dict[str, Array]
    digest: str


# -- writing ------------------------------------------------------------------------------


def encode(header: Mapping[str, Json], arrays: Mapping[str, Array]) -> list[bytes | memoryview]:
    """Return the parts of a file, to be written one after another."""
    # Larger items come first, so that every array starts at a multiple of its item size.
    names = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    stored = {name: _as_stored(name, arrays[name]) for name in names}
    table, start = {}, 0
    for name, array in stored.items():
        stop = start + array.nbytes
        table[name] = {
            "dtype": _NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [start, stop],
        }
        start = stop
    metadata = {
        "format": "votedkernels",
        "sha256": NO_DIGEST.decode(),
        "version": "2" if "tree" in header else "1",
        "model": _to_json(header),
    }
    text = _to_json({"__metadata__": metadata, **table}).encode("ascii")
    text += b" " * (-len(text) % 8)
    if len(text) > MAX_HEADER:
        raise ValueError(
            f"the header would have {len(text)} bytes, but a model file allows at most "
            f"{MAX_HEADER}; use fewer or shorter feature names, fewer classes or fewer kernels."
        )
    head = bytearray(len(text).to_bytes(8, "little") + text)
    data = [array.reshape(-1).view(np.uint8).data for array in stored.values()]
    digest = hashlib.sha256(head)
    for part in data:
        digest.update(part)
    head[DIGEST] = digest.hexdigest().encode()
    return [bytes(head), *data]


def write_whole(path: Path, parts: list[bytes | memoryview]) -> None:
    """Write a file completely; if that fails, an existing file of that name is left unchanged."""
    with writing_whole(path) as file:
        for part in parts:
            file.write(part)


def _as_stored(name: str, array: Array) -> Array:
    stored = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    if stored.dtype not in _NAMES:
        raise ValueError(f"{name} has dtype {array.dtype}, which a model file cannot store.")
    return stored.reshape(array.shape)


def _to_json(value: Json) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


# -- reading ------------------------------------------------------------------------------


def read_container(path: Path, *, with_arrays: bool = True) -> Container:
    """Read a file and check its digest; without ``with_arrays``, the arrays are not kept."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ModelFileError("this is not a file." if not path.is_dir() else "this is a folder.")
    with open(path, "rb") as file:
        return read_stream(file, os.fstat(file.fileno()).st_size, with_arrays=with_arrays)


def read_stream(file: IO[bytes], size: int, *, with_arrays: bool = True) -> Container:
    """Read a file that is already open and has ``size`` bytes, as `read_container` does."""
    digest = hashlib.sha256()
    header, places, written = _read_header(file, size, digest)
    arrays = {}
    for name, place in places.items():
        if with_arrays:
            arrays[name] = _read_array(file, place, digest)
        else:
            for part in _chunks(file, place.n_bytes):
                digest.update(part)
    if digest.hexdigest() != written:
        raise ModelFileError("the file is damaged: its content does not match its digest.")
    for name, array in arrays.items():
        if array.dtype == bool and array.view(np.uint8).max(initial=0) > 1:
            raise ModelFileError(f"the array {name} has booleans that are neither 0 nor 1.")
    return Container(header, places, arrays, written)


class Digest(Protocol):
    """A digest from `hashlib`."""

    def update(self, data: bytes | memoryview, /) -> None:
        """Add bytes to the digest."""


def _read_header(
    file: IO[bytes], size: int, digest: Digest
) -> tuple[object, dict[str, Place], str]:
    start = file.read(DIGEST.stop)
    if start[8 : DIGEST.start] != PREFIX:
        raise ModelFileError("this is not a model file of votedkernels, or its start is damaged.")
    length = int.from_bytes(start[:8], "little")
    if not DIGEST.stop - 8 < length <= min(MAX_HEADER, size - 8):
        raise ModelFileError(
            f"the file is damaged: it declares a header of {length} bytes, but a header has at "
            f"most {MAX_HEADER} bytes and the whole file {size}."
        )
    rest = file.read(8 + length - DIGEST.stop)
    written = start[DIGEST].decode("latin-1")
    digest.update(start[: DIGEST.start] + NO_DIGEST + rest)
    table = parse_json(start[8:] + rest, "the header")
    metadata = table.pop("__metadata__")
    if not isinstance(metadata, dict) or set(metadata) != {"format", "sha256", "version", "model"}:
        raise ModelFileError("the header does not have the metadata of a model file.")
    _check_version(metadata["version"])
    places = _read_places(table, size - 8 - length)
    return parse_json(metadata["model"], "the model in the header"), places, written


def _check_version(version: object) -> None:
    if not (isinstance(version, str) and version.isascii() and version.isdigit()):
        raise ModelFileError(f"{_short(version)} is not a version of the format.")
    if len(version) > 9 or int(version) > FORMAT_VERSION:
        raise ModelFileError(
            f"the file has format version {_short(version)}, but this votedkernels reads "
            f"versions up to {FORMAT_VERSION}; install a newer votedkernels."
        )
    if version != str(int(version)) or int(version) < 1:
        raise ModelFileError(f"{_short(version)} is not a version of the format.")


def _read_places(table: dict[str, Any], n_bytes: int) -> dict[str, Place]:
    """Return the places of the arrays, if these fill the rest of the file exactly."""
    places, position = {}, 0
    for name, entry in table.items():
        place = _place_of(name, entry)
        if entry["data_offsets"] != [position, position + place.n_bytes]:
            raise ModelFileError(f"the offsets of the array {_short(name)} do not match its shape.")
        position += place.n_bytes
        if position > n_bytes:
            raise ModelFileError(
                f"the file is truncated or damaged: the array {_short(name)} of shape "
                f"{_short(place.shape)} does not fit into it."
            )
        places[name] = place
    if position != n_bytes:
        raise ModelFileError(f"the file has {n_bytes - position} bytes that belong to no array.")
    return places


def _place_of(name: str, entry: object) -> Place:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise ModelFileError(f"the header does not describe the array {_short(name)}.")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPES:
        raise ModelFileError(f"the array {_short(name)} has an unknown dtype, {_short(dtype)}.")
    for numbers in (shape, offsets):
        if not isinstance(numbers, list) or not all(
            type(number) is int and 0 <= number < 2**48 for number in numbers
        ):
            raise ModelFileError(f"the array {_short(name)} has no valid shape and offsets.")
    # Axes of length 0 count as 1, because NumPy also rejects huge shapes of empty arrays.
    if len(shape) > MAX_DIMENSIONS or math.prod(max(1, n) for n in shape) >= 2**48:
        raise ModelFileError(f"the array {_short(name)} has an impossible shape, {_short(shape)}.")
    return Place(DTYPES[dtype], tuple(shape), math.prod(shape) * DTYPES[dtype].itemsize)


def _read_array(file: IO[bytes], place: Place, digest: Digest) -> Array:
    array: Array = np.empty(place.shape, place.dtype)
    content = array.reshape(-1).view(np.uint8).data
    done = 0
    while done < place.n_bytes:
        n = file.readinto(content[done : done + CHUNK])  # type: ignore[attr-defined]
        if not n:
            _raise_truncated()
        digest.update(content[done : done + n])
        done += n
    return array.astype(place.dtype.newbyteorder("="), copy=False)


def _chunks(file: IO[bytes], n_bytes: int) -> Iterator[bytes]:
    while n_bytes:
        part = file.read(min(CHUNK, n_bytes))
        if not part:
            _raise_truncated()
        n_bytes -= len(part)
        yield part


def _raise_truncated() -> NoReturn:
    raise ModelFileError("the file was truncated while it was read.")


def with_name(path: str | os.PathLike[str], read: Callable[[], Result]) -> Result:
    """Return the result of ``read()``; its errors name the file."""
    try:
        return read()
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None
    except MemoryError:
        raise ModelFileError(f"{path}: the model does not fit into memory.") from None


def parse_json(text: bytes | str, what: str) -> dict[str, Any]:
    """Parse a strict JSON object: no repeated keys, no NaN, no excessive nesting."""
    if not isinstance(text, bytes | str):
        raise ModelFileError(f"{what} is not JSON.")
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except ModelFileError:
        raise
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{what} is not JSON ({_short(str(error))}).") from None
    if not isinstance(value, dict):
        raise ModelFileError(f"{what} is not a JSON object.")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ModelFileError("the header has a key twice.")
    return result


def _no_constant(name: str) -> NoReturn:
    raise ModelFileError(f"the header contains {name}, which is not JSON.")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:80] + "..."
