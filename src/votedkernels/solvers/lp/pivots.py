"""The pivots of the dense dual simplex, compiled by numba. Imported only for large work.

`run_pivots` does what `dense_simplex._DenseSimplex.step` does, on the same arrays, pivot after
pivot; the names are those of that class, where the method is explained.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels._fused import compiled

PIVOT = 1e-9
TIE = 1e-12
GOING, FEASIBLE, STUCK = 0, 1, 2


@compiled
def most_infeasible(
    Q: Any, n: int, values: Any, slot_lower: Any, slot_upper: Any, slot_tolerance: Any
) -> Any:
    """Return (slot, signed infeasibility); slot -1 when all are feasible."""
    best, chosen, signed = 0.0, -1, 0.0
    capacity = Q.shape[1]
    for slot in range(Q.shape[0]):
        below, above = slot_lower[slot] - values[slot], values[slot] - slot_upper[slot]
        off = max(below, above)
        if off > slot_tolerance[slot]:
            norm = 1.0 if slot >= capacity else 0.0
            for c in range(n):
                norm += Q[slot, c] * Q[slot, c]
            score = off * off / norm
            if score > best:
                best, chosen = score, slot
                signed = above if above > below else -below
    return chosen, signed


@compiled
def sift_down(keys: Any, items: Any, start: int, end: int) -> None:
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
def long_step(
    alpha: Any, side: Any, upper: Any, reduced: Any,
    table_row: Any, rows: Any, row_side: Any, row_width: Any, dual: Any, off: float,
) -> Any:  # fmt: skip
    """Return (chosen, those passed), in numbers where rows come after the variables."""
    n_cols, n = len(alpha), len(rows)
    items, gains = np.empty(n_cols + n, np.intp), np.empty(n_cols + n)
    ratios, widths = np.empty(n_cols + n), np.empty(n_cols + n)
    sign, count = (-1.0 if off > 0 else 1.0), 0
    for j in range(n_cols):
        gain = sign * alpha[j] * side[j]
        if gain > PIVOT:
            items[count], gains[j] = j, gain
            ratios[count], widths[j] = abs(reduced[j]) / gain, upper[j]
            count += 1
    for c in range(n):
        gain = sign * table_row[c] * row_side[rows[c]]
        if gain > PIVOT:
            items[count], gains[n_cols + c] = n_cols + c, gain
            ratios[count], widths[n_cols + c] = abs(dual[rows[c]]) / gain, row_width[rows[c]]
            count += 1
    for start in range(count // 2 - 1, -1, -1):
        sift_down(ratios, items, start, count)
    # Taken off the heap, candidates gather behind it: the first taken stands last.
    end, covered, last_ratio, n_passed = count, 0.0, np.inf, 0
    while end > 0 and ratios[0] <= last_ratio + TIE:
        end -= 1
        ratios[0], ratios[end] = ratios[end], ratios[0]
        items[0], items[end] = items[end], items[0]
        sift_down(ratios, items, 0, end)
        if last_ratio == np.inf:
            covered += gains[items[end]] * widths[items[end]]
            if covered >= abs(off) or end == 0:
                last_ratio, n_passed = ratios[end], count - end - 1
    # Among candidates as good up to rounding, the largest pivot is the safest.
    chosen, largest = -1, 0.0
    for at in range(end, count):
        if abs(ratios[at] - last_ratio) <= TIE and gains[items[at]] > largest:
            chosen, largest = items[at], gains[items[at]]
    return chosen, items[count - n_passed : count]


@compiled
def run_pivots(
    A: Any, A_turned: Any, upper: Any, row_lower: Any, row_upper: Any, row_width: Any,
    Q: Any, A_bound: Any, basic_columns: Any, bound_rows: Any, in_basis: Any, at_bound: Any,
    x: Any, side: Any, z_bound: Any, row_side: Any, g: Any, values: Any, reduced: Any, dual: Any,
    slot_lower: Any, slot_upper: Any, slot_tolerance: Any, feasibility: float,
    n: int, limit: int,
) -> Any:  # fmt: skip
    """Do up to ``limit`` pivots in place; return (outcome, size of the basis, pivots done)."""
    n_slots, capacity = Q.shape
    n_rows, n_cols = A.shape
    alpha, column = np.empty(n_cols), np.empty(n_slots)
    table_row, entries = np.empty(capacity), np.empty(capacity)
    for done in range(limit):
        if n == capacity:
            return GOING, n, done
        slot, off = most_infeasible(Q, n, values, slot_lower, slot_upper, slot_tolerance)
        if slot < 0:
            return FEASIBLE, n, done
        is_row, number = slot >= capacity, slot - capacity
        for c in range(n):
            table_row[c] = Q[slot, c]
        for j in range(n_cols):
            alpha[j] = A[number, j] if is_row else 0.0
        for c in range(n):
            weight = table_row[c]
            for j in range(n_cols):
                alpha[j] -= weight * A_bound[c, j]
        for j in range(n_cols):
            if in_basis[j]:
                alpha[j] = 0.0
        chosen, passed = long_step(
            alpha, side, upper, reduced, table_row, bound_rows[:n], row_side, row_width, dual, off
        )
        if chosen < 0:
            return STUCK, n, done
        # Variables passed on the way flip to their other bound.
        for item in passed:
            if item == chosen:
                continue
            if item < n_cols:
                move = side[item] * upper[item]
                for r in range(n_rows):
                    g[r] += move * A_turned[item, r]
                x[item] = upper[item] if side[item] > 0 else 0.0
                side[item] = -side[item]
            else:
                r = bound_rows[item - n_cols]
                z_bound[r] = row_upper[r] if row_side[r] > 0 else row_lower[r]
                row_side[r] = -row_side[r]
        enters_row = chosen >= n_cols
        j = chosen - n_cols if enters_row else chosen
        if enters_row:
            for s in range(n_slots):
                column[s] = Q[s, j]
            step = dual[bound_rows[j]] / table_row[j]
        else:
            for c in range(n):
                entries[c] = A_turned[j, bound_rows[c]]
            for s in range(n_slots):
                total = A_turned[j, s - capacity] if s >= capacity else 0.0
                for c in range(n):
                    total -= Q[s, c] * entries[c]
                column[s] = total
            step = reduced[j] / alpha[j]
        # Reduced costs move along the table's row.
        for i in range(n_cols):
            reduced[i] -= step * alpha[i]
        for c in range(n):
            dual[bound_rows[c]] -= step * table_row[c]
        # The table.
        pivot = column[slot]
        for s in range(n_slots):
            factor = column[s] / pivot
            if factor != 0.0:
                for c in range(n):
                    Q[s, c] -= factor * table_row[c]
        if not enters_row and x[j] != 0.0:
            for r in range(n_rows):
                g[r] -= A_turned[j, r] * x[j]
            x[j], side[j] = 0.0, 1.0
        if is_row:
            at = j if enters_row else n
            for s in range(n_slots):
                Q[s, at] = column[s] / pivot
            if enters_row:  # row `number` takes the place of row S[j]
                gone = bound_rows[j]
                at_bound[gone] = False
                dual[gone] = 0.0
                slot_lower[capacity + gone] = row_lower[gone]
                slot_upper[capacity + gone] = row_upper[gone]
                slot_tolerance[capacity + gone] = feasibility * (1 + abs(row_upper[gone]))
            else:  # row `number` and variable j join the basis
                for c in range(n):
                    Q[n, c] = -table_row[c] / pivot
                Q[n, n] = 1.0 / pivot
                basic_columns[n] = j
                in_basis[j] = True
                reduced[j] = 0.0
                slot_lower[n], slot_upper[n] = 0.0, upper[j]
                slot_tolerance[n] = feasibility * (1 + upper[j])
                n += 1
            bound_rows[at] = number
            A_bound[at] = A[number]
            at_bound[number] = True
            dual[number] = step
            slot_lower[slot], slot_upper[slot] = -np.inf, np.inf
            z_bound[number] = row_upper[number] if off > 0 else row_lower[number]
            if row_width[number] > 0:
                row_side[number] = -1.0 if off > 0 else 1.0
        else:
            i = basic_columns[slot]
            if off > 0:
                x[i], side[i] = upper[i], -1.0
                for r in range(n_rows):
                    g[r] += A_turned[i, r] * x[i]
            in_basis[i] = False
            reduced[i] = step
            if enters_row:  # variable i and row S[j] leave
                gone, last = bound_rows[j], n - 1
                at_bound[gone] = False
                dual[gone] = 0.0
                slot_lower[capacity + gone] = row_lower[gone]
                slot_upper[capacity + gone] = row_upper[gone]
                slot_tolerance[capacity + gone] = feasibility * (1 + abs(row_upper[gone]))
                slot_upper[slot] = slot_upper[last]
                slot_tolerance[slot] = slot_tolerance[last]
                slot_lower[last], slot_upper[last] = -np.inf, np.inf
                for s in range(n_slots):
                    Q[s, j] = Q[s, last]
                    Q[s, last] = 0.0
                for c in range(capacity):
                    Q[slot, c] = Q[last, c]
                    Q[last, c] = 0.0
                bound_rows[j] = bound_rows[last]
                A_bound[j] = A_bound[last]
                basic_columns[slot] = basic_columns[last]
                n -= 1
            else:  # variable j takes the place of variable i
                for c in range(n):
                    Q[slot, c] = -table_row[c] / pivot
                basic_columns[slot] = j
                in_basis[j] = True
                reduced[j] = 0.0
                slot_upper[slot] = upper[j]
                slot_tolerance[slot] = feasibility * (1 + upper[j])
        for c in range(n):
            entries[c] = z_bound[bound_rows[c]] - g[bound_rows[c]]
        for s in range(n_slots):
            total = g[s - capacity] if s >= capacity else 0.0
            for c in range(n):
                total += Q[s, c] * entries[c]
            values[s] = total
    return GOING, n, limit
