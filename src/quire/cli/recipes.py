"""Commands that list, check, show, draw and start recipes."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.options import AsJson
from quire.cli.printing import note, print_json, print_pairs, print_table, quantity, say
from quire.cli.session import USAGE, print_outcome, session
from quire.domain.errors import Conflict, Error, FileMistake, RecipeInvalid, UsageError

if TYPE_CHECKING:
    from quire.domain.recipes import Recipe, Stage
    from quire.recipes.plugin_registry import Registry
    from quire.recipes.recipe_files import RecipeFile
    from quire.recipes.recipe_parameters import Parameter

app = typer.Typer(
    help="Recipes: several stages over the same documents.",
    epilog="Example: quire recipe list",
    no_args_is_help=True,
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="A recipe's name, or its file's path.")]


@app.command("list", epilog="Example: quire recipe list")
def list_all(context: typer.Context, as_json: AsJson = False) -> None:
    """List the recipes that come with Quire and with installed packages."""
    registry = _load_registry(context)
    rows = [_recipe_row(name, registry) for name in sorted(registry.recipes)]
    if as_json:
        print_json(rows)
    else:
        columns = ("name", ">stages", "*description")
        print_table(columns, ([row[key.lstrip(">*")] for key in columns] for row in rows))


@app.command(epilog="Example: quire recipe check mine.toml theirs.toml")
def check(
    context: typer.Context,
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Recipes' files, or names.")
    ],
    as_json: AsJson = False,
) -> None:
    """Say everything that is wrong with recipes, as FILE:LINE: MESSAGE."""
    registry = _load_registry(context)
    found = {file: _check_file(file, registry) for file in files}
    if as_json:
        print_json(
            [
                {"file": file, "mistakes": [_mistake_json(mistake) for mistake in mistakes]}
                for file, (_, mistakes) in found.items()
            ]
        )
    else:
        for file, (stages, mistakes) in found.items():
            _print_mistakes(context, file, stages, mistakes)
    if any(mistakes for _, mistakes in found.values()):
        raise typer.Exit(USAGE)


@app.command(epilog="Example: quire recipe show summarise")
def show(context: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Show a recipe's stages and what can be chosen."""
    file, path = _open_recipe(context, name)
    if as_json:
        print_json(_recipe_json(file, path))
        return
    recipe = file.recipe
    print_pairs(
        [
            ("recipe", f"{recipe.name}, version {recipe.version}"),
            ("about", recipe.description),
            ("file", str(path)),
            ("inputs", ", ".join(recipe.inputs)),
        ]
    )
    if file.parameters:
        say()
        rows = [[*_parameter_row(parameter)] for parameter in file.parameters.values()]
        print_table(("parameter", "type", "default", "*description"), rows)
    say()
    columns = ("stage", "*about", "reads", "*asks", "*gates", "answers")
    print_table(columns, [[*_stage_row(stage, recipe)] for stage in recipe.stages])


@app.command(epilog="Example: quire recipe graph summarise --format mermaid")
def graph(
    context: typer.Context,
    name: Name,
    form: Annotated[
        str, typer.Option("--format", metavar="text|mermaid|dot", help="How to draw it.")
    ] = "text",
    as_json: AsJson = False,
) -> None:
    """Draw which stage reads which."""
    from quire.recipes.recipe_drawing import FORMATS, draw, edges

    if form not in FORMATS:
        raise UsageError(f"--format must be {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
    recipe = _open_recipe(context, name)[0].recipe
    if as_json:
        drawn = [{"from": a, "to": b, "kind": kind} for a, b, kind in edges(recipe)]
        print_json({"name": recipe.name, "stages": _stage_names(recipe), "edges": drawn})
    else:
        say(draw(recipe, form))


@app.command(epilog="Example: quire recipe new obligations")
def new(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="NAME.toml is written.")],
    as_json: AsJson = False,
) -> None:
    """Start a recipe's file, with remarks that say what to write where."""
    from quire.recipes.recipe_files import starter_recipe

    path = Path(name if name.endswith(".toml") else f"{name}.toml")
    text = starter_recipe(path.stem)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise Conflict(f"{path} is there already; choose another name, or remove it") from None
    said = f"{path} is written; `quire recipe check {path}` says what is wrong with it"
    print_outcome(context, as_json, {"file": str(path), "name": path.stem}, said)


