"""Schema parameters: bounds in a stage's schema that people choose, such as how many sections."""

from collections.abc import Iterator, Mapping

from quire.domain.data import Json
from quire.recipes.recipe_parameters import Parameter, parameter_name
from quire.recipes.recipe_problems import KeyPath, RecipeProblem
from quire.recipes.setting_rules import unknown_message

BOUNDS = ("minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum")


def fill_schemas(body: Mapping[str, Json], values: Mapping[str, Json]) -> dict[str, Json]:
    """A recipe's tables, their schemas with the values of the parameters that bounds name.

    A parameter that has no value yet bounds nothing: the recipe is looked at, and not run.
    """
    tables = body.get("stages")
    if not isinstance(tables, list):
        return dict(body)
    return {**body, "stages": [_with_filled_schema(table, values) for table in tables]}


def schema_parameter_problems(
    body: Mapping[str, Json], declarations: Mapping[str, Parameter]
) -> Iterator[RecipeProblem]:
    """Bounds that name a parameter which is none."""
    tables = body.get("stages")
    for number, table in enumerate(tables if isinstance(tables, list) else ()):
        schema = table.get("schema") if isinstance(table, Mapping) else None
        for path, name in _named_bounds(schema, ("stages", number, "schema")):
            if name not in declarations:
                message = f"parameters.{name} {unknown_message(name, declarations)}"
                yield RecipeProblem(path, message)


def _with_filled_schema(table: Json, values: Mapping[str, Json]) -> Json:
    if not isinstance(table, Mapping) or not isinstance(table.get("schema"), Mapping):
        return table
    return {**table, "schema": _fill_bounds(table["schema"], values)}


def _fill_bounds(value: Json, values: Mapping[str, Json]) -> Json:
    if isinstance(value, list):
        return [_fill_bounds(item, values) for item in value]
    if not isinstance(value, Mapping):
        return value
    filled: dict[str, Json] = {}
    for key, item in value.items():
        name = parameter_name(item) if key in BOUNDS else ""
        if not name:
            filled[key] = _fill_bounds(item, values)
        elif name in values:
            filled[key] = values[name]
    return filled


def _named_bounds(value: Json, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _named_bounds(item, (*path, number))
    if isinstance(value, Mapping):
        for key, item in value.items():
            name = parameter_name(item) if key in BOUNDS else ""
            if name:
                yield (*path, key), name
            yield from _named_bounds(item, (*path, key))
