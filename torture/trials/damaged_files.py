"""Damaged and forged model files and tables."""

import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
from _commands import call, complaint_about, peak_memory
from _trial import Trial
from support import model_file_mutants as mutants
from support.saved_pipelines import PIPELINES

from votedkernels.datasets import DataFileError
from votedkernels.datasets.reading import read_samples

N_MODELS, N_PIPELINES, N_TABLES = 100_000, 10_000, 10_000
MEGABYTES = 400
#: Errors of a table that do not belong to a single line.
OF_THE_FILE = re.compile(
    r"the file is empty|there are no rows|all \d+ rows belong to class|too many for class labels|"
    r"there (?:is no column|are no columns) |there is no column left|the fit|kernel"
)
RUN = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "os.spawn", "subprocess.", "socket.",
       "pickle.", "ctypes.dlopen", "builtins.input", "code.")  # fmt: skip
running = Counter()
watching = False


def watch(event, args):
    if watching and event.startswith(RUN):
        running[event] += 1


sys.addaudithook(watch)


def main():
    trial = Trial(
        12,
        f"damaged files: {N_MODELS + N_PIPELINES:,} mutants of models, {N_TABLES:,} of CSV",
        "one exception class, or exit code 2 and one line; bounded memory; no code run",
    )
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        originals = mutants.make_originals(folder)
        pipelines = mutants.make_originals(folder, PIPELINES)
        model, good = prepare_tables(folder)
        before = peak_memory()
        models = damage_models(trial, originals, folder, N_MODELS)
        models += "; of pipelines: " + damage_models(trial, pipelines, folder, N_PIPELINES)
        tables = damage_tables(trial, good, model, folder)
        grown = (peak_memory() - before) / 2**20
    if grown > MEGABYTES:
        trial.fail(f"memory grew by {grown:.0f} MB")
    if running or mutants.seen:
        trial.fail(f"something was run: {dict(running)} {mutants.seen[:3]}")
    trial.end(f"{models}; {tables}; memory grew by {grown:.0f} MB; nothing was run")


# -- models ------------------------------------------------------------------------------


def damage_models(trial, originals, folder, n_models):
    shares = {kind: n / sum(mutants.N_MUTANTS.values()) for kind, n in mutants.N_MUTANTS.items()}
    total = refused = 0
    for kind, share in shares.items():
        random = np.random.RandomState(trial.options.seed + len(kind) + 1)
        for number in range(trial.count(share * n_models)):
            original, content = mutants.MUTATE[kind](random, originals)
            path = None if number % 50 else folder / "mutant"
            try:
                refused += mutants.check(original, content, path)
            except Exception as error:
                (Path(tempfile.gettempdir()) / f"mutant-{kind}-{number}").write_bytes(content)
                text = " ".join(str(error).split())[:200]
                trial.fail(f"model, {kind} {number}: {type(error).__name__}: {text}")
            total += 1
            trial.tell(f"models: {kind}, {total:,} done, {refused:,} refused")
    return f"{total:,} models, {refused:,} refused with ModelFileError, others harmless"


# -- tables ------------------------------------------------------------------------------


def prepare_tables(folder):
    """Return a model file and the table that it was fitted to."""
    random = np.random.RandomState(0)
    X = random.randn(24, 3).round(3)
    rows = [f"{a},{b},{c},{1 if a * b > 0 else -1}" for a, b, c in X.tolist()]
    good = "\n".join(["a,b,long name,target", *rows, ""]).encode()
    (folder / "good.csv").write_bytes(good)
    ended = fit(folder / "good.csv", folder / "good")
    assert ended.code == 0, ended.err
    read_samples(folder / "good.csv")
    return folder / "good", good


def fit(table, model):
    return call("fit", table, "--target", "target", "--model", model, "--kernels", "polynomial:1")


def damage_tables(trial, good, model, folder):
    random = np.random.RandomState(trial.options.seed)
    n_tables, path, ends = trial.count(N_TABLES), folder / "x.csv", Counter()
    for number in range(n_tables):
        kind = list(DAMAGE)[number % len(DAMAGE)]
        content = DAMAGE[kind](random, good)
        if random.rand() < 0.1:
            content = DAMAGE["bytes"](random, content)
        path.write_bytes(content)
        for how, result in use_table(path, model, folder):
            ends[how, result == ""] += 1
            if result not in ("", "refused"):
                (Path(tempfile.gettempdir()) / f"mutant-{number}.csv").write_bytes(content[: 10**7])
                trial.fail(f"table, {kind} {number}, {how}: {result}")
        trial.tell(f"tables: {number:,} of {n_tables:,}")
    told = ", ".join(f"{how} refused {ends[how, False]:,}" for how in ("read", "fit", "predict"))
    return f"{n_tables:,} tables ({told})"


def use_table(path, model, folder):
    """Read a table in each way; return '' if it was read, 'refused', or what went wrong."""
    global watching
    watching = True
    try:
        yield "read", read(path)
        yield "fit", judge(fit(path, folder / "fitted"), path)
        yield "predict", judge(call("predict", model, path, "--output", folder / "out.csv"), path)
    finally:
        watching = False


