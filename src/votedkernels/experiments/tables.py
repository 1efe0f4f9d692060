"""The tables of the report, with our numbers next to the paper's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ..report.parts import NOTHING, Cell, Table
from .comparisons import compare_all, format_p
from .evidence import name_of
from .paper import TABLE
from .records import Record
from .selection import Group, Summary, count_endings
from .statistics import FriedmanTest, friedman_test
from .table_formats import mean_cell, number_cell, text_cell

ERROR_DIGITS, SUPPORT_DIGITS = 2, 1


def tabulate_errors(group: Group) -> Table:
    """Return mean test errors, with the lowest of each row marked."""
    return _tabulate_means(
        group,
        "Test error in percent, mean (standard deviation)",
        group.error,
        lambda d, a: (TABLE[d][a].error, TABLE[d][a].error_sd),
        ERROR_DIGITS,
    )


def tabulate_support(group: Group) -> Table:
    """Return mean numbers of support vectors."""
    return _tabulate_means(
        group,
        "Number of support vectors, mean (standard deviation)",
        group.support,
        lambda d, a: (TABLE[d][a].support, TABLE[d][a].support_sd),
        SUPPORT_DIGITS,
    )


def _tabulate_means(
    group: Group,
    title: str,
    ours: Callable[[str, str], Summary | None],
    paper: Callable[[str, str], tuple[float, float]],
    digits: int,
) -> Table:
    beside = group.family == "polynomial" and group.rule == "literal"
    columns: list[tuple[str, str]] = [("", "Data set")]
    for algorithm in group.algorithms:
        columns.append((name_of(algorithm), "ours") if beside else ("", name_of(algorithm)))
        if beside and _in_paper(algorithm):
            columns.append((name_of(algorithm), "paper"))
    rows = []
    for dataset in group.datasets:
        found = {a: ours(dataset, a) for a in group.algorithms}
        least = min((round(s.mean, digits) for s in found.values() if s), default=None)
        several = sum(s is not None for s in found.values()) > 1
        row = [text_cell(dataset)]
        for algorithm, s in found.items():
            best = s is not None and several and round(s.mean, digits) == least
            row.append(_summary_cell(s, digits, best=best))
            if beside and _in_paper(algorithm):
                known = dataset in TABLE and algorithm in TABLE[dataset]
                row.append(mean_cell(*paper(dataset, algorithm), digits) if known else NOTHING)
        rows.append(tuple(row))
    return make_table(group, title, columns, rows, note=describe_partitions(group))


def describe_partitions(group: Group) -> str:
    """Name the algorithms that have fewer partitions than others; "" if there are none."""
    counts = {
        a: [len(group.of(d, a)) for d in group.datasets if group.of(d, a)] for a in group.algorithms
    }
    most = max(map(max, counts.values()))
    fewer = [
        f"{name_of(a)} {span(numbers)}" for a, numbers in counts.items() if min(numbers) < most
    ]
    if not fewer:
        return ""
    return (
        f"Means over {most} partitions, but fewer for some: {', '.join(fewer)}. Tests and ranks "
        "use the partitions that are shared."
    )


def span(numbers: Sequence[int]) -> str:
    """Return the range of whole numbers as text."""
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"


def tabulate_sparsity(group: Group) -> Table:
    """Return how many times more support vectors L2-SVM has than each sparse algorithm."""
    votes = [a for a in group.algorithms if a.startswith("vkr") or a == "l1-svm"]
    beside = group.family == "polynomial" and group.rule == "literal"
    columns: list[tuple[str, str]] = [("", "Data set")]
    for vote in votes:
        columns.append((name_of(vote), "ours") if beside else ("", name_of(vote)))
        if beside and _in_paper(vote):
            columns.append((name_of(vote), "paper"))
    rows = []
    for dataset in group.datasets:
        base = group.support(dataset, "l2-svm")
        row = [text_cell(dataset)]
        for vote in votes:
            mine = group.support(dataset, vote)
            ratio = base.mean / mine.mean if base and mine and mine.mean else None
            row.append(number_cell("ratio", ratio, 1))
            if beside and _in_paper(vote):
                cells = TABLE.get(dataset)
                theirs = cells["l2-svm"].support / cells[vote].support if cells else None
                row.append(number_cell("ratio", theirs, 1))
        rows.append(tuple(row))
    return make_table(
        group, "Support vectors of L2-SVM divided by those of other algorithms", columns, rows
    )


def tabulate_spread(group: Group) -> Table | None:
    """Return the standard deviations of partition means; None for a single partition."""
    if len(group.seeds) < 2:
        return None
    rows = []
    for dataset in group.datasets:
        found = [group.error(dataset, a) for a in group.algorithms]
        rows.append(
            (
                text_cell(dataset),
                *(number_cell("sd", s.spread if s else None, ERROR_DIGITS) for s in found),
            )
        )
    columns = [("", "Data set"), *(("", name_of(a)) for a in group.algorithms)]
    return make_table(
        group, "Standard deviation of mean test errors between partitions, points", columns, rows
    )


def tabulate_comparisons(group: Group) -> Table:
    """Return the tests of all pairs of algorithms."""
    rows = []
    for comparison in compare_all(group):
        test = comparison.test
        rows.append(
            (
                text_cell(comparison.dataset),
                text_cell(f"{name_of(comparison.first)} against {name_of(comparison.second)}"),
                number_cell("difference", test.mean, 2),
                number_cell("half-width", test.half_width, 2),
                number_cell("p", test.p, 4),
                Cell(comparison.outcome, (), comparison.outcome != "no difference"),
            )
        )
    names = ("Data set", "Pair", "Difference", "± (95%)", "p", "The first is")
    return make_table(
        group,
        "Differences of test errors, points, by the corrected resampled t-test",
        [("", name) for name in names],
        rows,
        n_names=2,
    )


def tabulate_endings(records: Sequence[Record], group: Group) -> Table:
    """Return how fits ended and how long they took."""
    rows = []
    for e in count_endings(records, group):
        mine = _records_of(records, group, e.algorithm, group.datasets)
        seconds = sum(r.get("fit_seconds") or 0.0 for r in mine)
        rows.append(
            (
                text_cell(name_of(e.algorithm)),
                number_cell("fits", e.fits, 0),
                number_cell("capped", 100 * e.capped / e.fits, 1),
                number_cell("failed", 100 * e.failed / e.fits, 1),
                number_cell("chosen capped", 100 * e.chosen_capped / e.chosen, 1),
                Cell(f"{e.worst_gap:.1e}", (("gap", f"{e.worst_gap:.1e}"),))
                if e.worst_gap is not None
                else NOTHING,
                number_cell("imprecise", 100 * e.imprecise / e.fits, 1),
                number_cell("chosen imprecise", 100 * e.chosen_imprecise / e.chosen, 1),
                number_cell("seconds", seconds, 0),
            )
        )
    names = (
        "Algorithm", "Fits", "Hit a cap, %", "Failed, %", "Chosen fits that hit a cap, %",
        "Largest relative gap", "Gap above tolerance, %", "Chosen fits with such a gap, %",
        "Seconds of fitting",
    )  # fmt: skip
    return make_table(group, "How fits ended", [("", name) for name in names], rows)


def rank_algorithms(group: Group) -> tuple[list[str], FriedmanTest] | None:
    """Compare mean errors by rank, over the data sets and partitions that all algorithms have."""
    part = group.on_partitions_of(group.algorithms)
    whole = [[s.mean for a in group.algorithms if (s := part.error(d, a))] for d in part.datasets]
    test = friedman_test(np.array(whole)) if whole else None
    return (group.algorithms, test) if test else None


def tabulate_ranks(group: Group) -> Table | None:
    """Return average ranks over data sets; None if there are too few data sets."""
    ranked = rank_algorithms(group)
    if not ranked:
        return None
    algorithms, test = ranked
    order = sorted(range(len(algorithms)), key=lambda i: (test.ranks[i], i))
    rows = [
        (text_cell(name_of(algorithms[i])), number_cell("rank", test.ranks[i], 2)) for i in order
    ]
    return make_table(
        group,
        "Average rank of test errors over data sets",
        [("", "Algorithm"), ("", "Average rank")],
        rows,
        note=f"{describe_ranks(test)} {describe_partitions(group)}".rstrip(),
    )


def describe_ranks(test: FriedmanTest) -> str:
    """Return what Friedman's test finds, in words."""
    found = "differ" if test.f_p < 0.05 else "do not differ significantly"
    return (
        f"Over {test.n_datasets} data sets, the algorithms {found} (Friedman, Iman and Davenport's "
        f"F = {test.f:.2f}, {format_p(test.f_p)}). By Nemenyi's test, two differ at 5% if their "
        f"average ranks are more than {test.critical_difference:.2f} apart."
    )


