"""Pure decisions: how large, how packed, how rendered, how retried, what it will cost."""
