"""Settings are chosen by validation errors alone, and ties as the protocol says."""

import json
import math
from itertools import permutations

import numpy as np
import pytest
from support.synthetic_records import make_record, make_runs, settings_of, write_records

from votedkernels.exceptions import RecordError
from votedkernels.experiments import paper
from votedkernels.experiments.evidence import check_record, describe_missing, load_evidence
from votedkernels.experiments.radii import tabulate_choices, tabulate_fixed
from votedkernels.experiments.selection import choose, count_endings, make_groups
from votedkernels.experiments.tables import describe_partitions
from votedkernels.experiments.unions import with_unions


def chosen(records, rule="literal"):
    return choose(records, rule).settings


def with_validation(algorithm, errors_by_run, **fields):
    return [
        make_record(algorithm=algorithm, run=run, validation_errors=errors, **fields)
        for run, errors in enumerate(errors_by_run)
    ]


def test_literal_takes_the_least_mean_validation_error():
    errors = [[5, 9, 9, 1], [5, 9, 9, 9], [5, 9, 9, 9]]  # the last is best in one run only
    settings = settings_of("l2-svm")
    assert chosen(with_validation("l2-svm", errors)) == (settings[0],) * 3


def test_per_run_takes_each_runs_own():
    errors = [[5, 9, 9, 1], [5, 9, 9, 9], [9, 9, 2, 9]]
    settings = settings_of("l2-svm")
    assert chosen(with_validation("l2-svm", errors), "per-run") == (
        settings[3],
        settings[0],
        settings[2],
    )


def test_rates_are_averaged_not_counts():
    records = [
        make_record(run=0, n_validation=10, validation_errors=[2, 1, 9, 9]),
        make_record(run=1, n_validation=100, validation_errors=[10, 19, 90, 90]),
    ]
    # 0.2 + 0.10 against 0.1 + 0.19: by counts the first would win
    assert chosen(records)[0] == settings_of("l2-svm")[1]


def test_equal_rates_are_ties_whatever_the_sizes_of_folds():
    # 1/3 + 2/7 = 13/21 both ways; in floating point sums of rates may differ in the last digit.
    records = [
        make_record(run=run, n_validation=n, validation_errors=[n, n, e, e])
        for run, (n, e) in enumerate([(3, 1), (7, 2), (49, 10)])
    ]
    assert chosen(records)[0] == {"degree": 2, "C": 0.1}


@pytest.mark.parametrize(
    ("algorithm", "expected"),
    [
        ("l2-svm", {"degree": 1, "C": 0.1}),
        ("l1-svm", {"l1_penalty": 1.0, "degree": 1}),
        ("vkr-dimension", {"complexity_penalty": 1.0, "l1_penalty": 1.0}),
        ("vkr-trace", {"complexity_penalty": 1.0, "l1_penalty": 1.0}),
        ("vkr-extended", {"complexity_penalty": 1.0, "l1_penalty": 1.0, "radius": 1.0}),
    ],
)
@pytest.mark.parametrize("rule", ["literal", "per-run"])
def test_ties_go_to_the_larger_penalty(algorithm, expected, rule):
    for settings in (settings_of(algorithm), settings_of(algorithm)[::-1]):
        assert chosen([make_record(algorithm=algorithm, settings=settings)], rule) == (expected,)


def test_complexity_penalty_goes_before_l1_penalty():
    pairs = [(0.1, 0.01), (0.01, 1.0)]
    for order in permutations(pairs):
        settings = [{"complexity_penalty": a, "l1_penalty": b} for a, b in order]
        assert chosen([make_record(algorithm="vkr-trace", settings=settings)]) == (
            {"complexity_penalty": 0.1, "l1_penalty": 0.01},
        )


def test_l1_penalty_goes_before_degree_and_gamma_counts_as_degree():
    for kernel in ("degree", "gamma"):
        settings = [{"l1_penalty": 0.1, kernel: 1}, {"l1_penalty": 1.0, kernel: 2}]
        assert chosen([make_record(algorithm="l1-svm", settings=settings)]) == (settings[1],)


