"""The app: routes, who may use them, and errors in one shape."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import quote

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from quire.domain.errors import Error
from quire.domain.version import VERSION
from quire.server.access import Unauthorized
from quire.server.error_responses import ApiErrorBody, error_response, plain_error
from quire.server.guard import HEADERS, Guard
from quire.server.openapi_words import describe_document
from quire.server.routes import (
    audits,
    batches,
    calls,
    controls,
    documents,
    events,
    examples,
    exports,
    health,
    keys,
    limits,
    models,
    plans,
    policy,
    recipes,
    results,
    reviews,
    runs,
    schema_drafts,
    schemas,
    sign_in,
    spend,
    strips,
    tokens,
    wallets,
    webhooks,
)
from quire.server.site import Site

__all__ = ["HEADERS", "ROUTERS", "make_app"]

ROUTERS = (
    health.router,
    documents.router,
    examples.router,
    schema_drafts.router,
    schemas.router,
    recipes.router,
    models.router,
    plans.router,
    runs.router,
    results.router,
    strips.router,
    reviews.router,
    audits.router,
    controls.router,
    calls.router,
    batches.router,
    events.router,
    exports.router,
    spend.router,
    wallets.router,
    limits.router,
    keys.router,
    webhooks.router,
    policy.router,
    tokens.router,
    sign_in.router,
)


def make_app(site: Site) -> FastAPI:
    """The HTTP API of a site."""

    @asynccontextmanager
    async def close_site(app: FastAPI) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(site.close)

    app = FastAPI(
        title="Quire",
        version=VERSION,
        lifespan=close_site,
        docs_url=None,  # its script comes from another host
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        responses={"4XX": {"model": ApiErrorBody}, "503": {"model": ApiErrorBody}},
        generate_unique_id_function=_operation_id,
    )
    app.state.site = site
    for router in ROUTERS:
        app.include_router(router)
    _answer_errors(app)
    describe_document(app)
    app.add_middleware(Guard, max_upload=site.settings.max_upload)
    return app


def _is_page(request: Request) -> bool:
    """Whether a person waits for a page."""
    wanted = "text/html" in request.headers.get("accept", "")
    return wanted and request.method == "GET" and not request.url.path.startswith("/v1/")


def _operation_id(route: APIRoute) -> str:
    return route.name


def _answer_errors(app: FastAPI) -> None:
    @app.exception_handler(Error)
    def answer_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, Error)
        if isinstance(error, Unauthorized) and _is_page(request):
            query = f"?{request.url.query}" if request.url.query else ""
            return RedirectResponse(f"/signin?next={quote(request.url.path + query)}", 303)
        return error_response(error)

    @app.exception_handler(RequestValidationError)
    def answer_invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"][1:]) or "the body"
        message = f"{place}: {first['msg']}".encode(errors="replace").decode()
        return plain_error(422, "UsageError", message)

    @app.exception_handler(HTTPException)
    def answer_refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        refused = plain_error(error.status_code, "UsageError", str(error.detail))
        refused.headers.update(error.headers or {})
        return refused
