"""Exported graphs decide as their models do, in a runtime that nobody here wrote."""

import re
import subprocess
import sys
from collections import Counter
from copy import deepcopy
from functools import cache

import numpy as np
import pytest
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    PolynomialFeatures,
    StandardScaler,
)
from support.paths import ROOT

from votedkernels import (
    ContinuousGaussian,
    EditDistance,
    Gaussian,
    Polynomial,
    Precomputed,
    Similarity,
    Spectrum,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
)

WHY = "exported graphs are run by onnxruntime: pip install 'votedkernels[onnx]' onnxruntime"
onnxruntime = pytest.importorskip("onnxruntime", reason=WHY)
onnx = pytest.importorskip("onnx", reason=WHY)
skl2onnx = pytest.importorskip("skl2onnx", reason=WHY)

from onnx.reference import ReferenceEvaluator  # noqa: E402

from votedkernels.onnx import ExportError, checks, export, to_onnx  # noqa: E402

N_ROWS = 10_000
FAMILIES = {
    "polynomial": lambda: Polynomial(),
    "polynomial in any order": lambda: Polynomial((7, 2, 10), coef0=0.5),
    "gaussian": lambda: Gaussian(),
    "continuous": lambda: ContinuousGaussian(0.1, 10.0),
    "mixed": lambda: [Polynomial((1, 3)), Gaussian((0.1, 1.0)), Polynomial((2,), gamma=0.3)],
    "named": lambda: [("poly", Polynomial((2, 4))), ("wide", ContinuousGaussian(0.1, 1.0))],
}


def rows(n, *, seed, shift=0.0):
    return shift + np.random.RandomState(seed).randn(n, 4)


def labels(X, names=("no", "yes")):
    shape = X - X.mean(axis=0)
    cuts = [0.0] if len(names) == 2 else np.linspace(-0.5, 0.5, len(names) - 1)
    return np.array(names)[np.digitize(shape[:, 0] * shape[:, 1] + 0.3 * shape[:, 2] ** 3, cuts)]


def fitted(kernels=None, *, names=("no", "yes"), shift=0.0, **options):
    X = rows(90, seed=1, shift=shift)
    usual = {"complexity_penalty": 1e-2, "l1_penalty": 3e-3, "complexity": "trace"}
    return VotedKernelClassifier(kernels, **(usual | options)).fit(X, labels(X, names))


@cache
def fitted_once(family, names=("no", "yes")):
    return fitted(FAMILIES[family](), names=names)


def fitted_by(family, names=("no", "yes")):
    """A model of the families of that name, for tests that may change it."""
    return deepcopy(fitted_once(family, names))


def with_random_terms(model, seed):
    """The model with weights at random over all kernels and support vectors."""
    random = np.random.RandomState(seed)
    n_kernels, n_support = len(model.kernel_names_), len(model.support_)
    chosen = np.flatnonzero(random.rand(n_kernels * n_support) < 0.3)
    model.term_kernel_indices_, model.term_support_indices_ = np.divmod(chosen, n_support)
    weights = random.randn(len(model.intercept_), len(chosen))
    # As fits have it: a kernel of large values has small weights.
    largest = np.concatenate([f.largest(model.support_vectors_, model.support_vectors_)
                              for f in model.kernels_])  # fmt: skip
    model.term_weights_ = weights / largest[model.term_kernel_indices_]
    return model


