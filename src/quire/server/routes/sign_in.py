"""Routes by which people sign in with a token, and out again."""

import math
from time import monotonic

from fastapi import APIRouter, Request, Response
from pydantic import Field

from quire.server.access import COOKIE, Unauthorized, site_of
from quire.server.error_responses import plain_error
from quire.server.json_answers import AnswerShape, Body, answer_json

router = APIRouter(tags=["access"])
LASTS = 30 * 86_400  # seconds that a browser keeps a token


class SignInBody(Body):
    """A token, as `quire token create` printed it."""

    token: str = Field(max_length=200, repr=False)


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
    site, now = site_of(request), monotonic()
    address = request.client.host if request.client else ""
    if wait := site.sign_in_limit.seconds_to_wait(address, now):
        seconds = math.ceil(wait)
        refused = plain_error(429, "UsageError", f"too many wrong tokens; wait {seconds} seconds")
        refused.headers["Retry-After"] = str(seconds)
        return refused
    known = site.engine(site.settings.workspace).access_tokens.find(asked.token.strip())
    if known is None:
        site.sign_in_limit.note_failure(address, now)
        raise Unauthorized("this token lets nobody in", "`quire token create` makes one")
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
