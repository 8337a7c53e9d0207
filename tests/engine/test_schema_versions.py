"""Schemas have versions: which one a name means, and what runs keep of theirs."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import BaseModel, create_model

from quire.domain.data import Json
from quire.domain.errors import Conflict, NotFound
from quire.domain.ids import RunId
from quire.domain.recipes import Schema
from quire.engine.kept_schemas import SchemaFile
from tests.world import METADATA, World

CHANGED: dict[str, Json] = {**METADATA, "description": "other"}


@pytest.fixture
def here(world: Callable[..., World]) -> World:
    return world()


def edit_class(**fields: type) -> type[BaseModel]:
    """A class `Ticket` as it stands after an edit."""
    made: type[BaseModel] = create_model("Ticket", **fields)  # type: ignore[call-overload]
    return made


def write_file(folder: Path, body: Json) -> Path:
    file = folder / "schema.json"
    file.write_text(json.dumps(body))
    return file


def labels(here: World) -> list[str]:
    return [f"{schema.ref}@{schema.version}" for schema in here.engine.schemas()]


@pytest.mark.parametrize(
    ("first", "second"),
    [(edit_class(text=str), edit_class(text=str, urgent=bool)), (METADATA, CHANGED)],
    ids=["class", "mapping"],
)
def test_an_edited_body_adds_a_version_and_the_old_one_goes_back(
    here: World, first: SchemaFile, second: SchemaFile
) -> None:
    added = [here.engine.add_schema(body) for body in (first, second, second)]
    ref = added[0].ref

    assert [schema.version for schema in added] == [1, 2, 2]
    assert here.engine.library.schema(ref) == here.engine.library.schema(f"{ref}@2") == added[1]
    assert here.engine.add_schema(first) == added[0]
    assert here.engine.library.schema(ref) == here.engine.library.schema(f"{ref}@1") == added[0]
    assert labels(here) == [f"{ref}@1", f"{ref}@2"]


def test_a_file_with_other_content_needs_a_word(here: World, tmp_path: Path) -> None:
    here.engine.add_schema(METADATA)
    file = write_file(tmp_path, CHANGED)

    with pytest.raises(Conflict, match=r"schema add \S+schema.json --new-version` keeps this as"):
        here.engine.library.resolve_schema(str(file))
    assert labels(here) == ["metadata@1"]

    assert here.engine.add_schema(file, new_version=True).label == "metadata@2"
    assert here.engine.library.resolve_schema(str(file)).label == "metadata@2"


def test_a_body_has_one_name_and_is_found_by_it(here: World) -> None:
    kept = here.engine.add_schema(METADATA, ref="mine")

    assert here.engine.add_schema(METADATA) == kept
    with pytest.raises(Conflict, match="kept already, as 'mine'"):
        here.engine.add_schema(METADATA, ref="other")


def test_a_version_that_is_not_there_is_named_with_those_that_are(here: World) -> None:
    here.engine.add_schema(METADATA)
    here.engine.add_schema(CHANGED)

    with pytest.raises(NotFound, match="no version '3' of metadata; there are metadata@1, met"):
        here.engine.library.schema("metadata@3")
    with pytest.raises(NotFound, match="no schema 'other@1'; known: metadata"):
        here.engine.library.schema("other@1")


def test_runs_keep_their_version_whatever_their_name_means_later(
    here: World, tmp_path: Path
) -> None:
    here.ingest(["one"])
    for body in (METADATA, CHANGED, METADATA):
        here.engine.run(schema=body, model="simulated/small", new=True).wait()
    runs = sorted(run.id for run in here.engine.runs())

    names = [here.engine.queries.head(run).name for run in runs]
    assert names == ["metadata", "metadata@2", "metadata"]
    exported = [exported_schema(here, run, tmp_path) for run in runs]
    assert [line["schema_version"] for line in exported] == [1, 2, 1]
    assert exported[0]["schema_uid"] != exported[1]["schema_uid"]


def exported_schema(here: World, run: RunId, folder: Path) -> dict[str, Json]:
    file = folder / f"{run}.jsonl"
    here.engine.export(run, str(file))
    line: dict[str, dict[str, Json]] = json.loads(file.read_text())
    return line["user_defined"]


def test_an_order_may_name_an_old_version(here: World) -> None:
    here.ingest(["one"])
    here.engine.add_schema(METADATA)
    here.engine.add_schema(CHANGED)

    planned = here.engine.plan(schema="metadata@1", model="simulated/small")

    assert planned.order.recipe.stages[0].record.label == "metadata"
    assert here.engine.library.schema("metadata").version == 2


def test_a_label_is_what_can_be_typed() -> None:
    first = Schema(ref="a", uid="u", body={})
    later = Schema(ref="a", uid="u", body={}, version=3)

    assert (first.label, later.label) == ("a", "a@3")
