"""The rehearsal server, as the vendors' own clients see it."""
