"""A continuum of widths: its certificate by dense sampling, its optimum against finite sets."""

import csv
import gzip
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from support.paths import SHARED_DATA

from votedkernels import (
    ContinuousGaussian,
    Gaussian,
    Local,
    Polynomial,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
    voted_kernel_path,
)
from votedkernels._system.budget import Budget
from votedkernels.datasets import make_waveform
from votedkernels.preparation.training import Training
from votedkernels.solvers import SOLVERS, SolverInterrupted, continuum, solve_problem, widths
from votedkernels.solvers.rounds import Round
from votedkernels.solvers.widths import CURVATURE, WidthPrices, price_widths

UCI = SHARED_DATA / "uci"
NAMES = (
    "breastcancer", "climate", "diabetes", "german", "ionosphere", "musk", "ocr49", "phishing",
    "retinopathy", "vertebral", "waveform01",
)  # fmt: skip
LOW, HIGH = 0.02, 20.0


def load(name, n_rows):
    """Some rows of one of the paper's data sets, standardised."""
    path = next(iter(UCI.glob(f"{name}.csv*")), None) if UCI.is_dir() else None
    if path is None:
        pytest.skip(f"no {name} in shared/data/uci")
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", newline="") as file:
        rows = list(csv.reader(file))
    header = 0 if rows[0][0].replace(".", "").replace("-", "").isdigit() else 1
    table = [[float(x) for x in row] for row in rows[header:] if all(x.strip() for x in row)]
    table = np.array(table)
    table = table[np.random.default_rng(0).permutation(len(table))[:n_rows]]
    X, y = table[:, :-1], table[:, -1]
    scale = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(scale > 0, scale, 1.0), y


def make_problem(X, y, family, **params):
    params = {"complexity_penalty": 1e-2, "complexity": "trace", "l1_penalty": 3e-3} | params
    model = VotedKernelClassifier(family, **params)
    training = Training.prepare(model, X, y, budget=Budget())
    return training.problems(model.complexity_penalty, model.l1_penalty)[0]


def squared_distances(X, family):
    """unit ||x - c||^2, by NumPy."""
    return family.unit_ * ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2)


def dense_excess(problem, u, n_widths=4000):
    """Largest |sum_i u_i y_i K| / L over all centres and very many widths, by NumPy."""
    family = problem.columns.families[-1]
    distances = squared_distances(problem.columns.X, family)
    t = np.linspace(np.log(family.low), np.log(family.high), n_widths)
    knots = np.log(family.knots_)
    L = np.interp(t, knots, problem.continuum.penalties)
    worst = 0.0
    for gamma, penalty in zip(np.exp(t), L, strict=True):
        worst = max(worst, np.abs((u * problem.y) @ np.exp(-gamma * distances)).max() / penalty)
    return worst


@pytest.fixture(scope="module")
def sample():
    return make_waveform(120, random_state=1)


# -- pricing -----------------------------------------------------------------------------


def test_the_curvature_is_the_largest_second_derivative():
    z = np.linspace(0, 50, 2_000_001)
    largest = np.abs((z * z - z) * np.exp(-z)).max()
    assert largest <= CURVATURE
    assert pytest.approx(CURVATURE, rel=1e-9) == largest


@pytest.mark.parametrize("seed", range(8))
def test_the_bound_encloses_the_largest_violation(seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(25, 3))
    y = np.where(X[:, 0] + random.normal(size=25) > 0, 1, -1)
    problem = make_problem(X, y, ContinuousGaussian(0.01, 50.0), l1_penalty=0.01)
    u = random.uniform(0, 1, 25) * problem.w
    sampled = dense_excess(problem, u)
    loose = price_widths(problem, u, target=1.0, most=5)
    assert loose.excess >= sampled
    tight = price_widths(problem, u, target=sampled * 1.001, most=5)
    assert sampled <= tight.excess <= sampled * 1.001


