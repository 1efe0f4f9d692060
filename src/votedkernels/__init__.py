"""Sparse votes of kernel functions, with a proof that they are optimal.

An implementation of Voted Kernel Regularization (Cortes, Goyal, Kuznetsov and Mohri).
"""

from typing import TYPE_CHECKING, Any

from ._show_versions import show_versions
from ._version import __version__
from .complexity import Dimension, Empirical, Local, Massart, StableRank, Trace
from .display import (
    BoundDisplay,
    ConvergenceDisplay,
    ExplanationDisplay,
    KernelMassDisplay,
    PenaltyGridDisplay,
    SupportPathDisplay,
    VotingBoundaryDisplay,
)
from .estimators.bound_choice import choose_by_bound
from .estimators.classifier import VotedKernelClassifier
from .estimators.classifier_cv import VotedKernelClassifierCV
from .estimators.path import voted_kernel_path
from .estimators.regressor import VotedKernelRegressor
from .estimators.regressor_cv import VotedKernelRegressorCV
from .kernels import (
    Categories,
    ContinuousGaussian,
    EditDistance,
    ElasticDistance,
    Gaussian,
    Missing,
    MixedGaussian,
    Polynomial,
    Precomputed,
    Similarity,
    Spectrum,
    Threshold,
)
from .persistence import ModelFileError, load_model, read_summary, save_model
from .preparation.tables import mixed_kernels
from .report import model_report

if TYPE_CHECKING:
    from .onnx import to_onnx as to_onnx

__all__ = [
    "BoundDisplay",
    "Categories",
    "ContinuousGaussian",
    "ConvergenceDisplay",
    "Dimension",
    "EditDistance",
    "ElasticDistance",
    "Empirical",
    "ExplanationDisplay",
    "Gaussian",
    "KernelMassDisplay",
    "Local",
    "Massart",
    "Missing",
    "MixedGaussian",
    "ModelFileError",
    "PenaltyGridDisplay",
    "Polynomial",
    "Precomputed",
    "Similarity",
    "Spectrum",
    "StableRank",
    "SupportPathDisplay",
    "Threshold",
    "Trace",
    "VotedKernelClassifier",
    "VotedKernelClassifierCV",
    "VotedKernelRegressor",
    "VotedKernelRegressorCV",
    "VotingBoundaryDisplay",
    "__version__",
    "choose_by_bound",
    "load_model",
    "mixed_kernels",
    "model_report",
    "read_summary",
    "save_model",
    "show_versions",
    "voted_kernel_path",
]


def __dir__() -> list[str]:
    """List the public names: those above, and the modules that users import from."""
    return sorted([*__all__, "datasets", "exceptions", "onnx"])


def __getattr__(name: str) -> Any:
    """Import `to_onnx` on first use, because it needs onnx and skl2onnx."""
    if name == "to_onnx":
        from .onnx import to_onnx

        return to_onnx
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
