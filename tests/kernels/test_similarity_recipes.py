"""The code in docs/similarities.md runs, and does what the text says."""

import re

import numpy as np
import pytest
from support.paths import ROOT

from votedkernels import ElasticDistance

PAGE = ROOT / "docs" / "similarities.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)
OPTIONAL = ("aeon", "grakel", "parasail")


def run(words):
    """Run the one block that holds these words; skip where its package is not installed."""
    (code,) = [block for block in BLOCKS if words in block]
    for package in OPTIONAL:
        if re.search(rf"^(?:from|import) {package}\b", code, re.M):
            pytest.importorskip(package, reason=f"{package} is not installed")
    names = {"__name__": "recipe"}
    exec(compile(code, str(PAGE), "exec"), names)
    model = names.get("model")
    if model is not None:
        assert model.dual_gap_ <= 1e-6 * model.objective_
    return names


def test_every_block_is_run_here():
    assert len(BLOCKS) == 10


def test_strings():
    names = run("model.kernel_mass_, model.support_vectors_")
    assert names["model"].predict(["Maja", "Peer"]).tolist() == ["f", "m"]


def test_calibration():
    probabilities = run("CalibratedClassifierCV")["calibrated"].predict_proba(["Maria", "Victor"])
    assert probabilities[0, 0] > 0.5 > probabilities[1, 0]


def test_time_series():
    model = run("ElasticDistance")["model"]
    assert model.relaxed_dual_gap_ <= 1e-6 * model.relaxed_objective_


def test_a_function_of_two_samples():
    names = run("common_letters")
    model = names["VotedKernelClassifier"](names["family"]).fit(names["words"], names["kinds"])
    assert model.predict(["atone", "driver"]).tolist() == ["solid", "liquid"]


def test_several_scales_of_a_distance():
    names = run("WeightedEdits")
    assert names["model"].predict(["atone", "driver"]).tolist() == ["solid", "liquid"]
    family = names["WeightedEdits"](scales=(1.0, 3.0)).fit(["stone"], np.ones(1))
    base = family.base(["stone"], ["stones", "stove"])  # an insertion, a substitution
    assert family.member(base, 1)[0] == pytest.approx(np.exp([-1 / 3, -2 / 3]))


def test_monge_elkan():
    names = run("monge_elkan")
    assert names["model"].predict(names["titles"]).tolist() == names["kinds"]


def test_several_matrices_by_row_number():
    names = run("LookUp")
    model = names["model"]
    assert model.kernel_names_ == ["inner", "distance"]
    assert model.score(names["test"], names["y"][names["test"]]) > 0.7


def test_dynamic_time_warping():
    names = run("dtw_pairwise_distance")
    assert names["model"].score(names["X"][30:], names["y"][30:]) > 0.8


def test_graphs():
    names = run("WeisfeilerLehman")
    predicted = names["model"].predict([names["ring"](20), names["star"](20)])
    assert predicted.tolist() == ["ring", "star"]


def test_alignment_scores():
    names = run("parasail.blosum62")
    strings = names["helices"] + names["strands"]
    values = names["aligned"](strings, strings)
    np.testing.assert_allclose(values, values.T)
    np.testing.assert_allclose(np.diagonal(values), 1)
    assert names["model"].predict(strings).tolist() == names["kinds"]


# Not "erp": aeon 1.6 charges for the whole series wherever a path starts at its border.
@pytest.mark.parametrize(
    ("metric", "parameters"),
    [("dtw", {}), ("msm", {"c": 1.0}), ("twe", {"nu": 0.001, "lmbda": 1.0})],
)
def test_elastic_distances_are_those_of_aeon(metric, parameters):
    distances = pytest.importorskip("aeon.distances", reason="aeon is not installed")
    X = np.random.default_rng(0).standard_normal((5, 1, 20))
    family = ElasticDistance(metric, windows=(1.0,)).fit(X, np.ones(5))
    theirs = getattr(distances, f"{metric}_pairwise_distance")(X, **parameters)
    np.testing.assert_allclose(family.base(X, X)[..., 0], theirs, rtol=1e-10, atol=1e-10)
