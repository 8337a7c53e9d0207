"""The page where people sign in with a token."""

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from quire.web.pages import render_plain

router = APIRouter()


@router.get("/signin")
def sign_in_page() -> HTMLResponse:
    """Ask for a token; it says nothing about what is here."""
    return render_plain("signin.html")
