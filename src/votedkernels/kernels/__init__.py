"""Kernel families: what K_k(x, x') is, and how all members of a family are evaluated at once."""

from .base import KernelFamily
from .categories import Categories, Missing
from .coded import CodedFamily
from .columns import Columns
from .continuous_gaussian import ContinuousGaussian
from .edit_distance import EditDistance
from .elastic_distance import ElasticDistance
from .families import are_precomputed, clone_families, continuous_family, is_named_list
from .gaussian import Gaussian
from .local_columns import LocalColumns
from .mixed_gaussian import MixedGaussian
from .polynomial import Polynomial
from .precomputed import Precomputed
from .similarity import Similarity
from .spectrum import Spectrum
from .threshold import Threshold

__all__ = [
    "Categories",
    "CodedFamily",
    "Columns",
    "ContinuousGaussian",
    "EditDistance",
    "ElasticDistance",
    "Gaussian",
    "KernelFamily",
    "LocalColumns",
    "Missing",
    "MixedGaussian",
    "Polynomial",
    "Precomputed",
    "Similarity",
    "Spectrum",
    "Threshold",
    "are_precomputed",
    "clone_families",
    "continuous_family",
    "is_named_list",
]
