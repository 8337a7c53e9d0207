"""Stages: they begin, expand into tasks, call critics, release dependants and close."""