@pytest.mark.parametrize("seed", range(4))
def test_violations_are_where_it_says(seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(30, 2))
    y = np.where(X[:, 0] > 0, 1, -1)
    problem = make_problem(X, y, ContinuousGaussian(0.01, 50.0), l1_penalty=0.03)
    prices = price_widths(problem, problem.w, target=1.0, most=5)
    distances = squared_distances(problem.columns.X, problem.columns.families[-1])
    values = [
        abs((problem.w * problem.y) @ np.exp(-gamma * distances[:, j]))
        for gamma, j in zip(prices.gammas, prices.centers, strict=True)
    ]
    L = problem.continuum.penalties_at(prices.gammas)
    assert len(values) == 5
    assert (values / L > 1).all()
    assert max(values / L) == pytest.approx(dense_excess(problem, problem.w), rel=1e-5)


# -- the optimum -------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_no_finite_set_of_widths_is_better(name):
    X, y = load(name, 90)
    params = {"complexity_penalty": 1e-2, "l1_penalty": 3e-3, "complexity": "trace"}
    model = VotedKernelClassifier(ContinuousGaussian(LOW, HIGH), **params).fit(X, y)
    assert model.stop_reason_ == "optimal"
    assert model.dual_gap_ <= 1e-6 * model.objective_
    random = np.random.default_rng(0)
    for n_widths in (1, 7, 60):
        gammas = np.exp(random.uniform(np.log(LOW), np.log(HIGH), n_widths))
        finite = VotedKernelClassifier(Gaussian(gammas), **params).fit(X, y)
        assert model.objective_ <= finite.objective_ * (1 + 1e-6)
        assert model.dual_bound_ <= finite.objective_


@pytest.mark.parametrize("solver", ["column-generation", "coordinate-descent"])
@pytest.mark.parametrize("complexity", ["trace", "local"])
def test_the_certificate_holds_for_every_width(solver, complexity, sample):
    X, y = sample
    problem = make_problem(
        X, y, ContinuousGaussian(LOW, HIGH), complexity=complexity, l1_penalty=3e-3
    )
    solution = solve_problem(solver, problem, tol=1e-6)
    assert solution.is_optimal(1e-6)
    u = solution.dual * (solution.dual_bound / solution.dual.sum())
    assert ((u >= 0) & (u <= problem.w * (1 + 1e-12))).all()
    assert dense_excess(problem, u) <= 1 + 1e-12


def test_with_a_complexity_that_varies_the_same_function_is_compared(sample):
    X, y = sample
    params = {"complexity_penalty": 0.05, "l1_penalty": 1e-3}
    family = ContinuousGaussian(LOW, HIGH)
    model = VotedKernelClassifier(family, complexity=Local(radius=0.1), **params).fit(X, y)
    knots = VotedKernelClassifier(
        Gaussian(model.kernels_[0].knots_), complexity=Local(radius=0.1), **params
    ).fit(X, y)
    assert np.ptp(knots.complexities_) > 0.01
    gammas = np.geomspace(LOW, HIGH, 50)
    r = np.interp(np.log(gammas), np.log(model.kernels_[0].knots_), knots.complexities_)
    finite = VotedKernelClassifier(Gaussian(gammas), complexity=r, **params).fit(X, y)
    assert model.objective_ <= finite.objective_ * (1 + 1e-6)
    at_own = np.interp(
        np.log(model.kernels_[0].gammas_), np.log(model.kernels_[0].knots_), knots.complexities_
    )
    np.testing.assert_allclose(model.complexities_, at_own, rtol=1e-12)


@pytest.mark.parametrize("solver", ["coordinate-descent", "lp"])
def test_solvers_agree(solver, sample):
    X, y = sample
    params = {"l1_penalty": 1e-2, "tol": 1e-7}
    ours = VotedKernelClassifier(ContinuousGaussian(0.1, 10.0), **params).fit(X, y)
    other = VotedKernelClassifier(ContinuousGaussian(0.1, 10.0), solver=solver, **params).fit(X, y)
    assert other.objective_ == pytest.approx(ours.objective_, rel=2e-7)


