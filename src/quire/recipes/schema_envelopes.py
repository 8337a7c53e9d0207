"""Schema envelopes: what vendors wrap a schema in, such as a tool's description, taken off."""

from collections.abc import Mapping

from quire.domain.data import Json, JsonObject

_WRAPPINGS = ("json_schema", "function", "format", "text_format", "response_format")
_HOLDERS = ("schema", "input_schema", "inputSchema", "parameters", "responseJsonSchema")


def open_envelope(body: JsonObject) -> JsonObject:
    """The schema in a tool or a response format, under the name it has there."""
    if "properties" in body:
        return body
    for wrapping in _WRAPPINGS:
        inner = body.get(wrapping)
        if isinstance(inner, Mapping):
            return open_envelope(inner)
    for holder in _HOLDERS:
        schema = body.get(holder)
        if isinstance(schema, Mapping):
            return {**_texts(body), **schema}
    return body


def _texts(body: JsonObject) -> dict[str, Json]:
    """What the envelope says of the schema in it."""
    named = {"title": body.get("name"), "description": body.get("description")}
    return {key: value for key, value in named.items() if isinstance(value, str)}
