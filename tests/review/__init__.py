"""Tests of what persons look at and decide."""
