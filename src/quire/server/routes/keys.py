"""Routes about keys of providers: listed by their last characters, kept, erased."""

from typing import Annotated

from fastapi import APIRouter, Path, Response
from pydantic import Field

from quire.engine.keys import check_names, read_key
from quire.server.access import AccessRole, AskedEngine, requires
from quire.server.json_answers import AnswerShape, Body, answer_json

router = APIRouter(tags=["settings"], dependencies=[requires(AccessRole.ADMIN)])
Word = Annotated[str, Path(min_length=1, max_length=100)]


class KeyShape(AnswerShape):
    """A key, of which only the last characters are ever shown."""

    provider: str
    name: str
    tail: str


class KeyListShape(AnswerShape):
    """The keys there are, in the order they are tried."""

    items: list[KeyShape]
    next: str | None = None
    problems: list[str]


class NewKey(Body):
    """A key to be kept."""

    provider: str = Field(max_length=100, examples=["anthropic"])
    name: str = Field(default="default", max_length=100)
    key: str = Field(max_length=10_000, repr=False)


class ErasedKeyShape(AnswerShape):
    """A key that is kept no more; the vendor still accepts it."""

    provider: str
    name: str
    tail: str


class KeptKeyShape(ErasedKeyShape):
    """A key that is kept, and why it may be none of this provider's."""

    doubt: str


@router.get("/v1/keys", response_model=KeyListShape)
def list_keys(engine: AskedEngine) -> Response:
    """List the keys there are, here and in the environment, in the order they are tried."""
    found, problems = engine.keys.listing()
    items = [known._asdict() | {"state": known.standing} for known in found]
    return answer_json({"items": items, "next": None, "problems": [str(item) for item in problems]})


@router.post("/v1/keys", response_model=KeptKeyShape, status_code=201)
def add_key(engine: AskedEngine, asked: NewKey) -> Response:
    """Keep a key, sealed; it is never shown again."""
    check_names(asked.provider, asked.name)
    key, doubt = read_key(asked.provider, asked.key)
    engine.keys.add(asked.provider, asked.name, key)
    kept = {"provider": asked.provider, "name": asked.name, "tail": key.tail, "doubt": doubt}
    return answer_json(kept, 201)


@router.delete("/v1/keys/{provider}/{name}", response_model=ErasedKeyShape)
def remove_key(engine: AskedEngine, provider: Word, name: Word) -> Response:
    """Erase a stored key."""
    check_names(provider, name)
    removed = engine.keys.remove(provider, name)
    return answer_json({"provider": provider, "name": removed.name, "tail": removed.tail})
