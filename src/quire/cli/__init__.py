"""The command line: parses what was typed, calls the engine, prints what came of it."""

from quire.cli.app import app, main

__all__ = ["app", "main"]