def test_the_model_is_its_terms(sample):
    X, y = sample
    model = VotedKernelClassifier(ContinuousGaussian(LOW, HIGH), l1_penalty=1e-2).fit(X, y)
    family = model.kernels_[0]
    widths = family.gammas_[model.term_kernel_indices_]
    assert ((widths >= LOW) & (widths <= HIGH)).all()
    assert (model.kernel_mass_ > 0).all()
    assert len(model.kernel_names_) == len(family.gammas_) == len(model.penalties_)
    distances = family.unit_ * ((X[:, None] - model.support_vectors_[None]) ** 2).sum(axis=2)
    columns = np.exp(-widths * distances[:, model.term_support_indices_])
    decision = columns @ model.term_weights_[0]
    np.testing.assert_allclose(model.decision_function(X), decision, rtol=1e-9, atol=1e-12)
    signs = np.where(y == model.classes_[1], 1, -1)
    loss = np.maximum(0, 1 - signs * decision).mean()
    price = model.penalties_[model.term_kernel_indices_] @ np.abs(model.term_weights_[0])
    assert model.objective_ == pytest.approx(loss + price, rel=1e-12)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_one_width_is_the_plain_gaussian(sample):
    X, y = sample
    one = VotedKernelClassifier(ContinuousGaussian(0.7, 0.7), l1_penalty=1e-2).fit(X, y)
    plain = VotedKernelClassifier(Gaussian((0.7,)), l1_penalty=1e-2).fit(X, y)
    assert one.objective_ == pytest.approx(plain.objective_, rel=1e-9)


def test_beside_polynomials_with_names_intercept_and_three_classes():
    random = np.random.default_rng(0)
    X = random.normal(size=(90, 3))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] * X[:, 1], [-0.3, 0.3])]
    kernels = [("poly", Polynomial((1, 2))), ("wide", ContinuousGaussian(0.05, 5.0))]
    model = VotedKernelClassifier(kernels, l1_penalty=5e-3, fit_intercept=True).fit(X, y)
    assert model.stop_reason_ == "optimal"
    assert all(name.startswith("poly: ") for name in model.kernel_names_[:2])
    assert all(name.startswith("wide: gaussian(") for name in model.kernel_names_[2:])
    assert model.score(X, y) > 0.8
    grid = [Polynomial((1, 2)), Gaussian(np.geomspace(0.05, 5.0, 25))]
    finite = VotedKernelClassifier(grid, l1_penalty=5e-3, fit_intercept=True).fit(X, y)
    assert model.objective_ <= finite.objective_ * (1 + 1e-6)


def test_heavy_penalties_leave_no_term(sample):
    X, y = sample
    with pytest.warns(UserWarning, match="no kernel gets a weight"):
        model = VotedKernelClassifier(ContinuousGaussian(), l1_penalty=10.0).fit(X, y)
    assert len(model.term_kernel_indices_) == 0
    np.testing.assert_array_equal(model.kernels_[0].gammas_, model.kernels_[0].knots_)
    model.predict(X)


def test_grid_search_chooses_its_range(sample):
    X, y = sample
    search = GridSearchCV(
        VotedKernelClassifier(ContinuousGaussian(0.1, 1.0), l1_penalty=3e-2),
        {"kernels__high": [1.0, 10.0]},
        cv=2,
    ).fit(X, y)
    assert search.best_estimator_.stop_reason_ == "optimal"
    clone(search.best_estimator_)


# -- stopping early ----------------------------------------------------------------------


@pytest.mark.parametrize("limit", [{"max_iter": 1}, {"max_iter": 7}, {"time_limit": 0.05}])
def test_what_is_proved_early_is_true(limit, sample):
    X, y = sample
    params = {"complexity_penalty": 1e-2, "complexity": "trace", "l1_penalty": 1e-3}
    full = VotedKernelClassifier(ContinuousGaussian(LOW, HIGH), **params).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        early = VotedKernelClassifier(ContinuousGaussian(LOW, HIGH), **params, **limit).fit(X, y)
    assert early.dual_bound_ <= full.objective_
    assert early.objective_ >= full.dual_bound_
    early.predict(X)


