"""Complexity measures: r_k, a bound on the Rademacher complexity of H_k = {+-K_k(., c)}.

Let s_i be the raw sample weights, which count repetitions, m = sum_i s_i, and kappa_k^2 the
largest K_k(x, x) over all rows and centres x. The measures are

    trace       kappa_k sqrt(sum_i s_i K_k(x_i, x_i)) / m             positive definite kernels
    dimension   kappa_k^2 sqrt(d_k), d_k the dimension of feature space        polynomials
    local       kappa_k^2 sqrt((2/m) sum_j min(radius, mu_j)), see `local`     positive definite
    empirical   (1/m) E max_c |sum_i sigma_i K_k(x_i, c)|, by Monte Carlo            any kernel
    stable-rank kappa_k^2 sqrt(s_k^power / m), s_k the stable rank, see `stable_rank`   any kernel
    massart     max_c sqrt(sum_i s_i K_k(x_i, c)^2) sqrt(2 log(2 n_centers)) / m    any kernel

Rules about single features (`kernels.coded`) have a growth function that holds for every sample.
With trace, dimension and local, their complexity is Massart's bound for that many columns, sqrt(2
log(growth) / m); with stable-rank, 2 log(growth) takes the place of s_k.

Trace is the paper's Lemma 1 (see also [1]_). Dimension is its Lemma 2 without the factor
12 sqrt(pi / m), as in the paper's experiments. Local is the local Rademacher complexity [2]_.
Massart is the finite-class lemma [3]_ over the given centres. All measures scale with the kernel:
c K has complexity c r_k.

References
----------
.. [1] P. Bartlett, S. Mendelson (2002). Rademacher and Gaussian complexities: risk bounds and
   structural results. Journal of Machine Learning Research 3.
.. [2] P. Bartlett, O. Bousquet, S. Mendelson (2005). Local Rademacher complexities. Annals of
   Statistics 33.
.. [3] P. Massart (2000). Some applications of concentration inequalities to statistics. Annales de
   la Faculté des Sciences de Toulouse 9.
"""

from .base import (
    MEASURES,
    ComplexityMeasure,
    admitted_columns,
    are_numbers,
    measure_complexities,
    measure_with_errors,
    measures_by_family,
    memory_needed,
)
from .empirical import Empirical
from .formulas import Dimension, Massart, Trace
from .local import Local
from .stable_rank import StableRank

__all__ = [
    "MEASURES",
    "ComplexityMeasure",
    "Dimension",
    "Empirical",
    "Local",
    "Massart",
    "StableRank",
    "Trace",
    "admitted_columns",
    "are_numbers",
    "measure_complexities",
    "measure_with_errors",
    "measures_by_family",
    "memory_needed",
]

MEASURES.update(
    {
        "auto": StableRank,
        "stable-rank": StableRank,
        "trace": Trace,
        "dimension": Dimension,
        "local": Local,
        "empirical": Empirical,
        "massart": Massart,
    }
)
