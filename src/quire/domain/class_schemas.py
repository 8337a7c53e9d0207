"""Class schemas: Pydantic models, dataclasses and typed dictionaries, to schemas and back.

Pydantic itself is not a dependency: whoever has a class of it has it installed. Dataclasses and
typed dictionaries are read by it too.
"""

import json
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any, TypeVar, cast

from quire.domain.data import Json
from quire.domain.errors import Mistake, SchemaInvalid, UsageError
from quire.domain.recipes import DEFAULT_INSTRUCTIONS

Typed = TypeVar("Typed")


def class_body(model_class: type[object]) -> dict[str, Json]:
    """A class as a schema's body; its docstring becomes instructions."""
    name = model_class.__name__
    try:
        found = _json_schema(model_class)
    except UsageError:
        raise
    except Exception as error:  # Pydantic's own kinds, which need not be importable here
        reason = " ".join(str(error).split())
        raise SchemaInvalid(name, [Mistake("", f"cannot be asked for: {reason}")]) from error
    # a round trip, so that enums, tuples and defaults are plain JSON from here on
    body: dict[str, Json] = json.loads(json.dumps(found, default=str))
    return _with_instructions({"title": name, **body} if "$ref" not in body else body)


def typed_record(record: Mapping[str, Json] | None, model_class: type[Typed]) -> Typed | None:
    """A record as an object of its class, dates, enums and nested ones included; None stays None.

    Fields go by the names they have in the record, which are the aliases where there are some.
    """
    if record is None:
        return None
    validate = getattr(model_class, "model_validate", None)
    if validate is not None:
        return cast("Typed", validate(dict(record)))
    return cast("Typed", _type_adapter(model_class).validate_python(dict(record)))


def _json_schema(model_class: type[object]) -> Mapping[str, Json]:
    own = hasattr(model_class, "model_json_schema")
    if not own and not is_dataclass(model_class) and not _is_typed_dictionary(model_class):
        raise UsageError(
            f"{model_class.__name__} is no schema: give a Pydantic model, a dataclass or a"
            " TypedDict"
        )
    found: Mapping[str, Json] = _type_adapter(model_class).json_schema(
        schema_generator=_schema_generator()
    )
    return found


def _is_typed_dictionary(model_class: type[object]) -> bool:
    # not typing.is_typeddict, which does not know those of typing_extensions
    return issubclass(model_class, dict) and hasattr(model_class, "__required_keys__")


def _schema_generator() -> Any:
    """Pydantic's, but that a Decimal is a number: a column of numbers and texts helps nobody."""
    from pydantic.json_schema import GenerateJsonSchema

    class NumberSchemas(GenerateJsonSchema):
        def decimal_schema(self, schema: Any) -> Any:
            made = super().decimal_schema(schema)
            options = made.get("anyOf", [])
            return next((option for option in options if option.get("type") == "number"), made)

    return NumberSchemas


def _type_adapter(model_class: type[object]) -> Any:
    try:
        from pydantic import TypeAdapter
    except ImportError:
        raise UsageError(
            f"{model_class.__name__} is read by Pydantic, which is not installed:"
            " `pip install pydantic`"
        ) from None
    return TypeAdapter(model_class)


def _with_instructions(body: dict[str, Json]) -> dict[str, Json]:
    """The body with what its docstring says told to the model, unless instructions are given."""
    config = body.get("prompt_config")
    given = config if isinstance(config, Mapping) else {}
    said = body.get("description")
    if not isinstance(said, str) or "system_instructions" in given:
        return body
    instructions = f"{DEFAULT_INSTRUCTIONS}\n\n{said}"
    rest = {key: value for key, value in body.items() if key != "description"}
    return {**rest, "prompt_config": {**given, "system_instructions": instructions}}
