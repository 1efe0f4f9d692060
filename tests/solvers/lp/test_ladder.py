"""HiGHS fails in known ways; whatever it says or does, the answer must be true."""

from importlib.util import find_spec

import highspy
import numpy as np
import pytest
from support.certificates import untruths_of_fit

from votedkernels import Gaussian, Polynomial, VotedKernelClassifier
from votedkernels.datasets import make_waveform
from votedkernels.solvers import CONVERGENT_SOLVERS

STATUS = highspy.HighsModelStatus
WRONG_STATUSES = [
    STATUS.kUnbounded,
    STATUS.kInfeasible,
    STATUS.kUnboundedOrInfeasible,
    STATUS.kNotset,
    STATUS.kUnknown,
    STATUS.kSolveError,
    STATUS.kIterationLimit,
]


@pytest.fixture(params=list(CONVERGENT_SOLVERS))
def model(request):
    kernels = [Polynomial((1, 2, 3)), Gaussian((0.3, 3.0))]
    return VotedKernelClassifier(
        kernels, complexity_penalty=1e-2, l1_penalty=1e-4, solver=request.param, time_limit=20
    )


@pytest.fixture(scope="module")
def data():
    return make_waveform(120, random_state=0)


class Doctored:
    """A HiGHS solution whose vectors have been tampered with."""

    def __init__(self, solution, change):
        self.col_value = change(np.array(solution.col_value)).tolist()
        self.row_value = change(np.array(solution.row_value)).tolist()
        self.col_dual = change(np.array(solution.col_dual)).tolist()
        self.row_dual = change(np.array(solution.row_dual)).tolist()


def check(model, data, recorded):
    X, y = data
    assert not untruths_of_fit(model, X, y, recorded)
    assert model.objective_ <= 1
    assert 0 <= model.dual_bound_ <= model.objective_ * (1 + 1e-12)
    assert model.predict(X).shape == y.shape


def sometimes(seed, share):
    random = np.random.default_rng(seed)
    return lambda: random.random() < share


@pytest.mark.parametrize("share", [0.3, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_wrong_status(model, data, recorded, monkeypatch, seed, share):
    true_status = highspy.Highs.getModelStatus
    fails, random = sometimes(seed, share), np.random.default_rng(seed)

    def status(highs):
        return random.choice(WRONG_STATUSES) if fails() else true_status(highs)

    monkeypatch.setattr(highspy.Highs, "getModelStatus", status)
    check(model, data, recorded)


@pytest.mark.parametrize("share", [0.3, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_run_that_raises(model, data, recorded, monkeypatch, seed, share):
    true_run, fails = highspy.Highs.run, sometimes(seed, share)

    def run(highs):
        if fails():
            raise RuntimeError("HiGHS broke down")
        return true_run(highs)

    monkeypatch.setattr(highspy.Highs, "run", run)
    check(model, data, recorded)


@pytest.mark.parametrize("method", ["passModel", "getSolution"])
def test_any_call_that_raises(model, data, recorded, monkeypatch, method):
    true_method, fails = getattr(highspy.Highs, method), sometimes(0, 0.5)

    def raising(highs, *args):
        if fails():
            raise RuntimeError("HiGHS broke down")
        return true_method(highs, *args)

    monkeypatch.setattr(highspy.Highs, method, raising)
    check(model, data, recorded)


def test_a_dense_simplex_that_raises(model, data, recorded, monkeypatch):
    def raising(*args, **kwargs):
        raise np.linalg.LinAlgError("singular matrix")

    monkeypatch.setattr("votedkernels.solvers.lp.ladder.solve_dense", raising)
    check(model, data, recorded)
    assert model.stop_reason_ == "optimal"


@pytest.mark.parametrize("share", [0.3, 1.0])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e30, 0.0])
def test_solution_of_nonsense(model, data, recorded, monkeypatch, value, share):
    true_solution, fails = highspy.Highs.getSolution, sometimes(0, share)

    def solution(highs):
        answer = true_solution(highs)
        return Doctored(answer, lambda v: np.full_like(v, value)) if fails() else answer

    monkeypatch.setattr(highspy.Highs, "getSolution", solution)
    check(model, data, recorded)


@pytest.mark.parametrize("share", [0.3, 1.0])
@pytest.mark.parametrize("size", [1e-6, 1e-2, 1.0])
def test_solution_that_is_a_little_wrong(model, data, recorded, monkeypatch, size, share):
    true_solution, fails = highspy.Highs.getSolution, sometimes(0, share)
    random = np.random.default_rng(0)

    def solution(highs):
        answer = true_solution(highs)
        if not fails():
            return answer
        return Doctored(answer, lambda v: v * (1 + size * random.standard_normal(len(v))))

    monkeypatch.setattr(highspy.Highs, "getSolution", solution)
    check(model, data, recorded)


def test_optimal_at_once_without_having_run(model, data, recorded, monkeypatch):
    # A carried-over basis made HiGHS return at once, again and again.
    monkeypatch.setattr(highspy.Highs, "run", lambda highs: highspy.HighsStatus.kOk)
    monkeypatch.setattr(highspy.Highs, "getModelStatus", lambda highs: STATUS.kOptimal)
    check(model, data, recorded)


def test_every_method_fails(model, data, recorded, monkeypatch):
    monkeypatch.setattr(highspy.Highs, "getModelStatus", lambda highs: STATUS.kUnknown)
    if find_spec("votedkernels.solvers.lp.ladder"):
        monkeypatch.setattr(
            "votedkernels.solvers.lp.ladder.solve_dense", lambda *args, **kwargs: None
        )
    check(model, data, recorded)
    if model.solver == "lp":  # nothing was solved, so the empty vote is left
        assert model.objective_ == pytest.approx(1.0, rel=1e-12)
        assert model.stop_reason_ == "precision"
    else:  # coordinate descent is the last rung, and needs none of them
        assert model.stop_reason_ == "optimal"


def test_healthy_highs_is_certified(model, data, recorded):
    check(model, data, recorded)
    assert model.stop_reason_ == "optimal"
    assert model.dual_gap_ <= 1e-6 * model.objective_


@pytest.mark.parametrize("seconds", [0.1, 0.01, 0.001])
def test_slices_of_time_that_are_too_short_for_a_pivot(model, data, recorded, monkeypatch, seconds):
    # A large LP is set up for longer than a slice; it must be given more time, not up.
    monkeypatch.setattr("votedkernels.solvers.lp.highs.SLICE_SECONDS", seconds, raising=False)
    check(model, data, recorded)
    assert model.stop_reason_ == "optimal"
