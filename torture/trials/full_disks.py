"""Full disks, folders without write permission, files that are replaced meanwhile."""

import contextlib
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from unittest import mock

import numpy as np
from _commands import Ended, call, complaint_about, contents_of
from _trial import Trial
from support.published import invented, original, serving
from support.synthetic_records import make_runs, write_records

from votedkernels import VotedKernelClassifier, save_model
from votedkernels.datasets import CATALOGUE

PAGE = 4096
DISK = 64 * PAGE
RECORDS = [r for name in ("l1-svm", "vkr-trace") for r in make_runs("musk", name, [9, 8, 9, 8, 9])]


def main():
    trial = Trial(
        7,
        "disk full, folder read-only, file replaced during write, for everything that writes files",
        "old file intact; exit code not 0; clear message; nothing half-written",
    )
    random = np.random.default_rng(trial.options.seed)
    with tempfile.TemporaryDirectory() as place:
        sources = prepare(Path(place) / "sources")
        disk = Path(place) / "disk"
        disk.mkdir()
        with small_disk(disk) as is_mounted:
            told = []
            for how in ("no room", "too large", "read-only", "replaced"):
                if how == "no room" and not is_mounted:
                    continue
                n_cases = n_failed = 0
                for name, (write, n) in WRITERS.items():
                    for _ in range(trial.count(n)):
                        writer = Writer(name, write, disk, sources)
                        n_failed += HOWS[how](trial, writer, random, is_mounted)
                        n_cases += 1
                        trial.tell(f"{how}: {name}")
                told.append(f"{how} {n_failed} of {n_cases}")
        full_output(trial, sources)
    means = "a tmpfs of 256 KiB, remounted read-only" if is_mounted else "limits and modes"
    trial.end(f"writing failed cleanly ({means}): {'; '.join(told)}; /dev/full 3 of 3")


# -- what writes -------------------------------------------------------------------------


class Writer:
    """A command that writes to a folder, which may hold an older file."""

    def __init__(self, name, write, disk, sources):
        self.name, self.disk, self.sources = name, disk, sources
        self._write = write

    def target(self):
        """Return the file that is written, or the first of several."""
        return {
            "save_model": self.disk / "m", "fit": self.disk / "m", "predict": self.disk / "p.csv",
            "predict to Parquet": self.disk / "p.parquet", "export": self.disk / "m.onnx",
            "report": self.disk / "report.html", "reproduce": self.disk / "records.jsonl",
            "cache": self.disk / "votedkernels" / "vertebral.csv",
        }[self.name]  # fmt: skip

    def reset(self):
        """Empty the disk and put an older, smaller file there."""
        for path in self.disk.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        self.target().parent.mkdir(exist_ok=True)
        if self.name == "reproduce":
            write_records(self.target(), RECORDS[:3])
        elif self.name != "cache":  # a file in the cache is not downloaded again
            self.target().write_bytes(b"older")

    def __call__(self):
        """Run the command; return how it ended."""
        return self._write(self)


def write_by_python(writer):
    try:
        save_model(MODEL, writer.target())
    except OSError as error:
        return 2, f"votedkernels: {error.filename}: {error.strerror}"
    return 0, ""


def by_command(*args):
    def write(writer):
        places = {"SOURCES": writer.sources, "TARGET": writer.target(), "DISK": writer.disk}
        found = [
            places[a] if a in places else writer.sources / a[1:] if a[0] == "/" else a for a in args
        ]
        ended = call(*found)
        wrong = complaint_about(ended) if ended.code else ""
        return (ended.code, ended.err) if not wrong else (None, wrong)

    return write


def write_records_of_a_campaign(writer):
    """Reproduce with units that were computed before; only the writing is tested."""

    def run_units(units, file, **options):
        for record in RECORDS:
            if record["key"] not in file.keys:
                file.append(record)

    module = import_module("votedkernels.cli.reproduce")
    with mock.patch.object(module, "run_units", run_units):
        return by_command("reproduce", "--dataset", "ionosphere", "--output", "DISK")(writer)


