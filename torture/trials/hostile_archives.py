"""Malicious archives as downloads, as data files and as records."""

import gzip
import io
import os
import stat
import struct
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from unittest import mock

import numpy as np
from _commands import call, complaint_about, contents_of, peak_memory
from _trial import Trial
from support.published import compressed, invented, original, serving, zipped

from votedkernels.datasets import CATALOGUE, DataFileError
from votedkernels.datasets.archives import read_member
from votedkernels.datasets.reading import MAX_BYTES, read_samples

N_DAMAGED = 20_000
MEGABYTES = 500
MEMBER = "column_2C_weka.arff"
NAMES = [
    "../x", "../../x", "a/../../x", "/etc/x", "//host/share/x", "C:\\x", "C:x", "..\\..\\x",
    "\\\\host\\x", "a/b/../../../x", "\\x", "./../x",
]  # fmt: skip
KINDS = {
    "link": stat.S_IFLNK, "pipe": stat.S_IFIFO, "character device": stat.S_IFCHR,
    "block device": stat.S_IFBLK, "socket": stat.S_IFSOCK,
}  # fmt: skip
written = []
allowed = None


def watch(event, args):
    """Record files that are written outside the allowed folder."""
    if allowed is None:
        return
    if event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+"):
        note(args[0])
    elif event in ("os.mkdir", "os.link", "os.symlink", "os.rename", "os.chmod"):
        note(args[0 if event != "os.symlink" else 1])


def note(path):
    if isinstance(path, str | bytes | os.PathLike) and not os.path.abspath(
        os.fsdecode(path)
    ).startswith((allowed, "/dev/")):
        written.append(os.fsdecode(path))


sys.addaudithook(watch)


def main():
    trial = Trial(
        14,
        "archives: traversal, links, devices, bombs (ZIP, gzip, compress, nested)",
        "refused; nothing outside the cache directory",
    )
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        before = peak_memory()
        n_refused = refuse_downloads(trial, folder)
        n_bombs = refuse_bombs(trial, folder)
        n_damaged = damage(trial)
        grown = (peak_memory() - before) / 2**20
    if written:
        trial.fail(f"written outside: {written[:3]}")
    if grown > MEGABYTES:
        trial.fail(f"memory grew by {grown:.0f} MB")
    trial.end(
        f"{n_refused} downloads and {n_bombs} bombs refused in one line each, {n_damaged:,} "
        "damaged archives refused or read correctly; nothing written outside the cache; "
        f"memory grew by {grown:.0f} MB"
    )


# -- downloads ---------------------------------------------------------------------------


def downloads():
    """Yield archives with the right data and something that no honest archive has."""
    samples, _ = invented("vertebral")
    good = read_member(original("vertebral", samples), MEMBER, "x")
    for name in NAMES:
        yield f"member {name}", zipped({MEMBER: good, name: b"x"})
        yield f"data in {name}", zipped({name.replace("x", MEMBER): good})
    for kind, mode in KINDS.items():
        for name in (MEMBER, "other"):
            info = zipfile.ZipInfo(name)
            info.external_attr = (mode | 0o777) << 16
            yield f"{kind} {name}", zipped({MEMBER + "2": good, info: b"/etc/passwd"})
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE,
                 tarfile.FIFOTYPE, tarfile.REGTYPE):  # fmt: skip
        yield f"tar of {kind}", tar_of(kind)
    yield "gzip", gzip.compress(good)
    yield "ZIP within ZIP", zipped({MEMBER: zipped({MEMBER: good})})
    yield "data twice", zipped({MEMBER: good, f"a/{MEMBER}": good})
    yield "bzip2", packed(good, zipfile.ZIP_BZIP2)
    yield "LZMA", packed(good, zipfile.ZIP_LZMA)
    yield "zeros", zipped({MEMBER: bytes(MAX_BYTES + 1)})
    yield "zeros, said to be few", lying(zipped({MEMBER: bytes(MAX_BYTES + 1)}), 1000)
    yield "compressed zeros", zipped({f"{MEMBER}.Z": compress_bomb()})
    yield "hundreds of thousands of members", many_members(300_000)
    yield "members that share their bytes", overlapping(good)


def tar_of(kind):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in ("../../x", "/etc/x", MEMBER):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
    return buffer.getvalue()


def packed(content, method):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr(MEMBER, content)
    return buffer.getvalue()


def lying(archive, size):
    archive = bytearray(archive)
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = archive.index(signature) + offset
        archive[at : at + 4] = size.to_bytes(4, "little")
    return bytes(archive)


def compress_bomb():
    """Return zeros as compress(1) writes them: each code stands for one more than the last."""
    codes = [0, *range(257, 12_000)]
    out, width, group = bytearray(b"\x1f\x9d\x90"), 9, []
    free = 257
    for code in codes:
        group.append(code)
        if code:
            free += 1
        full = free == 1 << width
        if len(group) == 8 or full:
            bits = sum(c << (width * i) for i, c in enumerate(group))
            out += bits.to_bytes(width, "little")
            group = []
        if full:
            width += 1
    return bytes(out)


