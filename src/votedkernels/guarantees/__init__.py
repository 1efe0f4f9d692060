"""Proved bounds on the error of a model on new data."""
