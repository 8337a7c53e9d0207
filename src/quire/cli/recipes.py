"""Commands that list, check, show, draw and start recipes."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.options import AsJson, argument, option
from quire.cli.printing import note, print_json, print_pairs, print_table, quantity, say
from quire.cli.session import USAGE, print_outcome, session
from quire.domain.errors import Conflict, FileMistake, UsageError

if TYPE_CHECKING:
    from quire.domain.recipes import Recipe, Stage
    from quire.engine import Parameter
    from quire.engine.recipe_list import RecipeList, StageTasks

app = typer.Typer(
    help="Recipes: several stages over the same documents.",
    epilog="Example: quire recipe list",
    no_args_is_help=True,
)

Name = Annotated[str, argument("NAME", "A recipe's name, or its file's path.")]


@app.command("list", epilog="Example: quire recipe list")
def list_all(context: typer.Context, as_json: AsJson = False) -> None:
    """List the recipes that come with Quire and with installed packages."""
    lines = _recipe_list(context).lines()
    if as_json:
        print_json([line._asdict() for line in lines])
    else:
        rows = [(line.name, line.stages, line.description) for line in lines]
        print_table(("name", ">stages", "*description"), rows)


@app.command(epilog="Example: quire recipe check mine.toml theirs.toml")
def check(
    context: typer.Context,
    files: Annotated[list[str], argument("FILE...", "Recipes' files, or names.")],
    as_json: AsJson = False,
) -> None:
    """Say everything that is wrong with recipes, as FILE:LINE: MESSAGE."""
    recipes = _recipe_list(context)
    found = {file: recipes.check(file) for file in files}
    if as_json:
        print_json(
            [
                {"file": file, "mistakes": [asdict(mistake) for mistake in mistakes]}
                for file, (_, mistakes) in found.items()
            ]
        )
    else:
        for file, (stages, mistakes) in found.items():
            _print_mistakes(context, file, stages, mistakes)
    if any(mistakes for _, mistakes in found.values()):
        raise typer.Exit(USAGE)


@app.command(epilog="Example: quire recipe show summarise --documents 20")
def show(
    context: typer.Context,
    name: Name,
    models: Annotated[
        int | None, option("N", "Count the tasks of a run with N models.", "--models", min=1)
    ] = None,
    documents: Annotated[
        int | None, option("N", "Count the tasks of a run over N documents.", "--documents", min=1)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a recipe's stages and what can be chosen; and how many tasks that makes."""
    recipes = _recipe_list(context)
    counted = models is not None or documents is not None
    counts = recipes.count_tasks(name, models or 1, documents or 1) if counted else []
    if as_json:
        tasks = {"tasks": [count._asdict() for count in counts]} if counted else {}
        print_json({**recipes.as_json(name), **tasks})
        return
    file = recipes.open(name)
    recipe = file.recipe
    print_pairs(
        [
            ("recipe", f"{recipe.name}, version {recipe.version}"),
            ("about", recipe.description),
            ("file", str(recipes.find(name))),
            ("inputs", ", ".join(_input_words(name, recipe) for name in recipe.inputs)),
        ]
    )
    if file.parameters:
        say()
        rows = [[*_parameter_row(parameter)] for parameter in file.parameters.values()]
        print_table(("parameter", "type", "*default", "*description"), rows)
    say()
    _print_stages(recipe, counts)
    if counted:
        say(_total_line(counts, models or 1, documents or 1))


def _print_stages(recipe: "Recipe", counts: "Sequence[StageTasks]") -> None:
    """The table of stages, with their tasks where they were counted."""
    tasks = {count.stage: [_count_words(count)] for count in counts}
    columns = ("stage", *([">tasks"] if counts else []))
    rows = [
        [stage.name, *tasks.get(stage.name, ()), *_stage_row(stage, recipe)]
        for stage in recipe.stages
    ]
    columns = (*columns, "*about", "*reads", "*asks", "gates", "~answers")
    print_table(columns, rows, narrowing=[("gates", None), ("asks", None)])


