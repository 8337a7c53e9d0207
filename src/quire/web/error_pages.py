"""Error pages: what goes wrong on a page, in the words of the API, with a way on."""

import json
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from quire.domain.errors import Error, NotFound
from quire.server.access import find_principal
from quire.web.pages import render

Handler = Callable[[Request, Exception], Response]
TITLES = {401: "Sign in first", 403: "You may not do that", 404: "There is nothing here"}
OUR_FAULT = "Something went wrong"  # from 500 on
NO_PAGE = "There is no page at this address."
LISTS = {  # where what an address names is listed
    "runs": ("/runs", "all runs"),
    "calls": ("/runs", "all runs"),
    "experiments": ("/experiments", "all experiments"),
    "audits": ("/runs", "all runs"),
    "documents": ("/documents", "all documents"),
    "recipes": ("/recipes", "all recipes"),
}


def add_error_pages(app: FastAPI) -> None:
    """Show errors to whoever waits for a page as a page; programs get what they got before."""
    for kind in (Error, RequestValidationError, HTTPException):
        earlier: Any = app.exception_handlers[kind]
        app.add_exception_handler(kind, _with_page(earlier))
    app.state.show_problem = show_problem


def _with_page(answer: Handler) -> Handler:
    def answer_as_page(request: Request, error: Exception) -> Response:
        return show_problem(request, answer(request, error))

    return answer_as_page


def show_problem(request: Request, response: Response) -> Response:
    """The answer to a request that failed, as a page if that is what was asked for."""
    wants_page = "text/html" in request.headers.get("accept", "")
    if not wants_page or not isinstance(response, JSONResponse):
        return response
    if request.url.path.startswith(("/v1/", "/static/")):
        return response
    problem = json.loads(bytes(response.body))["error"]
    status = response.status_code
    if status == 404 and problem["kind"] != NotFound.__name__:  # no route has that address
        problem["message"] = NO_PAGE
    try:
        return render(
            request,
            "error.html",
            find_principal(request),
            status=status,
            problem=problem,
            heading=OUR_FAULT if status >= 500 else TITLES.get(status, "That is not possible"),
            listed=LISTS.get(request.url.path.split("/")[1]),
        )
    except Error:  # the ledger is away, or nobody is signed in: said without a page
        return response
