"""A list has as many elements as its task says, and no block's own words change its record."""

import json
from dataclasses import replace

from quire.domain.data import Json
from quire.domain.recipes import Stage
from quire.domain.requests import Call
from quire.planning.rendering import render_prefix
from quire.recipes.user_schemas import load_schema
from quire.simulated.call_outcomes import respond
from quire.simulated.fault_scripts import NO_FAULTS
from tests.recipes.examples import read
from tests.simulated.calls import make_call

ASKED = "Plan a report of exactly 4 sections.\n<brief>\nThe Ferry and the Bridge of Lund\n</brief>"
SECTION: Json = {"type": "object", "properties": {"title": {"type": "string"}}}
FIELDS: dict[str, Json] = {"sections": {"type": "array", "items": SECTION}}


def sections_of(call: Call) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(respond(call, NO_FAULTS).text)["results"][0][
        "sections"
    ]
    return found


def task_prefix() -> str:
    fields: Json = {"one": {"type": "string"}}
    body: dict[str, Json] = {"type": "object", "additionalProperties": False, "properties": fields}
    body["required"] = ["one"]
    stage = read('[[stages]]\nname = "a"\nabout = "all_to_one"\nprompt = "x"').recipe.stages[0]
    asked: Stage = replace(stage, schema=load_schema(body, name="a"), prompt_in_items=True)
    return render_prefix(asked).system


def test_a_task_that_asks_for_a_number_of_elements_gets_so_many_different_ones() -> None:
    asked = replace(make_call([ASKED], FIELDS), system=task_prefix())

    titles = [section["title"] for section in sections_of(asked)]

    assert len(titles) == len({*titles}) == 4
    assert titles[0] == "The Ferry and the Bridge of Lund"


def test_a_block_that_is_no_task_asks_for_nothing() -> None:
    assert len(sections_of(make_call([ASKED], FIELDS))) < 4