def tabulate_peers(records: Sequence[Record], group: Group) -> Table:
    """Return errors, support vectors and seconds of other classifiers."""
    rows = []
    for dataset in group.datasets:
        errors = {a: group.error(dataset, a) for a in group.algorithms}
        least = min(round(s.mean, ERROR_DIGITS) for s in errors.values() if s)
        for algorithm, error in errors.items():
            if error is None:
                continue
            mine = _records_of(records, group, algorithm, [dataset])
            support = group.support(dataset, algorithm)
            best = round(error.mean, ERROR_DIGITS) == least
            rows.append(
                (
                    text_cell(dataset),
                    text_cell(name_of(algorithm)),
                    mean_cell(error.mean, error.sd, ERROR_DIGITS, best=best),
                    _summary_cell(support, SUPPORT_DIGITS),
                    number_cell("seconds", _mean(r.get("fit_seconds") for r in mine), 3),
                    number_cell("seconds", _mean(r.get("predict_seconds") for r in mine), 4),
                )
            )
    names = ("Data set", "Classifier", "Test error, %", "Support vectors", "Fit, s", "Predict, s")
    return make_table(
        group,
        "Other classifiers",
        [("", name) for name in names],
        rows,
        note="Seconds are means over runs, for all settings of a run together.",
        n_names=2,
    )