def session(exported):
    onnx.checker.check_model(exported, full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(
        exported.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def run(exported, X, name="X"):
    return session(exported).run(None, {name: X})


def sizes(model, X):
    """max(1, sum |a K|) for each row and vote, by scikit-learn's kernels."""
    if hasattr(model, "steps"):
        X, model = model[:-1].transform(X), model[-1]
    kernels = []
    for family in model.kernels_:
        if isinstance(family, Polynomial):
            given = {"gamma": family.gamma_, "coef0": family.coef0}
            kernels += [lambda c, d=d, g=given: polynomial_kernel(X, c, degree=d, **g)
                        for d in family.degrees_]  # fmt: skip
        else:
            kernels += [lambda c, g=g * family.unit_: rbf_kernel(X, c, gamma=g)
                        for g in family.gammas_]  # fmt: skip
    total = np.zeros((X.shape[0], len(model.intercept_)))
    for k in np.unique(model.term_kernel_indices_):
        mine = model.term_kernel_indices_ == k
        values = kernels[k](model.support_vectors_[model.term_support_indices_[mine]])
        total += np.abs(values) @ np.abs(model.term_weights_[:, mine].T)
    return np.maximum(total, 1.0)


def assert_same_decisions(model, X, exported=None, name="X"):
    exported = to_onnx(model) if exported is None else exported
    label, scores, *_ = run(exported, X, name)
    decision = model.decision_function(X)
    assert scores.shape == decision.shape
    assert scores.dtype == np.float64
    bound = 1e-9 * sizes(model, X)
    two = decision.ndim == 1
    assert (np.abs(scores - decision) <= (bound[:, 0] if two else bound)).all()
    ranked = np.sort(decision, axis=-1)
    margin = np.abs(decision) if two else ranked[:, -1] - ranked[:, -2]
    clear = margin > bound.max(axis=1)
    assert clear.mean() > 0.9
    assert label.shape == (len(X),)
    assert (label == model.predict(X))[clear].all()


def operators(exported):
    return Counter(node.op_type for node in exported.graph.node)


# -- parity -------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [("no", "yes"), (2, 5, 9)], ids=["two", "three"])
@pytest.mark.parametrize("family", FAMILIES)
def test_decisions_are_those_of_the_model(family, names):
    model = fitted_by(family, names)
    assert model.term_weights_.size
    assert_same_decisions(model, rows(N_ROWS, seed=2))


@pytest.mark.parametrize("names", [("no", "yes"), (2, 5, 9)], ids=["two", "three"])
@pytest.mark.parametrize("family", ["polynomial", "gaussian", "mixed"])
def test_decisions_with_an_intercept_are_those_of_the_model(family, names):
    model = fitted(FAMILIES[family](), names=names, fit_intercept=True)
    assert (model.intercept_ != 0).any()
    assert_same_decisions(model, rows(N_ROWS, seed=2))


@pytest.mark.parametrize("names", [("no", "yes"), (2, 5, 9)], ids=["two", "three"])
@pytest.mark.parametrize("family", ["polynomial", "polynomial in any order", "gaussian", "mixed"])
def test_decisions_of_every_kernel_and_center_are_those_of_the_model(family, names):
    model = with_random_terms(fitted_by(family, names), seed=3)
    assert len(np.unique(model.term_kernel_indices_)) == len(model.kernel_names_)
    assert_same_decisions(model, rows(N_ROWS, seed=2))


@pytest.mark.parametrize("family", ["polynomial", "gaussian", "continuous", "mixed"])
def test_decisions_far_from_the_origin_are_those_of_the_model(family):
    model = fitted(FAMILIES[family](), shift=1e3)
    assert_same_decisions(model, rows(N_ROWS, seed=2, shift=1e3))


def test_gaussians_far_from_the_origin_are_true_to_the_formula():
    """Differences first, in extended precision: no digits are lost to the shift."""
    model, X = fitted(Gaussian(), shift=1e3), rows(500, seed=2, shift=1e3)
    centers = model.support_vectors_.astype(np.longdouble)
    squares = ((X.astype(np.longdouble)[:, None, :] - centers[None]) ** 2).sum(axis=2)
    gammas = model.kernels_[0].gammas_[model.term_kernel_indices_] * model.kernels_[0].unit_
    values = np.exp(-gammas * squares[:, model.term_support_indices_])
    truth = values @ model.term_weights_[0]
    scale = np.maximum(values @ np.abs(model.term_weights_[0]), 1)
    assert (np.abs(run(to_onnx(model), X)[1] - truth) <= 1e-9 * scale).all()


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler((-1, 1), clip=True)])
@pytest.mark.parametrize("names", [("no", "yes"), (2, 5, 9)], ids=["two", "three"])
def test_decisions_of_pipelines_are_those_of_the_model(scaler, names):
    X = rows(90, seed=1, shift=1e3)
    model = make_pipeline(scaler, VotedKernelClassifier([Polynomial((1, 2, 9)), Gaussian()]))
    model.fit(X, labels(X, names))
    assert_same_decisions(model, rows(N_ROWS, seed=2, shift=1e3))


def test_decisions_with_centers_of_the_users_own():
    model = fitted(FAMILIES["mixed"](), centers=rows(40, seed=5))
    assert_same_decisions(model, rows(N_ROWS, seed=2))


