"""Tests of keys: sealed, found, chosen, marked, and never shown."""