def many_members(n):
    """Return an archive with a 64-bit directory of empty members."""
    entry = struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0)
    directory = (entry + b"x") * n
    end64 = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, n, n, len(directory), 0)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, len(directory), 1)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 65535, 65535, 2**32 - 1, 2**32 - 1, 0)
    return directory + end64 + locator + end


def overlapping(content):
    """Return an archive with 1001 members that are the same part of the file."""
    archive = zipped({MEMBER: content})
    start = archive.index(b"PK\x01\x02")
    directory = archive[start : archive.index(b"PK\x05\x06")]
    n = 1001
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, n, n, len(directory) * n, start, 0)
    return archive[:start] + directory * n + end


def refuse_downloads(trial, folder):
    """Serve each archive; the command must refuse it and leave the cache unchanged."""
    global allowed
    cache = folder / "cache"
    cache.mkdir()
    samples, facts = invented("vertebral")
    path = "/".join(["", *facts.address.split("/")[3:]])
    pages, n_archives = {}, 0
    with serving(pages) as address:
        settings = {"XDG_CACHE_HOME": str(cache), "VOTEDKERNELS_MIRROR": address}
        with mock.patch.dict(os.environ, settings), mock.patch.dict(CATALOGUE, vertebral=facts):
            pages[path] = original("vertebral", samples)
            ended = call("datasets", "vertebral", "--fetch")
            assert ended.code == 0, ended.err  # an honest one is accepted
            (cache / "votedkernels" / "vertebral.csv").unlink()
            before = contents_of(folder)
            for what, content in downloads():
                pages[path] = content
                allowed = str(cache)
                ended = call("datasets", "vertebral", "--fetch")
                allowed = None
                wrong = complaint_about(ended, address)
                if wrong or contents_of(folder) != before:
                    trial.fail(f"{what}: {wrong or 'something was written'}")
                n_archives += 1
                trial.tell(f"downloads: {what}")
    return n_archives


# -- data files and records -----------------------------------------------------------------


def refuse_bombs(trial, folder):
    """Yield small gzip files that would fill the memory."""
    header = b'{"format":"votedkernels-records","version":1}\n'
    zeros = gzip_of_zeros(1000)
    bombs = {
        "one line": gzip.compress(header) + zeros,
        "one record": gzip.compress(header + b'{"key":"') + zeros,
        "deep": gzip.compress(header + b"[" * 10**6 + b"\n"),
        "deep header": gzip.compress(b'{"a":' * 10**6 + b"\n"),
        "gzip within gzip": gzip.compress(zeros),
        "cut": gzip.compress(header * 100)[:-20],
        "damaged": bytes([*gzip.compress(header)[:20], 7, 7, 7, *gzip.compress(header)[23:]]),
    }
    for what, content in bombs.items():
        records = folder / "records.jsonl.gz"
        records.write_bytes(content)
        wrong = complaint_about(call("report", records, "--output", folder / "out"), str(records))
        if wrong:
            trial.fail(f"records, {what}: {wrong}")
        table = folder / "ionosphere.csv.gz"
        table.write_bytes(content)
        try:
            read_samples(table)
            trial.fail(f"table, {what}: read")
        except DataFileError:
            pass
        trial.tell(f"bombs: {what}")
    return 2 * len(bombs)


def gzip_of_zeros(megabytes):
    """Return this many zeros, as gzip members of one zero each."""
    return gzip.compress(bytes(2**20)) * megabytes


# -- damage ------------------------------------------------------------------------------


def damage(trial):
    """Damage archives of all compression methods at random."""
    text = b"\n".join(b"%d,%d" % (i, i * i % 97) for i in range(100))
    archives = [
        zipped({"x/a.data.Z": compressed(text), "b": b"2"}),
        zipped({"x/a.data": text, "b": b"2"}),
        packed(text, zipfile.ZIP_STORED).replace(MEMBER.encode(), b"a.data" + b"x" * 13),
        *(packed(text, method) for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)),
    ]
    random = np.random.default_rng(trial.options.seed)
    n = trial.count(N_DAMAGED)
    for number in range(n):
        archive = bytearray(archives[number % len(archives)])
        name = "a.data" if number % len(archives) < 2 else MEMBER
        for at in random.integers(len(archive), size=random.integers(1, 9)):
            archive[at] = random.integers(256)
        del archive[: random.integers(3) * random.integers(40)]
        try:
            if read_member(bytes(archive), name, "x.zip") != text:
                trial.fail(f"damaged {number}: read, and other than it was")
        except DataFileError as error:
            if len(str(error).splitlines()) != 1:
                trial.fail(f"damaged {number}: not one line: {error}")
        except Exception as error:
            trial.fail(f"damaged {number}: {type(error).__name__}: {error}")
        trial.tell(f"damaged: {number:,} of {n:,}")
    return n


if __name__ == "__main__":
    sys.exit(main())
