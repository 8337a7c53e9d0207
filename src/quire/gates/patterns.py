"""Patterns of users: regular expressions that take linear time, whatever they and the text are."""

from functools import lru_cache

import jsonschema_rs

from quire.domain.data import Json

LONGEST_PATTERN = 1_000
_MOST_BYTES = 1_000_000  # of a compiled pattern, so that a{1000}{1000} costs nothing


def pattern_mistake(value: Json) -> str:
    """Say what is wrong with a pattern; empty where it can be used."""
    if not isinstance(value, str) or not value:
        return "must be a regular expression"
    if len(value) > LONGEST_PATTERN:
        return f"must have at most {LONGEST_PATTERN:,} characters"
    try:
        _compiled(value)
    except ValueError:
        return (
            "is not a regular expression that can be used: "
            "it is malformed, too large, or looks around or back"
        )
    return ""


def matches(pattern: str, text: str) -> bool:
    """Say whether a checked pattern is found anywhere in the text."""
    # half of a surrogate pair cannot be handed over, and no pattern can ask for it
    return _compiled(pattern).is_valid(text.encode("utf-8", "replace").decode())


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> jsonschema_rs.Validator:
    # the engine without backtracking: schemas, which may look around, have another
    options = jsonschema_rs.RegexOptions(size_limit=_MOST_BYTES, dfa_size_limit=_MOST_BYTES)
    return jsonschema_rs.validator_for({"pattern": pattern}, pattern_options=options)
