"""Answers: stored answers are settled, and progress is summed up."""