@app.command(epilog="Example: quire recipe graph summarise --format mermaid")
def graph(
    context: typer.Context,
    name: Name,
    form: Annotated[str, option("text|mermaid|dot", "How to draw it.", "--format")] = "text",
    as_json: AsJson = False,
) -> None:
    """Draw which stage reads which."""
    from quire.engine.recipe_list import GRAPH_FORMATS, draw_recipe, graph_json

    if form not in GRAPH_FORMATS:
        *others, last = GRAPH_FORMATS
        raise UsageError(f"--format must be {', '.join(others)} or {last}")
    recipe = _recipe_list(context).open(name).recipe
    if as_json:
        print_json(graph_json(recipe))
    else:
        say(draw_recipe(recipe, form))


@app.command(epilog="Example: quire recipe new obligations")
def new(
    context: typer.Context,
    name: Annotated[str, argument("NAME", "NAME.toml is written.")],
    as_json: AsJson = False,
) -> None:
    """Start a recipe's file, with remarks that say what to write where."""
    from quire.engine.recipe_list import starter_recipe

    path = Path(name if name.endswith(".toml") else f"{name}.toml")
    text = starter_recipe(path.stem)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise Conflict(f"{path} is there already; choose another name, or remove it") from None
    said = f"{path} is written; `quire recipe check {path}` says what is wrong with it"
    print_outcome(context, as_json, {"file": str(path), "name": path.stem}, said)


def _recipe_list(context: typer.Context) -> "RecipeList":
    from quire.engine.recipe_list import RecipeList

    found = RecipeList()
    for line in () if session(context).quiet else found.warnings:
        note(f"quire: {line}")
    return found


def _print_mistakes(
    context: typer.Context, file: str, stages: int, mistakes: list[FileMistake]
) -> None:
    for mistake in mistakes:
        say(str(mistake))
    if not mistakes and not session(context).quiet:
        say(f"{file}: {quantity(stages, 'stage')}, no mistakes")


def _parameter_row(parameter: "Parameter") -> Iterator[str]:
    yield parameter.name
    yield parameter.kind
    yield (
        "must be given" if parameter.required else json.dumps(parameter.default, ensure_ascii=False)
    )
    among = f"one of {', '.join(map(str, parameter.choices))}" if parameter.choices else ""
    given = "--prompt FILE gives it" if parameter.prompt else ""
    yield "; ".join(filter(None, [parameter.description, among, given]))


def _input_words(name: str, recipe: "Recipe") -> str:
    """An input, and whether --attach fills it."""
    return f"{name} (--attach PATH fills it)" if name == recipe.attach else name


def _stage_row(stage: "Stage", recipe: "Recipe") -> Iterator[str]:
    from quire.engine.recipe_list import describe_subject

    yield describe_subject(stage)
    yield ", ".join(stage.upstream)
    yield ", ".join(stage.models) or _model_source(stage, recipe)
    yield ", ".join(gate.name for gate in stage.gates)
    yield f"records: {', '.join(stage.schema.properties)}" if stage.schema else "text"


def _model_source(stage: "Stage", recipe: "Recipe") -> str:
    """Who is asked by a stage that names nobody: all, or whoever gave the result it is about."""
    if stage.asks_all:
        return "all models"
    stages = {item.name: item for item in recipe.stages}
    while stage.of:
        stage = stages[stage.of]
        if stage.models or stage.asks_all:
            return "same"
    return "the run's model"


def _count_words(count: "StageTasks") -> str:
    return f"{count.tasks:,} a block" if count.per_block else f"{count.tasks:,}"


def _total_line(counts: "Sequence[StageTasks]", models: int, documents: int) -> str:
    """What all stages come to, with what they were counted."""
    total = quantity(sum(count.tasks for count in counts if not count.per_block), "task")
    blocks = sum(count.tasks for count in counts if count.per_block)
    more = f", and {blocks:,} for each block" if blocks else ""
    return f"{total}{more}: with {quantity(models, 'model')}, {quantity(documents, 'document')}"
