"""Schemas, stages and models that the tests of planning share."""

from collections.abc import Mapping

from quire.domain.data import Json
from quire.domain.ids import schema_uid
from quire.domain.models import ModelFacts, Params, Price
from quire.domain.recipes import Schema, Stage

TEXT: dict[str, Json] = {"type": "string"}
NUMBER: dict[str, Json] = {"type": "number"}

REVISION: dict[str, Json] = {  # the prose optimizer of the seeds
    "action": {"type": "string", "enum": ["keep", "rewrite", "skip_nonprose"]},
    "final": {
        "type": "object",
        "properties": {"content": TEXT, "format": {"type": "string", "enum": ["markdown"]}},
    },
    "checks": {"type": "array", "items": {"type": "object", "properties": {"notes": TEXT}}},
    "diff_summary": {"type": "string", "maxLength": 400},
    "confidence": NUMBER,
}


def make_schema(properties: Mapping[str, Json], more: Mapping[str, Json] | None = None) -> Schema:
    body: dict[str, Json] = {
        "type": "object",
        "additionalProperties": False,
        "properties": dict(properties),
        **(more or {}),
    }
    return Schema(ref="example", uid=schema_uid(body), body=body)


def make_stage(
    properties: Mapping[str, Json] | None = None,
    *,
    instructions: str = "Read.",
    critic: str = "",
    max_batch_size: int | None = None,
    more: Mapping[str, Json] | None = None,
) -> Stage:
    return Stage(
        name="answers",
        about="each_block",
        schema=make_schema({"topic": TEXT} if properties is None else properties, more),
        instructions=instructions,
        prompt="Fill in.",
        params=Params(),
        critic=critic,
        max_batch_size=max_batch_size,
    )


def make_facts(
    *, window: int = 200_000, max_output: int = 8_192, input_price: int = 3, output_price: int = 15
) -> ModelFacts:
    """Give prices in dollars per million tokens."""
    price = Price(
        input=input_price * 1_000_000,
        output=output_price * 1_000_000,
        cached=0,
        written_short=0,
        written_long=0,
    )
    return ModelFacts(name="simulated/test", window=window, max_output=max_output, price=price)
