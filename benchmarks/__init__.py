"""Benchmarks: ratios against a baseline run in the same process, never seconds alone."""