def test_decisions_of_a_search_are_those_of_its_choice():
    X = rows(90, seed=1)
    search = VotedKernelClassifierCV(
        {"poly": Polynomial((1, 2)), "gauss": Gaussian()},
        complexity_penalties=[1e-2],
        l1_penalties=[1e-2, 1e-3],
        cv=2,
    )
    assert_same_decisions(search.fit(X, labels(X)), rows(N_ROWS, seed=2))


def test_decisions_of_a_sparse_model_on_dense_rows():
    X = rows(90, seed=1)
    X[np.abs(X) < 0.7] = 0.0
    model = VotedKernelClassifier([Polynomial((1, 2, 3)), Gaussian()])
    model.fit(sparse.csr_matrix(X), labels(X))
    assert_same_decisions(model, rows(N_ROWS, seed=2))


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("names", [("no", "yes"), (2, 5, 9)], ids=["two", "three"])
@pytest.mark.filterwarnings("ignore:The penalties are so large")
def test_a_model_without_terms_is_a_constant(names, fit_intercept):
    model = fitted(Gaussian(), names=names, l1_penalty=50.0, fit_intercept=fit_intercept)
    assert model.term_weights_.shape[1] == 0
    for n in (0, 1, 5):
        X = rows(n, seed=2)
        label, scores = run(to_onnx(model), X)
        assert scores.tolist() == np.tile(np.squeeze(model.intercept_), (n, 1)).reshape(
            scores.shape).tolist()  # fmt: skip
        assert label.tolist() == [model.predict(rows(1, seed=3))[0]] * n


@pytest.mark.parametrize("family", ["polynomial", "gaussian"])
def test_missing_values_make_scores_that_are_no_numbers(family):
    """Not a clear decision, which a maximum that loses NaN would give."""
    X = rows(3, seed=2)
    X[1, 2] = np.nan
    assert np.isnan(run(to_onnx(fitted_by(family)), X)[1]).tolist() == [False, True, False]


# -- labels -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "dtype", "due"),
    [
        (("no", "yes"), None, np.object_),
        (("é", "日本", "z"), object, np.object_),
        ((-1, 1), np.int8, np.int64),
        ((0, 2**63 - 1), np.uint64, np.int64),
        ((False, True), bool, np.bool_),
        ((0.0, 2.0), np.float32, np.float64),
    ],
    ids=str,
)
def test_labels_are_of_the_type_they_had(names, dtype, due):
    X = rows(90, seed=1)
    y = labels(X, np.arange(len(names)))
    model = VotedKernelClassifier(Gaussian()).fit(X, np.array(names, dtype=dtype)[y])
    label, _ = run(to_onnx(model), X)
    assert label.dtype == due
    assert label.tolist() == model.predict(X).tolist()
    assert set(label.tolist()) == set(names)


def test_equal_votes_go_to_the_first_class_as_in_the_model():
    model = fitted(Gaussian(), names=("a", "b", "c"))
    model.term_weights_[:], model.intercept_[:] = 0.0, [0.0, 1.0, 1.0]
    X = rows(4, seed=2)
    assert run(to_onnx(model), X)[0].tolist() == model.predict(X).tolist() == ["b"] * 4
    model = fitted(Gaussian())
    model.term_weights_[:], model.intercept_[:] = 0.0, 0.0
    assert run(to_onnx(model), X)[0].tolist() == model.predict(X).tolist() == ["no"] * 4


# -- the graph ----------------------------------------------------------------------------


@pytest.mark.parametrize("names", [("no", "yes"), (2, 5, 9)], ids=["two", "three"])
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_one_product_of_matrices(family, names):
    model = fitted_by(family, names)
    if family != "continuous":
        with_random_terms(model, seed=3)
    exported = to_onnx(model)
    assert operators(exported)["MatMul"] == len(model.kernels_)
    assert operators(exported)["Pow"] == operators(exported)["ZipMap"] == 0
    # All widths of a family at once; a power is one product more.
    n_gaussian = sum(not isinstance(family, Polynomial) for family in model.kernels_)
    assert operators(exported)["Exp"] == n_gaussian


