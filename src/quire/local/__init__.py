"""A small language model on this machine: fetched once, then answering without a network."""
