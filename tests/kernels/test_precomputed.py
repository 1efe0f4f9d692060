import numpy as np
import pytest

from votedkernels import (
    Gaussian,
    Polynomial,
    Precomputed,
    Similarity,
    VotedKernelClassifier,
)


@pytest.fixture
def table():
    X = np.random.default_rng(0).standard_normal((40, 3))
    return X, np.where(X[:, 0] * X[:, 1] > 0, 1, 0)


def test_equals_the_kernel_it_was_computed_from(table):
    X, y = table
    kernel = VotedKernelClassifier(Polynomial((2,), gamma=1.0), tol=1e-10).fit(X, y)
    K = (X @ X.T + 1) ** 2
    matrix = VotedKernelClassifier(Precomputed(positive_definite=True), tol=1e-10).fit(K, y)
    assert matrix.objective_ == pytest.approx(kernel.objective_, rel=1e-9)
    np.testing.assert_allclose(
        matrix.decision_function(K), kernel.decision_function(X), rtol=1e-6, atol=1e-8
    )


def test_column_j_is_the_function_of_centre_j():
    # Sample 0 tells the classes apart only by column 2, and not by row 2.
    K = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [0.0, 0.0, 1.0]])
    model = VotedKernelClassifier(Precomputed()).fit(K, [1, 0, 1])
    np.testing.assert_array_equal(model.support_, [2])
    np.testing.assert_array_equal(model.predict(K), [1, 0, 1])


def test_support_vectors_are_empty_as_in_svc(table):
    X, y = table
    model = VotedKernelClassifier(Precomputed()).fit(X @ X.T, y)
    assert model.support_vectors_.shape == (0, 0)
    assert len(model.support_) > 0


def test_prediction_takes_one_column_per_training_row(table):
    X, y = table
    model = VotedKernelClassifier(Precomputed()).fit(X @ X.T, y)
    assert model.predict(X[:5] @ X.T).shape == (5,)
    with pytest.raises(ValueError, match=r"X has 39 features.*expecting 40"):
        model.predict(X[:5] @ X[:39].T)


def test_fit_needs_a_square_matrix(table):
    X, y = table
    with pytest.raises(ValueError, match=r"must be square in fit, got shape \(40, 3\)"):
        VotedKernelClassifier(Precomputed()).fit(X, y)


def test_stands_alone(table):
    X, y = table
    with pytest.raises(ValueError, match=r"Precomputed\(\) cannot be combined with"):
        VotedKernelClassifier([Precomputed(), Gaussian()]).fit(X @ X.T, y)


def test_sets_the_pairwise_tag():
    assert VotedKernelClassifier(Precomputed()).__sklearn_tags__().input_tags.pairwise
    assert not VotedKernelClassifier().__sklearn_tags__().input_tags.pairwise


def test_centers_are_column_numbers(table):
    X, y = table
    K = X @ X.T
    model = VotedKernelClassifier(Precomputed(), centers=[3, 8, 21]).fit(K, y)
    assert set(model.support_) <= {3, 8, 21}
    assert np.isin(3, model.support_) or len(model.support_) < 3
    with pytest.raises(ValueError, match="between 0 and 39"):
        VotedKernelClassifier(Precomputed(), centers=[40]).fit(K, y)
    with pytest.raises(ValueError, match="column numbers of X"):
        VotedKernelClassifier(Precomputed(), centers=K[:2]).fit(K, y)


# -- values of extreme size ----------------------------------------------------------------


def scaled_matrix(size):
    random = np.random.default_rng(0)
    X = random.standard_normal((30, 2))
    y = (X[:, 0] > 0).astype(int)
    return X @ X.T * (size / (X**2).sum(axis=1).max()), y


@pytest.mark.parametrize("size", [1e155, 1e200, 1e280])
def test_values_whose_squares_overflow_are_an_error(size):
    K, y = scaled_matrix(size)
    message = r"complexity of kernel precomputed overflows.*reach 1e\+\d+.*Scale X or the kernel"
    with pytest.raises(ValueError, match=message):
        VotedKernelClassifier(Precomputed(), complexity="massart").fit(K, y)


@pytest.mark.parametrize("complexity", ["trace", [1.0]])
def test_values_whose_sums_overflow_are_an_error(complexity):
    K, y = scaled_matrix(1e300)
    model = VotedKernelClassifier(Precomputed(positive_definite=True), complexity=complexity)
    with pytest.raises(
        ValueError, match=r"kernel precomputed has values as large as 1e\+300.*scale"
    ):
        model.fit(K, y)


@pytest.mark.parametrize("size", [1e-140, 1e140])
def test_large_and_small_values_give_the_same_model(size):
    K, y = scaled_matrix(1.0)
    plain = VotedKernelClassifier(Precomputed(), complexity_penalty=0.1, l1_penalty=0.0).fit(K, y)
    model = VotedKernelClassifier(Precomputed(), complexity_penalty=0.1, l1_penalty=0.0)
    model.fit(K * size, y)
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-5)
    assert len(model.support_) > 0


def test_a_function_whose_squares_overflow_is_named():
    X, y = scaled_matrix(1.0)

    def enormous(A, B):
        return 1e200 * (A @ B.T)

    with pytest.raises(ValueError, match="complexity of kernel enormous overflows"):
        VotedKernelClassifier(Similarity(enormous), complexity="massart").fit(X, y)
