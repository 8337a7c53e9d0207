"""The loops: claim, act on the outside world, record; no rules of their own."""
