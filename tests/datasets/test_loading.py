"""Loading by name: where it searches, what it downloads, and that failures leave no files."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from support.paths import ROOT
from support.published import MEMBERS, SPELT, expecting, invented, original, serving, table, zipped

from votedkernels.datasets import (
    CATALOGUE,
    DataFileError,
    DataNotFoundError,
    DownloadError,
    fetching,
    load,
    load_breastcancer,
    load_ionosphere,
    loading,
    locate,
)
from votedkernels.datasets.bundled import read_bundled
from votedkernels.datasets.fetching import address_of, cache_folder, fetch
from votedkernels.datasets.originals import ORIGINALS, read_original
from votedkernels.datasets.reading import Samples, write_samples


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """Set up an empty home with an empty cache; return the folder for everything in the test."""
    for variable in (loading.VARIABLE, fetching.MIRROR):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for variable in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(variable, "127.0.0.1")
    return tmp_path


@pytest.fixture
def known(monkeypatch):
    """Return a function that invents rows for a data set and adds them to the catalogue."""

    def enter(name, **kwargs):
        samples, facts = invented(name, **kwargs)
        monkeypatch.setitem(CATALOGUE, name, facts)
        return samples

    return enter


@pytest.fixture
def published(monkeypatch):
    """Return a function that serves bytes, or a response, at the address of a data set."""
    servers = []

    def publish(name, page):
        path = address_of(CATALOGUE[name]).split("/", 3)[3]
        server = serving({f"/{path}": page})
        monkeypatch.setenv(fetching.MIRROR, server.__enter__())
        servers.append(server)

    yield publish
    for server in servers:
        server.__exit__(None, None, None)


def files_under(folder):
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def test_bundled_data_are_those_of_their_own_loaders():
    for name, loader in (("ionosphere", load_ionosphere), ("breastcancer", load_breastcancer)):
        ours, theirs = load(name, download=False), loader()
        np.testing.assert_array_equal(ours.data, theirs.data)
        np.testing.assert_array_equal(ours.target, theirs.target)
        assert ours.feature_names == theirs.feature_names
        assert ours.target_names.tolist() == theirs.target_names.tolist()
        assert locate(name) == locate(name, data_dir=None)
        assert locate(name).name == f"{name}.csv"


def test_what_a_bunch_holds():
    bunch = load("breastcancer")
    assert bunch.data.shape == (683, 9)
    assert bunch.licence == "CC BY 4.0"
    assert "Wolberg" in bunch.citation
    assert bunch.citation in bunch.DESCR
    assert load("breastcancer", drop_incomplete=False).data.shape == (699, 9)
    X, y = load("breastcancer", return_X_y=True)
    np.testing.assert_array_equal(X, bunch.data)
    np.testing.assert_array_equal(y, bunch.target)


def test_every_data_set_that_is_here_loads():
    """Two come with the package; a developer may have a folder with all of them."""
    folder = os.environ.get("VOTEDKERNELS_TEST_DATA")
    names = [name for name in CATALOGUE if locate(name, data_dir=folder)]
    assert {"breastcancer", "ionosphere"} <= set(names)
    for name in names:
        bunch = load(name, data_dir=folder, download=False, drop_incomplete=False)
        assert bunch.data.shape == (CATALOGUE[name].n_samples, CATALOGUE[name].n_features)
        if name in ORIGINALS:
            samples = Samples(tuple(bunch.feature_names), bunch.data, bunch.target)
            read = read_original(original(name, samples, digits=17), CATALOGUE[name], "x")
            assert expecting(CATALOGUE[name], read.X, read.y) == CATALOGUE[name]


def test_folders_are_searched_in_order(tmp_path, monkeypatch, known):
    samples = known("vertebral")
    first, second = tmp_path / "first", tmp_path / "second"
    cached = cache_folder() / "vertebral.csv"
    assert locate("vertebral") is None
    for path in (cached, second / "vertebral.csv", first / "vertebral.csv"):
        write_samples(samples, path)
    assert locate("vertebral") == cached
    monkeypatch.setenv("VOTEDKERNELS_DATA", str(second))
    assert locate("vertebral") == second / "vertebral.csv"
    assert locate("vertebral", data_dir=first) == first / "vertebral.csv"
    np.testing.assert_array_equal(load("vertebral", data_dir=first).data, samples.X)
    (first / "vertebral.csv").unlink()
    assert locate("vertebral", data_dir=first) == second / "vertebral.csv"


def test_a_folder_that_is_named_must_exist(tmp_path, monkeypatch):
    with pytest.raises(NotADirectoryError, match=r"data_dir is '.*none', which is not a folder"):
        load("climate", data_dir=tmp_path / "none")
    monkeypatch.setenv("VOTEDKERNELS_DATA", str(tmp_path / "none"))
    with pytest.raises(NotADirectoryError, match=r"VOTEDKERNELS_DATA is '.*none'"):
        load("climate")


def test_a_file_with_other_content_is_refused(tmp_path, known):
    samples = known("vertebral")
    path = tmp_path / "vertebral.csv"
    write_samples(samples._replace(X=samples.X + 1), path)
    with pytest.raises(DataFileError, match="is not the vertebral data: it has the right"):
        load("vertebral", data_dir=tmp_path)
    write_samples(samples._replace(X=samples.X[1:], y=samples.y[1:]), path)
    with pytest.raises(DataFileError, match="it has 11 rows, not 12"):
        load("vertebral", data_dir=tmp_path)


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match="no data set 'iris'; use one of breastcancer, climate"):
        load("iris")


def test_without_download_the_address_is_told():
    with pytest.raises(DataNotFoundError, match=r"climate data are not on .*download=False"):
        load("climate", download=False)


def test_ocr49_tells_which_file_it_needs_and_what_it_is():
    with pytest.raises(DataNotFoundError) as raised:
        load("ocr49")
    for part in ("ocr49.csv", "MNIST", "2 by 2", "divided by 64", "VOTEDKERNELS_DATA"):
        assert part in str(raised.value)


def test_every_data_set_has_an_original_or_no_address():
    assert set(ORIGINALS) == set(SPELT) == {n for n, f in CATALOGUE.items() if f.address}


@pytest.mark.parametrize("name", ORIGINALS)
def test_originals_are_downloaded_read_and_kept(name, home, known, published):
    samples = known(name)
    published(name, original(name, samples))
    fetched = fetch(CATALOGUE[name])
    np.testing.assert_array_equal(fetched.X, samples.X)
    np.testing.assert_array_equal(fetched.y, samples.y)
    assert locate(name) == cache_folder() / f"{name}.csv"
    assert files_under(home) == [(cache_folder() / f"{name}.csv").relative_to(home)]
    again = load(name, download=False, drop_incomplete=False)
    np.testing.assert_array_equal(again.data, samples.X)
    np.testing.assert_array_equal(again.target, samples.y)
    assert tuple(again.feature_names) == CATALOGUE[name].feature_names


@pytest.mark.parametrize("name", ["breastcancer", "ionosphere"])
def test_the_real_rows_in_their_original_format(name, published):
    bunch = read_bundled(name)
    samples = Samples(tuple(bunch.feature_names), bunch.data, bunch.target)
    published(name, original(name, samples))
    np.testing.assert_array_equal(fetch(CATALOGUE[name]).X, bunch.data)


def test_load_downloads_what_is_not_here(known, published):
    samples = known("german")
    published("german", original("german", samples))
    np.testing.assert_array_equal(load("german").data, samples.X)


def test_a_failed_download_leaves_nothing_and_names_the_address(home, known, published):
    samples = known("vertebral")
    good = original("vertebral", samples)
    tampered = original("vertebral", samples._replace(X=samples.X + 0.125))
    ragged = table("vertebral", samples).replace("Abnormal", "Abnormal,1", 1)
    text = table("vertebral", samples).replace("Normal", "Neither", 1)
    member = MEMBERS["vertebral"]
    for page, kind, words in (
        ((404, b"", {}), DownloadError, "404 Not Found"),
        ((500, b"", {}), DownloadError, "500 Internal Server Error"),
        ((200, good[:-100], {"Content-Length": str(len(good))}), DownloadError, "was lost"),
        (good[:-100], DataFileError, "not a readable ZIP archive"),
        (b"", DataFileError, "not a readable ZIP archive"),
        (b"<html>moved</html>", DataFileError, "not a readable ZIP archive"),
        (tampered, DataFileError, "is not the vertebral data: it has the right numbers"),
        (zipped({member: b""}), DataFileError, "the file is empty"),
        (zipped({member: b"@data\n"}), DataFileError, "there are no rows"),
        (zipped({member: ragged.encode()}), DataFileError, "8 fields, not 7"),
        (zipped({member: text.encode()}), DataFileError, "unknown class 'Neither'"),
        (zipped({f"../{member}": b"@data\n"}), DataFileError, "is outside its folder"),
    ):
        published("vertebral", page)
        with pytest.raises(kind) as raised:
            load("vertebral")
        message = str(raised.value)
        assert words in message
        assert address_of(CATALOGUE["vertebral"]) in message
        assert len(message.splitlines()) == 1
        assert not files_under(home)


def test_a_download_without_end_is_cut(home, known, published, monkeypatch):
    known("vertebral")
    monkeypatch.setattr(fetching, "MAX_BYTES", 100_000)
    published("vertebral", bytes(200_000))
    with pytest.raises(DataFileError, match="more than 100000 bytes"):
        load("vertebral")
    assert not files_under(home)


def test_a_server_that_is_not_there(monkeypatch, home):
    monkeypatch.setenv(fetching.MIRROR, "http://127.0.0.1:9")
    with pytest.raises(DownloadError, match=r"from http://127.0.0.1:9/.*: no connection"):
        load("climate")
    assert not files_under(home)


def test_a_cache_that_cannot_be_written_is_told(known, published, home):
    samples = known("vertebral")
    published("vertebral", original("vertebral", samples))
    (home / "cache").write_text("not a folder")
    with pytest.raises(OSError, match="cache"):
        load("vertebral")


def test_the_package_works_without_what_only_extras_bring():
    code = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(('click', 'jinja2', 'pooch', 'requests', 'rich')))\n"
        "from votedkernels.datasets import load\n"
        "print(load('ionosphere').data.shape)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(351, 34)"


def test_without_pooch_there_is_no_cache_and_no_download(monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert cache_folder() is None
    assert locate("climate") is None
    assert load("ionosphere").data.shape == (351, 34)
    with pytest.raises(DownloadError, match=r"needs pooch; try pip install 'votedkernels\[cli\]'"):
        load("climate")


def test_the_documentation_tells_the_facts():
    text = (ROOT / "docs" / "datasets.md").read_text(encoding="utf-8")
    rows = {line.split("|")[1].strip(" `"): line for line in text.splitlines() if "|" in line}
    for facts in CATALOGUE.values():
        counts = (facts.n_samples, facts.n_features, facts.n_positive, facts.n_negative)
        for part in (*map(str, counts), facts.licence, facts.title):
            assert part in rows[facts.name], (facts.name, part)
        assert facts.citation in re.sub(r"[<>]", "", text).replace("\n  ", " ")
