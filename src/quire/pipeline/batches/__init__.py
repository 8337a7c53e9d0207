"""Batches: queued requests are drafted into a batch, submitted once, and its rows collected."""
