"""From a user's rows, labels and weights to the problems to be solved."""
