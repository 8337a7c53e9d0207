"""The pages of recipes: all of them, and one with its graph, stages, prompts and gates."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse

from quire.domain.errors import NotFound
from quire.engine.recipe_list import RecipeList
from quire.recipes.recipe_drawing import describe_stage
from quire.server.access import AskedEngine, Principal, find_principal
from quire.web.pages import render
from quire.web.stage_graph import draw_graph

router = APIRouter()
Viewer = Annotated[Principal, Depends(find_principal)]


@router.get("/recipes")
def list_recipes(request: Request, principal: Viewer, engine: AskedEngine) -> HTMLResponse:
    """Show the recipes that come with Quire and with installed packages."""
    lines = RecipeList(engine.registry).lines()
    return render(request, "recipes.html", principal, recipes=lines)


@router.get("/recipes/{name}")
def show_recipe(
    request: Request, principal: Viewer, engine: AskedEngine, name: str
) -> HTMLResponse:
    """Show one recipe; a path to a file is no name, and is not read."""
    known = RecipeList(engine.registry)
    if name not in {line.name for line in known.lines()}:
        raise NotFound(f"there is no recipe {name!r}", "/recipes lists them")
    file = known.open(name)
    return render(
        request,
        "recipe.html",
        principal,
        recipe=file.recipe,
        parameters=list(file.parameters.values()),
        graph=draw_graph(file.recipe),
        about={stage.name: describe_stage(stage) for stage in file.recipe.stages},
        recipe_name=name,
    )
