"""What can be proved about the error of a model on new data."""
