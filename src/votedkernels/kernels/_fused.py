"""Fused pricing loops, compiled with numba. Imported only for large problems.

Each function adds sum_i v_i K_k(x_i, c_j) to out[k, j] for all members k at once, and reads the
base B(c_j, x_i), with one row per centre, only once. Results equal those of the families' NumPy
versions up to rounding. The loops release the GIL, so that our own threads can share the blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from .base import FloatArray

if TYPE_CHECKING:
    from numba.core.typing.templates import Signature

Function = TypeVar("Function", bound=Callable[..., object])

# Sums may be reordered into vector lanes, and products fused with additions. NaN and infinity keep
# their meaning: an overflow stays visible.
_FAST = {"reassoc", "contract", "nsz"}


def compiled(function: Function) -> Function:
    """Compile a function, with a cache on disk if there is a directory for it."""
    options: dict[str, Any] = {"nogil": True, "fastmath": _FAST}
    try:
        return cast(Function, njit(cache=True, **options)(function))
    except RuntimeError:  # no directory to write to
        return cast(Function, njit(**options)(function))


def inlined(function: Function) -> Function:
    """Let numba paste the function into the compiled functions that call it."""
    return cast(Function, njit(nogil=True, fastmath=_FAST, inline="always")(function))


@compiled
def add_powers_to_5(base: FloatArray, v: FloatArray, out: FloatArray) -> None:
    """Add the powers 1 to 5. The sums stay in registers."""
    for j in range(base.shape[0]):
        s1 = s2 = s3 = s4 = s5 = 0.0
        for i in range(base.shape[1]):
            b = base[j, i]
            p = v[i] * b
            s1 += p
            p *= b
            s2 += p
            p *= b
            s3 += p
            p *= b
            s4 += p
            p *= b
            s5 += p
        out[0, j] += s1
        out[1, j] += s2
        out[2, j] += s3
        out[3, j] += s4
        out[4, j] += s5


@compiled
def add_powers_to_10(base: FloatArray, v: FloatArray, out: FloatArray) -> None:
    """Add the powers 1 to 10. The sums stay in registers."""
    for j in range(base.shape[0]):
        s1 = s2 = s3 = s4 = s5 = 0.0
        s6 = s7 = s8 = s9 = s10 = 0.0
        for i in range(base.shape[1]):
            b = base[j, i]
            p = v[i] * b
            s1 += p
            p *= b
            s2 += p
            p *= b
            s3 += p
            p *= b
            s4 += p
            p *= b
            s5 += p
            p *= b
            s6 += p
            p *= b
            s7 += p
            p *= b
            s8 += p
            p *= b
            s9 += p
            p *= b
            s10 += p
        out[0, j] += s1
        out[1, j] += s2
        out[2, j] += s3
        out[3, j] += s4
        out[4, j] += s5
        out[5, j] += s6
        out[6, j] += s7
        out[7, j] += s8
        out[8, j] += s9
        out[9, j] += s10


@intrinsic
def _bits(typing_context: object, x: object) -> tuple[Signature, Callable[..., ir.Value]]:
    del typing_context, x  # part of numba's interface

    def generate(
        _context: object, builder: ir.IRBuilder, _signature: object, args: Sequence[ir.Value]
    ) -> ir.Value:
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic
def _from_bits(typing_context: object, x: object) -> tuple[Signature, Callable[..., ir.Value]]:
    del typing_context, x  # part of numba's interface

    def generate(
        _context: object, builder: ir.IRBuilder, _signature: object, args: Sequence[ir.Value]
    ) -> ir.Value:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), generate


# 1.5 * 2^52: a double of this size has no fraction, and its low bits are an integer.
_WHOLE = 6755399441055744.0
# log 2 in two parts. The first has 32 bits, so n times it is exact.
_LOG2_HIGH = 6.93147180369123816490e-01
_LOG2_LOW = 1.90821492927058770002e-10


# This function has its own flags. numba must not inline it: its code would get the caller's flags,
# and reordered sums would join the two parts of log 2. LLVM inlines it with its own flags.
@njit(nogil=True, fastmath={"contract", "nsz"})
def _exp(x: float) -> float:
    """Return exp(x) for x <= 0, without branches, so that it runs in vector lanes.

    exp(x) = 2^n exp(r) with n = round(x / log 2) and |r| <= log(2)/2. This range reduction, with
    log 2 in two parts, is that of Cody and Waite (Software Manual for the Elementary Functions,
    1980). Adding 1.5 * 2^52 rounds to an integer; the low bits of the sum are n, and they are added
    to the exponent bits of exp(r). r has only one rounding error in its last place, with or
    without fused multiply-add. exp(r) is the Taylor polynomial of degree 17, whose terms beyond
    r^11 are replaced one by one by polynomials of lower degree (Chebyshev). Its error is at most
    1.6e-17.

    The relative error is below 2.5e-16 from x = 0 down to -708, where values are 3e-308. Below
    -708 the result is exp(-708). exp(0) is exactly 1.
    """
    x = max(x, -708.0)
    shifted = x * 1.4426950408889634 + _WHOLE
    n = shifted - _WHOLE
    r = (x - n * _LOG2_HIGH) - n * _LOG2_LOW
    p = 2.511487021947156e-08
    p = p * r + 2.763264067539136e-07
    p = p * r + 2.7557224956110785e-06
    p = p * r + 2.4801485479216512e-05
    p = p * r + 0.00019841269909219843
    p = p * r + 0.0013888888952318045
    p = p * r + 0.008333333333309526
    p = p * r + 0.04166666666648808
    p = p * r + 0.16666666666666702
    p = p * r + 0.5000000000000019
    p = p * r + 1.0
    p = p * r + 1.0
    return float(_from_bits(_bits(p) + (_bits(shifted) << 52)))  # type: ignore[call-arg]


@compiled
def add_gaussians(base: FloatArray, v: FloatArray, gammas: FloatArray, out: FloatArray) -> None:
    """Add exp(-gamma b), with one exponential per gamma."""
    for j in range(base.shape[0]):
        for k in range(gammas.shape[0]):
            gamma = gammas[k]
            total = 0.0
            for i in range(base.shape[1]):
                total += v[i] * _exp(-gamma * base[j, i])
            out[k, j] += total


@compiled
def exponentials(x: FloatArray, out: FloatArray) -> None:
    """Write exp(x) for numbers <= 0, to measure the best speed `add_gaussians` could reach."""
    for i in range(x.size):
        out[i] = _exp(x[i])


@compiled
def price_thresholds(
    codes: NDArray[np.int32],
    v: FloatArray,
    places: NDArray[np.unsignedinteger],
    centers: NDArray[np.int32],
    first: NDArray[np.bool_],
    out: FloatArray,
) -> None:
    """Write to ``out`` the sum of v over codes above that of each centre, minus all others.

    ``codes`` are sorted. ``places`` has one entry per code, which is set to the number of ``codes``
    up to it. Small integers stay in cache when centres read them in any order. Where ``first`` is
    False, the result is 0.
    """
    total = 0.0
    for i in range(len(v)):
        total += v[i]
    sums = np.empty(len(codes) + 1)
    sums[0] = total
    below, start = 0.0, 0
    for i in range(len(codes)):
        places[start : codes[i]] = i
        start = codes[i]
        below += v[i]
        sums[i + 1] = total - 2.0 * below
    places[start:] = len(codes)
    for j in range(len(centers)):
        out[j] = sums[places[centers[j]]] if first[j] else 0.0