def test_polynomials_go_before_gaussians():
    settings = [{"gamma": 0.1, "C": 1.0}, {"degree": 10, "C": 1.0}, {"degree": 2, "C": 10.0}]
    for order in permutations(settings):
        assert chosen([make_record(settings=list(order))]) == (settings[2],)


def test_other_algorithms_fall_back_to_the_order_of_the_record():
    settings = [{"max_depth": None, "name": "b"}, {"max_depth": 3, "name": "a"}]
    record = make_record(algorithm="hist-gradient-boosting", settings=settings)
    assert chosen([record]) == (settings[0],)
    assert chosen([record], "per-run") == (settings[0],)


def test_an_algorithm_without_grid_is_taken_as_it_is():
    records = [
        make_record(algorithm="vkr-cv", run=run, settings=[{"found": run}]) for run in range(5)
    ]
    assert chosen(records) == tuple({"found": run} for run in range(5))


def test_settings_are_matched_by_what_they_are_not_by_place():
    settings = settings_of("l2-svm")
    records = [
        make_record(run=0, validation_errors=[1, 9, 9, 9]),
        make_record(run=1, settings=settings[::-1], validation_errors=[9, 9, 9, 1]),
    ]
    assert chosen(records) == (settings[0], settings[0])


def test_runs_without_a_common_setting_are_an_error():
    records = [
        make_record(run=0, settings=[{"degree": 1, "C": 1.0}, {"degree": 1, "C": 2.0}]),
        make_record(run=1, settings=[{"degree": 2, "C": 1.0}, {"degree": 2, "C": 2.0}]),
    ]
    with pytest.raises(RecordError, match="no setting in common"):
        choose(records, "literal")


def test_unknown_rules_are_refused():
    with pytest.raises(ValueError, match="literal, per-run"):
        make_groups([], "best")


def test_mean_and_standard_deviation_over_runs():
    errors, support = [10, 12, 14, 9, 5], [3, 5, 4, 3, 9]
    records = [
        make_record(run=run, test_errors=e, n_support=s)
        for run, (e, s) in enumerate(zip(errors, support, strict=True))
    ]
    (group,) = make_groups(records)
    error, vectors = group.error("musk", "l2-svm"), group.support("musk", "l2-svm")
    assert error.mean == pytest.approx(np.mean(errors))
    assert error.sd == pytest.approx(np.std(errors, ddof=1))
    assert math.isnan(error.spread)
    assert vectors.mean == pytest.approx(np.mean(support))
    assert vectors.sd == pytest.approx(np.std(support, ddof=1))


def test_partitions_are_chosen_for_apart_and_averaged():
    records = make_runs("musk", "l2-svm", [10] * 5) + make_runs(
        "musk", "l2-svm", [13, 15, 14, 13, 15], seed=1
    )
    (group,) = make_groups(records)
    error = group.error("musk", "l2-svm")
    assert error.mean == pytest.approx(12)
    assert error.sd == pytest.approx(math.sqrt((0 + 1) / 2))
    assert error.spread == pytest.approx(math.sqrt(8))
    assert error.n_runs == 10


def test_no_support_vectors_where_there_are_none():
    (group,) = make_groups(make_runs("musk", "logistic-regression", [9] * 5, n_support=-1))
    assert group.support("musk", "logistic-regression") is None
    assert group.error("musk", "l1-svm") is None


def test_test_errors_do_not_influence_the_choice():
    rng = np.random.default_rng(0)
    validation = rng.integers(0, 100, size=(5, 9)).tolist()
    choices = set()
    for _ in range(5):
        records = [
            make_record(
                algorithm="vkr-trace",
                run=run,
                validation_errors=validation[run],
                test_errors=rng.integers(0, 100, size=9).tolist(),
            )
            for run in range(5)
        ]
        choices.add(json.dumps([chosen(records), chosen(records, "per-run")]))
    assert len(choices) == 1


