"""Routes about schemas: kept, listed, shown, and checked before they are."""

import json
from typing import Any

from fastapi import APIRouter, Response
from pydantic import Field

from quire.domain.errors import Conflict, SchemaInvalid
from quire.engine.json_views.library_views import schema_json
from quire.engine.kept_schemas import read_schema_source
from quire.recipes.user_schemas import read_schema
from quire.server.access import AccessRole, AskedEngine, requires
from quire.server.json_answers import AnswerShape, Body, answer_json

router = APIRouter(tags=["schemas"])
EXAMPLE = {
    "title": "clause",
    "type": "object",
    "properties": {"party": {"type": "string"}, "amount": {"type": "number"}},
}


class SchemaShape(AnswerShape):
    """A version of a schema."""

    ref: str = Field(examples=["clause"])
    version: int
    uid: str
    fields: list[str]


class SchemaListShape(AnswerShape):
    """Every version of every kept schema."""

    items: list[SchemaShape]
    next: str | None = None


class NewSchema(Body):
    """A schema to be kept."""

    body: dict[str, Any] = Field(examples=[EXAMPLE])
    name: str | None = Field(default=None, max_length=64)
    new_version: bool = True


class SchemaBody(Body):
    """A schema to be looked at."""

    body: Any = Field(examples=[EXAMPLE])


class CheckedSchemaShape(AnswerShape):
    """What is wrong with a schema, and how it would be asked."""

    mistakes: list[AnswerShape]
    schema_: Any = Field(alias="schema")


@router.get(
    "/v1/schemas", response_model=SchemaListShape, dependencies=[requires(AccessRole.VIEWER)]
)
def list_schemas(engine: AskedEngine) -> Response:
    """List every version of every kept schema."""
    found = engine.schemas()
    newest = {schema.uid for schema in map(engine.library.schema, {s.ref for s in found})}
    listed = [{**schema_json(schema), "newest": schema.uid in newest} for schema in found]
    return answer_json({"items": listed, "next": None})


@router.get(
    "/v1/schemas/{ref}", response_model=SchemaShape, dependencies=[requires(AccessRole.VIEWER)]
)
def get_schema(engine: AskedEngine, ref: str) -> Response:
    """Show a schema by its name, `name@version`, or the start of its fingerprint."""
    found = engine.library.schema(ref)
    return answer_json({**schema_json(found), "body": found.body})


@router.post(
    "/v1/schemas",
    response_model=SchemaShape,
    status_code=201,
    dependencies=[requires(AccessRole.OPERATOR)],
)
def add_schema(engine: AskedEngine, asked: NewSchema) -> Response:
    """Keep a schema; other content under a kept name becomes a version of its own."""
    if not asked.new_version:
        _refuse_other_content(engine, asked)
    found = engine.add_schema(asked.body, asked.name)
    return answer_json({**schema_json(found), "body": found.body}, 201)


@router.post(
    "/v1/schemas/check",
    response_model=CheckedSchemaShape,
    dependencies=[requires(AccessRole.VIEWER)],
)
def check_schema(asked: SchemaBody) -> Response:
    """Say everything that is wrong with a schema, which may still be text; keeps nothing."""
    body = asked.body
    try:
        if isinstance(body, str):
            found = read_schema(body.encode(), "schema")
        else:
            found = read_schema(json.dumps(body).encode(), "schema")
    except SchemaInvalid as error:
        mistakes = [{"pointer": item.pointer, "message": item.message} for item in error.mistakes]
        return answer_json({"mistakes": mistakes, "schema": None})
    return answer_json({"mistakes": [], "schema": found.body, "ref": found.ref})


def _refuse_other_content(engine: AskedEngine, asked: NewSchema) -> None:
    found = read_schema_source(asked.body, asked.name)
    kept = engine.library.schema_versions(found.ref)
    if kept and found.uid not in {schema.uid for schema in kept}:
        raise Conflict(
            f"schema {found.ref!r} is kept with other content",
            "say new_version to keep this as a version of it",
        )
