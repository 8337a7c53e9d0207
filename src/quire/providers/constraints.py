"""What a schema asks of a value beyond its type, told in words for vendors that cannot bind it."""

from collections.abc import Collection, Iterator

from quire.domain.data import Json, JsonObject, plain_json

# What a keyword speaks about; a keyword that is not here speaks about every value.
SPEAKS_OF = {
    **dict.fromkeys(("minLength", "maxLength", "pattern", "format"), "string"),
    **dict.fromkeys(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), "number"
    ),
    **dict.fromkeys(
        ("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"), "array"
    ),
    **dict.fromkeys(
        (
            "properties",
            "required",
            "additionalProperties",
            "patternProperties",
            "propertyNames",
            "minProperties",
            "maxProperties",
        ),
        "object",
    ),
}
_RANGES = (
    ("minimum", "maximum", ""),
    ("minLength", "maxLength", "character"),
    ("minItems", "maxItems", "item"),
    ("minProperties", "maxProperties", "field"),
)
_SAYINGS = {
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "pattern": "matches the pattern {}",
    "format": "in the format {}",
    "enum": "one of {}",
}


def in_words(keywords: JsonObject) -> Iterator[str]:
    """Say each constraint, in the same order for the same keywords."""
    told: set[str] = set()
    for low, high, noun in _RANGES:
        if low in keywords or high in keywords:
            told |= {low, high}
            yield _range(keywords.get(low), keywords.get(high), noun)
    for keyword, value in keywords.items():
        if keyword in told:
            continue
        if keyword == "uniqueItems":
            if value is True:
                yield "no item twice"
        elif keyword in _SAYINGS:
            shown = value if isinstance(value, str) else plain_json(value)
            yield _SAYINGS[keyword].format(shown)
        else:
            yield f"{keyword}: {plain_json(value)}"


def described(node: JsonObject, description: Json, words: Collection[str]) -> dict[str, Json]:
    """Put a description on a node, with what the vendor cannot bind in brackets after it."""
    said = "; ".join(words)
    before = description if isinstance(description, str) else ""
    text = f"{before} ({said})" if before and said else before or said
    return {**node, "description": text} if text else dict(node)


def _range(low: Json, high: Json, noun: str) -> str:
    shown = [plain_json(bound) for bound in (low, high) if bound is not None]
    plural = noun and (f" {noun}" if shown[-1] == "1" else f" {noun}s")
    if len(shown) == 2:
        return f"between {shown[0]} and {shown[1]}{plural}"
    return f"{'at least' if high is None else 'at most'} {shown[0]}{plural}"
