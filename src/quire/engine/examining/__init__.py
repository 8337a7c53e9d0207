"""Examining: each part of an installation is looked at, and says in a line how it stands."""
