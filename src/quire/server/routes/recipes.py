"""Routes about recipes: listed, shown, and checked as text."""

from dataclasses import asdict

from fastapi import APIRouter, Response
from pydantic import Field

from quire.domain.errors import NotFound
from quire.engine.recipe_list import RecipeList, graph_json
from quire.server.access import AccessRole, AskedEngine, requires
from quire.server.json_answers import AnswerShape, Body, answer_json

router = APIRouter(tags=["recipes"])


class RecipeLineShape(AnswerShape):
    """A recipe that can be named."""

    name: str = Field(examples=["summarise"])
    stages: int | None
    description: str


class RecipeListShape(AnswerShape):
    """The recipes of this installation."""

    items: list[RecipeLineShape]
    next: str | None = None


class RecipeText(Body):
    """A recipe's file."""

    text: str = Field(max_length=1_000_000)


class MistakesShape(AnswerShape):
    """What is wrong with a recipe, and where."""

    stages: int
    mistakes: list[AnswerShape]


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
    "/v1/recipes/{name}", response_model=AnswerShape, dependencies=[requires(AccessRole.VIEWER)]
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