def test_reports_bound_the_continuum_and_never_get_worse(sample):
    X, y = sample
    problem = make_problem(X, y, ContinuousGaussian(LOW, HIGH), l1_penalty=1e-3)
    seen = []
    solution = solve_problem(
        "column-generation", problem, tol=1e-6, on_round=lambda state: seen.append(state.solution)
    )
    objectives = [s.objective for s in seen]
    bounds = [s.dual_bound for s in seen]
    assert objectives == sorted(objectives, reverse=True)
    assert bounds == sorted(bounds)
    assert max(bounds) <= solution.objective
    assert len({s.columns.n_kernels for s in seen}) > 1


@pytest.mark.parametrize("round_number", [1, 12])
def test_ctrl_c_keeps_the_best_so_far(round_number, sample):
    X, y = sample
    problem = make_problem(X, y, ContinuousGaussian(LOW, HIGH), l1_penalty=1e-3)

    def stop(state):
        if state.n_iter >= round_number:
            raise KeyboardInterrupt
        return False

    with pytest.raises(SolverInterrupted) as caught:
        solve_problem("column-generation", problem, tol=1e-6, on_round=stop)
    kept = caught.value.solution
    assert kept.stop_reason == "interrupted"
    assert kept.dual_bound <= kept.objective <= 1.0


# -- bad input ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        (0.0, 1.0, "low of ContinuousGaussian must be a positive number"),
        (-1.0, 1.0, "low of ContinuousGaussian must be a positive number"),
        (1.0, np.inf, "high of ContinuousGaussian must be a positive number"),
        (np.nan, 1.0, "low of ContinuousGaussian must be a positive number"),
        ((1.0, 2.0), 3.0, "low of ContinuousGaussian must be a positive number"),
        ("a", 3.0, "low of ContinuousGaussian must be a positive number"),
        (2.0, 1.0, "low of ContinuousGaussian must not exceed high"),
    ],
)
def test_a_bad_range_is_an_error(low, high, message, sample):
    with pytest.raises(ValueError, match=message):
        VotedKernelClassifier(ContinuousGaussian(low, high)).fit(*sample)


@pytest.mark.parametrize("solver", SOLVERS)
def test_zero_penalties_are_an_error(solver, sample):
    model = VotedKernelClassifier(
        ContinuousGaussian(), complexity_penalty=0, l1_penalty=0, solver=solver
    )
    with pytest.raises(ValueError, match="needs a positive penalty at every width"):
        model.fit(*sample)


@pytest.mark.parametrize(
    "kernels",
    [[ContinuousGaussian(), Polynomial((1,))], [ContinuousGaussian(), ContinuousGaussian()]],
)
def test_it_must_come_last(kernels, sample):
    with pytest.raises(ValueError, match="must be the last kernel family"):
        VotedKernelClassifier(kernels).fit(*sample)


def test_grids_bounds_and_filters_refuse_it(sample):
    X, y = sample
    with pytest.raises(ValueError, match="voted_kernel_path uses one set of columns"):
        voted_kernel_path(X, y, ContinuousGaussian())
    with pytest.raises(ValueError, match="VotedKernelClassifierCV uses one set of columns"):
        VotedKernelClassifierCV(ContinuousGaussian()).fit(X, y)
    model = VotedKernelClassifier(ContinuousGaussian(0.1, 1.0, unit=0.1), l1_penalty=0.1).fit(X, y)
    with pytest.raises(ValueError, match="finitely many kernels"):
        model.generalization_bound(X, y)
    filtered = VotedKernelClassifier(
        ContinuousGaussian(), complexity=Local(radius=0.1, filter=True)
    )
    with pytest.raises(ValueError, match="filter=True"):
        filtered.fit(X, y)


def test_the_papers_rule_says_that_it_stalled(sample):
    with pytest.warns(ConvergenceWarning, match="stalled"):
        model = VotedKernelClassifier(
            ContinuousGaussian(0.1, 10.0), l1_penalty=1e-3, solver="coordinate-descent-paper"
        ).fit(*sample)
    assert model.dual_bound_ <= model.objective_


