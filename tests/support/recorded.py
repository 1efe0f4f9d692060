"""Numbers from the committed records of benchmarks, for the tests that compare texts with them."""

import json
from collections.abc import Iterable
from functools import cache
from statistics import geometric_mean, mean, stdev
from typing import Any

from support.paths import ROOT

RESULTS = ROOT / "benchmarks" / "results"


@cache
def load(name: str) -> Any:
    """Return what a JSON file of results contains."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


@cache
def lines(name: str) -> list[dict[str, Any]]:
    """Return the records in a file of one record per line, without notes on the machine."""
    text = (RESULTS / f"{name}.jsonl").read_text(encoding="utf-8")
    return [record for record in map(json.loads, text.splitlines()) if list(record) != ["run"]]


def one(found: Iterable[Any], **wanted: Any) -> Any:
    """Return the only record with these values."""
    (record,) = (r for r in found if all(r[name] == value for name, value in wanted.items()))
    return record


def mean_and_error(values: Iterable[float]) -> tuple[float, float]:
    """Return the mean, and its standard error."""
    values = list(values)
    return mean(values), stdev(values) / len(values) ** 0.5


# -- selection.jsonl -----------------------------------------------------------------------

MULTI = {"pendigits", "segment", "wine", "satimage", "vehicle", "yeast"}
#: The data sets with two classes that no setting was tuned on.
ASIDE = {
    "german", "ocr49", "phishing", "waveform01", "banknote", "bupa", "ilpd", "mammographic",
    "qsar_biodeg", "saheart", "wdbc",
}  # fmt: skip


@cache
def folds(method: str, kind: str = "binary") -> dict[str, dict[tuple[int, int], dict[str, Any]]]:
    """Return the records of each data set, by partition and fold."""
    found: dict[str, dict[tuple[int, int], dict[str, Any]]] = {}
    for record in lines("selection"):
        if record["method"] == method and (record["data"] in MULTI) == (kind == "multi"):
            place = record["partition"], record["fold"]
            found.setdefault(record["data"], {})[place] = record
    return found


def by_data_set(method: str, field: str, kind: str = "binary") -> list[float]:
    """Return the mean of a field over the folds of each data set."""
    return [mean(record[field] for record in of.values()) for of in folds(method, kind).values()]


def differences(method: str, kind: str = "binary") -> dict[str, float]:
    """Return by how much each data set's error exceeds that of SVC on the same folds, in points."""
    base = folds("svc", kind)
    return {
        data: 100 * mean(of[place]["error"] - base[data][place]["error"] for place in of)
        for data, of in folds(method, kind).items()
    }


def ratios(method: str, field: str, kind: str = "binary") -> dict[str, float]:
    """Return each data set's mean of a field, divided by that of SVC on the same folds."""
    base = folds("svc", kind)
    return {
        data: mean(of[place][field] for place in of)
        / mean(base[data][place][field] for place in of)
        for data, of in folds(method, kind).items()
    }


# -- regression.jsonl ----------------------------------------------------------------------

#: By the largest number of training rows.
BASELINES = {200: "svr", 500: "svr", 1000: "svr", 3000: "svr, intelex"}
#: The larger run has only costs up to this, so many of them, where the grid ran in parts.
MOST_COST, N_COSTS = 100, 5
FIELDS = ("mae", "n_support", "seconds")


def regressions(rows: int) -> dict[tuple[str, int, str], dict[str, Any]]:
    """Return the records of fits to up to so many rows, by data set, partition and model.

    The parts of SVR's grid up to the largest cost of the page become one record.
    """
    found = [r for r in lines("regression") if r.get("rows") == rows]
    by_place = {(r["data"], r["partition"], r["model"]): r for r in found}
    parts: dict[tuple[str, int, str], list[dict[str, Any]]] = {}
    for r in found:
        label, _, cost = r["model"].partition(", C=")
        if cost and float(cost) <= MOST_COST:
            parts.setdefault((r["data"], r["partition"], label), []).append(r)
    for place, of in parts.items():
        assert len(of) == N_COSTS
        seconds = sum(r["seconds"] for r in of)
        by_place[place] = max(of, key=lambda r: r["score"]) | {"seconds": seconds}
    return by_place


@cache
def ratios_to_svr(model: str, rows: int) -> dict[str, dict[str, float]]:
    """Return the ratios to SVR of each data set, as geometric means over its partitions."""
    found, baseline = regressions(rows), BASELINES[rows]
    by_data: dict[str, list[dict[str, float]]] = {}
    for data, partition, label in found:
        if label == model and (data, partition, baseline) in found:
            mine, base = found[data, partition, label], found[data, partition, baseline]
            by_data.setdefault(data, []).append({f: mine[f] / base[f] for f in FIELDS})
    return {
        data: {field: geometric_mean(part[field] for part in of) for field in FIELDS}
        for data, of in by_data.items()
    }
