"""Tests of the HTTP API, through the in-process client of its framework."""