def _load_registry(context: typer.Context) -> "Registry":
    from quire.recipes.plugin_registry import with_entry_points

    registry = with_entry_points()
    for name in () if session(context).quiet else registry.warnings:
        note(f"quire: {name}")
    return registry


def _open_recipe(context: typer.Context, name: str) -> "tuple[RecipeFile, Path]":
    from quire.recipes.recipe_files import find_recipe, open_recipe

    registry = _load_registry(context)
    return open_recipe(name, registry), find_recipe(name, registry)


def _recipe_row(name: str, registry: "Registry") -> dict[str, object]:
    from quire.recipes.recipe_files import open_recipe

    path = registry.recipes[name]
    try:
        recipe = open_recipe(path, registry).recipe
    except (Error, OSError) as error:  # a package's file may be wrong; the others are listed
        said = error.headline if isinstance(error, Error) else str(error)
        return {"name": name, "file": str(path), "stages": None, "description": f"! {said}"}
    return {
        "name": name,
        "file": str(path),
        "stages": len(recipe.stages),
        "description": recipe.description,
    }


def _check_file(file: str, registry: "Registry") -> tuple[int, list[FileMistake]]:
    """How many stages a recipe has, and what is wrong with it."""
    from quire.recipes.recipe_files import NO_SUCH_FILE, RecipeFileMissing, open_recipe

    try:
        return len(open_recipe(file, registry).recipe.stages), []
    except RecipeInvalid as error:
        return 0, [mistake for mistake in error.mistakes if isinstance(mistake, FileMistake)]
    except RecipeFileMissing:
        return 0, [FileMistake(file, 1, NO_SUCH_FILE)]
    except UsageError as error:
        return 0, [FileMistake(file, 1, str(error))]
    except OSError as error:
        return 0, [FileMistake(file, 1, error.strerror or str(error))]


def _print_mistakes(
    context: typer.Context, file: str, stages: int, mistakes: list[FileMistake]
) -> None:
    for mistake in mistakes:
        say(str(mistake))
    if not mistakes and not session(context).quiet:
        say(f"{file}: {quantity(stages, 'stage')}, no mistakes")


def _mistake_json(mistake: FileMistake) -> dict[str, object]:
    return {"file": mistake.file, "line": mistake.line, "message": mistake.message}


def _recipe_json(file: "RecipeFile", path: Path) -> dict[str, object]:
    from dataclasses import asdict

    from quire.recipes.recipe_snapshots import recipe_to_json

    declared = {name: asdict(parameter) for name, parameter in file.parameters.items()}
    return {**recipe_to_json(file.recipe), "parameters": declared, "file": str(path)}


def _parameter_row(parameter: "Parameter") -> Iterator[str]:
    import json

    yield parameter.name
    yield parameter.kind
    yield (
        "must be given" if parameter.required else json.dumps(parameter.default, ensure_ascii=False)
    )
    among = f"one of {', '.join(map(str, parameter.choices))}" if parameter.choices else ""
    yield "; ".join(filter(None, [parameter.description, among]))


def _stage_row(stage: "Stage", recipe: "Recipe") -> Iterator[str]:
    from quire.recipes.recipe_drawing import describe_subject

    yield stage.name
    yield describe_subject(stage)
    yield ", ".join(stage.upstream)
    yield ", ".join(stage.models) or _model_source(stage, recipe)
    yield ", ".join(gate.name for gate in stage.gates)
    yield f"records: {', '.join(stage.schema.properties)}" if stage.schema else "text"


def _model_source(stage: "Stage", recipe: "Recipe") -> str:
    """Who is asked by a stage that does not say it: whoever gave the result it is about."""
    stages = {item.name: item for item in recipe.stages}
    while stage.of:
        stage = stages[stage.of]
        if stage.models:
            return "same"
    return "the run's model"


def _stage_names(recipe: "Recipe") -> list[str]:
    return [stage.name for stage in recipe.stages]