# -- exchange ----------------------------------------------------------------------------


def test_few_rounds_of_exchange_are_enough(sample, monkeypatch):
    X, y = sample
    problem, rounds = make_problem(X, y, ContinuousGaussian(LOW, HIGH), l1_penalty=3e-3), []

    def counting(*args):
        rounds.append(args[0].columns.n_kernels)
        return price_widths(*args)

    monkeypatch.setattr(continuum, "price_widths", counting)
    solution = solve_problem("column-generation", problem, tol=1e-6)
    assert solution.is_optimal(1e-6)
    assert len(rounds) <= 24  # 11 or 12, depending on the CPU
    monkeypatch.setattr(continuum, "MAX_ROUNDS", 2)
    rounds.clear()
    stopped = solve_problem("column-generation", problem, tol=1e-6)
    assert (stopped.stop_reason, len(rounds)) == ("precision", 2)
    assert stopped.dual_bound <= solution.objective <= stopped.objective
    # The second round has the knots, the widths in use and at most thirty new ones.
    n_knots = len(problem.continuum.knots)
    assert n_knots < rounds[1] <= n_knots + 30 + len(stopped.terms.kernels)


def test_exchange_ends_where_no_width_is_left_to_add(sample, monkeypatch):
    X, y = sample
    problem, rounds = make_problem(X, y, ContinuousGaussian(LOW, HIGH), l1_penalty=3e-3), []

    def finding_none(*args):
        rounds.append(1)
        return WidthPrices(2.0, np.zeros(0), np.zeros(0, np.intp))

    monkeypatch.setattr(continuum, "price_widths", finding_none)
    solution = solve_problem("column-generation", problem, tol=1e-6)
    assert (solution.stop_reason, len(rounds)) == ("precision", 1)
    assert solution.dual_bound == pytest.approx(solution.dual.sum() / 2)


def test_the_exchanged_problem_starts_with_the_best_vote(sample):
    X, y = sample
    problem = make_problem(
        X, y, [("poly", Polynomial((1, 2))), ("wide", ContinuousGaussian(LOW, HIGH))],
        l1_penalty=3e-3,
    )  # fmt: skip
    best = SOLVERS["column-generation"].solve(problem, tol=1e-6)
    assert (best.terms.kernels >= 2).any()
    gammas = np.array([0.123, 4.56])
    exchanged, start = continuum._exchanged(problem, best, gammas)
    widths = exchanged.columns.families[-1].gammas_
    assert np.isin(gammas, widths).all()
    assert np.isin(problem.continuum.knots, widths).all()
    np.testing.assert_allclose(exchanged.decision(start), problem.decision(best.terms))
    assert exchanged.objective(start, exchanged.decision(start)) == pytest.approx(best.objective)
    np.testing.assert_array_equal(exchanged.penalties[:2], problem.penalties[:2])


@pytest.mark.parametrize("seed", range(3))
def test_violations_are_local_maxima_one_a_centre(seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(30, 2))
    y = np.where(X[:, 0] > 0, 1, -1)
    problem = make_problem(X, y, ContinuousGaussian(0.01, 50.0), l1_penalty=0.03)
    prices = price_widths(problem, problem.w, target=1.0, most=30)
    assert len(set(prices.centers)) == len(prices.centers) > 5
    distances = squared_distances(problem.columns.X, problem.columns.families[-1])

    def ratio(gamma, j):
        value = abs((problem.w * problem.y) @ np.exp(-gamma * distances[:, j]))
        return value / problem.continuum.penalties_at(np.array([gamma]))[0]

    found = [ratio(gamma, j) for gamma, j in zip(prices.gammas, prices.centers, strict=True)]
    for value, gamma, j in zip(found, prices.gammas, prices.centers, strict=True):
        near = np.clip(gamma * np.exp([-0.01, -1e-4, 1e-4, 0.01]), 0.01, 50.0)
        assert max(ratio(g, j) for g in near) <= value * (1 + 1e-9)
        everywhere = max(ratio(g, j) for g in np.geomspace(0.01, 50.0, 400))
        assert value >= everywhere * (1 - 1e-6)


