"""Pages: how they are rendered, what all of them know, and where their files are."""

from pathlib import Path
from typing import Any, NamedTuple

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from quire.domain.version import VERSION
from quire.server.access import Principal, site_of
from quire.web.header_numbers import read_header
from quire.web.page_words import FILTERS, show_controls

_HERE = Path(__file__).parent


class Tab(NamedTuple):
    """A place that every page links to."""

    path: str
    name: str


TABS = (
    Tab("/", "Home"),
    Tab("/documents", "Documents"),
    Tab("/new", "New run"),
    Tab("/runs", "Runs"),
    Tab("/spend", "Spend"),
    Tab("/settings", "Settings"),
)


# Pages that stand below another's place in the navigation, though their address does not.
_BELOW = {"calls": "/runs", "audits": "/runs", "experiments": "/runs", "recipes": "/settings"}


def _lit_tab(path: str) -> str:
    """The place in the navigation that a page belongs to; "" where it is none of them."""
    first = path.split("/")[1]
    place = _BELOW.get(first, f"/{first}")
    return place if place in {tab.path for tab in TABS} else ""


def make_templates() -> Environment:
    """The templates: every value is escaped, and a name that nobody gave is an error."""
    templates = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        finalize=show_controls,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters.update(FILTERS)
    return templates


_TEMPLATES = make_templates()


def render(
    request: Request, name: str, principal: Principal, *, status: int = 200, **values: Any
) -> HTMLResponse:
    """A page from its template; all know who looks, when, where, and the numbers of the header."""
    engine = site_of(request).engine(principal.workspace)
    url = request.url
    page = _TEMPLATES.get_template(name).render(
        tabs=TABS,
        here=url.path,
        lit=_lit_tab(url.path),
        url=f"{url.path}?{url.query}" if url.query else url.path,
        now=engine.runtime.now(),
        header=read_header(request.app.state.header, engine, principal.workspace),
        principal=principal,
        version=VERSION,
        **values,
    )
    return HTMLResponse(page, status)


def render_plain(name: str, **values: str) -> HTMLResponse:
    """A page that knows nothing: for whoever is not signed in."""
    return HTMLResponse(_TEMPLATES.get_template(name).render(version=VERSION, **values))


def add_static_files(app: FastAPI) -> None:
    """Serve the style sheet and the script."""
    app.mount("/static", StaticFiles(directory=_HERE / "static"), name="static")
