"""Files that appear whole or not at all, and errors that name them."""

import errno
import os

import pytest

from votedkernels._system.atomic_files import writing_whole


def test_a_file_appears_when_it_is_complete(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"older")
    with writing_whole(path) as file:
        file.write(b"newer")
        assert path.read_bytes() == b"older"
    assert path.read_bytes() == b"newer"
    assert os.listdir(tmp_path) == ["x"]


def test_no_room_names_the_file(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"older")
    with pytest.raises(OSError, match="No space left") as raised, writing_whole(path):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert raised.value.filename == str(path)
    assert path.read_bytes() == b"older"
    assert os.listdir(tmp_path) == ["x"]


def test_a_folder_that_takes_no_file_names_the_file(tmp_path):
    path = tmp_path / "none" / "x"
    with pytest.raises(FileNotFoundError) as raised, writing_whole(path):
        pass
    assert raised.value.filename == str(path)


def test_what_became_a_folder_is_left_alone(tmp_path):
    path = tmp_path / "x"
    with pytest.raises(OSError, match=os.strerror(errno.EISDIR)) as raised:  # noqa: SIM117
        with writing_whole(path):
            path.mkdir()
    assert raised.value.filename == str(path)
    assert os.listdir(tmp_path) == ["x"]


def test_errors_of_others_stay_as_they_are(tmp_path):
    with pytest.raises(PermissionError) as raised, writing_whole(tmp_path / "x"):
        raise PermissionError(errno.EACCES, "no", "what was read")
    assert raised.value.filename == "what was read"
    assert not os.listdir(tmp_path)


def test_the_first_error_is_told_where_the_unfinished_file_is_gone(tmp_path):
    def remove_and_fail():
        for name in os.listdir(tmp_path):
            os.unlink(tmp_path / name)
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"), writing_whole(tmp_path / "x"):
        remove_and_fail()
