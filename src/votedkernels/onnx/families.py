"""Kernel families in ONNX: all members of a family from one matrix product.

A family contributes sum_k g_k(B) A_k to the vote. B, rows by centres, is the base that its
members share, and A_k, centres by votes, holds the weights of member k. B is the only MatMul of a
family. The members are elementwise functions of it, and a Gemm applies the weights and adds the
result to the votes so far. Centres and members without a weight are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..kernels import ContinuousGaussian, Gaussian, KernelFamily, Polynomial
from ..kernels.base import FloatArray, IntArray
from ..problem import Vote
from .graph import Graph


@dataclass(frozen=True)
class Part:
    """The share of one family in a vote.

    Attributes
    ----------
    family : KernelFamily
    support : array of shape (n_centers,)
        Indices of the voting points that its terms use.
    members : array of shape (n_terms,)
        Index, within the family, of the member of each term.
    positions : array of shape (n_terms,)
        Index of each term's entry in ``support``.
    weights : array of shape (n_terms, n_votes)
    """

    family: Any
    support: IntArray
    members: IntArray
    positions: IntArray
    weights: FloatArray


def parts_of_vote(vote: Vote) -> list[Part]:
    """Return the part of each family that has terms in the vote."""
    parts, first = [], 0
    for family in vote.families:
        members = vote.kernels - first
        mine = np.flatnonzero((members >= 0) & (members < family.n_kernels))
        first += family.n_kernels
        if len(mine):
            support, positions = np.unique(vote.places[mine], return_inverse=True)
            weights = vote.weights.T[mine]
            parts.append(Part(family, support, members[mine], positions, weights))
    return parts


def dense_rows(table: Any, rows: IntArray) -> FloatArray:
    """Return some rows of an array or a sparse matrix, as an array."""
    chosen = table[rows]
    return np.asarray(chosen.toarray() if sparse.issparse(chosen) else chosen)


def add_polynomials(graph: Graph, X: str, part: Part, centers: FloatArray, votes: str) -> str:
    """Add the votes of b^d with b = gamma x.c + coef0, computing each power from the previous one.

    Centres are sorted by their highest degree, largest first, so that each power is computed for
    only the leading centres, which need it.
    """
    family, degrees = part.family, part.family.degrees_[part.members]
    highest = np.zeros(len(centers), dtype=degrees.dtype)
    np.maximum.at(highest, part.positions, degrees)
    order = np.argsort(-highest, kind="stable")
    places = np.argsort(order)[part.positions]
    product = graph.node("MatMul", X, graph.constant(family.gamma_ * centers[order].T))
    base = power = graph.node("Add", product, graph.constant(np.float64(family.coef0)))
    for degree in range(1, int(highest.max()) + 1):
        still = int(np.count_nonzero(highest >= degree))
        if still < np.count_nonzero(highest >= degree - 1):
            base, power = (graph.columns_before(table, still) for table in (base, power))
        if degree > 1:
            power = graph.node("Mul", power, base)
        chosen = np.flatnonzero(degrees == degree)
        if len(chosen):
            weights = np.zeros((still, part.weights.shape[1]))
            np.add.at(weights, places[chosen], part.weights[chosen])
            votes = graph.node("Gemm", power, graph.constant(weights), votes)
    return votes


def add_gaussians(graph: Graph, X: str, part: Part, centers: FloatArray, votes: str) -> str:
    """Add the votes of exp(-gamma b) with b = unit ||S (x - c)||^2, for all widths at once.

    Rows and centres are shifted to the family's origin. That does not change their distances, but
    ||x||^2 + ||c||^2 - 2 x.c loses fewer digits if the origin is near the data.
    """
    family = part.family
    if family.scales_ is not None:
        centers = centers * family.scales_
        X = graph.node("Mul", X, graph.constant(family.scales_))
    if family.origin_ is not None:
        centers = centers - family.origin_
        X = graph.node("Sub", X, graph.constant(family.origin_))
    norms = graph.node("ReduceSum", graph.node("Mul", X, X), graph.integers(1), keepdims=1)
    norms = graph.node("Mul", norms, graph.constant(np.float64(family.unit_)))
    base = graph.node("MatMul", X, graph.constant(-2.0 * family.unit_ * centers.T))
    base = graph.node("Add", base, norms)
    norms_of_centers = family.unit_ * np.einsum("ij,ij->i", centers, centers)
    base = graph.node("Add", base, graph.constant(norms_of_centers))
    base = graph.node("Max", base, graph.constant(np.float64(0.0)))
    if not np.array_equal(part.positions, np.arange(len(centers))):
        base = graph.node("Gather", base, graph.integers(*part.positions), axis=1)
    exponents = graph.node("Mul", base, graph.constant(-family.gammas_[part.members]))
    values = graph.node("Exp", exponents)
    return graph.node("Gemm", values, graph.constant(part.weights), votes)


#: Functions that add the votes of a family to the votes so far and return the name of the result.
#: The exact type counts, because a subclass may compute something else.
VOTES: dict[type[KernelFamily], Callable[[Graph, str, Part, FloatArray, str], str]] = {
    Polynomial: add_polynomials,
    Gaussian: add_gaussians,
    ContinuousGaussian: add_gaussians,
}