def test_capped_and_failed_fits_are_counted():
    records = [make_record(run=run, status=["ok", "cap", "failed", "cap"]) for run in range(5)]
    (group,) = make_groups(records)
    (endings,) = count_endings(records, group)
    assert (endings.fits, endings.capped, endings.failed) == (20, 10, 5)
    assert (endings.chosen, endings.chosen_capped, endings.chosen_failed) == (5, 0, 0)


def test_gaps_that_are_not_small_are_counted():
    gaps = [1e-5, 1e-4, 0.5, 1e-5, 2e-3]
    status = ["ok", "ok", "imprecise", "imprecise"]
    records = [
        make_record(algorithm="l1-svm", run=run, gap=gap, status=status)
        for run, gap in enumerate(gaps)
    ]
    (endings,) = count_endings(records, make_groups(records)[0])
    assert endings.worst_gap == 0.5
    assert (endings.imprecise, endings.chosen_imprecise) == (10, 0)


def test_what_is_missing_is_said():
    records = make_runs("musk", "l2-svm", [9] * 5)[:3]
    lines = describe_missing(records)
    assert "no records of ocr49" in lines[0]
    assert lines[1].endswith("musk: of 5 runs, L2-SVM 3, L1-SVM 0, VKR2 0, VKRc 0.")


def test_algorithms_beyond_the_papers_may_have_fewer_partitions():
    records = [
        r for seed in (0, 1) for a in paper.TABLE_ALGORITHMS
        for r in make_runs("musk", a, [9] * 5, seed=seed)
    ]  # fmt: skip
    extended = make_runs("musk", "vkr-extended", [9] * 5)
    assert not any("musk" in line for line in describe_missing([*records, *extended]))
    lines = describe_missing([*records, *extended[:4]])
    assert lines[1].endswith("musk: of 5 runs, VKR extended 4.")


def test_chosen_radii_are_counted():
    settings = settings_of("vkr-extended")
    records = [
        make_record("musk", "vkr-extended", run, validation_errors=[
            5 if s["radius"] == (1.0 if run < 2 else 0.001) else 9 for s in settings
        ])
        for run in range(5)
    ]  # fmt: skip
    (group,) = make_groups(records, "per-run")
    table = tabulate_choices(group)
    assert [name for _, name in table.columns] == ["Data set", "1", "0.001"]
    assert [[cell.text for cell in row] for row in table.rows] == [["musk", "2", "3"]]
    (other,) = make_groups([make_record("musk", "vkr-trace")])
    assert tabulate_choices(other) is None
    assert tabulate_fixed([make_record("musk", "vkr-trace")], other) is None


def test_each_radius_alone_is_reported():
    settings = settings_of("vkr-extended")
    errors = [3 if s["radius"] == 1.0 else 7 for s in settings]
    records = [
        make_record("musk", "vkr-extended", run, test_errors=errors, validation_errors=errors,
                    n_support=[10 * e for e in errors])
        for run in range(5)
    ]  # fmt: skip
    (group,) = make_groups(records)
    table = tabulate_fixed(records, group)
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["1", "3.00", "30.0"], ["0.001", "7.00", "70.0"], ["chosen", "3.00", "30.0"],
    ]  # fmt: skip


def test_means_are_compared_on_shared_partitions():
    records = make_runs("musk", "l2-svm", [10] * 5) + make_runs("musk", "l2-svm", [20] * 5, seed=1)
    records += make_runs("musk", "vkr-extended", [12] * 5)
    (group,) = make_groups(records)
    assert group.error("musk", "l2-svm").mean == 15
    part = group.on_partitions_of(["l2-svm", "vkr-extended"])
    assert part.error("musk", "l2-svm").mean == 10
    assert part.seeds == [0]
    assert group.fully_run().algorithms == ["l2-svm"]
    assert group.fully_run().seeds == [0, 1]
    assert describe_partitions(group).startswith(
        "Means over 2 partitions, but fewer for some: VKR extended 1."
    )
    assert describe_partitions(part) == ""


def test_other_data_sets_alone_are_complete():
    records = [r for a in paper.TABLE_ALGORITHMS for r in make_runs("mine", a, [9] * 5)]
    assert describe_missing(records) == []


