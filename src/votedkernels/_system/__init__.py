"""Limits on time and memory, threads, atomic files, and the call stack."""
