"""Endpoints that do more than answer a call: files and batches, each vendor in its own file."""
