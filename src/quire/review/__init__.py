"""Review: what wants a person, who is at it, all at once, and random samples marked blind."""
