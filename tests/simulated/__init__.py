"""The simulated model, called as plain functions."""
