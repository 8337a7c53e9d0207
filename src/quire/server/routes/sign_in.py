"""Routes by which people sign in with a token, and out again."""

from fastapi import APIRouter, Request, Response
from pydantic import Field

from quire.server.access import COOKIE, recognise_token
from quire.server.json_answers import AnswerShape, Body, answer_json

router = APIRouter(tags=["access"])
LASTS = 30 * 86_400  # seconds that a browser keeps a token


class SignInBody(Body):
    """A token, as `quire token create` printed it."""

    token: str = Field(max_length=200, repr=False, examples=["qt_…"])


class SignedInShape(AnswerShape):
    """Who is signed in."""

    name: str
    role: str
    workspace: str


class SignedOutShape(AnswerShape):
    """That nobody is."""

    signed_out: bool


@router.post("/v1/signin", response_model=SignedInShape)
def sign_in(request: Request, asked: SignInBody) -> Response:
    """Sign in with a token: a cookie that no script reads keeps it."""
    known = recognise_token(request, asked.token.strip())
    answer = answer_json({"name": known.name, "role": known.role, "workspace": known.workspace})
    answer.set_cookie(
        COOKIE,
        asked.token.strip(),
        max_age=LASTS,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return answer


@router.post("/v1/signout", response_model=SignedOutShape)
def sign_out() -> Response:
    """Forget the token in this browser; it lets others in until it is revoked."""
    answer = answer_json({"signed_out": True})
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer
