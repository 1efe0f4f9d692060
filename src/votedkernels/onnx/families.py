"""Kernel families in ONNX: all members from one product of matrices.

The part of a family in the vote is sum_k g_k(B) A_k, where B is its shared base, rows by centres,
and A_k the weights of member k, centres by votes. B is the only MatMul of a family. Members come
from it elementwise, and a Gemm weighs them and adds them to the votes so far. Centres and members
without a weight are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..kernels import ContinuousGaussian, Gaussian, KernelFamily, Polynomial
from ..kernels.base import FloatArray, IntArray
from .graph import Graph


@dataclass(frozen=True)
class Part:
    """The share of one family in a vote.

    Attributes
    ----------
    family : KernelFamily
    support : array of shape (n_centers,)
        The support vectors that it has terms with, by number.
    members : array of shape (n_terms,)
        The member of each term, counted within the family.
    positions : array of shape (n_terms,)
        The entry of ``support`` of each term.
    weights : array of shape (n_terms, n_votes)
    """

    family: Any
    support: IntArray
    members: IntArray
    positions: IntArray
    weights: FloatArray


def parts_of_vote(model: Any) -> list[Part]:
    """Return the part of each family that has terms in a fitted vote."""
    parts, first = [], 0
    for family in model.kernels_:
        members = model.term_kernel_indices_ - first
        mine = np.flatnonzero((members >= 0) & (members < family.n_kernels))
        first += family.n_kernels
        if len(mine):
            support, positions = np.unique(model.term_support_indices_[mine], return_inverse=True)
            weights = model.term_weights_.T[mine]
            parts.append(Part(family, support, members[mine], positions, weights))
    return parts


def dense_rows(table: Any, rows: IntArray) -> FloatArray:
    """Return some rows of an array or a sparse matrix, as an array."""
    chosen = table[rows]
    return np.asarray(chosen.toarray() if sparse.issparse(chosen) else chosen)


def add_polynomials(graph: Graph, X: str, part: Part, centers: FloatArray, votes: str) -> str:
    """Add the votes of b^d, b = gamma x.c + coef0, each power from the one before.

    Centres stand in the order of their highest degree, so that a power is computed only for
    those that need it, which come first.
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
    """Add the votes of exp(-gamma b), b = unit ||x - c||^2, all widths at once.

    Distances are taken from the family's own origin. They do not change when the origin moves,
    but near the data ||x||^2 + ||c||^2 - 2 x.c loses fewer digits.
    """
    family = part.family
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


#: How a family adds its votes to those so far: from names of tables to the name of a table. By
#: exact type, since a subclass may compute something else.
VOTES: dict[type[KernelFamily], Callable[[Graph, str, Part, FloatArray, str], str]] = {
    Polynomial: add_polynomials,
    Gaussian: add_gaussians,
    ContinuousGaussian: add_gaussians,
}
