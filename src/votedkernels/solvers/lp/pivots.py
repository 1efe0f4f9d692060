"""The pivots of the dense dual simplex, compiled with numba. Imported only for large problems.

`run_pivots` does the same as its namesake in `tableau`. Only `prepare_pivot` takes the tuples of
arrays; the functions that it calls take few arrays, or compiling would take several times as long.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...kernels._fused import compiled
from ...kernels.base import FloatArray, IntArray
from .tableau import FEASIBLE, GOING, STUCK, Exchange, Program, Tableau, exchange, move_values

PIVOT = 1e-9
TIE = 1e-12
SMALLEST_NORM = 1e-12


class Work(NamedTuple):
    """Memory for one pivot, allocated once."""

    alpha: FloatArray
    column: FloatArray
    leaving: FloatArray
    entries: FloatArray
    #: How far the rows at a bound move when others flip.
    moved: FloatArray
    #: Candidates of the ratio test and their ratios, as a heap; gains and widths by candidate.
    items: IntArray
    ratios: FloatArray
    gains: FloatArray
    widths: FloatArray
    #: The indices of all variables.
    every: IntArray
    #: The dual step, and the norm of what enters.
    numbers: FloatArray


def run_pivots(program: Program, t: Tableau, n: int, limit: int) -> tuple[int, int, int]:
    """Do up to ``limit`` pivots in place; return (outcome, size of the basis, pivots done)."""
    capacity, work = t.Q.shape[1], _room_for(t)
    for done in range(limit):
        if n == capacity:
            return GOING, n, done
        slot, off, chosen = prepare_pivot(program, t, n, work)
        if slot < 0:
            return FEASIBLE, n, done
        if chosen < 0:
            return STUCK, n, done
        value = move_values(t, slot, off, chosen, work.column)
        step, norm = work.numbers
        e = Exchange(slot, off, chosen, work.column, work.leaving[:n], step, value, norm)
        n = exchange(program, t, n, e)
    return GOING, n, limit


def _room_for(t: Tableau) -> Work:
    """Return the memory for one pivot."""
    (n_slots, capacity), n_cols = t.Q.shape, len(t.x)
    most = n_cols + capacity
    leaving, entries, moved = np.empty((3, capacity))
    ratios, gains, widths = np.empty((3, most))
    return Work(
        np.empty(n_cols), np.empty(n_slots), leaving, entries, moved,
        np.empty(most, np.intp), ratios, gains, widths, np.arange(n_cols), np.empty(2),
    )  # fmt: skip


@compiled
def look_for_worst(
    values: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    tolerance: FloatArray,
    norms: FloatArray,
) -> int:
    """Return the slot that leaves, as `most_infeasible` does; -1 if all are feasible."""
    best, chosen = 0.0, -1
    for slot in range(len(values)):
        off = max(lower[slot] - values[slot], values[slot] - upper[slot])
        if off > tolerance[slot] and off * off > best * norms[slot]:
            best, chosen = off * off / norms[slot], slot
    return chosen


@compiled
def price_row(
    A: FloatArray,
    row: int,
    weights: FloatArray,
    rows: FloatArray,
    in_basis: NDArray[np.bool_],
    alpha: FloatArray,
) -> None:
    """Write into alpha how the leaving value changes with each nonbasic variable."""
    n, n_cols, first = len(weights), len(alpha), 0
    for j in range(n_cols):
        alpha[j] = A[row, j] if row >= 0 else 0.0
    while first + 4 <= n:
        w0, w1, w2, w3 = weights[first], weights[first + 1], weights[first + 2], weights[first + 3]
        r0, r1, r2, r3 = rows[first], rows[first + 1], rows[first + 2], rows[first + 3]
        for j in range(n_cols):
            alpha[j] -= w0 * r0[j] + w1 * r1[j] + w2 * r2[j] + w3 * r3[j]
        first += 4
    for c in range(first, n):
        add_to(alpha, -weights[c], rows[c])
    for j in range(n_cols):
        if in_basis[j]:
            alpha[j] = 0.0


@compiled
def begin_column(
    entering: FloatArray, rows: IntArray, column: FloatArray, entries: FloatArray, capacity: int
) -> None:
    """Begin the column of an entering variable, which `sweep_table` completes."""
    for s in range(capacity):
        column[s] = 0.0
    for r in range(len(entering)):
        column[capacity + r] = entering[r]
    for c in range(len(rows)):
        entries[c] = entering[rows[c]]


@compiled
def add_to(total: FloatArray, factor: float, row: FloatArray) -> None:
    """Add factor times row to total."""
    for r in range(len(total)):
        total[r] += factor * row[r]


@compiled
def sift_down(keys: FloatArray, items: IntArray, start: int, end: int) -> None:
    """Restore the heap (smallest key first) below ``start``."""
    root = start
    while 2 * root + 1 < end:
        child = 2 * root + 1
        if child + 1 < end and keys[child + 1] < keys[child]:
            child += 1
        if keys[root] <= keys[child]:
            return
        keys[root], keys[child] = keys[child], keys[root]
        items[root], items[child] = items[child], items[root]
        root = child


@compiled
def breakpoints(
    alpha: FloatArray,
    arrays: tuple[FloatArray, FloatArray, FloatArray],
    places: IntArray,
    sign: float,
    first: int,
    count: int,
    heap: tuple[FloatArray, IntArray, FloatArray, FloatArray],
) -> int:
    """Append what can enter, numbered from ``first``, to the heap's arrays; return the count.

    ``places`` says where in the arrays (sides, reduced costs, widths) each candidate is.
    """
    ratios, items, gains, widths = heap
    side, reduced, width = arrays
    for j in range(len(alpha)):
        at = places[j]
        gain = sign * alpha[j] * side[at]
        if gain > PIVOT:
            item = first + j
            items[count], gains[item] = item, gain
            ratios[count], widths[item] = abs(reduced[at]) / gain, width[at]
            count += 1
    return count


@compiled
def pass_breakpoints(
    heap: tuple[FloatArray, IntArray, FloatArray, FloatArray], count: int, needed: float
) -> tuple[int, int]:
    """Take the smallest ratios until their gains cover ``needed``.

    Returns what enters (-1 if nothing can), and how many were passed on the way: these are the last
    items before ``count``.
    """
    ratios, items, gains, widths = heap
    for start in range(count // 2 - 1, -1, -1):
        sift_down(ratios, items, start, count)
    # What is taken off the heap is stored behind it, in reverse order.
    end, covered, last_ratio, n_passed = count, 0.0, np.inf, 0
    while end > 0 and ratios[0] <= last_ratio + TIE:
        end -= 1
        ratios[0], ratios[end] = ratios[end], ratios[0]
        items[0], items[end] = items[end], items[0]
        sift_down(ratios, items, 0, end)
        if last_ratio == np.inf:
            covered += gains[items[end]] * widths[items[end]]
            if covered >= needed or end == 0:
                last_ratio, n_passed = ratios[end], count - end - 1
    # Among tied candidates the largest pivot is the safest.
    chosen, largest = -1, 0.0
    for at in range(end, count):
        if abs(ratios[at] - last_ratio) <= TIE and gains[items[at]] > largest:
            chosen, largest = items[at], gains[items[at]]
    return chosen, n_passed


@compiled
def sweep_table(
    Q: FloatArray,
    norms: FloatArray,
    values: FloatArray,
    table_row: FloatArray,
    pivot: float,
    slot: int,
    column: FloatArray,
    entries: FloatArray,
    moved: FloatArray,
) -> None:
    """Do everything that a pivot does to whole rows of Q, while each row is in the cache."""
    n, norm = len(table_row), norms[slot]
    for s in range(len(Q)):
        row = Q[s]
        if len(moved):
            total = 0.0
            for c in range(n):
                total += row[c] * moved[c]
            values[s] += total
        if len(entries):
            total = 0.0
            for c in range(n):
                total += row[c] * entries[c]
            column[s] -= total
        factor = column[s] / pivot
        if factor != 0.0:
            total = 0.0
            for c in range(n):
                total += row[c] * table_row[c]
                row[c] -= factor * table_row[c]
            norms[s] = max(norms[s] + factor * (factor * norm - 2.0 * total), SMALLEST_NORM)


@compiled
def flip(
    passed: IntArray,
    chosen: int,
    variables: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    rows: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    bound_rows: IntArray,
    g: FloatArray,
    moved: FloatArray,
) -> None:
    """Move all but the chosen item to their other bound; write how far z_S - g_S moves."""
    x, side, upper, A_transposed = variables
    z_bound, row_side, row_lower, row_upper = rows
    for c in range(len(moved)):
        moved[c] = g[bound_rows[c]] - z_bound[bound_rows[c]]
    for item in passed:
        if item == chosen:
            continue
        if item < len(x):
            add_to(g, side[item] * upper[item], A_transposed[item])
            x[item] = upper[item] if side[item] > 0 else 0.0
            side[item] = -side[item]
        else:
            r = bound_rows[item - len(x)]
            z_bound[r] = row_upper[r] if row_side[r] > 0 else row_lower[r]
            row_side[r] = -row_side[r]
    for c in range(len(moved)):
        moved[c] += z_bound[bound_rows[c]] - g[bound_rows[c]]


@compiled
def prepare_pivot(program: Program, t: Tableau, n: int, work: Work) -> tuple[int, float, int]:
    """Choose what leaves and what enters; take the dual step, and update Q except its borders.

    Returns the fields slot, off and chosen of an `Exchange`. The others are in the work arrays.
    """
    Q, capacity, n_cols, rows = t.Q, t.Q.shape[1], len(t.x), t.bound_rows[:n]
    slot = look_for_worst(t.values, t.slot_lower, t.slot_upper, t.slot_tolerance, t.norms)
    if slot < 0:
        return slot, 0.0, -1
    above, below = t.values[slot] - t.slot_upper[slot], t.slot_lower[slot] - t.values[slot]
    off = above if above > below else -below
    alpha, table_row, column = work.alpha, work.leaving[:n], work.column
    norm = 1.0 if slot >= capacity else 0.0
    for c in range(n):
        table_row[c] = Q[slot, c]
        norm += table_row[c] * table_row[c]
    t.norms[slot] = norm  # discards the errors of updates
    price_row(program.A, slot - capacity, table_row, t.A_bound, t.in_basis, alpha)
    heap = (work.ratios, work.items, work.gains, work.widths)
    sign = -1.0 if off > 0 else 1.0
    variables = (t.side, t.reduced, program.upper)
    count = breakpoints(alpha, variables, work.every, sign, 0, 0, heap)
    constraints = (t.row_side, t.dual, program.row_width)
    count = breakpoints(table_row, constraints, rows, sign, n_cols, count, heap)
    chosen, n_passed = pass_breakpoints(heap, count, abs(off))
    if chosen < 0:
        return slot, off, chosen
    moved, entries = work.moved[:0], work.entries[:0]
    if n_passed:
        moved = work.moved[:n]
        add_to(t.values[capacity:], -1.0, t.g)
        flip(
            work.items[count - n_passed : count], chosen,
            (t.x, t.side, program.upper, program.A_transposed),
            (t.z_bound, t.row_side, program.row_lower, program.row_upper), rows, t.g, moved,
        )  # fmt: skip
        add_to(t.values[capacity:], 1.0, t.g)
    if chosen >= n_cols:
        pivot = table_row[chosen - n_cols]
        step = t.dual[rows[chosen - n_cols]] / pivot
        for s in range(len(column)):
            column[s] = Q[s, chosen - n_cols]
    else:
        pivot, entries = alpha[chosen], work.entries[:n]
        step = t.reduced[chosen] / pivot
        begin_column(program.A_transposed[chosen], rows, column, entries, capacity)
    add_to(t.reduced, -step, alpha)
    for c in range(n):
        t.dual[rows[c]] -= step * table_row[c]
    work.numbers[0], work.numbers[1] = step, norm / (pivot * pivot)
    sweep_table(Q, t.norms, t.values, table_row, pivot, slot, column, entries, moved)
    return slot, off, chosen
