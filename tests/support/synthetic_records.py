"""Records as the runner writes them, with chosen figures."""

import json

from votedkernels.experiments.protocol import N_FOLDS, Unit
from votedkernels.experiments.records import FORMAT_VERSION

PENALTIES = (1.0, 0.1, 0.01)
RADII = (1.0, 0.001)
SETTINGS = {
    "l2-svm": [{"degree": k, "C": C} for k in (1, 2) for C in (0.1, 1.0)],
    "l1-svm": [{"l1_penalty": b, "degree": k} for k in (1, 2) for b in PENALTIES],
    "vkr": [{"complexity_penalty": lam, "l1_penalty": b} for lam in PENALTIES for b in PENALTIES],
}


def settings_of(algorithm):
    name = "vkr" if algorithm in ("vkr-dimension", "vkr-trace", "vkr-local") else algorithm
    if algorithm == "vkr-extended":
        return [{**setting, "radius": s} for s in RADII for setting in SETTINGS["vkr"]]
    return [dict(setting) for setting in SETTINGS.get(name, [{}])]


def make_record(dataset="musk", algorithm="l2-svm", run=0, seed=0, **fields):
    """Return the record of one run; figures that are not given are the same for all settings."""
    family, scaling = fields.pop("family", "polynomial"), fields.pop("scaling", "range")
    unit = Unit(family, scaling, seed, dataset, run, algorithm)
    settings = fields.pop("settings", None) or settings_of(algorithm)
    n = len(settings)
    record = {
        "key": unit.key,
        "family": family,
        "scaling": scaling,
        "seed": seed,
        "dataset": dataset,
        "run": run,
        "algorithm": algorithm,
        "n_train": 300,
        "n_validation": 100,
        "n_test": 100,
        "settings": settings,
        "validation_errors": [10] * n,
        "test_errors": [10] * n,
        "n_support": [20] * n,
        "status": ["ok"] * n,
        "gap": None,
        "mass": None,
        "fit_seconds": 1.5,
        "predict_seconds": 0.25,
        "finished": "2026-01-01T00:00:00Z",
    }
    for name in ("validation_errors", "test_errors", "n_support", "status"):
        value = fields.pop(name, None)
        if value is not None:
            record[name] = list(value) if isinstance(value, list | tuple) else [value] * n
    return {**record, **fields}


def make_runs(dataset, algorithm, errors, n_support=20, seed=0, **fields):
    """Return five records with these test errors, in percent."""
    return [
        make_record(dataset, algorithm, run, seed, test_errors=e, n_support=n_support, **fields)
        for run, e in zip(range(N_FOLDS), errors, strict=True)
    ]


def write_records(path, records, **header):
    lines = [{"format": "votedkernels-records", "version": FORMAT_VERSION, **header}, *records]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path
