import numpy as np
import pytest

from votedkernels import Gaussian, Polynomial, Precomputed, VotedKernelClassifier


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
    with pytest.raises(ValueError, match=r"must be square at fit, got shape \(40, 3\)"):
        VotedKernelClassifier(Precomputed()).fit(X, y)


def test_stands_alone(table):
    X, y = table
    with pytest.raises(ValueError, match=r"Precomputed\(\) cannot stand beside"):
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
