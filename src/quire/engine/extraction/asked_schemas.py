"""Asked schemas: the caller's class, mapping, file or name with the prompt, kept in the ledger."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from quire.domain.data import Json, as_object
from quire.domain.errors import Conflict, UsageError
from quire.domain.recipes import DEFAULT_INSTRUCTIONS, Schema
from quire.engine.foreign_values import CallerObject
from quire.engine.kept_schemas import SchemaSource, read_schema_source
from quire.engine.library import Library

INSTRUCTIONS = "system_instructions"
_TYPES = ("bool", "int", "float", "str", "list", "dict", "date", "datetime")


class AskedSchema(NamedTuple):
    """What every row is asked, and the class of the answers where the caller gave one."""

    schema: Schema
    answer_class: type[Any] | None = None


def resolve_asked(library: Library, source: SchemaSource, prompt: str | None) -> AskedSchema:
    """Keep what is asked; without a prompt, what its class or file says is to be done."""
    if isinstance(source, Mapping):
        _refuse_quoted_types(source)
    if isinstance(source, Mapping) and source and all(map(_is_python_type, source.values())):
        source = _make_class(source)
    answer_class = source if isinstance(source, type) else None
    if prompt is None:
        return AskedSchema(library.resolve_schema(source), answer_class)
    if not prompt.strip():
        raise UsageError("the prompt is empty: say what is to be done, or leave out prompt=")
    found = (
        read_schema_source(source, None)
        if isinstance(source, type | Mapping)
        else library.resolve_schema(source)
    )
    return AskedSchema(_keep_with_prompt(library, found, prompt.strip()), answer_class)


def _is_python_type(value: object) -> bool:
    """Whether a field is said as Python says types: str, list[str], Literal["a", "b"]."""
    return value is not None and not isinstance(value, str | int | float | Mapping | Sequence)


def _refuse_quoted_types(fields: Mapping[str, CallerObject]) -> None:
    """Refuse `{"urgent": "bool"}`: read as a JSON Schema, it has three mistakes and no type."""
    quoted = [name for name, kind in fields.items() if isinstance(kind, str) and kind in _TYPES]
    if quoted and not {"type", "properties"} & set(fields):
        name, kind = quoted[0], fields[quoted[0]]
        raise UsageError(
            f"{name} has its type in quotes: {kind!r}",
            f"write {{{name!r}: {kind}}}, the type itself",
        )


def _make_class(fields: Mapping[str, CallerObject]) -> type[CallerObject]:
    """A class with these fields, all of them required."""
    try:
        from pydantic import create_model
    except ImportError:
        raise UsageError(
            "fields with Python's types are read by Pydantic, which is not installed:"
            " `pip install pydantic`, or give a JSON Schema"
        ) from None
    definitions: CallerObject = {name: (kind, ...) for name, kind in fields.items()}
    made: type[CallerObject] = create_model("Record", **definitions)
    return made


def _keep_with_prompt(library: Library, schema: Schema, prompt: str) -> Schema:
    """The schema with a prompt in the place where the docstring of a class would stand."""
    config: Mapping[str, Json] = as_object(schema.body.get("prompt_config"))
    said = {**config, INSTRUCTIONS: f"{DEFAULT_INSTRUCTIONS}\n\n{prompt}"}
    body = {**schema.body, "prompt_config": said}
    try:
        return library.add_schema(body, schema.ref)
    except Conflict:  # kept under another name, which means the same
        return library.add_schema(body)
