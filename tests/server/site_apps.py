"""Apps of sites for tests: each its own, but for the routes, which are looked through once."""

from functools import cache

from fastapi import FastAPI
from starlette.routing import BaseRoute

from quire.server.site import Site
from quire.web.site_app import make_site_app


def ready_site_app(site: Site) -> FastAPI:
    """An app like `make_site_app`'s, without the tenth of a second that its first requests take.

    Routes know nothing of their app: they find it in the request. What FastAPI makes of their
    signatures when the first request comes is therefore the same for every site.
    """
    app = make_site_app(site)
    app.router.routes = [*_routes()]  # a test may add one
    return app


@cache
def _routes() -> list[BaseRoute]:
    def open_nothing(workspace: str) -> None:
        raise AssertionError(f"nobody asks for {workspace}")

    return make_site_app(Site(open_nothing)).router.routes  # type: ignore[arg-type]  # never called
