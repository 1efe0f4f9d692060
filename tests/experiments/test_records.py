"""Records on disk, and runs that are stopped and resumed."""

import gzip
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from votedkernels.experiments import records, runner
from votedkernels.experiments.records import FORMAT_VERSION, RecordError, RecordFile, read_records
from votedkernels.experiments.runner import list_units, run_unit, run_units

HEADER = '{"format": "votedkernels-records", "version": 1}\n'
#: Three of the five runs of an algorithm.
UNITS = list_units("polynomial", "range", [0], ["ionosphere"], ["vkr-dimension"])[:3]
TIMES = ("fit_seconds", "predict_seconds", "finished")


def without_times(records):
    return sorted(
        ({name: value for name, value in r.items() if name not in TIMES} for r in records),
        key=lambda record: record["key"],
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "out" / "records.jsonl"


def test_what_is_appended_is_read(path):
    with RecordFile(path, {"note": "a"}) as file:
        file.append({"key": "one", "value": 1})
    with RecordFile(path, {"note": "b"}) as file:
        assert file.keys == {"one"}
        file.append({"key": "two", "value": [1.5, None]})
    assert read_records(path) == [{"key": "one", "value": 1}, {"key": "two", "value": [1.5, None]}]
    header = json.loads(path.read_text().splitlines()[0])
    assert header == {"format": "votedkernels-records", "version": FORMAT_VERSION, "note": "a"}


def test_compressed_records_are_read_and_not_written(path, tmp_path):
    with RecordFile(path, {}) as file:
        file.append({"key": "one"})
    packed = tmp_path / "records.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read_records(packed) == [{"key": "one"}]
    with pytest.raises(RecordError, match="cannot be added to"), RecordFile(packed, {}):
        pass
    packed.write_bytes(gzip.compress(path.read_bytes())[:-9])
    with pytest.raises(RecordError, match=r"records\.jsonl\.gz, after line"):
        read_records(packed)


def test_a_torn_last_line_is_cut_off(path):
    with RecordFile(path, {}) as file:
        file.append({"key": "one"})
        file.append({"key": "two"})
    whole = path.read_bytes()
    for length in range(whole.find(b"\n") + 2, len(whole)):
        path.write_bytes(whole[:length])
        assert {r["key"] for r in read_records(path)} <= {"one", "two"}
        with RecordFile(path, {}) as file:
            kept = set(file.keys)
            assert path.read_bytes() == whole[: whole.rfind(b"\n", 0, length) + 1]
            for key in {"one", "two"} - kept:
                file.append({"key": key})
        assert sorted(r["key"] for r in read_records(path)) == ["one", "two"]


def test_a_header_torn_by_a_kill_is_written_again(path):
    path.parent.mkdir()
    path.write_bytes(b'{"format":"votedk')
    with RecordFile(path, {}) as file:
        file.append({"key": "one"})
    assert read_records(path) == [{"key": "one"}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("not json\n", "line 1: this is not a record"),
        ("[1]\n", "line 1: this is not a record"),
        ('{"a": 1}\n', "line 1: this is not a file of votedkernels records"),
        ('{"format": "votedkernels-records", "version": 99}\n', "line 1: these records have versi"),
        ('{"format": "votedkernels-records", "version": 1}\n{"a": 1}\n', "line 2: this is not a"),
        ('{"format": "votedkernels-records", "version": 1}\n\0\n', "line 2: this is not a record"),
        (HEADER + '{"key": []}\n', "line 2: this is not a record"),
        (HEADER + "[" * 100_000 + "\n", "line 2: this is not a record"),
        (
            '{"format": "votedkernels-records", "version": 1}\n{"key": "a"}\n{"key": "a"}\n',
            "line 3: a occurs twice",
        ),
    ],
)
def test_other_files_are_errors_with_a_line(text, message, tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_text(text)
    with pytest.raises(RecordError, match=message):
        read_records(path)
    if text:
        before = path.read_bytes()
        with pytest.raises(RecordError, match=message), RecordFile(path, {}):
            pass
        assert path.read_bytes() == before


def test_a_second_writer_is_kept_off(path):
    with RecordFile(path, {}) as file:
        with pytest.raises(RecordError, match="another process is writing"), RecordFile(path, {}):
            pass
        file.append({"key": "one"})
    with RecordFile(path, {}):
        pass


def test_a_key_is_written_once(path):
    with RecordFile(path, {}) as file:
        file.append({"key": "one"})
        with pytest.raises(RecordError, match="one is already in the file"):
            file.append({"key": "one"})


def test_a_full_disk_leaves_whole_lines(path, monkeypatch):
    with RecordFile(path, {}) as file:
        file.append({"key": "one"})
        write = os.write

        def half(descriptor, data):
            write(descriptor, data[:3])
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "write", half)
        with pytest.raises(OSError, match="No space left"):
            file.append({"key": "two"})
        monkeypatch.undo()
        assert read_records(path) == [{"key": "one"}]
        file.append({"key": "two"})
    assert [r["key"] for r in read_records(path)] == ["one", "two"]


