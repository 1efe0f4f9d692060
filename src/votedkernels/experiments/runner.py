"""Run units of work in parallel processes, and record each when it ends.

The results of a unit depend only on its name (data set, partition, run, algorithm). Apart
from the seconds, records therefore do not depend on the order, the number of processes, or
interruptions.
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
from multiprocessing import active_children, get_context, parent_process
from typing import Any, cast

import numpy as np
from threadpoolctl import threadpool_limits

from .. import datasets
from ..datasets.loading import find_file
from ..datasets.reading import read_samples
from ..exceptions import DataNotFoundError
from .algorithms import ALGORITHMS, Algorithm
from .peers import available_peers
from .protocol import N_FOLDS, Unit, split
from .records import Record, RecordFile

#: The largest data sets first, so that no long unit is left at the end.
DATASETS = (
    "waveform01", "phishing", "ocr49", "retinopathy", "german", "diabetes", "breastcancer", "musk",
    "climate", "ionosphere", "vertebral",
)  # fmt: skip


def algorithms_of(family: str) -> dict[str, Algorithm]:
    """Return algorithms by name: the paper's for a kind of kernel, or the peers."""
    return available_peers() if family == "peers" else ALGORITHMS[family]


def list_units(
    family: str,
    scaling: str,
    seeds: Iterable[int],
    names: Sequence[str] = DATASETS,
    algorithms: Sequence[str] | None = None,
) -> list[Unit]:
    """Return the units of the given partitions, partition by partition."""
    chosen = list(algorithms_of(family)) if algorithms is None else algorithms
    return [
        Unit(family, scaling, seed, name, run, algorithm)
        for seed in seeds
        for name in names
        for algorithm in chosen
        for run in range(N_FOLDS)
    ]


def run_unit(unit: Unit, data_dir: str | None = None) -> Record:
    """Run one unit and return its record."""
    X, y = load_data(unit.dataset, data_dir)
    rows = split(X, y, seed=unit.seed, run=unit.run, scaling=unit.scaling)
    with threadpool_limits(1):
        outcomes = algorithms_of(unit.family)[unit.algorithm](rows)
    outcomes.fit_seconds = round(outcomes.fit_seconds, 3)
    outcomes.predict_seconds = round(outcomes.predict_seconds, 4)
    fields = {
        "key": unit.key,
        **asdict(unit),
        "n_train": len(rows.y_train),
        "n_validation": len(rows.y_validation),
        "n_test": len(rows.y_test),
        **asdict(outcomes),
    }
    return cast(Record, fields)


@lru_cache(maxsize=2)
def load_data(name: str, data_dir: str | None) -> tuple[Any, Any]:
    """Return the complete rows of a data set and their labels.

    A data set that is not one of the paper's is a file ``<name>.csv`` or ``<name>.csv.gz`` of the
    same format.
    """
    if name in DATASETS:
        data = datasets.load(name, data_dir=data_dir)
        return data.data, data.target
    path = find_file(name, data_dir)
    if path is None:
        raise DataNotFoundError(
            f"there is no data set {name!r}: the paper's are {', '.join(sorted(DATASETS))}, and "
            f"there is no file {name}.csv in the data folder."
        )
    samples = read_samples(path)
    complete = ~np.isnan(samples.X).any(axis=1)
    return samples.X[complete], samples.y[complete]


def run_units(
    units: Sequence[Unit],
    file: RecordFile,
    *,
    jobs: int = 1,
    data_dir: str | None = None,
    on_record: Callable[[Record], None] = lambda _record: None,
) -> None:
    """Run the units that are not recorded yet; after Ctrl-C, finished units stay recorded."""
    waiting = [unit for unit in units if unit.key not in file.keys]
    if not waiting:
        return
    others = set(active_children())
    pool = ProcessPoolExecutor(
        min(jobs, len(waiting)), mp_context=get_context("spawn"), initializer=_start_worker
    )
    running: dict[Future[Record], Unit] = {}
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
        workers = set(active_children()) - others
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.terminate()
        raise
    pool.shutdown()


def _collect(
    running: dict[Future[Record], Unit],
    file: RecordFile,
    on_record: Callable[[Record], None],
) -> None:
    done, _ = wait(running, return_when=FIRST_COMPLETED)
    for future in sorted(done, key=lambda f: running[f].key):
        del running[future]
        record = future.result()
        record["finished"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        file.append(record)
        on_record(record)


def _start_worker() -> None:
    """Ignore Ctrl-C, since the parent ends its workers, and exit when the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_follow_parent, daemon=True).start()


def _follow_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
