"""Ready-made recipes."""
