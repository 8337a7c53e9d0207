"""Apps of sites for tests: each its own, but for the routes, which are looked through once."""

from copy import deepcopy
from functools import cache

from fastapi import FastAPI

from quire.server.site import Site
from quire.web.site_app import make_site_app


def ready_site_app(site: Site) -> FastAPI:
    """An app like `make_site_app`'s, without the tenth of a second that its first requests take.

    Routes know nothing of their app: they find it in the request. What FastAPI makes of their
    signatures when the first request comes is therefore the same for every site, and so is what
    it says of them all, which takes another half second.
    """
    app = make_site_app(site)
    app.router.routes = [*_model_app().router.routes]  # a test may add one
    app.openapi = lambda: deepcopy(_model_app().openapi())  # type: ignore[method-assign]
    return app


@cache
def _model_app() -> FastAPI:
    def open_nothing(workspace: str) -> None:
        raise AssertionError(f"nobody asks for {workspace}")

    return make_site_app(Site(open_nothing))  # type: ignore[arg-type]  # never called