def write_cache(writer):
    samples, facts = invented("vertebral", n_rows=400)
    pages = {"/".join(["", *facts.address.split("/")[3:]]): original("vertebral", samples)}
    with serving(pages) as address:
        settings = {"XDG_CACHE_HOME": str(writer.disk), "VOTEDKERNELS_MIRROR": address}
        with mock.patch.dict(os.environ, settings), mock.patch.dict(CATALOGUE, vertebral=facts):
            return by_command("datasets", "vertebral", "--fetch")(writer)


#: Without a search: only the writing is tested.
QUICK = ("--no-cv", "--no-held-out")
#: The commands, and how often each is disturbed in each way.
WRITERS = {
    "save_model": (write_by_python, 60),
    "fit": (by_command("fit", "/t.csv", "--target", "y", *QUICK, "--model", "TARGET"), 20),
    "predict": (by_command("predict", "/m", "/t.csv", "--output", "TARGET"), 40),
    "predict to Parquet": (by_command("predict", "/m", "/t.csv", "--output", "TARGET"), 40),
    "export": (by_command("export", "/m", "TARGET"), 20),
    "report": (by_command("report", "/r.jsonl", "--output", "DISK"), 6),
    "reproduce": (write_records_of_a_campaign, 6),
    "cache": (write_cache, 20),
}
RANDOM = np.random.RandomState(0)
X = RANDOM.randn(300, 20).round(3)
Y = np.where(X[:, 0] + 0.1 * RANDOM.randn(300) > 0, "yes", "no")
MODEL = VotedKernelClassifier(tol=0.5).fit(X, Y)


def prepare(folder):
    """Write the input of the commands."""
    folder.mkdir()
    rows = [",".join([*map(str, x), y]) for x, y in zip(X.tolist(), Y, strict=True)]
    names = [*(f"x{i}" for i in range(20)), "y"]
    (folder / "t.csv").write_text("\n".join([",".join(names), *rows, ""]), encoding="utf-8")
    write_records(folder / "r.jsonl", RECORDS)
    ended = call("fit", folder / "t.csv", "--target", "y", "--model", folder / "m")
    assert ended.code == 0, ended.err
    return folder


# -- what goes wrong -----------------------------------------------------------------------


