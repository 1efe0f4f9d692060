"""The estimators, with scikit-learn's interface, and related functions."""

from .bound_choice import choose_by_bound
from .classifier import VotedKernelClassifier
from .classifier_cv import VotedKernelClassifierCV
from .path import voted_kernel_path

__all__ = [
    "VotedKernelClassifier",
    "VotedKernelClassifierCV",
    "choose_by_bound",
    "voted_kernel_path",
]
