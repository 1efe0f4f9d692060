"""Units of work, done in processes side by side, and recorded as they end.

Every unit is computed from its own name alone (data set, partition, run, algorithm), so that the
order, the number of processes, and being killed and resumed do not change what is recorded, but
for the seconds.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict
from functools import lru_cache
from multiprocessing import get_context, parent_process
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from .. import datasets
from .algorithms import ALGORITHMS, Algorithm
from .peers import available_peers
from .protocol import N_FOLDS, Unit, split
from .records import RecordFile

#: Largest data sets first, so that no long unit is left for the end.
DATASETS = (
    "waveform01", "phishing", "ocr49", "retinopathy", "german", "diabetes", "breastcancer", "musk",
    "climate", "ionosphere", "vertebral",
)  # fmt: skip


def algorithms_of(family: str) -> dict[str, Algorithm]:
    """Return the algorithms by name: of the paper for a kind of kernels, or the peers."""
    return available_peers() if family == "peers" else ALGORITHMS[family]


def list_units(
    family: str,
    scaling: str,
    seeds: Iterable[int],
    names: Sequence[str] = DATASETS,
    algorithms: Sequence[str] | None = None,
) -> list[Unit]:
    """Return the units of some partitions, partition by partition."""
    chosen = list(algorithms_of(family)) if algorithms is None else algorithms
    return [
        Unit(family, scaling, seed, name, run, algorithm)
        for seed in seeds
        for name in names
        for algorithm in chosen
        for run in range(N_FOLDS)
    ]


def run_unit(unit: Unit, data_dir: str | None = None) -> dict[str, Any]:
    """Do one unit and return its record."""
    X, y = load_data(unit.dataset, data_dir)
    rows = split(X, y, seed=unit.seed, run=unit.run, scaling=unit.scaling)
    with threadpool_limits(1):
        outcomes = algorithms_of(unit.family)[unit.algorithm](rows, unit.family)
    return {
        "key": unit.key,
        **asdict(unit),
        "n_train": len(rows.y_train),
        "n_validation": len(rows.y_validation),
        "n_test": len(rows.y_test),
        **asdict(outcomes),
        "fit_seconds": round(outcomes.fit_seconds, 3),
        "predict_seconds": round(outcomes.predict_seconds, 4),
    }


@lru_cache(maxsize=2)
def load_data(name: str, data_dir: str | None) -> tuple[Any, Any]:
    """Return the complete rows of a data set and their labels."""
    data = datasets.load(name, data_dir=data_dir)
    return np.asarray(data.data, dtype=np.float64), np.asarray(data.target)


def run_units(
    units: Sequence[Unit],
    file: RecordFile,
    *,
    jobs: int = 1,
    data_dir: str | None = None,
    on_record: Callable[[dict[str, Any]], None] = lambda record: None,
) -> None:
    """Do the units that are not recorded yet; Ctrl-C stops it, and what is done stays."""
    waiting = [unit for unit in units if unit.key not in file.keys]
    if not waiting:
        return
    pool = ProcessPoolExecutor(
        min(jobs, len(waiting)), mp_context=get_context("spawn"), initializer=_start_worker
    )
    running: dict[Future[dict[str, Any]], Unit] = {}
    try:
        queue = iter(waiting)
        for unit in queue:
            running[pool.submit(run_unit, unit, data_dir)] = unit
            if len(running) < 2 * jobs:
                continue
            _collect(running, file, on_record)
        while running:
            _collect(running, file, on_record)
    except BaseException:
        processes = list((pool._processes or {}).values())
        pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()
        raise
    pool.shutdown()


def _collect(
    running: dict[Future[dict[str, Any]], Unit],
    file: RecordFile,
    on_record: Callable[[dict[str, Any]], None],
) -> None:
    done, _ = wait(running, return_when=FIRST_COMPLETED)
    for future in sorted(done, key=lambda f: running[f].key):
        del running[future]
        record = future.result()
        record["finished"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        file.append(record)
        on_record(record)


def _start_worker() -> None:
    """Leave Ctrl-C to the parent, which ends its children, and end when the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow_parent, daemon=True).start()


def _follow_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
