"""Providers: the vendors' wire formats and batch APIs, and what is known of their models."""
