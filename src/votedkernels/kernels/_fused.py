"""Fused pricing loops, compiled by numba. Imported only for large work.

Each function adds sum_i v_i K_k(x_i, c_j) to out[k, j] for all members k at once, reading the
base B(c_j, x_i) (centres by rows) once. They equal the NumPy versions of the families up to
rounding, and hold no locks, so that our own threads can share the blocks.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

# Sums may be reordered into vector lanes and products fused with additions. No NaN or infinity
# is assumed away: an overflow stays visible.
_FAST = {"reassoc", "contract", "nsz"}


def compiled(function: Any) -> Any:
    """Compile, with a cache on disk where there is a place for one."""
    try:
        return njit(nogil=True, fastmath=_FAST, cache=True)(function)
    except RuntimeError:  # no directory to write to
        return njit(nogil=True, fastmath=_FAST)(function)


@compiled
def add_powers_to_5(base: Any, v: Any, out: Any) -> None:
    """Degrees 1 to 5. The sums stay in registers."""
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
def add_powers_to_10(base: Any, v: Any, out: Any) -> None:
    """Degrees 1 to 10. The sums stay in registers."""
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
def _bits(typing_context: Any, x: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic
def _from_bits(typing_context: Any, x: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), generate


# 1.5 * 2^52: a double of this size has no fraction, and its low bits are a whole number.
_WHOLE = 6755399441055744.0
# log 2 in two parts. The first has 32 bits, so that n times it is exact.
_LOG2_HIGH = 6.93147180369123816490e-01
_LOG2_LOW = 1.90821492927058770002e-10


# Compiled with flags of its own, so numba must not inline it: the code would get the flags of the
# caller, and reordered sums join the two parts of log 2 into one. LLVM inlines it, flags and all.
@njit(nogil=True, fastmath={"contract", "nsz"})
def _exp(x: Any) -> Any:
    """exp(x) for x <= 0, without branches, so that it runs in vector lanes.

    exp(x) = 2^n exp(r) with n = round(x / log 2) and |r| <= log(2)/2. Adding 1.5 * 2^52 rounds to
    a whole number, the low bits of the sum are n, and 2^n is added to the exponent bits. r is
    exact but for one rounding of its own last place, with and without fused multiply-add. exp(r)
    is the Taylor polynomial of degree 17, its terms beyond r^11 replaced one by one by
    polynomials of lower degree (Chebyshev): 1.6e-17 off at most.

    The relative error is below 2.5e-16, from x = 0 down to -708, where values are 3e-308;
    further down the result is exp(-708). exp(0) is 1.
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
    return _from_bits(_bits(p) + (_bits(shifted) << 52))  # type: ignore[call-arg]


@compiled
def add_gaussians(base: Any, v: Any, gammas: Any, out: Any) -> None:
    """exp(-gamma b) for every gamma, each by an exponential of its own."""
    for j in range(base.shape[0]):
        for k in range(gammas.shape[0]):
            gamma = gammas[k]
            total = 0.0
            for i in range(base.shape[1]):
                total += v[i] * _exp(-gamma * base[j, i])
            out[k, j] += total


@compiled
def exponentials(x: Any, out: Any) -> None:
    """exp(x) for an array of numbers <= 0: what `add_gaussians` can reach at most."""
    for i in range(x.size):
        out[i] = _exp(x[i])
