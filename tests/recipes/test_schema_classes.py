"""Schemas from Pydantic classes."""

from enum import Enum
from typing import Literal, Optional

import pytest
from pydantic import BaseModel, ConfigDict, Field

from quire.domain.errors import SchemaInvalid
from quire.gates.shape import Shape
from quire.recipes.user_schemas import schema_of


class Mood(Enum):
    """Two moods."""

    GOOD = "good"
    BAD = "bad"


class Person(BaseModel):
    """Somebody."""

    name: str = Field(min_length=1)
    mood: Mood | None = None


class Letter(BaseModel):
    """Uses what people use."""

    model_config = ConfigDict(json_schema_extra={"prompt_config": {"per_block_prompt": "Read."}})

    sender: Person = Field(description="who wrote it")
    readers: list[Person]
    pages: int = Field(gt=0, lt=10)
    kind: Literal["plain"] | None = None
    mark: str | int
    counts: dict[str, int] = {}


class Endless(BaseModel):
    """Contains itself."""

    parent: Optional["Endless"] = None


def test_references_are_put_in_place() -> None:
    sender = schema_of(Letter).properties["sender"]

    assert sender["description"] == "who wrote it"
    assert sender["properties"] == {
        "name": {"type": "string", "minLength": 1, "title": "Name"},
        "mood": {
            "type": ["string", "null"],
            "enum": ["good", "bad", None],
            "title": "Mood",
            "description": "Two moods.",
            "default": None,
        },
    }


def test_objects_are_closed_but_free_maps_stay_open() -> None:
    schema = schema_of(Letter)

    assert schema.body["additionalProperties"] is False
    assert schema.properties["sender"]["additionalProperties"] is False
    assert schema.properties["counts"]["additionalProperties"] == {"type": "integer"}


def test_strict_bounds_of_integers_are_kept() -> None:
    shape = Shape(
        {"type": "object", "properties": {"pages": schema_of(Letter).properties["pages"]}}
    )

    assert [bool(shape.problems({"pages": n})) for n in (0, 1, 9, 10)] == [True, False, False, True]


def test_an_optional_constant_may_be_null() -> None:
    assert schema_of(Letter).properties["kind"]["enum"] == ["plain", None]


def test_plain_alternatives_become_a_list_of_types() -> None:
    assert schema_of(Letter).properties["mark"]["type"] == ["string", "integer"]


def test_the_class_may_carry_its_prompt() -> None:
    assert schema_of(Letter).prompt_config["per_block_prompt"] == "Read."


def test_a_docstring_is_told_to_the_model_unless_instructions_are_given() -> None:
    class Told(Letter):
        """Nothing of this is told."""

        model_config = ConfigDict(
            json_schema_extra={"prompt_config": {"system_instructions": "Be brief."}}
        )

    said = str(schema_of(Letter).prompt_config["system_instructions"])
    assert said.endswith("Uses what people use.")
    assert schema_of(Told).prompt_config["system_instructions"] == "Be brief."


def test_the_name_of_the_class_is_the_ref_unless_one_is_given() -> None:
    assert schema_of(Person).ref == "person"
    assert schema_of(Person, ref="people").ref == "people"


def test_a_class_that_contains_itself_is_refused() -> None:
    with pytest.raises(SchemaInvalid, match=r"contains itself \(Endless.parent → Endless\)"):
        schema_of(Endless)


def test_data_of_the_class_satisfies_the_schema() -> None:
    letter = Letter(sender=Person(name="Ada", mood=Mood.BAD), readers=[], pages=3, mark=7)

    assert Shape(schema_of(Letter).record_schema).problems(letter.model_dump(mode="json")) == ()
