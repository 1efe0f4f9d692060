"""Damaged and forged model files, and an audit hook that notices if one of them runs code."""

import contextlib
import copy
import hashlib
import json
import sys
from io import BytesIO

import numpy as np
from support.saved_models import FUNCTIONS, MODELS
from support.saved_pipelines import decide

from votedkernels import ModelFileError, Trace, load_model, read_summary, save_model
from votedkernels.persistence.building import build
from votedkernels.persistence.container import DIGEST, encode, read_container, read_stream

N_MUTANTS = {
    "flipped bits": 3500, "cut or longer": 1500, "parts of others": 500, "shapes and sizes": 1500,
    "other types": 3000,
}  # fmt: skip

watching = False
seen: list[tuple[str, tuple[object, ...]]] = []
FORBIDDEN = ("exec", "compile", "import", "os.", "subprocess.", "pickle.", "marshal.", "ctypes.",
             "socket.", "shutil.", "code.", "builtins.input")  # fmt: skip


def watch(event, args):
    if watching and (
        event.startswith(FORBIDDEN) or (event == "open" and args[1] not in ("r", "rb", None))
    ):
        seen.append((event, args))


sys.addaudithook(watch)
# An error may quote a complexity measure where there should be a number. scikit-learn imports what
# it needs for this on first use, which is not code from the file.
repr(Trace())


def make_originals(folder, models=MODELS):
    """Return bytes, header, arrays, new rows, decisions and header places of each model."""
    result = []
    for name, (make, new) in models.items():
        path = folder / name
        model = make()
        save_model(model, path)
        container = read_container(path)
        decisions = decide(load_model(path, functions=FUNCTIONS), new)
        np.testing.assert_array_equal(decisions, decide(model, new))
        places = list(places_of(container.header))[1:]
        result.append(
            (path.read_bytes(), container.header, container.arrays, new, decisions, places)
        )
    return result


def with_digest(content):
    """Return the file with its correct digest."""
    content = bytearray(content)
    content[DIGEST] = b"0" * 64
    content[DIGEST] = hashlib.sha256(content).hexdigest().encode()
    return bytes(content)


def split(content):
    length = int.from_bytes(content[:8], "little")
    return content[8 : 8 + length], content[8 + length :]


def join(header, data):
    return len(header).to_bytes(8, "little") + header + data


def flip_bits(random, originals):
    original = originals[random.randint(len(originals))]
    content = bytearray(original[0])
    for _ in range(random.choice([1, 1, 1, 2, 8])):
        # Half of them in the header, where more can go wrong.
        end = len(content) if random.rand() < 0.5 else 8 + len(split(original[0])[0])
        content[random.randint(end)] ^= 1 << random.randint(8)
    return original, bytes(content)


def cut(random, originals):
    original = originals[random.randint(len(originals))]
    content = original[0]
    place = random.randint(len(content))
    return original, [
        lambda: content[:place],
        lambda: content[place:],
        lambda: content + random.bytes(1 + random.randint(100)),
        lambda: content[:place] + content[place + 1 + random.randint(20) :],
        lambda: content[:place] + random.bytes(8) + content[place:],
        lambda: with_digest(content[: max(place, DIGEST.stop)]),
        lambda: with_digest(content + b"\0" * (1 + random.randint(100))),
    ][random.randint(7)]()


def mix(random, originals):
    one, other = (originals[i] for i in random.choice(len(originals), 2, replace=False))
    if random.rand() < 0.5:
        content = join(split(one[0])[0], split(other[0])[1])
        return one, with_digest(content) if random.rand() < 0.5 else content
    # Changing other keys could make another valid vote.
    others = {"classes", "families", "kernels", "parameters", "problems", "tree"}
    keys = sorted(set(one[1]) - others)
    chosen = random.choice(keys, min(len(keys), 1 + random.randint(3)), replace=False)
    return one, b"".join(encode({**one[1], **{key: other[1][key] for key in chosen}}, one[2]))