@contextlib.contextmanager
def small_disk(folder):
    """Mount a file system on the folder if that is allowed; return whether it is."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(folder)]
    try:
        is_mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        is_mounted = False
    try:
        yield is_mounted
    finally:
        if is_mounted:
            subprocess.run(["umount", str(folder)], check=True)


def fill_disk(trial, writer, random, is_mounted):
    """Leave so few pages that writing fails, or just succeeds."""
    writer.reset()
    size = written_size(writer)
    writer.reset()
    filler = writer.disk / "filler"
    free = int(random.integers(0, size // PAGE + 2))
    filler.write_bytes(b"x" * max(0, room_in(writer.disk) - free * PAGE))
    return judge(trial, writer, f"{free} free pages", may_work=True)


def limit_size(trial, writer, random, is_mounted):
    """Limit the size of files below that of the new one."""
    writer.reset()
    size = written_size(writer)
    writer.reset()
    limit = int(random.integers(0, size))
    if writer.name == "reproduce":
        limit += writer.target().stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = contents_of(writer.disk)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        ended = writer()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    return judge(trial, writer, f"{limit} bytes", before=before, ended=ended)


def forbid_writing(trial, writer, random, is_mounted):
    writer.reset()
    if is_mounted:
        subprocess.run(["mount", "-o", "remount,ro", str(writer.disk)], check=True)
    else:
        for folder in (writer.disk, writer.target().parent):
            folder.chmod(0o555)
        if writer.name == "reproduce":
            writer.target().chmod(0o444)
        if os.access(writer.disk, os.W_OK):  # root, but not allowed to mount
            return False
    try:
        return judge(trial, writer, "read-only")
    finally:
        if is_mounted:
            subprocess.run(["mount", "-o", "remount,rw", str(writer.disk)], check=True)
        for folder in (writer.disk, writer.target().parent):
            folder.chmod(0o755)


def replace_meanwhile(trial, writer, random, is_mounted):
    """Put something else in place of the file, just before the new file is moved there."""
    writer.reset()
    target, fsync = writer.target(), os.fsync
    as_folder = bool(random.random() < 0.5)
    disturbances = []

    def disturbed(handle):
        fsync(handle)
        if disturbances and writer.name != "reproduce":
            return  # other files are moved after this one
        disturbances.append(handle)
        if target.is_file():
            target.unlink()
        if as_folder:
            target.mkdir(exist_ok=True)
        else:
            target.write_bytes(b"another's")

    before = contents_of(writer.disk)
    with mock.patch("os.fsync", disturbed):
        ended = writer()
    name = str(target.relative_to(writer.disk))
    if writer.name == "reproduce":
        # The first record went to the removed file; the next one is refused.
        before[name] = None if as_folder else b"another's"
        return judge(trial, writer, "replaced", before=before, ended=ended)
    if as_folder:
        before[name] = None
        return judge(trial, writer, "a folder meanwhile", before=before, ended=ended)
    if ended[0] != 0 or target.read_bytes() in (b"another's", b"older"):
        trial.fail(f"{writer.name}: over another's file: {ended}")
    return False


HOWS = {
    "no room": fill_disk,
    "too large": limit_size,
    "read-only": forbid_writing,
    "replaced": replace_meanwhile,
}


def room_in(folder):
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def written_size(writer):
    """Return the bytes of the target if nothing goes wrong; check that it works."""
    size = SIZES.get(writer.name)
    if size is None:
        code, err = writer()
        assert code == 0, (writer.name, err)
        size = SIZES[writer.name] = writer.target().stat().st_size
        if writer.name == "reproduce":
            size = SIZES[writer.name] = 1500
    return size


SIZES = {}


def judge(trial, writer, how, *, may_work=False, before=None, ended=None):
    """Check that a failed command changed nothing; return whether it failed."""
    if before is None:
        before = contents_of(writer.disk)
        ended = writer()
    code, err = ended
    after = contents_of(writer.disk)
    where = f"{writer.name}, {how}"
    name = str(writer.target().relative_to(writer.disk))
    if code == 0:
        if not may_work:
            trial.fail(f"{where}: no error")
        return False
    if code != 2:
        trial.fail(f"{where}: {err}")
    elif str(writer.disk) not in err or ".part" in err or "Errno" in err:
        trial.fail(f"{where}: the message does not name the file: {err[:300]}")
    if writer.name in ("report", "reproduce"):
        check_several(trial, where, name, before, after)
    elif before != after:
        trial.fail(f"{where}: {sorted(before)} became {sorted(after)}")
    return True


def check_several(trial, where, name, before, after):
    """Check that each file is the complete older or newer one; records may have been added."""
    for path in set(before) | set(after):
        old, new = before.get(path), after.get(path)
        if path.endswith(".jsonl"):
            if (old is None) != (new is None) or not (new or b"").startswith(old or b""):
                trial.fail(f"{where}: records were lost")
            if new and new != b"another's" and not new.endswith(b"\n"):
                trial.fail(f"{where}: a record is half-written")
        elif old != new and (path not in WHOLE or not new or not new.endswith(WHOLE[path])):
            trial.fail(f"{where}: {path} is half-written or should not be")


WHOLE = {"report.html": b"</html>\n", "tables.md": b"\n", "tables.csv": b"\n"}


def full_output(trial, sources):
    """Write to a standard output that is full."""
    program = "from votedkernels.cli import main; main()"
    for args in (["predict", "m", "t.csv"], ["inspect", "m"], ["datasets"]):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [sys.executable, "-c", program, *args],
                cwd=sources,
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        wrong = complaint_about(Ended(done.returncode, "", done.stderr), "standard output")
        if wrong:
            trial.fail(f"{args[0]} to /dev/full: {wrong}")


if __name__ == "__main__":
    sys.exit(main())