def test_only_what_has_a_weight_is_in_the_graph():
    model = fitted([Polynomial((1, 10)), Gaussian()])
    mine = model.term_kernel_indices_ == 0
    for name in ("term_kernel_indices_", "term_support_indices_"):
        setattr(model, name, getattr(model, name)[mine])
    model.term_weights_ = model.term_weights_[:, mine]
    exported = to_onnx(model)
    assert operators(exported)["MatMul"] == 1
    assert operators(exported)["Exp"] == operators(exported)["Mul"] == 0
    held = {tuple(tensor.dims) for tensor in exported.graph.initializer}
    assert (4, len(np.unique(model.term_support_indices_))) in held
    assert_same_decisions(model, rows(100, seed=2))


@pytest.mark.parametrize("family", FAMILIES)
def test_everything_is_in_double_precision(family):
    model = make_pipeline(StandardScaler().fit(rows(90, seed=1)), fitted_by(family))
    exported = to_onnx(model)
    graph = onnx.shape_inference.infer_shapes(exported, strict_mode=True).graph
    values = [*graph.input, *graph.value_info, *graph.output]
    types = {value.type.tensor_type.elem_type for value in values}
    types |= {tensor.data_type for tensor in graph.initializer}
    assert onnx.TensorProto.DOUBLE in types
    assert not types & {onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16}
    assert len(values) == 1 + sum(len(node.output) for node in graph.node)


@pytest.mark.parametrize("names", [("no", "yes"), (2, 5, 9)], ids=["two", "three"])
@pytest.mark.parametrize("family", ["polynomial", "gaussian", "mixed"])
def test_any_number_of_rows_will_do(family, names):
    model = fitted_by(family, names)
    exported = to_onnx(model)
    for value in (*exported.graph.input, *exported.graph.output):
        assert not value.type.tensor_type.shape.dim[0].HasField("dim_value")
    opened, X = session(exported), rows(3, seed=2)
    for n in (0, 1, 3):
        label, scores = opened.run(None, {"X": X[:n]})
        assert label.shape == (n,)
        assert scores.shape == model.decision_function(X)[:n].shape
        np.testing.assert_allclose(scores, model.decision_function(X)[:n], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("target_opset", [13, 15, 18, None])
def test_operators_of_any_version_since_13(target_opset):
    model = fitted_by("mixed", (2, 5, 9))
    exported = to_onnx(model, target_opset=target_opset)
    assert all(o.domain == "" and o.version <= (target_opset or 99) for o in exported.opset_import)
    assert_same_decisions(model, rows(200, seed=2), exported)


def test_the_graph_means_the_same_by_the_reference_of_onnx():
    model, X = fitted_by("mixed", (2, 5, 9)), rows(50, seed=2)
    label, scores = ReferenceEvaluator(to_onnx(model)).run(None, {"X": X})
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-9, atol=1e-9)
    assert label.tolist() == model.predict(X).tolist()


# -- options ------------------------------------------------------------------------------


def test_the_input_has_the_name_it_is_given():
    model = fitted(Gaussian())
    assert_same_decisions(model, rows(50, seed=2), to_onnx(model, input_name="rows"), name="rows")


def test_scores_can_be_left_out():
    model, X = fitted(Gaussian()), rows(50, seed=2)
    (label,) = run(to_onnx(model, scores=False), X)
    assert label.tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_those_of_the_model(n_classes):
    X, X_new = rows(90, seed=1), rows(500, seed=2)
    y = np.digitize(X[:, 0] + X[:, 1], [0.0, 1.0][: n_classes - 1])
    model = VotedKernelClassifier(Gaussian(), probability=True).fit(X, y)
    exported = to_onnx(model)
    assert [output.name for output in exported.graph.output] == ["label", "scores", "probabilities"]
    _, _, chances = run(exported, X_new)
    assert chances.shape == (500, n_classes)
    np.testing.assert_allclose(chances, model.predict_proba(X_new), rtol=1e-9, atol=1e-12)
    for options, n_outputs in (({"scores": False}, 2), ({"probabilities": False}, 2)):
        assert len(run(to_onnx(model, **options), X_new)) == n_outputs
    np.testing.assert_array_equal(run(to_onnx(model, scores=False), X_new)[1], chances)


def test_names_of_features_are_in_the_metadata():
    pandas = pytest.importorskip("pandas")
    X = rows(90, seed=1)
    frame = pandas.DataFrame(X, columns=["a", "b", "ü", "d"])
    model = make_pipeline(StandardScaler(), VotedKernelClassifier()).fit(frame, labels(X))
    exported = session(to_onnx(model)).get_modelmeta().custom_metadata_map
    assert exported == {"feature_names": '["a", "b", "\\u00fc", "d"]'}
    assert session(to_onnx(fitted())).get_modelmeta().custom_metadata_map == {}


