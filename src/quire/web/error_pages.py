"""Error pages: what goes wrong on a page, in the words of the API, with a way on."""

import json
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from quire.domain.errors import Error
from quire.server.access import find_principal
from quire.web.pages import render

Handler = Callable[[Request, Exception], Response]


def add_error_pages(app: FastAPI) -> None:
    """Show errors to whoever waits for a page as a page; programs get what they got before."""
    for kind in (Error, RequestValidationError, HTTPException):
        earlier: Any = app.exception_handlers[kind]
        app.add_exception_handler(kind, _with_page(earlier))


def _with_page(answer: Handler) -> Handler:
    def answer_as_page(request: Request, error: Exception) -> Response:
        response = answer(request, error)
        wants_page = "text/html" in request.headers.get("accept", "")
        if not wants_page or not isinstance(response, JSONResponse):
            return response
        if request.url.path.startswith(("/v1/", "/static/")):
            return response
        problem = json.loads(bytes(response.body))["error"]
        try:
            principal = find_principal(request)
            status = response.status_code
            return render(request, "error.html", principal, status=status, problem=problem)
        except Error:  # the ledger is away, or nobody is signed in: said without a page
            return response

    return answer_as_page