def read(path):
    try:
        read_samples(path)
    except DataFileError as error:
        text = str(error)
        if len(text.splitlines()) != 1 or len(text) > len(str(path)) + 300:
            return f"not one short line: {text[:500]!r}"
        return "refused" if re.search(r"line \d", text) or OF_THE_FILE.search(text) else text
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"
    return ""


def judge(ended, path):
    if ended.code == 0:
        return ""
    wrong = complaint_about(ended, str(path))
    if wrong:
        return wrong
    has_place = re.search(r"line \d", ended.err) or OF_THE_FILE.search(ended.err)
    return "refused" if has_place else f"no line: {ended.err[:300]!r}"


def cells_of(content):
    return [line.split(b",") for line in content.split(b"\n")]


def rejoin(cells):
    return b"\n".join(b",".join(row) for row in cells)


def in_one_cell(make):
    """Return a function that changes one cell of a table."""

    def damage(random, content):
        cells = cells_of(content)
        row = cells[random.randint(len(cells) - 1)]
        row[random.randint(len(row))] = make(random)
        return rejoin(cells)

    return damage


def damage_bytes(random, content):
    content = bytearray(content)
    for _ in range(1 + random.randint(8)):
        if content:
            content[random.randint(len(content))] = random.randint(256)
    return bytes(content)


def damage_rows(random, content):
    cells = cells_of(content)
    row = cells[random.randint(len(cells))]
    if random.rand() < 0.5 and len(row) > 1:
        del row[random.randint(len(row))]
    else:
        row.insert(random.randint(len(row) + 1), random.bytes(random.randint(3)).hex().encode())
    return rejoin(cells)


def damage_marks(random, content):
    marks = [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff", b"\xef\xbb"]
    content = marks[random.randint(5)] * (1 + random.randint(2)) + content
    return content.decode("latin-1").encode("utf-16-le") if random.rand() < 0.2 else content


def damage_ends(random, content):
    ends = [b"\r\n", b"\r", b"\n\n", b"\x0b", b"\x0c", b"\x1c", b"\xe2\x80\xa8", b"", b" \n"]
    end = ends[random.randint(len(ends))]
    return content.replace(b"\n", end, random.choice([1, 2, 100]))


def damage_labels(random, content):
    labels = [b"0", b"yes", b"", b" ", b"nan", b"1.0", b"1e0", b"+1", b"\xc3\xa9", b"9" * 5000,
              b"=cmd()", b"[/b]", b"\x1b[31m", b"-1 ", b"True", b"\xd9\xa1"]  # fmt: skip
    cells = cells_of(content)
    for row in cells[1 : 2 + random.randint(len(cells))]:
        if len(row) > 1:
            row[-1] = labels[random.randint(len(labels))]
    return rejoin(cells)


def damage_quotes(random, content):
    content = bytearray(content)
    for _ in range(1 + random.randint(4)):
        content.insert(random.randint(len(content)), ord('"'))
    return bytes(content)


def damage_cut(random, content):
    start, stop = sorted(random.randint(len(content) + 1, size=2))
    return content[start:stop] if random.rand() < 0.5 else content[:start] + content[stop:]


def damage_size(random, content):
    """Make a field, a line, or a label of a thousand rows huge."""
    what = random.randint(40)
    if what == 0:
        return content + b"1," * 9_000_000
    if what == 1:
        lines = content.split(b"\n")[1:-1] * 100
        label = b"x" * 130_000
        rows = [line.rpartition(b",")[0] + b"," + label for line in lines[:3]]
        return b"\n".join([content.partition(b"\n")[0], *rows, *lines, b""])
    if what == 2:
        return b"a,b,long name,target\n" + b"0,0,0,1\n0,0,1,-1\n" * 5000 + b"0,0,x,1\n"
    field = random.choice([b"9", b"x", b'""', b" "]) * (10 ** random.randint(2, 6))
    return in_one_cell(lambda _: field)(random, content)


NUMBERS = (b"", b" ", b"nan", b"inf", b"-inf", b"1e999", b"1_0", b"0x1", b"1,5", b"1;5", b"--1",
           b"1e308", b"-1e308", b"5e-324", b"\xd9\xa1", b"1\xc2\xa0", b"None", b"1.0.0", b"1j",
           b"__import__('os').system('true')", b"=1+1", b"#REF!", b"\x1b]0;x\x07")  # fmt: skip
DAMAGE = {
    "bytes": damage_bytes,
    "ragged": damage_rows,
    "marks": damage_marks,
    "ends": damage_ends,
    "labels": damage_labels,
    "quotes": damage_quotes,
    "cut": damage_cut,
    "huge": damage_size,
    "numbers": in_one_cell(lambda random: NUMBERS[random.randint(len(NUMBERS))]),
    "nul": in_one_cell(lambda random: b"\0" * (1 + random.randint(9))),
    "noise": lambda random, content: random.bytes(random.randint(2000)),
}


if __name__ == "__main__":
    sys.exit(main())
