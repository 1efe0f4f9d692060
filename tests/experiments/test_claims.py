"""Verdicts follow the rules stated with them, and their explanations show the numbers."""

import pytest
from support.synthetic_records import make_runs

from votedkernels.experiments import claims, paper
from votedkernels.experiments.claims import FAILS, HOLDS, IN_PART, OPEN, decide
from votedkernels.experiments.comparisons import compare, compare_all, format_p
from votedkernels.experiments.selection import make_groups

SPREAD = (0, 1, 0, -1, 0)  # differences must not all be equal


def make_results(rows, **fields):
    """Records from {data set: {algorithm: (error, support vectors)}}; errors in percent."""
    records = []
    for dataset, row in rows.items():
        for i, (algorithm, (error, support)) in enumerate(row.items()):
            errors = [error + SPREAD[(run + i) % 5] for run in range(5)]
            records += make_runs(dataset, algorithm, errors, support, **fields)
    return records


def row(l2, l1, vkr2, vkrc, support=(300, 60, 20, 20)):
    errors = (l2, l1, vkr2, vkrc)
    return dict(zip(paper.TABLE_ALGORITHMS, zip(errors, support, strict=True), strict=True))


def findings(rows, **fields):
    groups = make_groups(make_results(rows, **fields))
    return {finding.claim.key: finding for finding in decide(groups)}


def eleven(special, plain, count):
    return {d: special if i < count else plain for i, d in enumerate(paper.DATASETS)}


BETTER = row(30, 30, 10, 25)
ALIKE = row(20, 20, 20, 20)


@pytest.mark.parametrize(("count", "verdict"), [(5, HOLDS), (11, HOLDS), (4, FAILS), (0, FAILS)])
def test_outperforming_needs_five_of_eleven(count, verdict):
    finding = findings(eleven(BETTER, ALIKE, count))["outperforms"]
    assert finding.verdict == verdict
    assert f"{count} of 11" in finding.words


def test_outperforming_by_means_alone_is_in_part():
    # Half a point, too little to be significant with five runs.
    rows = eleven(row(21, 21, 20, 25), ALIKE, 5)
    finding = findings(rows)["outperforms"]
    assert finding.verdict == IN_PART
    assert "significant on 0 of 11" in finding.words
    assert "VKR2 5 and 0, VKRc 0 and 0" in finding.words


def test_beating_one_svm_is_not_enough():
    assert findings(eleven(row(30, 10, 10, 10), ALIKE, 11))["outperforms"].verdict == FAILS


@pytest.mark.parametrize(("count", "verdict"), [(3, HOLDS), (2, FAILS)])
def test_considerable_improvement_needs_three(count, verdict):
    assert findings(eleven(BETTER, ALIKE, count))["considerable"].verdict == verdict


def test_small_improvements_are_not_considerable():
    # 26 is significantly below 30, but by less than a fifth.
    results = findings(eleven(row(30, 30, 26, 26), ALIKE, 11))
    assert results["outperforms"].verdict == HOLDS
    assert results["considerable"].verdict == FAILS


def test_no_difference_on_the_rest():
    assert findings(eleven(BETTER, ALIKE, 5))["no-difference"].verdict == HOLDS
    worse = findings(eleven(row(10, 10, 30, 30), ALIKE, 1))["no-difference"]
    assert worse.verdict == FAILS
    assert "VKR2 against L2-SVM on ocr49" in worse.words
    assert findings(eleven(row(30, 10, 10, 10), ALIKE, 1))["no-difference"].verdict == IN_PART
    assert "no other data sets" in findings(eleven(BETTER, ALIKE, 11))["no-difference"].words


def test_svms_alike():
    assert findings(eleven(row(30, 10, 20, 20), ALIKE, 5))["svms-comparable"].verdict == HOLDS
    assert findings(eleven(row(30, 10, 20, 20), ALIKE, 6))["svms-comparable"].verdict == FAILS


@pytest.mark.parametrize(
    ("support", "verdict"),
    [
        ((300, 60, 20, 20), HOLDS),
        ((100, 60, 20, 20), IN_PART),  # five times
        ((20, 60, 20, 20), FAILS),
    ],
)
def test_ten_times_sparser(support, verdict):
    finding = findings(eleven(ALIKE, row(20, 20, 20, 20, support), 0))["ten-times-sparser"]
    assert finding.verdict == verdict
    assert f"median {support[0] / support[2]:.1f}" in finding.words


@pytest.mark.parametrize(
    ("support", "verdict"),
    [((300, 60, 20, 20), HOLDS), ((300, 60, 50, 20), IN_PART), ((300, 60, 70, 20), FAILS)],
)
def test_always_sparser(support, verdict):
    rows = eleven(ALIKE, row(20, 20, 20, 20, support), 0)
    assert findings(rows)["always-sparser"].verdict == verdict


def test_claims_of_fewer_data_sets_are_put_in_proportion():
    finding = findings({"musk": BETTER, "ocr49": ALIKE, "german": ALIKE})["outperforms"]
    assert "asks for 2 of 3" in finding.words
    assert finding.verdict == FAILS


def test_without_an_svm_claims_are_open():
    rows = {"musk": {"vkr-trace": (10, 5), "l2-svm": (20, 50)}}
    results = findings(rows)
    assert {finding.verdict for finding in results.values()} == {OPEN}


