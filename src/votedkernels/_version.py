"""The version of votedkernels, in one place."""

__version__ = "0.1.0"
