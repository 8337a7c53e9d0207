"""Messages and wire schemas of the form that rendering gives them."""

import json
from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

from quire.domain.data import Json
from quire.domain.ids import AttemptId
from quire.domain.models import Params
from quire.domain.requests import Call

CONTENT = st.text(st.characters(codec="utf-8"), max_size=150)


def record_schema(properties: Mapping[str, Json]) -> dict[str, Json]:
    """Ask for these fields, flat beside the block's id."""
    return {
        "type": "object",
        "properties": {"block_uid": {"type": "string"}, **properties},
        "required": ["block_uid", *properties],
        "additionalProperties": False,
    }


def wire_schema(properties: Mapping[str, Json]) -> dict[str, Json]:
    """Ask for one such record for each block."""
    results: Json = {"type": "array", "items": record_schema(properties)}
    return {"type": "object", "properties": {"results": results}, "required": ["results"]}


def message(contents: Sequence[str]) -> str:
    """Carry blocks with the ids 1x, 2x and so on."""
    blocks = [
        {
            "block_uid": f"{n}x",
            "block_index": n,
            "block_type": "paragraph",
            "block_content": content,
        }
        for n, content in enumerate(contents, 1)
    ]
    return "Fill in the fields.\nOnly from its own block.\n\n" + json.dumps(
        {"blocks": blocks}, ensure_ascii=False
    )


def make_call(
    contents: Sequence[str],
    properties: Mapping[str, Json],
    *,
    attempt: int = 1,
    max_tokens: int | None = None,
) -> Call:
    """Ask for these fields about these blocks."""
    return Call(
        attempt_id=AttemptId(attempt),
        model="simulated/small",
        system="Follow the guidelines.",
        user=message(contents),
        output_schema=wire_schema(properties),
        params=Params(max_tokens=max_tokens),
    )
