"""What rows are asked, and as what they come back: classes, prompts, mappings, objects, frames."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pydantic import BaseModel, field_validator

from quire.domain.data import Json
from quire.domain.errors import UsageError
from quire.engine.extraction.extracted import ExtractedObjects, ExtractedRows
from tests.engine.test_extract import Ticket, extract
from tests.world import World

Worlds = Callable[..., World]


@pytest.fixture
def here(world: Worlds) -> World:
    return world()


def test_an_edited_class_asks_anew_and_the_old_one_is_still_answered(here: World) -> None:
    class Edited(Ticket):
        angry: bool

    Edited.__name__ = "Ticket"
    Edited.model_config["title"] = "Ticket"
    Edited.model_rebuild(force=True)
    extract(here, ["a text"])
    asked = here.model.calls

    edited = extract(here, ["a text"], Edited)
    after = here.model.calls
    extract(here, ["a text"])

    assert isinstance(edited[0]["angry"], bool)
    assert (after, here.model.calls) == (asked + 1, asked + 1)
    assert [schema.label for schema in here.engine.schemas()] == ["ticket", "ticket@2"]


def test_the_prompt_is_what_was_said_or_the_docstring_of_the_class(here: World) -> None:
    class Plain(BaseModel):
        words: int

    extract(here, ["a text"])
    extract(here, ["a text"], prompt="Classify the support ticket.")
    extract(here, ["a text"], prompt="Be kind.")
    extract(here, ["a text"], Plain)

    said = {schema.label: schema.prompt_config for schema in here.engine.schemas()}
    assert said["plain"] == {}
    assert str(said["ticket"]["system_instructions"]).endswith("Classify the support ticket.")
    assert str(said["ticket@2"]["system_instructions"]).endswith("\n\nBe kind.")
    assert here.model.calls == 3


def test_a_schema_may_be_a_mapping_a_file_or_a_kept_name(here: World, tmp_path: Path) -> None:
    body: dict[str, Json] = dict(here.engine.library.add_schema(Ticket).body)
    here.engine.add_schema({**body, "title": "kept"}, "kept")

    by_mapping = extract(here, ["a text"], body)
    by_name = extract(here, ["a text"], "kept", prompt="Say more.")

    assert by_mapping[0]["status"] == by_name[0]["status"] == "accepted"
    said = here.engine.library.schema("kept").prompt_config["system_instructions"]
    assert str(said).endswith("Say more.")


def test_objects_are_of_the_class_and_those_that_are_missing_say_why(world: Worlds) -> None:
    here = world(faults="wrong@BAD")

    found = extract(here, ["a text", "", "BAD text"], as_="objects")

    assert isinstance(found, ExtractedObjects)
    assert isinstance(found[0], Ticket)
    assert found[1:] == [None, None]
    assert found.errors[1] == "there is no text in this row"
    assert 'is not of type "string"' in found.errors[2]
    assert found.statuses == {"accepted": 1, "skipped": 1, "failed": 1}


def test_fields_may_be_given_with_the_types_of_python(here: World) -> None:
    fields = {"urgency": Literal["low", "high"], "product": str | None, "words": int}

    found = extract(here, pd.DataFrame({"a": ["a text"]}), fields, prompt="Classify it.")

    assert found["urgency"][0] in ("low", "high")
    assert str(found["words"].dtype) == "Int64"
    assert [schema.label for schema in here.engine.schemas()] == ["record"]


def test_objects_may_be_of_a_dataclass(here: World) -> None:
    @dataclass
    class Count:
        words: int

    found = extract(here, ["a text"], Count, as_="objects")

    assert isinstance(found[0], Count)


def test_fields_that_an_answer_lacks_are_the_defaults_of_the_class(
    here: World, tmp_path: Path
) -> None:
    class Rated(BaseModel):
        words: int
        score: float = 0.5
        remark: str | None = "none"

    (tmp_path / "a.txt").write_text("One thing.")
    run = here.engine.get(extract(here, tmp_path / "a.txt", Rated).run)
    run.edit(int(str(run.rows()[0]["task_id"])), {"words": 2})

    found = extract(here, tmp_path / "a.txt", Rated, as_="objects")

    assert (list(found), found.errors) == ([Rated(words=2)], {})


def test_a_class_may_refuse_what_its_schema_allows(here: World) -> None:
    class Strict(BaseModel):
        words: int

        @field_validator("words")
        @classmethod
        def _never(cls, value: int) -> int:
            raise ValueError("no count is good enough")

    found = extract(here, ["a text"], Strict, as_="objects")

    assert list(found) == [None]
    assert "no count is good enough" in found.errors[0]


def test_objects_need_a_class(here: World) -> None:
    with pytest.raises(UsageError, match="objects are of a class"):
        extract(
            here,
            ["a text"],
            {
                "type": "object",
                "properties": {"n": {"type": "integer"}},
                "required": ["n"],
                "additionalProperties": False,
            },
            as_="objects",
        )


def test_what_a_list_becomes_may_be_chosen(here: World) -> None:
    assert isinstance(extract(here, ["a"], as_="pandas"), pd.DataFrame)
    import datasets  # takes long, and no other test here needs it

    assert isinstance(extract(here, ["a"], as_="polars"), pl.DataFrame)
    assert isinstance(extract(here, ["a"], as_="arrow"), pa.Table)
    assert isinstance(extract(here, ["a"], as_="hf"), datasets.Dataset)
    assert isinstance(extract(here, pd.DataFrame({"a": ["b"]}), as_="rows"), ExtractedRows)