def reshape(random, originals):
    original = originals[random.randint(len(originals))]
    header, data = split(original[0])
    table = json.loads(header)
    entry = table[random.choice(sorted(set(table) - {"__metadata__"}))]
    size = int(random.choice([0, 1, 2, 7, 2**31, 2**40, 2**47, 2**62])) + int(random.randint(3))
    what = random.randint(6)
    if what == 0:
        entry["shape"] = [size] * (1 + random.randint(3))
    elif what == 1:
        entry["shape"] = [0, *entry["shape"], size]
    elif what == 2:
        entry["data_offsets"] = [entry["data_offsets"][0], size]
    elif what == 3:
        entry["dtype"] = str(random.choice(["F64", "F32", "I64", "I8", "BOOL", "F16", "C128"]))
    elif what == 4:
        entry["shape"] = [1] * 40 + entry["shape"]
    else:
        entry["shape"] = [-1, size, 10**30]
        entry["data_offsets"] = [0, 10**40]
    changed = json.dumps(table, separators=(",", ":")).encode()
    return original, with_digest(join(changed, data))


OTHERS: list[object] = [
    None, True, False, "", "x", "NaN", "support_", "__import__('os').system('true')", [], {}, [[]],
    [None], [1e308], ["x", "y"], {"tuple": []}, {"array": "support_"}, {"pairs": [[1, 2]]},
    {"number": "Infinity"}, {"measure": "Local", "parameters": {}}, {"rows": {}, "name": "x"},
    {"__class__": "os"}, [[[[[[[[[[[[]]]]]]]]]]]],
]  # fmt: skip
NUMBERS = [0, -1, 2**63, 10**400, 1e308, -0.5]


def places_of(value, path=()):
    """Yield the paths of all values in a header."""
    yield path
    if isinstance(value, dict | list):
        entries = value.items() if isinstance(value, dict) else enumerate(value)
        for key, entry in entries:
            yield from places_of(entry, (*path, key))


def confuse(random, originals):
    original = originals[random.randint(len(originals))]
    header = holder = json.loads(json.dumps(original[1]))  # faster than deepcopy
    places = original[5]
    *above, last = places[random.randint(len(places))]
    for key in above:
        holder = holder[key]
    if isinstance(holder, dict) and random.rand() < 0.2:
        value = holder.pop(last)
        if random.rand() < 0.5:
            holder[f"{last}_"] = value
    else:  # with another number, the model may still be valid
        is_number = type(holder[last]) in (int, float)
        pool = [v for v in OTHERS if type(v) is not type(holder[last])]
        pool += [] if is_number else NUMBERS
        holder[last] = copy.deepcopy(pool[random.randint(len(pool))])
    return original, b"".join(encode(header, original[2]))


MUTATE = {
    "flipped bits": flip_bits,
    "cut or longer": cut,
    "parts of others": mix,
    "shapes and sizes": reshape,
    "other types": confuse,
}


@contextlib.contextmanager
def watched():
    global watching
    watching = True
    try:
        yield
    finally:
        watching = False


def check(original, content, path):
    """Return whether a mutant is refused; otherwise it must decide like the original.

    Most are read from memory, because writing and opening a file takes longer than reading it.
    """
    try:
        if path is None:
            with watched():
                model = build(read_stream(BytesIO(content), len(content)), FUNCTIONS)
        else:
            path.write_bytes(content)
            with watched(), contextlib.suppress(ModelFileError):
                read_summary(path)
            with watched():
                model = load_model(path, functions=FUNCTIONS)
    except ModelFileError:
        return True
    # A copy, since a mutant may ask a scaler to work in place. A mutant may also ask for another
    # container of the same numbers, and sums over these may then be rounded differently.
    decisions = decide(model, copy.deepcopy(original[3]))
    np.testing.assert_allclose(decisions, original[4], rtol=1e-12, atol=1e-12)
    return False
