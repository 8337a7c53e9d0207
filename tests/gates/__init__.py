"""Judging answers, without any input or output."""
