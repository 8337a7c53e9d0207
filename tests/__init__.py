"""Tests, in folders that mirror the packages they are about."""