@pytest.mark.parametrize("replace", [lambda path: None, lambda path: path.write_text("another's")])
def test_a_file_that_is_gone_takes_no_more_records(path, replace):
    with RecordFile(path, {}) as file:
        file.append({"key": "one"})
        path.unlink()
        replace(path)
        with pytest.raises(RecordError, match="removed or replaced while"):
            file.append({"key": "two"})


def test_a_full_disk_names_the_file(path, monkeypatch):
    def full(descriptor, data):
        raise OSError(28, "No space left on device")

    with RecordFile(path, {}) as file:
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left") as raised:
            file.append({"key": "one"})
        monkeypatch.undo()
    assert raised.value.filename == str(path)


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "MAX_LINE", 1000)
    path = tmp_path / "records.jsonl.gz"
    path.write_bytes(gzip.compress(HEADER.encode() + b'{"key": "' + b"x" * 5000))
    with pytest.raises(RecordError, match="line 2: the line has more than 1000 bytes"):
        read_records(path)


def test_damage_within_compressed_records_is_told(tmp_path):
    packed = bytearray(gzip.compress(HEADER.encode()))
    packed[12:20] = b"\xff" * 8
    path = tmp_path / "records.jsonl.gz"
    path.write_bytes(packed)
    with pytest.raises(RecordError, match=r"records\.jsonl\.gz, after line 0"):
        read_records(path)


# -- running -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def expected():
    return without_times([run_unit(unit) for unit in UNITS])


def test_runs_side_by_side_are_the_same(path, expected):
    seen = []
    with RecordFile(path, {}) as file:
        run_units(UNITS, file, jobs=2, on_record=seen.append)
    assert without_times(read_records(path)) == expected
    assert len(seen) == len(UNITS)


def test_only_what_is_missing_is_done(path, expected):
    with RecordFile(path, {}) as file:
        file.append({**run_unit(UNITS[2]), "finished": "before"})
        seen = []
        run_units(UNITS, file, on_record=seen.append)
    assert {record["key"] for record in seen} == {u.key for u in UNITS} - {UNITS[2].key}
    assert without_times(read_records(path)) == expected


def test_an_interrupt_keeps_what_is_done(path, expected):
    def stop(record):
        raise KeyboardInterrupt

    with RecordFile(path, {}) as file:
        with pytest.raises(KeyboardInterrupt):
            run_units(UNITS, file, on_record=stop)
        assert len(read_records(path)) >= 1
        run_units(UNITS, file)
    assert without_times(read_records(path)) == expected


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no kill -9")
def test_kill_9_loses_and_doubles_nothing(path, expected):
    """A run that is killed and resumed has the same records, and no worker survives the kill."""
    script = f"""
import sys
from votedkernels.experiments.records import RecordFile
from votedkernels.experiments.runner import list_units, run_units
if __name__ == "__main__":
    units = list_units("polynomial", "range", [0], ["ionosphere"], ["vkr-dimension"])[:3]
    with RecordFile({str(path)!r}, {{}}) as file:
        run_units(units, file, on_record=lambda record: print("done", flush=True))
"""
    program = path.parent.parent / "program.py"
    program.write_text(script)
    process = subprocess.Popen(
        [sys.executable, str(program)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout.readline() == "done\n"
    process.kill()
    process.wait()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and _group_lives(process.pid):
        time.sleep(0.1)
    assert not _group_lives(process.pid)
    assert 1 <= len(read_records(path)) < len(UNITS)
    with RecordFile(path, {}) as file:
        run_units(UNITS, file)
    assert without_times(read_records(path)) == expected


def _group_lives(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    # Zombies count as dead.
    listing = subprocess.run(["ps", "-eo", "pgid,stat"], capture_output=True, text=True).stdout
    rows = [line.split() for line in listing.splitlines()[1:]]
    return any(int(pgid) == group and not state.startswith("Z") for pgid, state in rows)


def test_workers_leave_ctrl_c_to_the_parent(monkeypatch):
    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(runner, "_follow_parent", lambda: None)
    try:
        runner._start_worker()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