# -- by skl2onnx itself -------------------------------------------------------------------


@pytest.mark.parametrize("options", [None, {"zipmap": False}])
def test_skl2onnx_knows_the_classifiers(options):
    X = rows(90, seed=1, shift=1e3)
    model = make_pipeline(StandardScaler(), VotedKernelClassifier()).fit(X, labels(X))
    for each in (model, fitted(Gaussian(), names=(2, 5, 9), shift=1e3)):
        exported = skl2onnx.to_onnx(each, X[:1], options=options)
        assert_same_decisions(each, rows(500, seed=2, shift=1e3), exported)


def test_convert_sklearn_takes_a_column_for_each_feature():
    model, X = fitted(), rows(50, seed=2)
    column = skl2onnx.common.data_types.DoubleTensorType([None, 1])
    exported = skl2onnx.convert_sklearn(model, initial_types=[(name, column) for name in "abcd"])
    columns = {name: X[:, [i]] for i, name in enumerate("abcd")}
    label, scores = session(exported).run(None, columns)
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-9, atol=1e-9)
    assert label.tolist() == model.predict(X).tolist()


def test_single_precision_is_only_that_of_the_input():
    model, X = fitted(Gaussian()), rows(200, seed=2).astype(np.float32)
    assert_same_decisions(model, X, skl2onnx.to_onnx(model, X[:1]))


def test_skl2onnx_can_leave_out_the_scores():
    model = fitted()
    exported = skl2onnx.to_onnx(
        model, rows(1, seed=2), options={VotedKernelClassifier: {"scores": False}}
    )
    assert [output.name for output in exported.graph.output] == ["label"]


# -- what cannot be exported ----------------------------------------------------------------


class OwnGaussian(Gaussian):
    pass


def same(A, B):
    return np.array([[float(a[0] == b[0]) for b in B] for a in A])


WORDS = ["ab", "abc", "ba", "bab"] * 4
NOT_EXPORTED = {
    "Similarity": lambda: VotedKernelClassifier(Similarity(same)).fit(WORDS, [0, 0, 1, 1] * 4),
    "Precomputed": lambda: VotedKernelClassifier(Precomputed()).fit(np.eye(4), [0, 0, 1, 1]),
    "EditDistance": lambda: VotedKernelClassifier(EditDistance()).fit(WORDS, [0, 0, 1, 1] * 4),
    "Spectrum": lambda: VotedKernelClassifier(Spectrum()).fit(WORDS, [0, 0, 1, 1] * 4),
    "OwnGaussian": lambda: fitted([Polynomial((1, 2)), OwnGaussian()]),
}


@pytest.fixture
def no_work(monkeypatch):
    monkeypatch.setattr(export, "convert_sklearn", lambda *_, **__: pytest.fail("work began"))


@pytest.mark.parametrize("name", NOT_EXPORTED)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_families_that_cannot_be_exported_are_named(name, no_work):
    model = NOT_EXPORTED[name]()
    due = rf"{name} cannot be exported: .*Polynomial, Gaussian, ContinuousGaussian"
    with pytest.raises(ExportError, match=due) as ours:
        to_onnx(model)
    with pytest.raises(ExportError) as by_skl2onnx:
        skl2onnx.to_onnx(model, rows(1, seed=0))
    assert str(ours.value) == str(by_skl2onnx.value)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (VotedKernelClassifier(), "this VotedKernelClassifier is not fitted; call fit before"),
        (VotedKernelClassifierCV(), "is not fitted; call fit before you export it, with refit"),
        (make_pipeline(StandardScaler(), VotedKernelClassifier()), "StandardScaler .*not fitted"),
    ],
)
def test_models_must_be_fitted(model, words, no_work):
    with pytest.raises(NotFittedError, match=words):
        to_onnx(model)