def test_bounds_of_cells_hold_inside_them():
    random = np.random.default_rng(0)
    X = random.normal(size=(20, 2))
    y = np.where(X[:, 0] > 0, 1, -1)
    problem = make_problem(X, y, ContinuousGaussian(0.01, 50.0), l1_penalty=0.03)
    pricer = widths._Pricer(problem, problem.w)
    cells = pricer.first_cells()
    assert (cells.b - cells.a).max() <= widths.FIRST_CELL + 1e-12
    assert (cells.b - cells.a).min() > 0.5 * widths.FIRST_CELL
    for _ in range(2):
        bounds = pricer.bounds(cells)
        slack = pricer.curvature * (cells.b - cells.a) ** 2 / 8
        for share in (0.0, 0.3, 0.5, 1.0):
            t = cells.a + share * (cells.b - cells.a)
            value = np.abs(pricer.values(cells.centers, t))
            assert (value / pricer.penalties(t) <= bounds * (1 + 1e-12)).all()
        ends = np.maximum(cells.at_a, cells.at_b)
        smallest = np.minimum(pricer.penalties(cells.a), pricer.penalties(cells.b))
        np.testing.assert_allclose(bounds, (ends + slack) / smallest)
        np.testing.assert_allclose(cells.at_a, np.abs(pricer.values(cells.centers, cells.a)))
        np.testing.assert_allclose(cells.at_b, np.abs(pricer.values(cells.centers, cells.b)))
        n_cells = len(cells.a)
        cells = pricer.halved(cells)
        assert len(cells.a) == 2 * n_cells


def test_reports_count_the_rounds_of_all_exchanges(sample):
    X, y = sample
    problem = make_problem(X, y, ContinuousGaussian(LOW, HIGH), l1_penalty=3e-3)
    states = []
    solution = solve_problem(
        "column-generation", problem, tol=1e-6, on_round=lambda state: states.append(state)
    )
    numbers = [state.n_iter for state in states]
    assert numbers == list(range(1, solution.n_iter + 1))
    assert [state.solution.n_iter for state in states] == numbers


@pytest.mark.parametrize("high", [1.0, 1.05])
def test_one_width_or_hardly_more_is_priced_too(high, sample):
    X, y = sample
    problem = make_problem(X, y, ContinuousGaussian(1.0, high), l1_penalty=3e-3)
    expected = dense_excess(problem, problem.w, n_widths=50)
    assert expected > 1
    prices = price_widths(problem, problem.w, target=1.0, most=5)
    assert expected * (1 - 1e-12) <= prices.excess <= expected * 1.01
    assert ((prices.gammas >= 1 - 1e-12) & (prices.gammas <= high + 1e-12)).all()
    assert len(prices.gammas) == 5


def test_a_vote_without_loss_and_price_is_optimal_over_all_widths():
    X, y = np.array([[0.0], [1.0], [5.0], [6.0]]), np.array([0, 0, 1, 1])
    problem = make_problem(X - 3.0, y, [Polynomial((1,)), ContinuousGaussian(LOW, HIGH)])
    problem = replace(problem, penalties=np.append(0.0, problem.penalties[1:]))  # a line is free
    solution = solve_problem("column-generation", problem, tol=1e-6)
    assert (solution.objective, solution.stop_reason) == (0.0, "optimal")


def test_of_votes_of_equal_value_over_different_widths_the_first_is_kept():
    X, y = make_waveform(30, random_state=0)
    problem = make_problem(X, y, ContinuousGaussian(LOW, HIGH))
    first = solve_problem("column-generation", problem, tol=1e-3)
    exchange, seen = continuum.Exchange(problem, 1e-3), []
    exchange.offer_vote(first)
    exchange.offer_vote(replace(first, n_iter=77))
    assert exchange.best is first
    later = replace(first, stop_reason="later")
    for report in (later, replace(later, objective=0.5 * first.objective)):
        exchange.report(seen.append, Round(1, report))
    assert [state.solution.stop_reason for state in seen] == [first.stop_reason, "later"]