def test_gaussian_claims():
    polynomial = make_results(dict.fromkeys(paper.DATASETS, ALIKE))
    twin = {"l2-svm": (20, 300), "l1-svm": (20, 60), "vkr-trace": (20, 30)}
    gaussian = make_results(dict.fromkeys(paper.DATASETS, twin), family="gaussian")
    results = {(f.family, f.claim.key): f for f in decide(make_groups([*gaussian, *polynomial]))}
    assert results["gaussian", "gaussian-errors"].verdict == HOLDS
    assert results["gaussian", "gaussian-sparsity"].verdict == HOLDS
    assert "median 1.5" in results["gaussian", "gaussian-sparsity"].words
    assert ("polynomial", "gaussian-errors") not in results


def test_gaussian_claims_are_open_without_polynomial_results():
    twin = {"l2-svm": (20, 300), "l1-svm": (20, 60), "vkr-trace": (20, 30)}
    results = findings({"musk": twin}, family="gaussian")
    assert results["gaussian-errors"].verdict == OPEN
    assert results["outperforms"].verdict == FAILS


def test_gaussian_results_that_are_far_off():
    polynomial = make_results(dict.fromkeys(paper.DATASETS, ALIKE))
    twin = {"l2-svm": (40, 300), "l1-svm": (40, 60), "vkr-trace": (30, 120)}
    gaussian = make_results(dict.fromkeys(paper.DATASETS, twin), family="gaussian")
    results = {f.claim.key: f for f in decide(make_groups([*gaussian, *polynomial]))}
    assert results["gaussian-errors"].verdict == FAILS
    assert results["gaussian-sparsity"].verdict == FAILS


def test_the_extended_objective_has_verdicts_of_its_own():
    plain = {**row(20, 20, 30, 30), "vkr-extended": (10, 10)}
    groups = make_groups(make_results(dict.fromkeys(paper.DATASETS, plain)))
    results = {(f.objective, f.claim.key): f for f in decide(groups)}
    assert results["plain", "outperforms"].verdict == FAILS
    assert results["extended", "outperforms"].verdict == HOLDS
    assert "VKR extended: median 30.0" in results["extended", "ten-times-sparser"].words
    assert ("plain", "extension") not in results


@pytest.mark.parametrize(
    ("extended", "better_on", "verdict"),
    [(10, 11, HOLDS), (10, 0, IN_PART), (20.5, 0, FAILS)],
)
def test_whether_the_extension_does_better(extended, better_on, verdict):
    """A clear difference on ``better_on`` data sets, half a point on the others."""
    base = row(20, 20, 20, 20)
    near = min(extended, 20) - 0.5 if extended > 20 else 19.5
    rows = {
        d: {**base, "vkr-extended": (extended if i < better_on or extended > 20 else near, 10)}
        for i, d in enumerate(paper.DATASETS)
    }
    finding = findings(rows)["extension"]
    assert finding.verdict == verdict
    assert f"significantly better on {better_on} of 11" in finding.words
    assert "VKR2 has 2.0 times its support vectors" in finding.words


def test_peers_have_no_verdicts():
    records = make_runs("musk", "vkr-default", [9] * 5, family="peers")
    assert decide(make_groups(records)) == []


def test_only_runs_that_both_have_are_compared():
    records = make_runs("musk", "l2-svm", [20, 21, 22, 23, 24])
    records += make_runs("musk", "vkr-trace", [10, 11, 12, 99, 99])[:3]
    (group,) = make_groups(records)
    comparison = compare(group, "musk", "vkr-trace", "l2-svm")
    assert comparison.test.n == 3
    assert comparison.test.mean == pytest.approx(-10)
    assert comparison.outcome == "better"
    assert "10.00 points lower" in comparison.words
    assert compare(group, "musk", "vkr-trace", "l1-svm") is None


def test_every_pair_is_compared():
    (group,) = make_groups(make_results({"musk": ALIKE, "ocr49": BETTER}))
    pairs = {(c.dataset, c.first, c.second) for c in compare_all(group)}
    assert len(pairs) == 2 * 6
    outcomes = {(c.first, c.second): c.outcome for c in compare_all(group) if c.dataset == "ocr49"}
    assert outcomes["vkr-dimension", "l2-svm"] == "better"
    assert outcomes["vkr-trace", "vkr-dimension"] == "worse"
    assert outcomes["l1-svm", "l2-svm"] == "no difference"


def test_the_papers_table_in_the_same_words():
    # Counted by hand in the printed table.
    assert "lowest mean on 8 of 11" in claims.describe_paper("outperforms")
    assert "on 7; its text says 5" in claims.describe_paper("outperforms")
    assert "3 of 11 (ocr49, ionosphere, musk)" in claims.describe_paper("considerable")
    assert "66.1 (ocr49)" in claims.describe_paper("ten-times-sparser")
    assert "0.9 (phishing)" in claims.describe_paper("ten-times-sparser")


def test_every_claim_has_its_rule():
    assert all(claim.rule and claim.quotation for claim in paper.CLAIMS.values())


@pytest.mark.parametrize(
    ("p", "words"), [(0.0, "p < 0.001"), (0.0412, "p = 0.041"), (float("nan"), "too few runs")]
)
def test_p_values_in_words(p, words):
    assert words in format_p(p)
