"""Model files: what was saved comes back, and what is not a model is refused."""

import hashlib
import json
import os
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from support.saved_models import (
    FOLDER,
    FUNCTIONS,
    MODELS,
    NEW,
    SIGNS,
    THREE,
    WORD_LABELS,
    WORDS,
    X,
    fit,
)
from support.saved_pipelines import PIPELINES, decide

import votedkernels
from votedkernels import (
    Empirical,
    Gaussian,
    Local,
    ModelFileError,
    Polynomial,
    Similarity,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
    load_model,
    read_summary,
    save_model,
)
from votedkernels._system import atomic_files
from votedkernels.complexity import MEASURES
from votedkernels.kernels import KernelFamily
from votedkernels.persistence import container
from votedkernels.persistence.families import STORED

ATTRIBUTES = [
    "classes_", "support_", "term_weights_", "term_kernel_indices_", "term_support_indices_",
    "intercept_", "kernel_names_", "complexities_", "complexity_errors_", "penalties_",
    "kernel_mass_", "class_objectives_", "class_dual_bounds_", "class_dual_gaps_", "objective_",
    "dual_bound_", "dual_gap_", "n_iter_", "stop_reason_", "n_features_in_", "feature_names_in_",
    "n_samples_fit_", "training_error_",
    "n_kernels_tried_",
]  # fmt: skip


def assert_same(value, expected):
    """Equal to the last bit, and of the same type."""
    assert type(value) is type(expected)
    if isinstance(expected, np.ndarray):
        assert value.dtype == expected.dtype
        np.testing.assert_array_equal(value, expected)
    elif sparse.issparse(expected):
        assert_same(value.toarray(), expected.toarray())
    else:
        assert value == expected or (value != value and expected != expected)


def classifier_of(model):
    return model[-1] if hasattr(model, "steps") else model


