"""Routes about recipes: listed, shown, and checked as text."""

from dataclasses import asdict

from fastapi import APIRouter, Response
from pydantic import Field

from quire.domain.errors import NotFound
from quire.engine.recipe_list import RecipeList, graph_json
from quire.server.access import AccessRole, AskedEngine, requires
from quire.server.json_answers import (
    AnswerShape,
    Body,
    JsonSchema,
    Settings,
    SettingValue,
    answer_json,
)

router = APIRouter(tags=["recipes"])


class RecipeLineShape(AnswerShape):
    """A recipe that can be named."""

    name: str = Field(examples=["summarise"])
    stages: int | None = Field(description="How many; null: it cannot be read.")
    description: str = Field(description="What it does, or why it cannot be read.")


class RecipeListShape(AnswerShape):
    """The recipes of this installation."""

    items: list[RecipeLineShape]
    next: str | None = None


class RecipeText(Body):
    """A recipe's file."""

    text: str = Field(
        max_length=1_000_000,
        description="The text of a recipe's file, in TOML.",
        examples=['name = "mine"\n'],
    )


class FileMistakeShape(AnswerShape):
    """One thing wrong with a recipe's text."""

    file: str = Field(description="Where: in the recipe, or in a file that it names.")
    line: int = Field(description="In which line, from 1.")
    message: str = Field(description="What is wrong.")


class GateShape(AnswerShape):
    """A gate of a stage."""

    name: str = Field(examples=["json"])
    params: Settings = Field(description="What it is told; its names are the gate's own.")


class StageSchemaShape(AnswerShape):
    """The schema of a stage's records."""

    ref: str
    uid: str
    body: JsonSchema = Field(description="The JSON Schema itself.")
    version: int = Field(1, description="Which of those that were kept under its name.")


class RecipeStageShape(AnswerShape):
    """One step of a recipe; what it leaves to the usual may be left out."""

    name: str
    about: str = Field(description="What a task is about: its grouping.", examples=["each_block"])
    schema_: StageSchemaShape | None = Field(
        alias="schema", description="Of its records; null: the answer is text."
    )
    instructions: str = Field(description="What all of its calls begin with.")
    prompt: str = Field(description="What is asked about each subject.")
    params: Settings = Field(
        description="What its calls are told besides, such as temperature or stop."
    )
    gates: list[GateShape] = Field(description="What judges its answers, in order.")
    needs: list[str] = Field(description="Stages whose results the prompt may use.")
    of: str = Field(description="The stage whose results it is about; empty: none.")
    over: str = Field(description="The input it is about; empty: all.")
    samples: int = Field(description="Independent answers to the same question.")
    samples_parameter: str = Field("", description="The parameter that says how many.")
    critic: str = Field(description="record or gate: it judges `of`; empty: no critic.")
    accepts: str = Field(description="Of a critic that decides: when it accepts.")
    models: list[str] = Field(description="Who is asked; none: the run's model.")
    all_models: bool = Field(False, description="All of the run's models are asked.")
    own_model: list[str] = Field([], description="Stages of which it reads its own model's.")
    missing: str = Field("", description="What a failed input does: block or leave_out.")
    policy: Settings = Field(description="Settings in the place of the run's.")
    settings: Settings = Field(description="What its grouping is told; its own names.")
    relevance: dict[str, float] = Field({}, description="Of what it shows, 0 to 1.")
    history: list[list[str]] = Field(
        [], description="What was said before the prompt: a role, a text, a stage."
    )
    templated: bool = Field(description="Instructions and prompt are templates.")
    max_tokens_per_block: int | None = Field(description="Of an answer; null: as needed.")
    max_batch_size: int | None = Field(description="Tasks in a call, at most.")


class ParameterShape(AnswerShape):
    """One thing that can be chosen when a recipe is run."""

    name: str
    kind: str = Field(description="Its type.", examples=["string"])
    required: bool = Field(description="It has no default.")
    default: SettingValue = Field(description="Null where there is none.")
    description: str = Field(description="What it is for.")
    choices: list[SettingValue] = Field(description="What it may be; empty: anything.")
    prompt: bool = Field(description="It is what a person asks for.")


class EdgeShape(AnswerShape):
    """That a stage reads another."""

    source: str = Field(alias="from", description="The stage that is read.")
    to: str = Field(description="The stage that reads.")
    kind: str = Field(description="How.", examples=["needs"])


class GraphShape(AnswerShape):
    """Which stage reads which."""

    name: str
    stages: list[str] = Field(description="Their names, in order.")
    edges: list[EdgeShape] = Field(description="Who reads whom.")


class RecipeShape(AnswerShape):
    """A recipe: its stages, what can be chosen, and which stage reads which."""

    name: str
    version: str = Field(description="Its own version.", examples=["1"])
    description: str = Field(description="What it does.")
    stages: list[RecipeStageShape] = Field(description="In order.")
    facts: Settings = Field(description="What a kit notes in it; its own names.")
    parameters: dict[str, ParameterShape] = Field(description="What can be chosen, by name.")
    inputs: list[str] = Field(description="Its sets of documents; none: one set.")
    attach: str = Field("", description="The input that attached files go to.")
    graph: GraphShape = Field(description="Which stage reads which.")


class MistakesShape(AnswerShape):
    """What is wrong with a recipe, and where."""

    stages: int = Field(description="How many; 0 where something is wrong.")
    mistakes: list[FileMistakeShape] = Field(description="Every one; none: it can be run.")


def _list_of(engine: AskedEngine) -> RecipeList:
    return RecipeList(engine.context.registry)


@router.get(
    "/v1/recipes", response_model=RecipeListShape, dependencies=[requires(AccessRole.VIEWER)]
)
def list_recipes(engine: AskedEngine) -> Response:
    """List the recipes that come with Quire and with installed packages."""
    lines = [
        {"name": line.name, "stages": line.stages, "description": line.description}
        for line in _list_of(engine).lines()
    ]
    return answer_json({"items": lines, "next": None})


@router.get(
    "/v1/recipes/{name}", response_model=RecipeShape, dependencies=[requires(AccessRole.VIEWER)]
)
def get_recipe(engine: AskedEngine, name: str) -> Response:
    """Show a recipe's stages, what can be chosen, and which stage reads which."""
    check_recipe_name(engine, name)
    recipes = _list_of(engine)
    shown = {key: value for key, value in recipes.as_json(name).items() if key != "file"}
    return answer_json({**shown, "graph": graph_json(recipes.open(name).recipe)})


@router.post(
    "/v1/recipes/check", response_model=MistakesShape, dependencies=[requires(AccessRole.VIEWER)]
)
def check_recipe(engine: AskedEngine, asked: RecipeText) -> Response:
    """Say everything that is wrong with a recipe's text; files that it names are not read."""
    stages, mistakes = _list_of(engine).check_text(asked.text)
    listed = [asdict(mistake) for mistake in mistakes]
    return answer_json({"stages": stages, "mistakes": listed})


def check_recipe_name(engine: AskedEngine, name: str) -> str:
    """Refuse what is not the name of an installed recipe: no path of this machine is read."""
    names = engine.context.registry.recipes
    if name not in names:
        known = ", ".join(sorted(names))
        raise NotFound(f"there is no recipe {name!r} here; there are {known}")
    return name
