"""Share the cases of a trial between two processes."""

import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

N_PROCESSES = 2


def spread(work, cases, *, few=1):
    """Yield ``work`` of each case, in order; up to ``few`` cases are done in this process."""
    cases = list(cases)
    if len(cases) <= few:
        yield from map(work, cases)
        return
    # Two processes keep both cores busy.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(N_PROCESSES, mp_context=get_context("spawn")) as pool:
        yield from pool.map(work, cases)
