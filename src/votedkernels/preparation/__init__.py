"""Turns a user's rows, labels and weights into problems to solve."""
