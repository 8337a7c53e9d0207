"""The page where people sign in with a token."""

import re
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse

from quire.web.pages import render_plain

router = APIRouter()
_PATH = r"(/|(/[A-Za-z0-9_.~%@-]+)+/?)"  # no scheme, no host, no empty part
_QUERY = r"(\?[A-Za-z0-9_.~%@!$&'()*+,;=:/?-]*)?"  # what an address has without being quoted
_OWN_PLACE = re.compile(_PATH + _QUERY)


@router.get("/signin")
def sign_in_page(next: Annotated[str, Query()] = "/") -> HTMLResponse:
    """Ask for a token; it says nothing about what is here, and leads to no other site."""
    return render_plain("signin.html", next=next if _OWN_PLACE.fullmatch(next) else "/")
