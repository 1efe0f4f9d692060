"""Members of archives are found and uncompressed, and refused if no honest archive has them."""

import io
import shutil
import stat
import subprocess
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.published import compressed, zipped

from votedkernels.datasets import DataFileError, archives
from votedkernels.datasets.archives import read_member, uncompress

TEXT = b"\n".join(b"%d,%d,%d" % (i, i * i % 97, i % 7) for i in range(20_000))


@pytest.mark.parametrize("member", ["a.data", "folder/a.data", "deep/er/a.data"])
def test_a_member_is_found_in_any_folder(member):
    assert read_member(zipped({"b.data": b"no", member: b"yes"}), "a.data", "x.zip") == b"yes"


def test_a_compressed_member_is_uncompressed():
    archive = zipped({"a.data.Z": compressed(TEXT)})
    assert read_member(archive, "a.data", "x.zip") == TEXT


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"a",
        b"a" * 70_000,
        TEXT,
        np.random.default_rng(0).bytes(200_000),
    ],
    ids=["empty", "one byte", "one letter", "text", "noise"],
)
@pytest.mark.parametrize("max_width", [9, 12, 16])
def test_uncompress_undoes_compress(data, max_width):
    assert uncompress(compressed(data, max_width), "x.Z") == data


@pytest.mark.parametrize("clear_after", [1, 7, 8, 300, 5000])
def test_uncompress_knows_the_code_that_clears(clear_after):
    assert uncompress(compressed(TEXT, clear_after=clear_after), "x.Z") == TEXT


def test_our_compress_writes_what_gzip_reads():
    """Without it, the tests above could pass because of two mistakes that agree."""
    gzip = shutil.which("gzip")
    assert gzip, "gzip reads .Z files, and is everywhere"
    for raw in (compressed(TEXT), compressed(TEXT, 12), compressed(TEXT, clear_after=300)):
        assert subprocess.run([gzip, "-dc"], input=raw, capture_output=True).stdout == TEXT


@pytest.mark.parametrize(
    "data", [b"", b"\x1f\x9d", b"\x1f\x8b\x90abc", b"\x1f\x9d\x88abc", b"\x1f\x9d\x91abc"]
)
def test_what_compress_did_not_write_is_refused(data):
    with pytest.raises(DataFileError, match=r"^x.Z: this is not a file written by compress"):
        uncompress(data, "x.Z")


def test_a_code_before_its_time_is_refused():
    damaged = bytearray(compressed(b"abcdefgh" * 10))
    damaged[4:8] = b"\xff\xff\xff\xff"
    with pytest.raises(DataFileError, match="damaged, an undefined code"):
        uncompress(bytes(damaged), "x.Z")


def test_a_compressed_bomb_is_refused(monkeypatch):
    monkeypatch.setattr(archives, "MAX_BYTES", 10_000)
    with pytest.raises(DataFileError, match="more than 10000 bytes, uncompressed"):
        uncompress(compressed(b"a" * 20_000), "x.Z")


@pytest.mark.parametrize("name", ["../a.data", "x/../../a.data", "/etc/a.data", "C:\\a.data"])
def test_an_archive_with_a_member_outside_is_refused(name):
    with pytest.raises(DataFileError, match="is outside its folder"):
        read_member(zipped({"a.data": b"1", name: b"2"}), "a.data", "x.zip")


def test_an_archive_with_a_link_is_refused():
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with pytest.raises(DataFileError, match="'link' is a link"):
        read_member(zipped({"a.data": b"1", link: "/etc/passwd"}), "a.data", "x.zip")


@pytest.mark.parametrize("mode", [stat.S_IFCHR, stat.S_IFBLK, stat.S_IFIFO, stat.S_IFSOCK])
def test_an_archive_with_a_device_is_refused(mode):
    device = zipfile.ZipInfo("device")
    device.external_attr = (mode | 0o666) << 16
    with pytest.raises(DataFileError, match="'device' is neither a file nor a folder"):
        read_member(zipped({"a.data": b"1", device: b""}), "a.data", "x.zip")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_ways_of_packing_are_refused(method):
    """They raise other errors, and LZMA can ask for gigabytes before it yields a byte."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr("a.data", TEXT)
    with pytest.raises(DataFileError, match=r"x.zip, a.data: compressed with an"):
        read_member(buffer.getvalue(), "a.data", "x.zip")


def test_an_archive_of_very_many_members_is_refused():
    members = {str(i): b"" for i in range(archives.MAX_MEMBERS)}
    with pytest.raises(DataFileError, match="more than 1000 members"):
        read_member(zipped({"a.data": b"1", **members}), "a.data", "x.zip")


def test_a_bomb_is_refused_by_its_size():
    with pytest.raises(DataFileError, match="more than 50000000 bytes"):
        read_member(zipped({"a.data": bytes(50_000_001)}), "a.data", "x.zip")


def test_a_bomb_that_lies_about_its_size_is_refused():
    archive = bytearray(zipped({"a.data": bytes(60_000_000)}))
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = archive.index(signature) + offset
        archive[at : at + 4] = (1000).to_bytes(4, "little")
    with pytest.raises(DataFileError, match="this is not a readable ZIP archive"):
        read_member(bytes(archive), "a.data", "x.zip")


@pytest.mark.parametrize("n_bytes", [0, 4, 60, 200])
def test_a_truncated_archive_is_refused(n_bytes):
    archive = zipped({"a.data": TEXT})
    with pytest.raises(DataFileError, match=r"^x.zip: this is not a readable ZIP archive"):
        read_member(archive[:n_bytes], "a.data", "x.zip")


def test_a_damaged_member_is_refused():
    archive = bytearray(zipped({"a.data": TEXT}))
    archive[200:260] = bytes(60)
    with pytest.raises(DataFileError, match="this is not a readable ZIP archive"):
        read_member(bytes(archive), "a.data", "x.zip")


def test_an_encrypted_member_is_refused():
    archive = bytearray(zipped({"a.data": TEXT}))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        archive[archive.index(signature) + offset] |= 1
    with pytest.raises(DataFileError, match="encrypted"):
        read_member(bytes(archive), "a.data", "x.zip")


@pytest.mark.parametrize(
    ("members", "n"), [({"b.data": b""}, 0), ({"a.data": b"1", "x/a.data": b"2"}, 2)]
)
def test_the_member_must_be_there_once(members, n):
    with pytest.raises(DataFileError, match=f"there are {n} files named a.data, not one"):
        read_member(zipped(members), "a.data", "x.zip")


@settings(max_examples=500)
@given(st.integers(0, 2**32 - 1))
def test_whatever_is_damaged_gives_what_was_there_or_one_line(seed):
    rng = np.random.default_rng(seed)
    archive = bytearray(zipped({"x/a.data.Z": compressed(TEXT[:500]), "b": b"2"}))
    for at in rng.integers(len(archive), size=rng.integers(1, 9)):
        archive[at] = rng.integers(256)
    del archive[: rng.integers(3) * rng.integers(40)]
    try:
        outcome = read_member(bytes(archive), "a.data", "x.zip")
    except DataFileError as error:
        outcome = str(error)
    assert outcome == TEXT[:500] or len(outcome.splitlines()) == 1
