import numpy as np
import pytest

from votedkernels import Gaussian, Polynomial, Similarity, VotedKernelClassifier
from votedkernels.kernels import clone_families, is_named_list


def test_none_is_low_degrees_and_widths():
    names, families = zip(*clone_families(None), strict=True)
    assert names == (None, None)
    polynomials, gaussians = families
    assert polynomials.get_params() == Polynomial((1, 2, 3)).get_params()
    assert gaussians.get_params() == Gaussian().get_params()


def test_families_are_copied():
    given = Gaussian((1.0,))
    ((_, family),) = clone_families(given)
    assert family is not given
    X = np.random.default_rng(0).standard_normal((20, 2))
    VotedKernelClassifier(given).fit(X, X[:, 0] > 0)
    assert not hasattr(given, "unit_")


@pytest.mark.parametrize(
    ("kernels", "named"),
    [
        ([("a", Gaussian()), ("b", Polynomial())], True),
        ((("a", Gaussian()),), True),
        ([Gaussian(), Polynomial()], False),
        (Gaussian(), False),
        ([], False),
        (None, False),
    ],
)
def test_named_lists_are_told_from_plain_ones(kernels, named):
    assert is_named_list(kernels) is named


@pytest.mark.parametrize("name", ["<b>", 'x"y', "a'b", "a&b", "x\ny", "\x1b", "[x](", "a\n"])
def test_names_are_no_markup(name):
    """They are parts of the names of parameters, which scikit-learn writes into its pages."""
    with pytest.raises(ValueError, match="may contain only letters, digits, spaces"):
        clone_families([(name, Gaussian())])


def test_names_appear_before_those_of_the_kernels():
    X = np.random.default_rng(0).standard_normal((20, 2))
    kernels = [("poly", Polynomial((1, 2))), ("gauss", Gaussian((1.0,)))]
    model = VotedKernelClassifier(kernels).fit(X, X[:, 0] > 0)
    assert model.kernel_names_ == [
        "poly: polynomial(degree=1)",
        "poly: polynomial(degree=2)",
        "gauss: gaussian(gamma=1)",
    ]


def test_a_list_is_the_vote_of_its_families():
    X = np.random.default_rng(0).standard_normal((40, 2))
    y = X[:, 0] * X[:, 1] > 0
    both = VotedKernelClassifier([Polynomial((1,)), Polynomial((2,))], tol=1e-10).fit(X, y)
    one = VotedKernelClassifier(Polynomial((1, 2)), tol=1e-10).fit(X, y)
    assert both.objective_ == pytest.approx(one.objective_, rel=1e-9)
    np.testing.assert_allclose(both.penalties_, one.penalties_, rtol=1e-13)


@pytest.mark.parametrize(
    ("kernels", "error", "message"),
    [
        ("rbf", TypeError, "kernels must be a kernel family, a list"),
        ([], ValueError, "kernels is an empty list"),
        ([Gaussian, Gaussian()], TypeError, "must hold kernel families"),
        ([("a", "rbf")], TypeError, r"must hold kernel families.*Similarity\(function\)"),
        ([("a", Gaussian()), ("a", Polynomial())], ValueError, "two families named 'a'"),
        ([("a__b", Gaussian())], ValueError, "'a__b'.*must not"),
        ([("", Gaussian())], ValueError, "must not be empty"),
        (np.dot, TypeError, "kernels must be"),
    ],
)
def test_what_is_no_list_of_families(kernels, error, message):
    with pytest.raises(error, match=message):
        VotedKernelClassifier(kernels).fit(np.eye(4), [0, 0, 1, 1])


def test_sparse_tables_are_refused_where_a_family_takes_none():
    tags = VotedKernelClassifier([Gaussian(), Similarity(np.dot)]).__sklearn_tags__()
    assert not tags.input_tags.sparse
    assert VotedKernelClassifier([Gaussian(), Polynomial()]).__sklearn_tags__().input_tags.sparse
