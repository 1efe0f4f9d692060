import numpy as np
import pytest
from sklearn.utils import get_tags

from votedkernels import (
    EditDistance,
    Gaussian,
    Polynomial,
    Precomputed,
    Similarity,
    VotedKernelClassifier,
    VotedKernelClassifierCV,
)
from votedkernels.datasets import make_waveform
from votedkernels.estimators._fitted_attributes import attributes_of, vote_of


class CountedGaussian(Gaussian):
    n_clones = 0

    def __sklearn_clone__(self):
        CountedGaussian.n_clones += 1
        return super().__sklearn_clone__()


@pytest.mark.parametrize(
    "kernels", [CountedGaussian(), [Polynomial(), CountedGaussian()], [("g", CountedGaussian())]]
)
def test_prediction_does_not_copy_the_kernel_families(kernels):
    X, y = make_waveform(60, random_state=0)
    model = VotedKernelClassifier(kernels, l1_penalty=0.1).fit(X, y)
    before = CountedGaussian.n_clones
    assert before > 0
    model.predict(X)
    assert CountedGaussian.n_clones == before


@pytest.mark.parametrize(
    ("kernels", "pairwise", "sparse", "strings", "tables"),
    [
        (None, False, True, False, True),
        (Gaussian(), False, True, False, True),
        ([("p", Polynomial()), ("g", Gaussian())], False, True, False, True),
        (Precomputed(), True, False, False, True),
        ([Gaussian(), Similarity(np.dot)], False, False, False, True),
        ([Similarity(np.dot)], False, False, True, True),
        ((EditDistance(),), False, False, True, False),
    ],
)
def test_tags_say_what_the_families_accept(kernels, pairwise, sparse, strings, tables):
    tags = get_tags(VotedKernelClassifier(kernels)).input_tags
    found = (tags.pairwise, tags.sparse, tags.string, tags.two_d_array)
    assert found == (pairwise, sparse, strings, tables)


@pytest.mark.parametrize("kernels", ["gaussian", [], [Gaussian(), "poly"], {"a": Gaussian()}])
def test_families_that_are_not_valid_leave_the_tags_as_they_are(kernels):
    tags = get_tags(VotedKernelClassifier(kernels)).input_tags
    assert (tags.pairwise, tags.sparse, tags.string, tags.two_d_array) == (
        False,
        False,
        False,
        True,
    )


@pytest.mark.parametrize(
    "model",
    [
        VotedKernelClassifier(l1_penalty=0.1),
        VotedKernelClassifierCV(complexity_penalties=[0.1], l1_penalties=[0.1], cv=2),
    ],
)
def test_the_fitted_attributes_hold_the_vote(model):
    X, y = make_waveform(60, random_state=0)
    model.fit(X, y)
    vote = vote_of(model)
    assert vote.decide(X)[:, 0].tolist() == model.decision_function(X).tolist()
    for name, value in attributes_of(vote).items():
        assert getattr(model, name) is value
    assert vote.kernel_mass.tolist() == model.kernel_mass_.tolist()