def test_svms_over_both_kinds_are_unions():
    polynomial = make_runs("musk", "l2-svm", [9] * 5, gap=None)
    gaussian = make_runs("musk", "l2-svm", [8] * 5, 7, family="gaussian",
                         settings=[{"gamma": 1.0, "C": 1.0}], validation_errors=9)  # fmt: skip
    votes = make_runs("musk", "vkr-trace", [9] * 5, family="both")
    assert with_unions([*polynomial, *gaussian]) == (*polynomial, *gaussian)
    assert with_unions([*polynomial, *votes]) == (*polynomial, *votes)
    united = with_unions([*polynomial, *gaussian, *votes])[15:]
    assert [r["key"] for r in united] == [f"both/range/seed0/musk/run{i}/l2-svm" for i in range(5)]
    for record in united:
        assert check_record(record, "united") is record
        assert record["settings"] == [*settings_of("l2-svm"), {"gamma": 1.0, "C": 1.0}]
        assert record["test_errors"] == [9, 9, 9, 9, 8]
    both = next(g for g in make_groups([*polynomial, *gaussian, *votes, *united], "per-run")
                if g.family == "both")  # fmt: skip
    assert both.error("musk", "l2-svm").mean == 8
    assert both.support("musk", "l2-svm").mean == 7


def test_order_of_lines_and_files_does_not_matter(tmp_path):
    records = make_runs("musk", "l2-svm", [9] * 5) + make_runs("ocr49", "l1-svm", [3] * 5)
    one = write_records(tmp_path / "one.jsonl", records)
    two = write_records(tmp_path / "two.jsonl", records[7:][::-1])
    three = write_records(tmp_path / "three.jsonl", records[:7])
    assert load_evidence([one]).records == load_evidence([three, two]).records


def test_the_same_unit_twice_must_agree(tmp_path):
    record = make_record()
    one = write_records(tmp_path / "one.jsonl", [record])
    two = write_records(tmp_path / "two.jsonl", [{**record, "fit_seconds": 9.0}])
    assert len(load_evidence([one, two]).records) == 1
    three = write_records(tmp_path / "three.jsonl", [make_record(test_errors=11)])
    with pytest.raises(RecordError, match=r"differs from the one in"):
        load_evidence([one, three])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dataset": None}, "no dataset"),
        ({"n_test": 0}, "no usable n_test"),
        ({"seed": True}, "no usable seed"),
        ({"settings": []}, "at least one setting"),
        ({"test_errors": [1, 2, 3]}, "as many figures as settings"),
        ({"test_errors": [101] * 4}, "not counts from 0 to 100"),
        ({"validation_errors": [1.5] * 4}, "not counts from 0 to 100"),
        ({"status": None}, "lacks"),
        ({"n_support": ["many"] * 4}, "support vectors"),
        ({"settings": [1, 2, 3, 4]}, "settings"),
        ({"mass": [[1.0]]}, "masses"),
    ],
)
def test_records_of_another_shape_are_named(tmp_path, change, message):
    path = write_records(tmp_path / "records.jsonl", [{**make_record(), **change}])
    with pytest.raises(RecordError, match=message) as caught:
        load_evidence([path])
    assert "\n" not in str(caught.value)


def test_no_records_are_an_error(tmp_path):
    with pytest.raises(RecordError, match="no records"):
        load_evidence([write_records(tmp_path / "records.jsonl", [])])


def test_the_papers_table_is_whole():
    assert len(paper.TABLE) == 11
    assert all(tuple(row) == paper.TABLE_ALGORITHMS for row in paper.TABLE.values())
    # Column sums of the printed table.
    sums = [sum(row[a].error for row in paper.TABLE.values()) for a in paper.TABLE_ALGORITHMS]
    assert sums == pytest.approx([153.81, 149.44, 145.43, 142.65])
    sums = [sum(row[a].support for row in paper.TABLE.values()) for a in paper.TABLE_ALGORITHMS]
    assert sums == pytest.approx([3051.2, 704.8, 497.0, 744.6])
