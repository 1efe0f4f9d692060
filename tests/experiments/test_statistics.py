"""Significance tests, compared with SciPy and published examples."""

import math

import numpy as np
import pytest
from scipy import stats

from votedkernels.experiments.statistics import (
    corrected_t_test,
    friedman_test,
    nemenyi_critical_difference,
)

# Demsar (2006), Statistical comparisons of classifiers over multiple data sets, table 6: AUC of
# C4.5, C4.5+m, C4.5+cf and C4.5+m+cf on 14 data sets. The third and fourth of the row before the
# last are printed as equal and ranked 2 and 3, so they differ in digits that are not printed.
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.97501, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
)


def test_demsars_example():
    test = friedman_test(-DEMSAR)
    assert test.ranks == pytest.approx([3.143, 2.000, 2.893, 1.964], abs=5e-4)
    assert test.chi2 == pytest.approx(9.28, abs=0.005)
    assert test.f == pytest.approx(3.69, abs=0.005)
    assert test.f_p < 0.05  # the critical value of F(3, 39) is 2.85
    assert test.critical_difference == pytest.approx(1.25, abs=0.005)


# Demsar (2006), table 5a: critical values of Nemenyi's test.
@pytest.mark.parametrize(
    ("alpha", "values"),
    [
        (0.05, [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]),
        (0.10, [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920]),
    ],
)
def test_nemenyis_critical_values(alpha, values):
    for k, q in enumerate(values, 2):
        expected = q * math.sqrt(k * (k + 1) / 6)
        assert nemenyi_critical_difference(k, 1, alpha) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("shape", [(11, 4), (5, 3), (30, 7)])
def test_friedman_is_scipys_where_there_are_no_ties(shape):
    errors = np.random.default_rng(0).normal(size=shape)
    expected = stats.friedmanchisquare(*errors.T)
    test = friedman_test(errors)
    assert test.chi2 == pytest.approx(expected.statistic)
    assert test.p == pytest.approx(expected.pvalue)
    assert sum(test.ranks) == pytest.approx(shape[1] * (shape[1] + 1) / 2)


def test_friedman_of_one_order_everywhere():
    test = friedman_test([[1, 2, 3]] * 6)
    assert test.ranks == (1, 2, 3)
    assert test.chi2 == pytest.approx(12)
    assert test.f == math.inf
    assert test.f_p == 0


def test_friedman_of_equals():
    test = friedman_test([[1, 1, 1]] * 6)
    assert test.ranks == (2, 2, 2)
    assert (test.chi2, test.p) == (0, 1)


@pytest.mark.parametrize("errors", [[], [[1, 2, 3]], [[1], [2]]])
def test_friedman_needs_two_of_each(errors):
    assert friedman_test(errors) is None


def test_cliques_are_the_largest_groups_without_difference():
    test = friedman_test([[1, 2, 3, 4]] * 11)
    assert test.critical_difference == pytest.approx(1.414, abs=1e-3)
    assert test.cliques == [(0, 1), (1, 2), (2, 3)]


def test_without_overlap_it_is_the_plain_t_test():
    d = np.random.default_rng(1).normal(0.3, size=12)
    expected = stats.ttest_1samp(d, 0)
    test = corrected_t_test(d, 0.0)
    assert test.t == pytest.approx(expected.statistic)
    assert test.p == pytest.approx(expected.pvalue)
    interval = expected.confidence_interval(0.95)
    assert (test.mean - test.half_width, test.mean + test.half_width) == pytest.approx(interval)


def test_correction_of_nadeau_and_bengio():
    # Ten-fold cross-validation, ten times: the variance is multiplied by 1/100 + 1/9, so t is
    # sqrt((1/100) / (1/100 + 1/9)) of the plain one.
    d = np.random.default_rng(2).normal(0.1, size=100)
    ratio = math.sqrt(0.01 / (0.01 + 1 / 9))
    assert corrected_t_test(d, 1 / 9).t == pytest.approx(ratio * stats.ttest_1samp(d, 0).statistic)


def test_corrected_by_hand():
    # d = 1, 2, 3: mean 2, variance 1; n_test/n_train = 1/3: t = 2 / sqrt(1/3 + 1/3).
    test = corrected_t_test([1, 2, 3], 1 / 3)
    assert test.t == pytest.approx(2 / math.sqrt(2 / 3))
    assert test.p == pytest.approx(2 * stats.t.sf(test.t, 2))


def test_differences_all_the_same():
    assert corrected_t_test([0.0] * 5, 1 / 3).p == 1
    assert corrected_t_test([-2.0] * 5, 1 / 3).p == 0
    assert corrected_t_test([-2.0] * 5, 1 / 3).significant


def test_too_few_runs_decide_nothing():
    test = corrected_t_test([1.0], 1 / 3)
    assert math.isnan(test.p)
    assert not test.significant


def test_level_is_kept_where_runs_overlap():
    """Two equally good rules differ at 5% rarely enough, although the five runs share data.

    The plain test would find a difference several times as often.
    """
    rng = np.random.default_rng(3)
    corrected = plain = 0
    for _ in range(400):
        common = rng.normal(scale=math.sqrt(1 / 4))  # correlation n_test / (n_test + n_train)
        d = common + rng.normal(scale=math.sqrt(3 / 4), size=5)
        corrected += corrected_t_test(d, 1 / 3).significant
        plain += corrected_t_test(d, 0.0).significant
    assert corrected <= 0.08 * 400
    assert plain >= 2 * corrected
