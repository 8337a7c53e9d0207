"""Addresses below an address: what a base URL says besides its path is kept."""

import re
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

_VERSIONED = re.compile(r"(?P<before>.*)/(?P<version>v\d\w*)(?P<after>/.*)")


def below(url: str, *steps: str, query: Mapping[str, str] | None = None) -> str:
    """An address further down; steps are names, of which nothing leads anywhere else."""
    parts = urlsplit(url)
    path = "/".join((parts.path, *(quote(step, safe=":") for step in steps)))
    asked = "&".join(filter(None, (parts.query, urlencode(query or {}))))
    return urlunsplit((parts.scheme, parts.netloc, path, asked, ""))


@lru_cache(maxsize=64)
def before_version(url: str, word: str) -> str:
    """The same address with a word in front of its version: /v1/files becomes /word/v1/files."""
    parts = urlsplit(url)
    path = _VERSIONED.sub(rf"\g<before>/{word}/\g<version>\g<after>", parts.path, count=1)
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def at_host_of(url: str, other: str) -> str:
    """Another address, if it is one, at the host of this one: nobody sends us elsewhere."""
    parts, others = urlsplit(url), urlsplit(other)
    return urlunsplit((parts.scheme, parts.netloc, others.path, others.query, ""))
