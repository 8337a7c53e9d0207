"""The nouns: frozen values and their rules, with no input or output of any kind."""
