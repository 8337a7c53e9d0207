"""The whole site: the HTTP API and the pages in one app."""

from fastapi import FastAPI

from quire.server.app import make_app
from quire.server.site import Site
from quire.web import (
    audit_pages,
    calls,
    documents,
    experiments,
    home,
    jump,
    new_run,
    recipes,
    review,
    runs,
    settings,
    sign_in,
    spend,
)
from quire.web.error_pages import add_error_pages
from quire.web.header_numbers import KEPT, HeaderMemory
from quire.web.pages import add_static_files

PAGES = (
    audit_pages.router,
    documents.router,
    home.router,
    jump.router,
    review.router,
    new_run.router,
    runs.router,
    calls.router,
    recipes.router,
    spend.router,
    settings.router,
    experiments.router,
    sign_in.router,
)


def make_site_app(site: Site) -> FastAPI:
    """The HTTP API of a site, with its pages."""
    app = make_app(site)
    app.state.header = HeaderMemory(KEPT)
    app.state.home = home.HomeMemory(home.KEPT)
    for router in PAGES:
        app.include_router(router, include_in_schema=False)
    add_static_files(app)
    add_error_pages(app)
    return app
