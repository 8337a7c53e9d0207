"""Jump: from the search field to a run, a document, a call or a page, or to a list of what fits.

While somebody types, a few places are suggested. All that could be is read at once, in as many
statements however much there is, and remembered for a moment: the next letter asks no ledger.
"""

import re
from collections.abc import Sequence
from typing import Annotated, NamedTuple

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from quire.domain.errors import NotFound
from quire.engine import Engine
from quire.engine.recipe_list import RecipeList
from quire.server.access import AskedEngine, Principal, find_principal, site_of
from quire.web.pages import TABS, render

router = APIRouter()
MOST = 30  # places that are listed
MOST_SUGGESTED = 8
MOST_TITLES = 5_000  # of documents that are looked through, the newest
MOST_RUNS = 200  # the same of runs
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
    found = _match(_read_places(engine), asked.casefold()) if asked else []
    if len(found) == 1:
        return RedirectResponse(found[0].href, 303)
    return _list(request, principal, asked, found)


@router.get("/jump/places")
def suggest_places(
    request: Request,
    principal: Annotated[Principal, Depends(find_principal)],
    engine: AskedEngine,
    q: Annotated[str, Query(max_length=400)] = "",
) -> HTMLResponse:
    """Say what somebody may mean who types, the likeliest first."""
    asked = " ".join(q.split()).casefold()
    answers = site_of(request).recall(engine)
    every = answers.get(("places", principal.workspace), lambda: _read_places(engine))
    found = [*_numbered_places(asked), *_match(every, asked)] if asked else []
    return render(request, "jump_places.html", principal, found=found[:MOST_SUGGESTED])


def _numbered_places(asked: str) -> list[JumpPlace]:
    """Where a number with its noun leads; of a bare one, the run is among the places."""
    named = _NUMBERED.fullmatch(asked)
    place = _PLACES.get(named[1] or "") if named else None
    if not named or not place or named[1] == "run":
        return []
    number = int(named[2])
    kind = "document" if named[1] == "doc" else named[1]
    return [JumpPlace(kind, f"{kind} {number}", place.format(number))]


def _match(places: Sequence[JumpPlace], words: str) -> list[JumpPlace]:
    """Those whose name contains a text; those that begin with it first, as `run 12` does."""
    named = [(place, place.name.casefold()) for place in places]
    begins = [
        place
        for place, name in named
        if name.startswith(words) or f"{place.kind} {name}".startswith(words)
    ]
    return [*begins, *(place for place, name in named if words in name and place not in begins)]


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


def _read_places(engine: Engine) -> list[JumpPlace]:
    """Pages, runs, schemas, recipes and documents, the newest of each."""
    runs = engine.listings.newest_run_names(MOST_RUNS)
    recipes = RecipeList(engine.registry).lines()
    titles = reversed(engine.listings.newest_titles(MOST_TITLES))
    return [
        *(JumpPlace("page", tab.name, tab.path) for tab in TABS),
        *(JumpPlace("run", f"{number} · {name}", f"/runs/{number}") for number, name in runs),
        *(JumpPlace("schema", s.label, f"/new?schema={s.label}") for s in engine.schemas()),
        *(JumpPlace("recipe", line.name, f"/recipes/{line.name}") for line in recipes),
        *(JumpPlace("document", title, f"/documents/{number}") for number, title in titles),
    ]
