"""Params: what a request is sent with, its own output limit included."""

from dataclasses import replace
from functools import lru_cache

from quire.domain.models import Params


@lru_cache(maxsize=4096)
def sent_params(params: Params, max_output: int) -> Params:
    """The stage's parameters with this request's output limit; cached, for limits repeat."""
    return replace(params, max_tokens=max_output)
