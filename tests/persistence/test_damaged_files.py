"""Ten thousand damaged or forged model files: each is refused, or is the model it was.

Some are forged with a digest that is right again, as someone could who wants to do harm. None
runs code, writes, or takes memory that the file does not have.
"""

import copy
import json
import resource
import time

import numpy as np
import pytest
from support.model_file_mutants import (
    MUTATE,
    N_MUTANTS,
    check,
    join,
    make_originals,
    seen,
    split,
    with_digest,
)
from support.saved_models import FUNCTIONS, MODELS
from support.saved_pipelines import PIPELINES

from votedkernels import ModelFileError, load_model
from votedkernels.persistence.container import DIGEST, encode


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    return make_originals(tmp_path_factory.mktemp("originals"))


def test_there_are_ten_thousand():
    assert sum(N_MUTANTS.values()) == 10_000


@pytest.mark.parametrize("kind", MUTATE)
def test_mutants_are_refused_or_harmless(kind, originals, tmp_path):
    seen.clear()
    random = np.random.RandomState(len(kind))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused = 0
    for number in range(N_MUTANTS[kind]):
        original, content = MUTATE[kind](random, originals)
        refused += check(original, content, None if number % 10 else tmp_path / "mutant")
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert not seen
    assert after - before < 100_000  # KB
    if kind in ("flipped bits", "cut or longer"):
        # Two flips of the same bit leave the file as it was.
        assert refused >= N_MUTANTS[kind] - 5


@pytest.fixture(scope="module")
def pipelines(tmp_path_factory):
    return make_originals(tmp_path_factory.mktemp("pipelines"), PIPELINES)


@pytest.mark.parametrize("kind", MUTATE)
def test_mutants_of_pipelines_are_refused_or_harmless(kind, pipelines, tmp_path):
    """A share of those that ``torture/trials/damaged_files.py`` tries."""
    seen.clear()
    random = np.random.RandomState(len(kind))
    for number in range(N_MUTANTS[kind] // 20):
        original, content = MUTATE[kind](random, pipelines)
        check(original, content, None if number % 10 else tmp_path / "mutant")
    assert not seen


def change(arrays, name, change_it):
    changed = {key: array.copy() for key, array in arrays.items()}
    change_it(changed[name])
    return changed


def set_first(value):
    def set_it(array):
        array.reshape(-1)[0] = value

    return set_it


@pytest.mark.parametrize(
    ("model", "name", "value"),
    [
        ("gaussian", "term_weights_", np.nan),
        ("gaussian", "term_weights_", np.inf),
        ("gaussian", "term_support_indices_", -1),
        ("gaussian", "term_support_indices_", 2**62),
        ("gaussian", "term_kernel_indices_", 2),
        ("gaussian", "support_vectors_", -np.inf),
        ("gaussian", "families.0.origin_", np.nan),
        ("continuous-gaussian", "families.0.gammas_", -1.0),
        ("precomputed", "support_", 40),
        ("precomputed", "support_", -1),
        ("sparse", "support_vectors_.indices", 3),
        ("sparse", "support_vectors_.indptr", 1),
        ("similarity", "support_vectors_.ends", -1),
        ("similarity", "support_vectors_.ends", 2**40),
        ("similarity", "support_vectors_.text", 0xFF),
        ("standard-scaling", "scaling.scale_", 0.0),
        ("standard-scaling", "scaling.mean_", np.nan),
    ],
)
def test_values_out_of_range_are_refused_whatever_the_digest(
    model, name, value, originals, tmp_path
):
    _, header, arrays, *_ = originals[list(MODELS).index(model)]
    path = tmp_path / "forged"
    path.write_bytes(b"".join(encode(header, change(arrays, name, set_first(value)))))
    with pytest.raises(ModelFileError):
        load_model(path, functions=FUNCTIONS)


@pytest.mark.parametrize(
    "text",
    [b"[" * 10**6, b'{"a":' * 10**5, b'{"a":1,"a":2}', b'{"a":NaN}', b'{"a":' + b"9" * 5000 + b"}"],
    ids=["deep lists", "deep objects", "twice", "nan", "long number"],
)
def test_headers_that_are_no_strict_json(text, originals, tmp_path):
    path = tmp_path / "forged"
    header, data = split(originals[0][0])
    start = header[: DIGEST.stop - 8]
    for forged in (start + b'","x":' + text, start + b'"' + b"}," + text):
        path.write_bytes(with_digest(join(forged, data)))
        with pytest.raises(ModelFileError):
            load_model(path)
    metadata = json.loads(header)
    metadata["__metadata__"]["model"] = text.decode()
    path.write_bytes(with_digest(join(json.dumps(metadata, separators=(",", ":")).encode(), data)))
    with pytest.raises(ModelFileError):
        load_model(path)


def test_many_families_and_arrays_take_no_time(originals, tmp_path):
    _, header, arrays, *_ = originals[list(MODELS).index("named-mixture")]
    path = tmp_path / "forged"
    family = header["families"][0]
    many = [{**family, "name": f"f{i}"} for i in range(3_000)]
    small = {f"a{i}": np.zeros(1, np.int8) for i in range(5_000)}
    for forged, held in [
        ({**header, "families": many}, arrays),
        ({**header, "transposed": list(small)}, {**arrays, **small}),
    ]:
        path.write_bytes(b"".join(encode(forged, held)))
        started = time.process_time()
        with pytest.raises(ModelFileError):
            load_model(path, functions=FUNCTIONS)
        assert time.process_time() - started < 10


def test_a_huge_degree_is_refused(originals, tmp_path):
    _, header, arrays, *_ = originals[list(MODELS).index("range-scaling")]
    header = copy.deepcopy(header)
    header["families"][0]["parameters"]["degrees"] = {"tuple": [1, 10**9]}
    path = tmp_path / "forged"
    path.write_bytes(b"".join(encode(header, arrays)))
    with pytest.raises(ModelFileError, match="degrees"):
        load_model(path)


@pytest.mark.parametrize("step", ["standardscaler", "a__b", "memory"])
def test_names_of_steps_that_a_pipeline_refuses_are_refused(step, originals, tmp_path):
    _, header, arrays, *_ = originals[list(MODELS).index("standard-scaling")]
    assert header["scaling"]["step"] == "standardscaler"
    path = tmp_path / "forged"
    path.write_bytes(b"".join(encode({**header, "step": step}, arrays)))
    with pytest.raises(ModelFileError, match="step of the header must be"):
        load_model(path)


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("feature_range", {"tuple": [1, 0]}, "the range of the scaler is empty"),
        ("feature_range", {"tuple": ["a", 1]}, "not valid"),
        ("feature_range", {"tuple": [0, 1, 2]}, "not valid"),
        ("feature_range", [0, 1], "feature_range of .* must be of type tuple"),
        ("clip", None, "clip of .* must be of type bool"),
    ],
)
def test_parameters_that_a_scaler_refuses_are_refused(key, value, words, originals, tmp_path):
    _, header, arrays, *_ = originals[list(MODELS).index("range-scaling")]
    header = copy.deepcopy(header)
    header["scaling"]["parameters"][key] = value
    path = tmp_path / "forged"
    path.write_bytes(b"".join(encode(header, arrays)))
    with pytest.raises(ModelFileError, match=words):
        load_model(path)
