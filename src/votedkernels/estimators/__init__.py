"""The estimators, with scikit-learn's interface, and the path function."""

from .classifier import VotedKernelClassifier
from .classifier_cv import VotedKernelClassifierCV
from .path import voted_kernel_path

__all__ = ["VotedKernelClassifier", "VotedKernelClassifierCV", "voted_kernel_path"]
