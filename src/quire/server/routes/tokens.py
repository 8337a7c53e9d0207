"""Routes about tokens: who may ask this server, and as what."""

from fastapi import APIRouter, Response
from pydantic import Field

from quire.server.access import AccessRole, AskedEngine, requires
from quire.server.json_answers import (
    USUAL_ITEMS,
    AnswerShape,
    Body,
    Cursor,
    Limit,
    Number,
    answer_json,
    answer_part,
)

router = APIRouter(tags=["access"], dependencies=[requires(AccessRole.ADMIN)])


class TokenShape(AnswerShape):
    """A token, of which only the last characters are shown."""

    id: int
    name: str
    role: str
    tail: str
    workspace: str
    created_at: str
    expires_at: str | None  # null: never
    revoked_at: str | None
    last_used_at: str | None


class TokenListShape(AnswerShape):
    """Every token of the workspace."""

    items: list[TokenShape]
    next: str | None = None


class NewTokenBody(Body):
    """A token to be made."""

    name: str = Field(min_length=1, max_length=100, examples=["ann"])
    role: str = Field(max_length=20, examples=["reviewer"])
    expires: str | None = Field(default=None, max_length=20, examples=["30d"])


class NewTokenShape(TokenShape):
    """A new token: it is shown this once."""

    token: str


@router.get("/v1/tokens", response_model=TokenListShape)
def list_tokens(engine: AskedEngine, cursor: Cursor = None, limit: Limit = USUAL_ITEMS) -> Response:
    """List the tokens of this workspace, also those that let nobody in any more."""
    items = [token.as_json() for token in engine.access_tokens.list()]
    return answer_part(items, cursor, limit)


@router.post("/v1/tokens", response_model=NewTokenShape, status_code=201)
def create_token(engine: AskedEngine, asked: NewTokenBody) -> Response:
    """Make a token; it is shown this once."""
    made = engine.access_tokens.create(asked.name, asked.role, asked.expires)
    return answer_json({**made.kept.as_json(), "token": made.token}, 201)


@router.delete("/v1/tokens/{token}", response_model=TokenShape)
def revoke_token(engine: AskedEngine, token: Number) -> Response:
    """Let nobody in with a token any more, from now on."""
    return answer_json(engine.access_tokens.revoke(token).as_json())
