"""The nouns: identity, canonical data, money, lifecycles and errors."""