def test_a_search_must_have_refitted(no_work):
    X = rows(40, seed=1)
    given = {"complexity_penalties": [1e-2], "l1_penalties": [1e-2], "cv": 2, "refit": False}
    search = VotedKernelClassifierCV(Polynomial((1, 2)), **given).fit(X, labels(X))
    with pytest.raises(NotFittedError, match="with refit=True"):
        to_onnx(search)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (None, "got NoneType"),
        (LogisticRegression(), "got LogisticRegression"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "Pipeline that ends in LogisticR"),
        (OwnGaussian(), "VotedKernelClassifier, .*got OwnGaussian"),
    ],
)
def test_only_our_classifiers_are_exported(model, words, no_work):
    with pytest.raises(TypeError, match=words):
        to_onnx(model)


def test_a_search_inside_skl2onnx_is_refused():
    X = rows(60, seed=1)
    search = GridSearchCV(VotedKernelClassifier(Gaussian()), {"l1_penalty": [0.01]}, cv=2)
    search.fit(X, labels(X))
    with pytest.raises(ExportError, match="best_estimator_"):
        skl2onnx.to_onnx(search, X[:1])


def test_estimators_around_a_classifier_are_refused():
    """skl2onnx makes a graph of this one that has a single label for all rows."""
    X = rows(60, seed=1)
    model = CalibratedClassifierCV(VotedKernelClassifier(Gaussian()), cv=2).fit(
        X, labels(X, (0, 1))
    )
    with pytest.raises(ExportError, match="is inside another estimator; export it alone"):
        skl2onnx.to_onnx(model, X[:1], options={id(model): {"zipmap": False}})


def test_labels_that_onnx_does_not_have_are_refused(no_work):
    for names in (np.array([0, 2**64 - 1], dtype=np.uint64), np.array([b"no", b"yes"])):
        model = fitted_by("gaussian")
        model.classes_ = names
        with pytest.raises(ExportError, match="the class labels, such as"):
            to_onnx(model)


def test_steps_that_skl2onnx_does_not_know_are_told():
    X = np.abs(rows(90, seed=1))
    for step, words in [
        (FunctionTransformer(np.log1p), "skl2onnx cannot convert this model: FunctionTransformer"),
        (PolynomialFeatures(2), "skl2onnx cannot convert this model: "),  # a wrong graph
    ]:
        model = make_pipeline(step, VotedKernelClassifier(Gaussian())).fit(X, labels(X))
        with pytest.raises(ExportError, match=words):
            to_onnx(model)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"target_opset": 12}, "opset 12 is too old; .*13 or newer"),
        ({"target_opset": 999}, "skl2onnx cannot convert this model: .*999"),
        ({"input_name": ""}, "input_name is ''"),
        ({"input_name": "label"}, "input_name is 'label'"),
    ],
)
def test_options_out_of_range_are_refused(given, words):
    with pytest.raises(ExportError, match=words):
        to_onnx(fitted(Gaussian()), **given)


def test_another_number_of_features_is_refused():
    with pytest.raises(ExportError, match=r"the input has 3 features, .* fitted on 4"):
        skl2onnx.to_onnx(fitted(Gaussian()), rows(1, seed=2)[:, :3])


def test_graphs_beyond_the_limit_of_onnx_are_refused(monkeypatch, no_work):
    model = fitted(Gaussian())
    needed = 8 * 4 * len(model.support_)
    monkeypatch.setattr(checks, "LARGEST_BYTES", needed - 1)
    with pytest.raises(ExportError, match=f"{len(model.support_)} support vectors of 4 features"):
        to_onnx(model)


# -- packages and pages -------------------------------------------------------------------


def test_nothing_of_onnx_is_loaded_without_being_asked_for():
    code = "import sys, votedkernels; sys.exit(bool({'onnx', 'skl2onnx'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", ["onnx", "skl2onnx"])
def test_a_missing_package_is_told_with_the_extra_that_brings_it(monkeypatch, name):
    for loaded in [m for m in sys.modules if m.partition(".onnx")[:2] == ("votedkernels", ".onnx")]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=rf"{name}; try pip install 'votedkernels\[onnx\]'"):
        import votedkernels.onnx  # noqa: F401


def test_the_page_of_the_documentation_runs_as_printed(tmp_path, monkeypatch, capsys):
    page = ROOT / "docs" / "onnx.md"
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    monkeypatch.chdir(tmp_path)
    code = "\n".join(blocks)
    exec(compile(code, str(page), "exec"), {"__name__": "page"})
    promised = re.findall(r"^print\(.*\)  # (.*)$", code, flags=re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == promised
