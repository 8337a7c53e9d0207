"""Tests with big numbers, run by `make soak`; each prints what it measured."""
