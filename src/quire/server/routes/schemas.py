"""Routes about schemas: kept, listed, shown, and checked before they are."""

import json

from fastapi import APIRouter, Response
from pydantic import Field

from quire.domain.errors import Conflict, SchemaInvalid
from quire.engine.json_views.library_views import schema_json
from quire.engine.kept_schemas import read_schema_source
from quire.recipes.user_schemas import read_schema
from quire.server.access import AccessRole, AskedEngine, requires
from quire.server.error_responses import MistakeBody
from quire.server.json_answers import (
    USUAL_ITEMS,
    AnswerShape,
    Body,
    Cursor,
    Data,
    JsonSchema,
    Limit,
    answer_json,
    answer_part,
)

router = APIRouter(tags=["schemas"])
EXAMPLE = {
    "title": "clause",
    "type": "object",
    "properties": {"party": {"type": "string"}, "amount": {"type": "number"}},
}


class SchemaShape(AnswerShape):
    """A version of a schema."""

    ref: str = Field(examples=["clause"])
    version: int = Field(description="Which of those that were kept under its name.")
    uid: str
    fields: list[str] = Field(description="The names of its fields.")


class SchemaLineShape(SchemaShape):
    """A version of a schema, in a list."""

    newest: bool = Field(description="What its name stands for.")


class WholeSchemaShape(SchemaShape):
    """A version of a schema, with its body."""

    body: JsonSchema = Field(description="The JSON Schema itself.", examples=[EXAMPLE])


class SchemaListShape(AnswerShape):
    """Every version of every kept schema."""

    items: list[SchemaLineShape]
    next: str | None = None


class NewSchema(Body):
    """A schema to be kept."""

    body: JsonSchema = Field(description="The JSON Schema itself.", examples=[EXAMPLE])
    name: str | None = Field(
        default=None, max_length=64, description="What it is called; by default by its title."
    )
    new_version: bool = Field(
        True, description="Keep it beside other content of its name; else that is refused."
    )


class SchemaBody(Body):
    """A schema to be looked at."""

    body: Data = Field(description="The JSON Schema, or its text.", examples=[EXAMPLE])


class CheckedSchemaShape(AnswerShape):
    """What is wrong with a schema, and how it would be asked."""

    mistakes: list[MistakeBody] = Field(description="Every one; none: it could be kept.")
    schema_: JsonSchema | None = Field(
        alias="schema", description="The JSON Schema as it would be asked.", examples=[EXAMPLE]
    )
    ref: str = Field("", description="The name it would be kept under.", examples=["clause"])


@router.get(
    "/v1/schemas", response_model=SchemaListShape, dependencies=[requires(AccessRole.VIEWER)]
)
def list_schemas(
    engine: AskedEngine, cursor: Cursor = None, limit: Limit = USUAL_ITEMS
) -> Response:
    """List every version of every kept schema."""
    found = engine.schemas()
    newest = {schema.uid for schema in map(engine.library.schema, {s.ref for s in found})}
    listed = [{**schema_json(schema), "newest": schema.uid in newest} for schema in found]
    return answer_part(listed, cursor, limit)


@router.get(
    "/v1/schemas/{ref}",
    response_model=WholeSchemaShape,
    dependencies=[requires(AccessRole.VIEWER)],
)
def get_schema(engine: AskedEngine, ref: str) -> Response:
    """Show a schema by its name, `name@version`, or the start of its fingerprint."""
    found = engine.library.schema(ref)
    return answer_json({**schema_json(found), "body": found.body})


@router.post(
    "/v1/schemas",
    response_model=WholeSchemaShape,
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