def assert_same_model(loaded, model, new):
    assert_same(loaded.decision_function(new), model.decision_function(new))
    assert_same(loaded.predict(new), model.predict(new))
    ours, theirs = classifier_of(loaded), classifier_of(model)
    assert type(ours) is VotedKernelClassifier
    for name in ATTRIBUTES:
        assert hasattr(ours, name) == hasattr(theirs, name), name
        if hasattr(theirs, name):
            assert_same(getattr(ours, name), getattr(theirs, name))
    assert_same(ours.support_vectors_, theirs.support_vectors_)
    for family, original in zip(ours.kernels_, theirs.kernels_, strict=True):
        assert type(family) is type(original)
        assert set(vars(family)) == set(vars(original))
        for name in original.__dict__:
            if name.endswith("_"):
                assert_same(getattr(family, name), getattr(original, name))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A model file and its bytes."""
    path = tmp_path_factory.mktemp("small") / "model.safetensors"
    save_model(fit(Gaussian((0.3, 3.0))), path)
    return path.read_bytes()


# -- there and back -----------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_a_loaded_model_is_the_saved_one(name, path):
    make, new = MODELS[name]
    model = make()
    save_model(model, path)
    assert_same_model(load_model(path, functions=FUNCTIONS), model, new)


@pytest.mark.parametrize("name", MODELS)
def test_saving_again_gives_the_same_file(name, path, tmp_path):
    save_model(MODELS[name][0](), path)
    again = tmp_path / "again.safetensors"
    save_model(load_model(path, functions=FUNCTIONS), again)
    ours, theirs = (container.read_container(file).header for file in (again, path))
    assert ours | {"classifier": ""} == theirs | {"classifier": ""}


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.safetensors")), ids=lambda file: file.stem)
def test_files_of_every_version_load(file):
    """Decisions are compared up to rounding: another BLAS may add in another order."""
    expected = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
    model = load_model(file, functions=FUNCTIONS)
    new = (MODELS | PIPELINES)[file.stem.partition("-")[2]][1]
    np.testing.assert_allclose(decide(model, new), expected["decisions"], rtol=1e-9, atol=1e-9)
    assert model.predict(new).tolist() == expected["predictions"]


def test_there_are_files_of_every_version_and_family():
    for version in range(1, container.FORMAT_VERSION + 1):
        names = {file.stem for file in FOLDER.glob(f"v{version}-*.safetensors")}
        models = {1: MODELS, 2: PIPELINES}[version]
        assert names >= {f"v{version}-{name}" for name in models}


def test_every_public_family_can_be_saved():
    families = {
        name
        for name in votedkernels.__all__
        if isinstance(getattr(votedkernels, name), type)
        and issubclass(getattr(votedkernels, name), KernelFamily)
    }
    assert families == set(STORED)


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"]),
        np.array(["no", "yes"], dtype=object),
        np.array(["", "\ud800 lone", "=2+3", "東京"]),
        np.array([False, True]),
        np.array([-1, 2**62]),
        np.array([0, 255], dtype=np.uint8),
        np.array([-1.0, 0.0, 3.0]),
        np.array([0, 1], dtype=np.float32),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_labels_of_every_type(labels, path):
    y = labels[np.arange(len(X)) % len(labels)]
    model = fit(Polynomial((1, 2)), y=y)
    save_model(model, path)
    assert_same(load_model(path).classes_, model.classes_)
    assert_same(load_model(path).predict(NEW), model.predict(NEW))


@pytest.mark.parametrize(
    "new",
    [np.asfortranarray, lambda X: X[::-1], lambda X: X.astype(np.float32), sparse.csr_array],
    ids=["fortran", "reversed", "single", "sparse"],
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_last_bit_does_not_depend_on_the_order_in_memory(order, new, path):
    random = np.random.RandomState(1)
    rows = np.asarray(random.randn(300, 30), order=order)
    y = random.randint(3, size=300)
    model = fit([Polynomial((1, 2)), Gaussian()], rows, y, time_limit=1.0)
    save_model(model, path)
    loaded = load_model(path)
    test = new(random.randn(1100, 30))
    assert_same(loaded.decision_function(test), model.decision_function(test))
    assert loaded.support_vectors_.flags.c_contiguous == model.support_vectors_.flags.c_contiguous


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"complexity": "local"},
        {"complexity": Local(radius=0.1)},
        {"complexity": Local(radius=(0.1, 0.2))},
        {"complexity": [Empirical(8, random_state=3)]},
        {"complexity": np.array([0.1, 0.2])},
        {"centers": 20, "random_state": 3},
        {"centers": X[:7]},
        {"centers": X[:7].tolist()},
        {"centers": sparse.csr_matrix(X[:7])},
        {"class_weight": "balanced", "tol": 1e-3, "max_iter": 50, "time_limit": 60},
        {"class_weight": {-1: 1.0, 1: 3}, "memory_limit": "1GB", "n_jobs": 2},
        {"solver": "coordinate-descent", "l2_penalty": 0.01},
        {"complexity_penalty": np.float64(0.01), "fit_intercept": True},
    ],
    ids=lambda parameters: " ".join(f"{k}={v}".split("\n")[0] for k, v in parameters.items()),
)
def test_parameters_come_back(parameters, path):
    model = fit(Gaussian((0.3, 3.0)), **parameters)
    save_model(model, path)
    loaded = load_model(path)
    assert_same_model(loaded, model, NEW)
    assert repr(loaded.get_params()) == repr(
        {k: v.item() if isinstance(v, np.generic) else v for k, v in model.get_params().items()}
    )
    assert_same_model(clone(loaded).fit(X, SIGNS), model, NEW)


def test_what_is_no_plain_value_has_a_substitute(path):
    class OwnMeasure(MEASURES["trace"]):
        pass

    model = fit(Gaussian((0.3, 3.0)), complexity=OwnMeasure(), random_state=np.random.RandomState())
    save_model(model, path)
    loaded = load_model(path)
    assert_same(loaded.complexity, model.complexities_)
    assert loaded.random_state is None
    assert_same_model(loaded, model, NEW)


def test_feature_names_come_back(path):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=["a", "b b", "ç"])
    for model in (
        fit(Gaussian(), table),
        make_pipeline(MinMaxScaler(), VotedKernelClassifier()).fit(table, SIGNS),
    ):
        save_model(model, path)
        loaded = load_model(path)
        assert_same(loaded.feature_names_in_, model.feature_names_in_)
        assert_same(loaded.decision_function(table), model.decision_function(table))
        with pytest.raises(ValueError, match="feature names"):
            loaded.predict(table[["b b", "a", "ç"]])


@pytest.mark.parametrize("parameters", [{"with_mean": False}, {"with_std": False}, {"copy": False}])
def test_scalers_with_other_parameters(parameters, path):
    model = make_pipeline(StandardScaler(**parameters), VotedKernelClassifier()).fit(X, SIGNS)
    save_model(model, path)
    loaded = load_model(path)
    assert [name for name, _ in loaded.steps] == [name for name, _ in model.steps]
    assert loaded[0].get_params() == model[0].get_params()
    assert_same(loaded.decision_function(NEW.copy()), model.decision_function(NEW.copy()))
    for name, value in vars(model[0]).items():
        if name.endswith("_") and value is not None:
            np.testing.assert_array_equal(getattr(loaded[0], name), value)


def test_a_search_comes_back_as_the_classifier_it_chose(path):
    model = MODELS["search"][0]()
    save_model(model, path)
    loaded = load_model(path)
    assert loaded.complexity_penalty == model.best_params_["complexity_penalty"]
    assert loaded.l1_penalty == model.best_params_["l1_penalty"]
    assert loaded.n_kernels_tried_ == model.n_kernels_tried_
    assert read_summary(path)["classifier"] == "VotedKernelClassifierCV"


@pytest.mark.parametrize("labels", [SIGNS, THREE], ids=["two classes", "three classes"])
def test_probabilities_come_back(labels, path):
    single = fit(Gaussian(), y=labels, probability=True)
    search = VotedKernelClassifierCV(Gaussian((1.0,)), cv=2).fit(X, labels)
    for model in (single, search):
        save_model(model, path)
        loaded = load_model(path)
        assert_same(loaded.predict_proba(NEW), model.predict_proba(NEW))
        assert_same(loaded.probability_scale_, model.probability_scale_)
    save_model(fit(Gaussian(), y=labels), path)
    assert not hasattr(load_model(path), "predict_proba")


def test_a_fit_that_was_stopped_can_be_saved(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = VotedKernelClassifier(l1_penalty=1e-6, tol=1e-12, max_iter=1).fit(X, THREE)
    assert model.stop_reason_ == "max-iter"
    save_model(model, path)
    assert_same_model(load_model(path), model, NEW)


def test_numbers_that_are_none_can_be_saved(path):
    model = VotedKernelClassifier().fit(X, THREE)
    model.complexities_ = np.full(10, np.nan)
    save_model(model, path)
    assert_same_model(load_model(path), model, NEW)
    assert read_summary(path)["kernels"][0]["complexity"] is None


def test_the_file_is_one_of_safetensors(path):
    safetensors = pytest.importorskip("safetensors.numpy")
    model = fit(Gaussian((0.3, 3.0)))
    save_model(model, path)
    arrays = safetensors.load_file(path)
    assert_same(arrays["support_vectors_"], model.support_vectors_)


def test_the_guarantee_is_the_same(path):
    model = fit(Gaussian(unit=1.0))
    save_model(model, path)
    assert load_model(path).generalization_bound(X, SIGNS) == model.generalization_bound(X, SIGNS)


def test_kernels_must_be_those_that_their_names_tell(path):
    save_model(fit(Gaussian((0.3, 3.0))), path)
    held = container.read_container(path)
    held.header["families"][0]["members"][1]["name"] = "gaussian(gamma=4)"
    container.write_whole(path, container.encode(held.header, held.arrays))
    with pytest.raises(
        ModelFileError, match=r"kernels of its parameters, such as gaussian\(gamma=3"
    ):
        load_model(path)


def test_a_parameter_that_came_later_has_its_default(path):
    save_model(MODELS["standard-scaling"][0](), path)
    held = container.read_container(path)
    for parameters in (held.header["parameters"], held.header["scaling"]["parameters"]):
        parameters.pop("l2_penalty", None)
        parameters.pop("copy", None)
    container.write_whole(path, container.encode(held.header, held.arrays))
    assert load_model(path)[-1].l2_penalty == 0.0
    held.header["parameters"]["not_yet_known"] = 1
    container.write_whole(path, container.encode(held.header, held.arrays))
    with pytest.raises(ModelFileError):
        load_model(path)


def test_default_kernels_stay_the_default(path):
    save_model(VotedKernelClassifier().fit(X, SIGNS), path)
    again = load_model(path)
    assert again.kernels is None
    save_model(again, path)


def test_default_kernels_of_another_version_are_named(path):
    save_model(VotedKernelClassifier(Polynomial()).fit(X, SIGNS), path)
    held = container.read_container(path)
    held.header["kernels"] = "default"
    container.write_whole(path, container.encode(held.header, held.arrays))
    again = load_model(path)
    assert again.kernels.get_params() == Polynomial().get_params()
    save_model(again, path)


# -- the summary --------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", [10**400, -(10**400)], ids=["positive", "negative"])
def test_a_penalty_larger_than_any_float_is_refused(path, penalty):
    save_model(VotedKernelClassifier().fit(X, SIGNS), path)
    held = container.read_container(path)
    held.header["parameters"]["l1_penalty"] = penalty
    container.write_whole(path, container.encode(held.header, held.arrays))
    with pytest.raises(ModelFileError, match="l1_penalty"):
        read_summary(path)
    with pytest.raises(ModelFileError):
        load_model(path)


@pytest.mark.parametrize("name", MODELS)
def test_the_summary_tells_what_the_model_has(name, path):
    model = MODELS[name][0]()
    save_model(model, path)
    summary = read_summary(path)
    inner = classifier_of(model)
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert summary["n_support"] == len(inner.support_)
    assert summary["n_terms"] == inner.term_weights_.shape[1]
    assert summary["objective"] == inner.objective_
    assert summary["classes"] == inner.classes_.tolist()
    assert [kernel["mass"] for kernel in summary["kernels"]] == inner.kernel_mass_.tolist()
    assert (summary["scaling"] is None) == (inner is model)
    digest = bytearray(path.read_bytes())
    digest[container.DIGEST] = b"0" * 64
    assert summary["sha256"] == hashlib.sha256(digest).hexdigest()


# -- what cannot be saved -----------------------------------------------------------------


class OwnFamily(Gaussian):
    pass


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: LogisticRegression().fit(X, SIGNS), TypeError, "got LogisticRegression"),
        (VotedKernelClassifier, NotFittedError, "not fitted"),
        (
            lambda: VotedKernelClassifierCV(
                Gaussian((1.0,)), l1_penalties=[0.1], complexity_penalties=[0.1], refit=False
            ).fit(X, SIGNS),
            NotFittedError,
            "not fitted",
        ),
        (lambda: fit(OwnFamily((1.0,))), ValueError, "OwnFamily is your own kernel family"),
        (
            lambda: fit(
                Similarity(lambda A, B: np.array(A) * np.array(B).T), [(1,), (-2,)], [0, 1]
            ),
            ValueError,
            "objects of type tuple",
        ),
        (
            lambda: fit([Similarity(lambda A, B: A @ B.T), Similarity(lambda A, B: -A @ B.T)]),
            ValueError,
            "two functions have the name '<lambda>'",
        ),
        (lambda: make_pipeline(StandardScaler(), SVC()), TypeError, "got Pipeline with SVC"),
        (lambda: fit(None).set_params(kernels=[Gaussian()] * 2), ValueError, "changed after"),
    ],
)
def test_what_cannot_be_saved_is_told_and_leaves_nothing(make, error, words, path):
    model = make()
    with pytest.raises(error, match=words):
        save_model(model, path)
    assert not list(path.parent.iterdir())


def test_a_write_that_fails_leaves_the_old_file(path, monkeypatch):
    save_model(fit(None), path)
    before = path.read_bytes()

    def fail(*args):
        raise OSError(28, "No space left on device")

    for name in ("fsync", "replace", "chmod"):
        with monkeypatch.context() as patch:
            patch.setattr(atomic_files.os, name, fail)
            with pytest.raises(OSError, match="No space"):
                save_model(fit(Gaussian()), path)
        assert path.read_bytes() == before
        assert list(path.parent.iterdir()) == [path]


def test_a_file_has_the_mode_that_new_files_have(path):
    old = os.umask(0o027)
    try:
        save_model(fit(None), path)
    finally:
        os.umask(old)
    assert path.stat().st_mode & 0o777 == 0o640


# -- what cannot be loaded ----------------------------------------------------------------


def test_functions_are_asked_for_by_name(path):
    model = MODELS["similarity"][0]()
    save_model(model, path)
    with pytest.raises(ModelFileError, match=r"functions=\{'letters_in_common': \.\.\.\}"):
        load_model(path)
    with pytest.raises(TypeError, match="not a function"):
        load_model(path, functions={"letters_in_common": "letters"})
    assert read_summary(path)["kernels"][0]["name"] == "letters_in_common"
    assert load_model(path, functions=FUNCTIONS).support_vectors_ == model.support_vectors_
    assert (load_model(path, functions=FUNCTIONS).predict(WORDS) == model.predict(WORDS)).all()
    assert WORD_LABELS.dtype == load_model(path, functions=FUNCTIONS).classes_.dtype


@pytest.mark.parametrize("read", [load_model, read_summary])
def test_files_that_are_no_model_files(read, path, tmp_path, small):
    cases = {
        b"": "not a model file",
        b"PK\x03\x04": "not a model file",
        b"a,b\n1,2\n" * 100: "not a model file",
        small[:200]: "declares a header",
        small[:-1]: "does not fit",
        small + b"\0": "belong to no array",
        small[:-1] + bytes([small[-1] ^ 1]): "damaged",
        (2**63).to_bytes(8, "little") + small[8:]: "declares a header of 9223372036854775808",
        small.replace(b'"version":"1"', b'"version":"3"'): "format version '3'.*newer",
        small.replace(b'"version":"1"', b'"version":"x"'): "not a version",
    }
    for content, words in cases.items():
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=words) as caught:
            read(path)
        assert str(path) in str(caught.value)
        assert len(str(caught.value)) < 1000
    with pytest.raises(ModelFileError, match="this is a folder"):
        read(tmp_path)
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "missing.safetensors")
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    with pytest.raises(ModelFileError, match="not a file"):
        read(fifo)


def test_paths_may_be_text(path, small):
    path.write_bytes(small)
    assert load_model(str(path)).predict(NEW).shape == (25,)
    save_model(fit(None), os.fspath(path))
    assert Path(path).is_file()
