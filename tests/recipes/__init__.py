"""Schemas, policies and the built-in recipe."""
