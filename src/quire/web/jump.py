"""Jump: from the search field to a run, a document, a call or a page, or to a list of what fits."""

import re
from typing import Annotated, NamedTuple

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from quire.domain.errors import NotFound
from quire.engine import Engine
from quire.engine.recipe_list import RecipeList
from quire.server.access import AskedEngine, Principal, find_principal
from quire.web.pages import TABS, render

router = APIRouter()
MOST = 30  # places that are listed
MOST_TITLES = 5_000  # of documents that are looked through, the newest
_NUMBERED = re.compile(r"(run|document|doc|call|task|audit)?[ #:]*(\d{1,15})", re.IGNORECASE)
_PLACES = {
    "run": "/runs/{}",
    "document": "/documents/{}",
    "doc": "/documents/{}",
    "call": "/calls/{}",
    "audit": "/audits/{}",
}


class JumpPlace(NamedTuple):
    """Something that was looked for, and where it is."""

    kind: str
    name: str
    href: str


@router.get("/jump")
def jump(
    request: Request,
    principal: Annotated[Principal, Depends(find_principal)],
    engine: AskedEngine,
    q: Annotated[str, Query(max_length=400)] = "",
) -> Response:
    """Go where somebody means, or list what they may mean."""
    asked = " ".join(q.split())
    named = _NUMBERED.fullmatch(asked)
    place = _PLACES.get((named[1] or "run").lower()) if named else None
    if named and place and _is_there(engine, named[1], int(named[2])):
        return RedirectResponse(place.format(int(named[2])), 303)
    found = _find(engine, asked.casefold()) if asked else []
    if len(found) == 1:
        return RedirectResponse(found[0].href, 303)
    return _list(request, principal, asked, found)


def _list(
    request: Request, principal: Principal, asked: str, found: list[JumpPlace]
) -> HTMLResponse:
    return render(
        request, "jump.html", principal, asked=asked, found=found[:MOST], titles=MOST_TITLES
    )


def _is_there(engine: Engine, kind: str | None, number: int) -> bool:
    """Whether a run has that number; of other things the page itself says so."""
    if kind and kind.lower() != "run":
        return True
    try:
        engine.queries.must_get(number)
    except NotFound:
        return False
    return True


def _find(engine: Engine, words: str) -> list[JumpPlace]:
    """Pages, runs, schemas, recipes and documents whose name contains a text."""
    runs = [(run.id, engine.queries.head(run.id).name) for run in engine.runs(200, drafts=True)]
    recipes = RecipeList(engine.registry).lines()
    titles = reversed(engine.listings.newest_titles(MOST_TITLES))
    every = [
        *(JumpPlace("page", tab.name, tab.path) for tab in TABS),
        *(JumpPlace("run", f"{number} · {name}", f"/runs/{number}") for number, name in runs),
        *(JumpPlace("schema", s.label, f"/new?schema={s.label}") for s in engine.schemas()),
        *(JumpPlace("recipe", line.name, f"/recipes/{line.name}") for line in recipes),
        *(JumpPlace("document", title, f"/documents/{number}") for number, title in titles),
    ]
    return [place for place in every if words in place.name.casefold()]
