"""The pivots of the dense dual simplex, compiled by numba. Imported only for large problems.

The functions are those of `tableau`, with the same names and effects, written as loops where that
is faster.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...kernels._fused import compiled, inlined
from ...kernels.base import FloatArray, IntArray
from . import tableau
from .tableau import Exchange, Program, Tableau

PIVOT = 1e-9
TIE = 1e-12
GOING, FEASIBLE, STUCK = 0, 1, 2


free_row = inlined(tableau.free_row)
hold_row = inlined(tableau.hold_row)
make_basic = inlined(tableau.make_basic)


class Work(NamedTuple):
    """Memory for one pivot, allocated once: allocating it takes longer than the pivot itself."""

    alpha: FloatArray
    column: FloatArray
    leaving: FloatArray
    entries: FloatArray
    #: Candidates of the ratio test and their ratios, as a heap; gains and widths by candidate.
    items: IntArray
    ratios: FloatArray
    gains: FloatArray
    widths: FloatArray


@inlined
def most_infeasible(t: Tableau, n: int) -> tuple[int, float]:
    """Return (slot, signed infeasibility); slot -1 if all are feasible."""
    best, chosen, signed = 0.0, -1, 0.0
    Q, values, lower, upper = t.Q, t.values, t.slot_lower, t.slot_upper
    tolerance = t.slot_tolerance
    n_slots, capacity = Q.shape
    for slot in range(n_slots):
        below, above = lower[slot] - values[slot], values[slot] - upper[slot]
        off = max(below, above)
        if off > tolerance[slot]:
            norm = 1.0 if slot >= capacity else 0.0
            for c in range(n):
                norm += Q[slot, c] * Q[slot, c]
            score = off * off / norm
            if score > best:
                best, chosen = score, slot
                signed = above if above > below else -below
    return chosen, signed


@inlined
def price_row(
    program: Program, t: Tableau, slot: int, table_row: FloatArray, alpha: FloatArray
) -> None:
    """Write into alpha how the leaving value changes with each nonbasic variable."""
    A, A_bound, in_basis = program.A, t.A_bound, t.in_basis
    n_cols, row = len(alpha), slot - t.Q.shape[1]
    for j in range(n_cols):
        alpha[j] = A[row, j] if row >= 0 else 0.0
    for c in range(len(table_row)):
        weight = table_row[c]
        for j in range(n_cols):
            alpha[j] -= weight * A_bound[c, j]
    for j in range(n_cols):
        if in_basis[j]:
            alpha[j] = 0.0


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


@inlined
def long_step(
    program: Program, t: Tableau, table_row: FloatArray, off: float, work: Work
) -> tuple[int, IntArray]:
    """Return what enters (-1 if nothing can), and what is passed on the way."""
    side, reduced, upper = t.side, t.reduced, program.upper
    rows, row_side, dual, row_width = t.bound_rows, t.row_side, t.dual, program.row_width
    alpha, items, ratios, gains, widths = (
        work.alpha, work.items, work.ratios, work.gains, work.widths,
    )  # fmt: skip
    n_cols, n = len(alpha), len(table_row)
    sign, count = (-1.0 if off > 0 else 1.0), 0
    for j in range(n_cols):
        gain = sign * alpha[j] * side[j]
        if gain > PIVOT:
            items[count], gains[j] = j, gain
            ratios[count], widths[j] = abs(reduced[j]) / gain, upper[j]
            count += 1
    for c in range(n):
        row, item = rows[c], n_cols + c
        gain = sign * table_row[c] * row_side[row]
        if gain > PIVOT:
            items[count], gains[item] = item, gain
            ratios[count], widths[item] = abs(dual[row]) / gain, row_width[row]
            count += 1
    return pass_breakpoints(ratios, items, gains, widths, count, abs(off))


@inlined
def pass_breakpoints(
    ratios: FloatArray,
    items: IntArray,
    gains: FloatArray,
    widths: FloatArray,
    count: int,
    needed: float,
) -> tuple[int, IntArray]:
    """Take the smallest ratios until their gains cover ``needed``; return what `long_step` does."""
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
    return chosen, items[count - n_passed : count]


@inlined
def add_to(total: FloatArray, factor: float, row: FloatArray) -> None:
    """Add factor times row."""
    for r in range(len(total)):
        total[r] += factor * row[r]


@inlined
def flip(program: Program, t: Tableau, passed: IntArray, chosen: int) -> None:
    """Move variables and rows to their other bound, except the one that enters."""
    n_cols = len(t.x)
    for item in passed:
        if item == chosen:
            continue
        if item < n_cols:
            add_to(t.g, t.side[item] * program.upper[item], program.A_transposed[item])
            t.x[item] = program.upper[item] if t.side[item] > 0 else 0.0
            t.side[item] = -t.side[item]
        else:
            r = t.bound_rows[item - n_cols]
            t.z_bound[r] = program.row_upper[r] if t.row_side[r] > 0 else program.row_lower[r]
            t.row_side[r] = -t.row_side[r]


@inlined
def enter(program: Program, t: Tableau, chosen: int, table_row: FloatArray, work: Work) -> float:
    """Write the entering column of the table; return the dual step."""
    Q, A_transposed, rows = t.Q, program.A_transposed, t.bound_rows
    column, entries = work.column, work.entries
    n, n_cols, (n_slots, capacity) = len(table_row), len(t.x), Q.shape
    if chosen >= n_cols:
        position = chosen - n_cols
        for s in range(n_slots):
            column[s] = Q[s, position]
        return float(t.dual[rows[position]] / table_row[position])
    for c in range(n):
        entries[c] = A_transposed[chosen, rows[c]]
    for s in range(n_slots):
        total = A_transposed[chosen, s - capacity] if s >= capacity else 0.0
        for c in range(n):
            total -= Q[s, c] * entries[c]
        column[s] = total
    return float(t.reduced[chosen] / work.alpha[chosen])


@inlined
def move_duals(t: Tableau, alpha: FloatArray, table_row: FloatArray, step: float) -> None:
    """Take the dual step."""
    reduced, dual, rows = t.reduced, t.dual, t.bound_rows
    for j in range(len(alpha)):
        reduced[j] -= step * alpha[j]
    for c in range(len(table_row)):
        dual[rows[c]] -= step * table_row[c]


@inlined
def eliminate(Q: FloatArray, column: FloatArray, table_row: FloatArray, pivot: float) -> None:
    """Subtract column (x) table_row / pivot."""
    for s in range(len(Q)):
        factor = column[s] / pivot
        if factor != 0.0:
            for c in range(len(table_row)):
                Q[s, c] -= factor * table_row[c]


@inlined
def exchange(program: Program, t: Tableau, n: int, e: Exchange) -> int:
    """Update the basis and the table by one of the four kinds of pivot; return its new size."""
    Q, column, table_row = t.Q, e.column, e.table_row
    capacity, n_cols = Q.shape[1], len(t.x)
    pivot, position = column[e.slot], e.chosen - n_cols
    eliminate(Q, column, table_row, pivot)
    is_row, enters_row = e.slot >= capacity, e.chosen >= n_cols
    if not enters_row:
        lift(program, t, e.chosen)
    if is_row:
        at = position if enters_row else n
        for s in range(len(Q)):
            Q[s, at] = column[s] / pivot
        if enters_row:  # one row takes the place of another
            free_row(program, t, t.bound_rows[position])
        else:  # a row and a variable join the basis
            for c in range(n):
                Q[n, c] = -table_row[c] / pivot
            Q[n, n] = 1.0 / pivot
            make_basic(program, t, n, e.chosen)
            n += 1
        hold_row(program, t, at, e)
        return n
    make_nonbasic(program, t, e)
    if enters_row:  # a variable and a row leave the basis
        free_row(program, t, t.bound_rows[position])
        close_gap(t, e.slot, position, n - 1)
        return n - 1
    for c in range(n):  # one variable takes the place of another
        Q[e.slot, c] = -table_row[c] / pivot
    make_basic(program, t, e.slot, e.chosen)
    return n


@inlined
def lift(program: Program, t: Tableau, j: int) -> None:
    """Remove the contribution of variable j, which becomes basic, from g."""
    if t.x[j] != 0.0:
        add_to(t.g, -t.x[j], program.A_transposed[j])
        t.x[j], t.side[j] = 0.0, 1.0


@inlined
def make_nonbasic(program: Program, t: Tableau, e: Exchange) -> None:
    """Put the leaving variable at the bound that it violates."""
    i = t.basic_columns[e.slot]
    if e.off > 0:  # x is 0 for basic variables
        t.x[i], t.side[i] = program.upper[i], -1.0
        add_to(t.g, t.x[i], program.A_transposed[i])
    t.in_basis[i] = False
    t.reduced[i] = e.step


@inlined
def close_gap(t: Tableau, slot: int, position: int, last: int) -> None:
    """Move the last entries of B and S to the positions that have become free."""
    t.slot_upper[slot], t.slot_tolerance[slot] = t.slot_upper[last], t.slot_tolerance[last]
    t.slot_lower[last], t.slot_upper[last] = -np.inf, np.inf
    Q = t.Q
    for s in range(len(Q)):
        Q[s, position] = Q[s, last]
        Q[s, last] = 0.0
    for c in range(Q.shape[1]):
        Q[slot, c] = Q[last, c]
        Q[last, c] = 0.0
    t.bound_rows[position] = t.bound_rows[last]
    t.A_bound[position] = t.A_bound[last]
    t.basic_columns[slot] = t.basic_columns[last]


@inlined
def update_values(t: Tableau, n: int, entries: FloatArray) -> None:
    """Compute x_B and z from the table."""
    Q, g, values = t.Q, t.g, t.values
    n_slots, capacity = Q.shape
    for c in range(n):
        entries[c] = t.z_bound[t.bound_rows[c]] - g[t.bound_rows[c]]
    for s in range(n_slots):
        total = g[s - capacity] if s >= capacity else 0.0
        for c in range(n):
            total += Q[s, c] * entries[c]
        values[s] = total


@compiled
def run_pivots(program: Program, t: Tableau, n: int, limit: int) -> tuple[int, int, int]:
    """Do up to ``limit`` pivots in place; return (outcome, size of the basis, pivots done)."""
    capacity, work = t.Q.shape[1], room_for(t)
    for done in range(limit):
        if n == capacity:
            return GOING, n, done
        slot, off = most_infeasible(t, n)
        if slot < 0:
            return FEASIBLE, n, done
        table_row = work.leaving[:n]
        for c in range(n):
            table_row[c] = t.Q[slot, c]
        price_row(program, t, slot, table_row, work.alpha)
        chosen, passed = long_step(program, t, table_row, off, work)
        if chosen < 0:
            return STUCK, n, done
        flip(program, t, passed, chosen)
        step = enter(program, t, chosen, table_row, work)
        move_duals(t, work.alpha, table_row, step)
        n = exchange(program, t, n, Exchange(slot, off, chosen, work.column, table_row, step))
        update_values(t, n, work.entries)
    return GOING, n, limit


@inlined
def room_for(t: Tableau) -> Work:
    """Return the memory for one pivot."""
    (n_slots, capacity), n_cols = t.Q.shape, len(t.x)
    most = n_cols + capacity
    return Work(
        np.empty(n_cols), np.empty(n_slots), np.empty(capacity), np.empty(capacity),
        np.empty(most, np.intp), np.empty(most), np.empty(most), np.empty(most),
    )  # fmt: skip
