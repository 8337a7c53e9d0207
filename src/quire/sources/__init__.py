"""Bytes become documents and blocks, one file a format."""
