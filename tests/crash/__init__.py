"""Tests that kill."""
