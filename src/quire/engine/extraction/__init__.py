"""Extraction: rows of any kind go in, and the same rows come back with typed answers."""
