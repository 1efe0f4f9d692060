"""The file format of the data sets: what is read, and what is refused with which message."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.published import invented

from votedkernels.datasets import CATALOGUE, DataFileError, reading
from votedkernels.datasets.bundled import TARGET_NAMES, read_bundled
from votedkernels.datasets.reading import (
    Samples,
    check_content,
    content_hash,
    read_samples,
    write_samples,
)

GOOD = "a,b,target\n1,2.5,1\n-3e2,,-1\n"


def written(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        "\ufeff" + GOOD,
        GOOD.replace("\n", "\r\n"),
        GOOD.rstrip("\n"),
        GOOD + "\n\n",
        GOOD.replace(",", " , "),
        GOOD.replace("a,b", '"a","b"'),
    ],
    ids=["plain", "byte order mark", "CRLF", "no last newline", "blank lines", "spaces", "quotes"],
)
def test_a_good_file_is_read(tmp_path, content):
    samples = read_samples(written(tmp_path / "x.csv", content))
    assert samples.feature_names == ("a", "b")
    np.testing.assert_array_equal(samples.X, [[1, 2.5], [-300, np.nan]])
    np.testing.assert_array_equal(samples.y, [1, -1])


def test_a_compressed_file_is_read(tmp_path):
    path = written(tmp_path / "x.csv.gz", gzip.compress(GOOD.encode()))
    assert read_samples(path).X.shape == (2, 2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ": the file is empty."),
        ("\n \n", ": the file is empty."),
        ("a,b,target\n", ", line 1: there are no rows after the header."),
        ("a,b,class\n1,2,1\n", ", line 1: the header must end with 'target'"),
        ("1,2,1\n3,4,-1\n", ", line 1: the header must end with 'target'"),
        ("target\n1\n-1\n", ", line 1: the header must give each feature"),
        ("a,a,target\n1,2,1\n", ", line 1: the header must give each feature"),
        ("a,,target\n1,2,1\n", ", line 1: the header must give each feature"),
        ("a,b,target\n1,2,1\n3,-1\n", ", line 3: 2 fields, but the header has 3."),
        ("a,b,target\n1,2,1\n\n3,4,5,-1\n", ", line 4: 4 fields, but the header has 3."),
        ("a,b,target\n1,2,1\n3,x,-1\n", ", line 3: 'x' in column b is not a finite number."),
        ("a,b,target\n1,nan,1\n3,4,-1\n", ", line 2: 'nan' in column b is not a finite number."),
        ("a,b,target\n1,inf,1\n3,4,-1\n", ", line 2: 'inf' in column b is not a finite number."),
        ("a,b,target\n1_0,2,1\n3,4,-1\n", ", line 2: '1_0' in column a is not a finite number."),
        ("a,b,target\n1e999,2,1\n3,4,-1\n", ", line 2: '1e999' in column a is not"),
        ("a,b,target\n1,2,0\n3,4,1\n", ", line 2: the target is '0', but must be -1 or 1."),
        ("a,b,target\n1,2,\n3,4,1\n", ", line 2: the target is '', but must be -1 or 1."),
        ("a,b,target\n1,2,yes\n3,4,1\n", ", line 2: 'yes' in column target is not"),
        ("a,b,target\n1,2,1\n3,4,1\n", ": all 2 rows belong to class 1."),
        ("a,b,target\n1,2,1\n3,\0,1\n", ", line 3: contains a NUL byte; this is not a text file."),
        (b"a,b,target\n1,2,1\n3,\xff,-1\n", ", line 3: not UTF-8 text."),
        ('a,b,target\n"1,2,1\n3,4,-1\n', ", line 2: "),
        ("a,b,target\n" + "9" * 5000 + "x,2,1\n", ", line 2: '9999999999"),
    ],
)
def test_a_bad_file_is_refused_in_one_line(tmp_path, content, message):
    path = written(tmp_path / "x.csv", content)
    with pytest.raises(DataFileError) as raised:
        read_samples(path)
    text = str(raised.value)
    assert text.startswith(f"{path}{message}")
    assert len(text.splitlines()) == 1
    assert len(text) < len(str(path)) + 200


# compressed without a date, so that the test has the same name in every process
CUT_SHORT = gzip.compress(GOOD.encode(), mtime=0)[:-12]


@pytest.mark.parametrize("content", [b"", b"no gzip", CUT_SHORT], ids=["empty", "no gzip", "cut"])
def test_a_damaged_gzip_file_is_refused(tmp_path, content):
    path = written(tmp_path / "x.csv.gz", content)
    with pytest.raises(DataFileError, match=r"csv.gz: (not a complete gzip|the file is empty)"):
        read_samples(path)


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MAX_BYTES", 1000)
    path = written(tmp_path / "x.csv.gz", gzip.compress(b"a" * 2000))
    with pytest.raises(DataFileError, match="more than 1000 bytes"):
        read_samples(path)


@given(st.data())
def test_what_is_written_reads_back_bit_by_bit(tmp_path, data):
    values = st.floats(allow_infinity=False, width=64)
    X = data.draw(arrays(np.float64, (3, 2), elements=values))
    y = np.array([1, -1, 1])
    path = tmp_path / "x.csv"
    write_samples(Samples(("a", "b"), X, y), path)
    back = read_samples(path)
    np.testing.assert_array_equal(back.X, X)
    np.testing.assert_array_equal(back.y, y)
    assert content_hash(back.X, back.y) == content_hash(X, y)


def test_a_write_that_fails_leaves_nothing(tmp_path):
    class Unprintable(float):
        def is_integer(self):
            raise OSError("no space left on device")

    X = np.array([[Unprintable(1.0)]], dtype=object)
    with pytest.raises(OSError, match="no space"):
        write_samples(Samples(("a",), X, np.array([1])), tmp_path / "x.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", TARGET_NAMES)
def test_the_bundled_files_are_those_of_the_catalogue(name):
    bunch = read_bundled(name)
    check_content(bunch.data, bunch.target, CATALOGUE[name], name)
    assert tuple(bunch.feature_names) == CATALOGUE[name].feature_names
    assert tuple(bunch.target_names) == CATALOGUE[name].target_names


def test_the_content_hash_sees_every_value_but_not_its_spelling():
    (_, X, y), _ = invented("vertebral")
    same = content_hash(X, y)
    assert content_hash(np.asfortranarray(X) * 1.0, y.astype(np.int8)) == same
    assert content_hash(np.where(X == 0, -0.0, X), y) == same
    changed = X.copy()
    changed[3, 2] = np.nextafter(changed[3, 2], np.inf)
    assert content_hash(changed, y) != same
    assert content_hash(X[::-1], y) != same
    assert content_hash(X, -y) != same
    assert content_hash(X.reshape(-1, X.shape[1] // 2), np.repeat(y, 2)) != same


def test_other_content_is_refused_saying_what_differs():
    (_, X, y), facts = invented("vertebral")
    check_content(X, y, facts, "x.csv")
    for values, labels, words in (
        (X[1:], y[1:], "11 rows, not 12; 3 rows of class 1, not 4"),
        (X[:, 1:], y, "5 features, not 6"),
        (X, -y, "4 rows of class -1, not 8; 8 rows of class 1, not 4"),
        (X + 1, y, "the right numbers of rows, features and labels, but different values"),
    ):
        with pytest.raises(
            DataFileError, match=f"^x.csv is not the vertebral data: it has {words}"
        ):
            check_content(values, labels, facts, "x.csv")


@pytest.mark.parametrize("facts", CATALOGUE.values(), ids=lambda facts: facts.name)
def test_the_catalogue_is_complete(facts):
    assert len(set(facts.feature_names)) == facts.n_features > 0
    assert len(set(facts.target_names)) == 2
    assert len(facts.content_sha256) == 64
    text = facts.description()
    for part in (facts.title, facts.licence, facts.citation, str(facts.n_samples)):
        assert part in text
