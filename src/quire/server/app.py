"""The app: routes, who may use them, security headers, and errors in one shape."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from quire.domain.errors import Error
from quire.domain.version import VERSION
from quire.server.access import refusal_of_request
from quire.server.error_responses import ApiErrorBody, error_response, plain_error
from quire.server.routes import health, results, schema_drafts, strips
from quire.server.site import Site

ROUTERS = (health.router, results.router, schema_drafts.router, strips.router)

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
        " connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def make_app(site: Site) -> FastAPI:
    """The HTTP API of a site."""

    @asynccontextmanager
    async def close_site(app: FastAPI) -> AsyncIterator[None]:
        yield
        site.close()

    app = FastAPI(
        title="Quire",
        version=VERSION,
        lifespan=close_site,
        docs_url=None,  # its script comes from another host
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        responses={"4XX": {"model": ApiErrorBody}, "503": {"model": ApiErrorBody}},
    )
    app.state.site = site
    for router in ROUTERS:
        app.include_router(router)
    _answer_errors(app)
    app.middleware("http")(_guard)
    return app


def _answer_errors(app: FastAPI) -> None:
    @app.exception_handler(Error)
    def answer_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, Error)
        return error_response(error)

    @app.exception_handler(RequestValidationError)
    def answer_invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"][1:]) or "the body"
        return plain_error(422, "UsageError", f"{place}: {first['msg']}")

    @app.exception_handler(HTTPException)
    def answer_refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return plain_error(error.status_code, "UsageError", str(error.detail))


async def _guard(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
    """Refuse what comes from elsewhere, and say to browsers what pages may do."""
    refusal = refusal_of_request(request)
    response = plain_error(403, "Forbidden", refusal) if refusal else await answer(request)
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response
