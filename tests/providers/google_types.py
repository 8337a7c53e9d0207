"""The types that Google's own client publishes."""

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # its source has escapes that Python warns of, once a machine
    from google.genai import types

__all__ = ["types"]
