import numpy as np
import pytest

from votedkernels import Gaussian, Polynomial, Similarity, VotedKernelClassifier, voted_kernel_path
from votedkernels._system.budget import Budget
from votedkernels.datasets import make_waveform
from votedkernels.estimators.path import solve_grids
from votedkernels.preparation.training import Training
from votedkernels.problem import Terms

LAMBDAS, BETAS = (1e-1, 1e-2, 1e-3, 0.0), (1e-2, 1e-4)


@pytest.fixture(scope="module")
def data():
    return make_waveform(150, random_state=3)


@pytest.fixture(scope="module")
def three_classes(data):
    X, y = data
    return X, np.where(X[:, 10] > np.quantile(X[:, 10], 0.7), 2, y)


@pytest.mark.parametrize("intercept", [False, True])
def test_every_point_of_the_path_is_a_cold_fit(data, intercept):
    X, y = data
    kernels = [Polynomial((1, 2, 3)), Gaussian((0.3, 3.0))]
    path = voted_kernel_path(
        X,
        y,
        kernels,
        complexity_penalties=LAMBDAS,
        l1_penalties=BETAS,
        fit_intercept=intercept,
        tol=1e-9,
    )
    assert path.objectives.shape == (4, 2, 1)
    assert (path.stop_reasons == "optimal").all()
    assert (path.dual_gaps <= 1e-9 * path.objectives).all()
    for i, lam in enumerate(LAMBDAS):
        for j, beta in enumerate(BETAS):
            model = VotedKernelClassifier(
                kernels,
                complexity_penalty=lam,
                l1_penalty=beta,
                fit_intercept=intercept,
                tol=1e-9,
            ).fit(X, y)
            assert path.objectives[i, j, 0] == pytest.approx(model.objective_, rel=1e-8)


def test_weights_and_support_describe_the_models(three_classes):
    X, y = three_classes
    path = voted_kernel_path(
        X, y, Polynomial((1, 2)), complexity_penalties=LAMBDAS, l1_penalties=BETAS
    )
    assert path.weights.shape == (4, 2, 3, len(path.term_kernel_indices))
    np.testing.assert_array_equal(path.support_vectors, X[path.support])
    # The objective of every model, by hand from what the path says of it.
    gamma = path.kernels[0].gamma_
    base = gamma * X @ path.support_vectors.T + 1
    columns = base[:, path.term_support_indices] ** (1 + path.term_kernel_indices)
    penalties = np.add.outer(np.outer(LAMBDAS, path.complexities), BETAS).transpose(0, 2, 1)
    for i, j, c in np.ndindex(4, 2, 3):
        signs = np.where(y == path.classes[c], 1, -1)
        a = path.weights[i, j, c]
        value = np.maximum(0, 1 - signs * (columns @ a)).mean()
        value += penalties[i, j, path.term_kernel_indices] @ np.abs(a)
        assert value == pytest.approx(path.objectives[i, j, c], rel=1e-9)
        voting = path.term_support_indices[(path.weights[i, j] != 0).any(axis=0)]
        assert path.n_support[i, j] == len(set(voting))


def test_strings_have_a_path():
    def shared_letters(A, B):
        return np.array([[len(set(a) & set(b)) - len(a) / 9 for b in B] for a in A])

    words = ["apple", "pear", "plum", "fig", "cat", "dog", "cow", "hen", "lime", "goat"]
    y = [1, 1, 1, 1, 0, 0, 0, 0, 1, 0]
    path = voted_kernel_path(words, y, Similarity(shared_letters), l1_penalties=[0.01, 0.001])
    assert (path.dual_gaps <= 1e-6 * path.objectives).all()
    assert [words[i] for i in path.support] == path.support_vectors


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"complexity_penalties": []}, "complexity_penalties must be a non-empty list"),
        ({"l1_penalties": [-1.0]}, "l1_penalties must hold finite numbers >= 0"),
        ({"l1_penalties": [1.0, 1.0]}, "l1_penalties has repeated entries"),
        ({"solver": "lp"}, "only solver='column-generation'"),
        ({"memory_limit": "1MB"}, "memory_limit='1MB' is too small"),
        ({"sample_weight": [1.0]}, "sample_weight"),
    ],
)
def test_bad_input_is_refused_before_work(data, params, message):
    with pytest.raises(ValueError, match=message):
        voted_kernel_path(*data, **params)


def test_time_limit_leaves_the_empty_vote_where_it_was_not_reached(data):
    path = voted_kernel_path(*data, time_limit=1e-6)
    assert (path.objectives <= 1 + 1e-12).all()
    assert (path.stop_reasons == "time-limit").any()


def test_pairs_beyond_double_precision_can_be_passed_over():
    """Huge kernel values: smaller penalties get the vote of the pair where precision failed."""
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 40)) * 3
    y = np.where(X[:, 0] + random.normal(size=60) > 0, 1, -1)
    model = VotedKernelClassifier(Polynomial((10,), gamma=1.0), complexity_penalty=0.0)
    betas = np.array([1.0, 1e-2, 1e-4])
    training = Training.prepare(model, X, y, budget=Budget())
    (plain,) = solve_grids(training, np.array([0.0]), betas, model)
    (passed,) = solve_grids(training, np.array([0.0]), betas, model, pass_over_imprecise=True)
    assert "precision" in plain.stop_reasons
    first = int(np.argmax(passed.stop_reasons[0] == "precision"))
    assert (passed.stop_reasons[0, first:] == "precision").all()
    assert (passed.n_iter[0, first + 1 :] == 0).all()
    assert (passed.dual_bounds[0, first + 1 :] == 0).all()
    for j in range(first + 1, len(betas)):
        problem = training.problems(0.0, float(betas[j]))[0]
        used = passed.weights[0, j] != 0
        terms = Terms(passed.kernels[used], passed.centers[used], passed.weights[0, j][used])
        assert problem.objective(terms, problem.decision(terms)) == passed.objectives[0, j]


def test_passing_over_changes_nothing_where_precision_suffices():
    X, y = make_waveform(80, random_state=0)
    model = VotedKernelClassifier(Polynomial((1, 2)))
    training = Training.prepare(model, X, y, budget=Budget())
    grid = np.array([1e-1, 1e-2]), np.array([1e-1, 1e-3])
    (plain,) = solve_grids(training, *grid, model)
    (passed,) = solve_grids(training, *grid, model, pass_over_imprecise=True)
    np.testing.assert_array_equal(plain.objectives, passed.objectives)