def tabulate_peers_in_short(
    records: Sequence[Record], group: Group, per_run: Group
) -> Table | None:
    """Return means over the data sets for which all have results; None if there are none."""
    whole = [d for d in group.datasets if all(group.error(d, a) for a in group.algorithms)]
    if not whole:
        return None
    errors = np.array([_means(group.error, whole, a) for a in group.algorithms])
    lowest = np.round(errors, ERROR_DIGITS) == np.round(errors, ERROR_DIGITS).min(axis=0)
    order = sorted(range(len(errors)), key=lambda i: (errors[i].mean(), i))
    rows = []
    for i in order:
        algorithm = group.algorithms[i]
        mine = _records_of(records, group, algorithm, whole)
        support = _means(group.support, whole, algorithm)
        by_run = float(np.mean(_means(per_run.error, whole, algorithm)))
        rows.append(
            (
                text_cell(name_of(algorithm)),
                number_cell("settings", max(len(r["settings"]) for r in mine), 0),
                number_cell("mean", errors[i].mean(), ERROR_DIGITS, best=i == order[0]),
                number_cell("mean", by_run, ERROR_DIGITS),
                number_cell("lowest", lowest[i].sum(), 0),
                number_cell("median", np.median(support) if support else None, SUPPORT_DIGITS),
                number_cell("seconds", _mean(r.get("fit_seconds") for r in mine), 2),
                number_cell("seconds", _mean(r.get("predict_seconds") for r in mine), 3),
            )
        )
    names = (
        "Classifier", "Settings", "Mean error, %", "Chosen run by run, %", "Lowest on",
        "Support vectors, median", "Fit, s", "Predict, s",
    )  # fmt: skip
    return make_table(
        group,
        "Other classifiers in short",
        [("", name) for name in names],
        rows,
        note=f"Over {len(whole)} data sets. Seconds are means over runs, for all settings of a run "
        f"together. {describe_partitions(group)}".rstrip(),
    )


def _records_of(
    records: Sequence[Record], group: Group, algorithm: str, datasets: Sequence[str]
) -> list[Record]:
    about = (group.family, group.scaling, algorithm)
    return [
        r
        for r in records
        if (r["family"], r["scaling"], r["algorithm"]) == about and r["dataset"] in datasets
    ]


def _means(
    of: Callable[[str, str], Summary | None], datasets: Sequence[str], algorithm: str
) -> list[float]:
    found = (of(dataset, algorithm) for dataset in datasets)
    return [s.mean for s in found if s]


def _summary_cell(summary: Summary | None, digits: int, *, best: bool = False) -> Cell:
    return mean_cell(summary.mean, summary.sd, digits, best=best) if summary else NOTHING


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if isinstance(value, int | float)]
    return float(np.mean(known)) if known else None


def _in_paper(algorithm: str) -> bool:
    return algorithm in next(iter(TABLE.values()))


def make_table(
    group: Group,
    title: str,
    columns: Sequence[tuple[str, str]],
    rows: Sequence[tuple[Cell, ...]],
    *,
    note: str = "",
    n_names: int = 1,
) -> Table:
    """Return a table about a group."""
    return Table(
        title,
        tuple(columns),
        tuple(rows),
        group.family,
        group.scaling,
        group.rule,
        note,
        n_names,
    )
