"""The loops: claim, call providers, record; no rules of their own."""
