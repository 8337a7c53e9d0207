"""The verbs: each one short synchronous transaction of read, decide, write."""
