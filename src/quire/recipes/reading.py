"""Reading recipe files: TOML becomes a checked recipe, or every mistake with its line."""

import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from quire.domain.data import Json
from quire.domain.errors import FileMistake, NotFound, RecipeInvalid
from quire.domain.ids import slug
from quire.domain.recipes import Recipe
from quire.recipes.checking import in_order, recipe_findings
from quire.recipes.findings import Finding, joined, unlike
from quire.recipes.lines import find_lines
from quire.recipes.parameters import Parameter, chosen, declared
from quire.recipes.registry import Registry
from quire.recipes.rules import TEXT, Rule, unknown
from quire.recipes.tables import read_stage

LARGEST_FILE = 4 * 1024 * 1024
DEEPEST = 60  # levels of tables and lists
ENDING = ".toml"
_WHERE = re.compile(r"(.*?)\s*\(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)
TOP_RULES: Mapping[str, Rule] = {
    "name": TEXT,
    "version": TEXT,
    "description": TEXT,
    "inputs": Rule(
        wanted="a list of names",
        allows=lambda value: isinstance(value, list) and all(map(TEXT.allows, value)),
    ),
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
    folder: Path,
    registry: Registry,
    given: Mapping[str, Json] | None = None,
) -> RecipeFile:
    """Read a recipe's file; `name` is what mistakes are told under, paths start at `folder`.

    Without `given`, parameters may be missing: the recipe is looked at, and not run.
    """
    body, decoded = _parsed(text, name)
    lines = find_lines(decoded)
    found, wrong = _understood(body, name, _Files(folder))
    declarations, findings = declared(_table(body.get("parameters")))
    values, missing = chosen(declarations, given or {}, complete=given is not None)
    recipe = Recipe(
        name=found.name,
        version=found.version,
        description=found.description,
        inputs=found.inputs,
        stages=found.stages,
        parameters=values,
    )
    complete = not missing and len(values) == len(declarations)
    checks = recipe_findings(recipe, registry, frozenset(declarations), complete)
    if mistakes := joined([*wrong, *findings, *missing], checks):
        told = dict.fromkeys(each.in_file(name, lines) for each in mistakes)
        by_line: list[FileMistake] = sorted(told, key=lambda each: each.line)
        raise RecipeInvalid(name, by_line)
    return RecipeFile(recipe=in_order(recipe), parameters=declarations)


def open_recipe(
    where: str | Path, registry: Registry, given: Mapping[str, Json] | None = None
) -> RecipeFile:
    """Read a recipe by its name in the registry, or by its file's path."""
    path = find_recipe(str(where), registry)
    text = _Files(path.parent)(path.name)
    return read_recipe_file(text, str(path), folder=path.parent, registry=registry, given=given)


def load_recipe(where: str | Path, registry: Registry, given: Mapping[str, Json]) -> Recipe:
    """Read a recipe to be run, by its name or its file's path."""
    return open_recipe(where, registry, given).recipe


def find_recipe(where: str, registry: Registry) -> Path:
    """The file of a recipe: what looks like a path is one, all else is a name."""
    path = Path(where)
    if where.endswith(ENDING) or "/" in where or path.is_file():
        if not path.is_file():
            raise NotFound(f"{where}: there is no such file")
        return path
    if where not in registry.recipes:
        raise NotFound(
            f"there is no file {where!r}, and a recipe of that name"
            f" {unknown(where, registry.recipes)}"
        )
    return registry.recipes[where]


@dataclass(frozen=True, slots=True)
class _Files:
    """The files of a folder; only ordinary ones of ordinary size are read."""

    folder: Path

    def __call__(self, path: str) -> bytes:
        file = self.folder / path
        if not file.is_file():
            raise FileNotFoundError(2, "there is no such file", str(file))
        if file.stat().st_size > LARGEST_FILE:
            raise OSError(27, f"it is larger than {LARGEST_FILE:,} bytes", str(file))
        return file.read_bytes()


def _parsed(text: bytes, name: str) -> tuple[dict[str, Json], str]:
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
        mistake = _syntax(str(error), name, decoded)
    except (RecursionError, ValueError) as error:
        mistake = FileMistake(name, 1, f"not usable TOML: {error}"[:200])
    raise RecipeInvalid(name, [mistake])


def _is_too_deep(body: Json) -> bool:
    """Dotted keys nest as deep as a line is long, and nothing after this counts levels."""
    level: list[object] = [body]
    for _ in range(DEEPEST):
        tables = [each.values() for each in level if isinstance(each, Mapping)]
        lists = [each for each in level if isinstance(each, list)]
        level = [value for each in (*tables, *lists) for value in each]
    return bool(level)


def _syntax(said: str, name: str, text: str) -> FileMistake:
    found = _WHERE.fullmatch(said)
    if found is None:
        return FileMistake(name, 1, f"not TOML: {said}")
    line = int(found[2]) if found[2] else max(len(text.splitlines()), 1)
    column = f" (column {found[3]})" if found[3] else " (at the end)"
    return FileMistake(name, line, f"not TOML: {found[1]}{column}")


def _understood(body: dict[str, Json], name: str, files: _Files) -> tuple[Recipe, list[Finding]]:
    """What the file says, without its parameters, and what could not be understood of it."""
    findings = [*_not_json(body, ()), *unlike(body, TOP_RULES, ())]
    wrong = {each.path for each in findings}
    said = {key: value for key, value in body.items() if (key,) not in wrong}
    tables = said.get("stages")
    if "stages" not in body:
        findings.append(Finding(("stages",), "a recipe needs at least one stage: [[stages]]"))
    read = [
        read_stage(table, number, files)
        for number, table in enumerate(tables if isinstance(tables, list) else ())
    ]
    findings += [finding for each in read for finding in each.findings]
    inputs = said.get("inputs")
    recipe = Recipe(
        name=str(said.get("name") or slug(Path(name).stem) or "recipe"),
        version=str(said.get("version") or "1"),
        description=str(said.get("description") or ""),
        inputs=tuple(map(str, inputs)) if isinstance(inputs, list) else (),
        stages=tuple(each.stage for each in read),
    )
    return recipe, findings


def _not_json(value: object, path: tuple[str | int, ...]) -> Iterator[Finding]:
    """Dates, and numbers that are none: TOML has them, and what a run keeps has not."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _not_json(each, (*path, key))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _not_json(each, (*path, number))
    elif isinstance(value, float) and not math.isfinite(value):
        yield Finding(path, f"{path[-1]} must be a finite number")
    elif not isinstance(value, str | int | float | bool):
        yield Finding(path, f"{path[-1]} is a date or time; write it as text, in quotes")


def _table(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}
