"""Recipe files: TOML becomes a checked recipe, or every mistake with its line; new files."""

import math
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

from quire.domain.data import Json, as_object
from quire.domain.errors import FileMistake, NotFound, RecipeInvalid, UsageError
from quire.domain.ids import slug
from quire.domain.recipes import Recipe
from quire.recipes.plugin_registry import Registry
from quire.recipes.recipe_checks import NAME, order_stages, recipe_problems
from quire.recipes.recipe_parameters import (
    Parameter,
    choose_values,
    fill_samples,
    read_declarations,
)
from quire.recipes.recipe_problems import (
    KeyPath,
    Problems,
    RecipeProblem,
    find_lines,
    merge_problems,
    rule_problems,
)
from quire.recipes.schema_parameters import fill_schemas, schema_parameter_problems
from quire.recipes.setting_rules import TEXT, Rule, unknown_message
from quire.recipes.stage_tables import read_stage

LARGEST_FILE = 4 * 1024 * 1024
DEEPEST = 60  # levels of tables and lists
ENDING = ".toml"
NO_SUCH_FILE = "there is no such file"
_WHERE = re.compile(r"(.*?)\s*\(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)
TOP_RULES: Mapping[str, Rule] = {
    "name": TEXT,
    "version": TEXT,
    "description": TEXT,
    "inputs": Rule(
        wanted="a list of names",
        allows=lambda value: isinstance(value, list) and all(map(TEXT.allows, value)),
    ),
    "attach": TEXT,
    "parameters": Rule(wanted="a table", allows=lambda value: isinstance(value, Mapping)),
    "stages": Rule(
        wanted="a list of tables, each written as [[stages]]",
        allows=lambda value: isinstance(value, list),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipeFile:
    """A checked recipe, and what can be chosen when it is run."""

    recipe: Recipe
    parameters: Mapping[str, Parameter]


def read_recipe_file(
    text: bytes,
    name: str,
    *,
    folder: Path | None,
    registry: Registry,
    given: Mapping[str, Json] | None = None,
) -> RecipeFile:
    """Read a recipe's file; `name` is what mistakes are told under, paths start at `folder`.

    Without a folder no other file is read. Without `given`, parameters may be missing: the recipe
    is looked at, and not run.
    """
    body, decoded = _parse_toml(text, name)
    lines = find_lines(decoded)
    declarations, problems = read_declarations(as_object(body.get("parameters")))
    values, missing = choose_values(declarations, given or {}, complete=given is not None)
    found, wrong = _read_top_level(fill_schemas(body, values), name, _reader_of(folder))
    problems += schema_parameter_problems(body, declarations)
    recipe, uncounted = fill_samples(replace(found, parameters=values), declarations)
    complete = not missing and len(values) == len(declarations)
    checks = recipe_problems(recipe, registry, frozenset(declarations), complete)
    if mistakes := merge_problems([*wrong, *problems, *missing, *uncounted], checks):
        file_mistakes = dict.fromkeys(mistake.as_file_mistake(name, lines) for mistake in mistakes)
        by_line: list[FileMistake] = sorted(file_mistakes, key=lambda mistake: mistake.line)
        raise RecipeInvalid(name, by_line)
    return RecipeFile(recipe=order_stages(recipe), parameters=declarations)


def open_recipe(
    where: str | Path, registry: Registry, given: Mapping[str, Json] | None = None
) -> RecipeFile:
    """Read a recipe by its name in the registry, or by its file's path."""
    path = find_recipe(str(where), registry)
    text = _FolderFiles(path.parent)(path.name)
    return read_recipe_file(text, str(path), folder=path.parent, registry=registry, given=given)


def load_recipe(where: str | Path, registry: Registry, given: Mapping[str, Json]) -> Recipe:
    """Read a recipe to be run, by its name or its file's path."""
    return open_recipe(where, registry, given).recipe


class RecipeFileMissing(NotFound):
    """There is no such file."""


def find_recipe(where: str, registry: Registry) -> Path:
    """The file of a recipe: what looks like a path is one, all else is a name."""
    path = Path(where)
    if where.endswith(ENDING) or "/" in where or path.is_file():
        if not path.is_file():
            raise RecipeFileMissing(f"{where}: {NO_SUCH_FILE}")
        return path
    if where not in registry.recipes:
        raise NotFound(
            f"there is no file {where!r}, and a recipe of that name"
            f" {unknown_message(where, registry.recipes)}"
        )
    return registry.recipes[where]


@dataclass(frozen=True, slots=True)
class _FolderFiles:
    """The files of a folder; only ordinary ones of ordinary size are read."""

    folder: Path

    def __call__(self, path: str) -> bytes:
        file = self.folder / path
        if not file.is_file():
            raise FileNotFoundError(2, NO_SUCH_FILE, str(file))
        if file.stat().st_size > LARGEST_FILE:
            raise OSError(27, f"it is larger than {LARGEST_FILE:,} bytes", str(file))
        return file.read_bytes()


def _reader_of(folder: Path | None) -> Callable[[str], bytes]:
    return _refuse_file if folder is None else _FolderFiles(folder)


def _refuse_file(path: str) -> bytes:
    raise FileNotFoundError(2, "other files are not read here", path)


def _parse_toml(text: bytes, name: str) -> tuple[dict[str, Json], str]:
    try:
        decoded = text.decode("utf-8-sig")
        body: dict[str, Json] = tomllib.loads(decoded)
        if not _is_too_deep(body):
            return body, decoded
        mistake = FileMistake(name, 1, f"tables are nested more than {DEEPEST} levels deep")
    except UnicodeDecodeError as error:
        line = text.count(b"\n", 0, error.start) + 1
        mistake = FileMistake(name, line, f"not UTF-8 at byte {error.start}")
    except tomllib.TOMLDecodeError as error:
        mistake = _syntax_mistake(str(error), name, decoded)
    except (RecursionError, ValueError) as error:
        mistake = FileMistake(name, 1, f"not usable TOML: {error}"[:200])
    raise RecipeInvalid(name, [mistake])


def _is_too_deep(body: Json) -> bool:
    """Dotted keys nest as deep as a line is long, and nothing after this counts levels."""
    level: list[object] = [body]
    for _ in range(DEEPEST):
        tables = [item.values() for item in level if isinstance(item, Mapping)]
        lists = [item for item in level if isinstance(item, list)]
        level = [value for view in (*tables, *lists) for value in view]
    return bool(level)


def _syntax_mistake(message: str, name: str, text: str) -> FileMistake:
    found = _WHERE.fullmatch(message)
    if found is None:
        return FileMistake(name, 1, f"not TOML: {message}")
    line = int(found[2]) if found[2] else max(len(text.splitlines()), 1)
    column = f" (column {found[3]})" if found[3] else " (at the end)"
    return FileMistake(name, line, f"not TOML: {found[1]}{column}")


def _read_top_level(
    body: dict[str, Json], name: str, files: Callable[[str], bytes]
) -> tuple[Recipe, list[RecipeProblem]]:
    """What the file says, without its parameters, and what could not be understood of it."""
    problems = [*_non_json_problems(body, ()), *rule_problems(body, TOP_RULES, ())]
    wrong = {problem.path for problem in problems}
    values = {key: value for key, value in body.items() if (key,) not in wrong}
    tables = values.get("stages")
    if "stages" not in body:
        problems.append(RecipeProblem(("stages",), "a recipe needs at least one stage: [[stages]]"))
    listed = tables if isinstance(tables, list) else []
    read = [read_stage(table, number, files) for number, table in enumerate(listed)]
    problems += [problem for stage in read for problem in stage.problems]
    inputs = values.get("inputs")
    recipe = Recipe(
        name=str(values.get("name") or slug(Path(name).stem) or "recipe"),
        version=str(values.get("version") or "1"),
        description=str(values.get("description") or ""),
        inputs=tuple(map(str, inputs)) if isinstance(inputs, list) else (),
        attach=str(values.get("attach") or ""),
        stages=tuple(stage.stage for stage in read),
    )
    return recipe, problems


def _non_json_problems(value: object, path: KeyPath) -> Problems:
    """Dates, and numbers that are none: TOML has them, and what a run keeps has not."""
    if isinstance(value, Mapping | list):
        for step, item in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from _non_json_problems(item, (*path, step))
    elif isinstance(value, float) and not math.isfinite(value):
        yield RecipeProblem(path, f"{path[-1]} must be a finite number")
    elif not isinstance(value, str | int | float | bool):
        yield RecipeProblem(path, f"{path[-1]} is a date or time; write it as text, in quotes")


def starter_recipe(name: str) -> str:
    """The file of a new recipe of this name."""
    if not NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is no name for a recipe; use a-z, 0-9 and _, and begin with a letter"
        )
    text = files("quire.recipes").joinpath("starter.toml").read_text("utf-8")
    return text.replace("NAME", name)
