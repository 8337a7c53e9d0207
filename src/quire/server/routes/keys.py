"""Routes about keys of providers: the workspace's for admins, one's own for who starts runs."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field

from quire.accounts.credentials import KnownKey
from quire.domain.accounts import KeySource
from quire.domain.errors import UsageError
from quire.engine import Engine
from quire.engine.keys import LONGEST_PERSON, check_names, read_key
from quire.server.access import AccessRole, AskedEngine, Principal, requires
from quire.server.json_answers import AnswerShape, Body, answer_json

router = APIRouter(tags=["settings"])
Provider = Annotated[
    str, Path(min_length=1, max_length=100, description="Whose key, such as anthropic.")
]
Name = Annotated[str, Path(min_length=1, max_length=100, description="What the key is called.")]
Person = Annotated[
    str, Query(max_length=LONGEST_PERSON, description="Whose; empty: the workspace's.")
]
Operator = Annotated[Principal, requires(AccessRole.OPERATOR)]


class KeyShape(AnswerShape):
    """A key, of which only the last characters are ever shown."""

    provider: str = Field(examples=["anthropic"])
    name: str = Field(examples=["default"])
    person: str = Field(examples=[""], description="Whose it is; empty: the workspace's.")
    tail: str = Field(examples=["x7Qw"])


class KnownKeyShape(KeyShape):
    """A key, where it is from, and how it stands."""

    source: KeySource = Field(description="Where it was found.")
    state: str = Field(description="valid, invalid, spent or untested.", examples=["valid"])
    reason: str = Field(description="Why it is not used; empty: it is.")
    since: datetime | None = Field(description="Since when it stands so; null: nobody knows.")
    tested: bool = Field(description="Its provider has accepted it.")


class KeyListShape(AnswerShape):
    """The keys there are, in the order they are tried."""

    items: list[KnownKeyShape]
    next: str | None = None
    problems: list[str] = Field(description="Keys that could not be read, a line each.")


class OwnKey(Body):
    """A key to be kept."""

    provider: str = Field(max_length=100, examples=["anthropic"])
    name: str = Field(default="default", max_length=100)
    key: str = Field(max_length=10_000, repr=False, examples=["sk-ant-your-own-key"])


class NewKey(OwnKey):
    """A key to be kept, for the workspace or for one person of it."""

    person: str = Field(
        default="",
        max_length=LONGEST_PERSON,
        description="Only runs that they start use it; empty: it is the workspace's.",
    )


class KeptKeyShape(KeyShape):
    """A key that is kept, and why it may be none of this provider's."""

    doubt: str = Field(
        description="Why it may be none of this provider's; empty: it looks right.", examples=[""]
    )


@router.get("/v1/keys", response_model=KeyListShape, dependencies=[requires(AccessRole.ADMIN)])
def list_keys(engine: AskedEngine) -> Response:
    """List the keys there are, here and in the environment, in the order they are tried."""
    found, problems = engine.keys.listing()
    return answer_json(_listing(found) | {"problems": [str(item) for item in problems]})


@router.post(
    "/v1/keys",
    response_model=KeptKeyShape,
    status_code=201,
    dependencies=[requires(AccessRole.ADMIN)],
)
def add_key(engine: AskedEngine, asked: NewKey) -> Response:
    """Keep a key, sealed; it is never shown again."""
    return _keep(engine, asked, asked.person)


@router.delete(
    "/v1/keys/{provider}/{name}",
    response_model=KeyShape,
    dependencies=[requires(AccessRole.ADMIN)],
)
def remove_key(
    engine: AskedEngine, provider: Provider, name: Name, person: Person = ""
) -> Response:
    """Erase a stored key; its vendor still accepts it."""
    return _erase(engine, provider, name, person)


@router.get("/v1/me/keys", response_model=KeyListShape)
def list_own_keys(engine: AskedEngine, asker: Operator) -> Response:
    """List the keys of whoever asks: runs that they start use them first."""
    found = [known for known in engine.keys.listing().keys if asker.name == known.person != ""]
    return answer_json(_listing(found) | {"problems": []})


@router.post("/v1/me/keys", response_model=KeptKeyShape, status_code=201)
def add_own_key(engine: AskedEngine, asker: Operator, asked: OwnKey) -> Response:
    """Keep a key of one's own, sealed; nobody else's runs use it."""
    return _keep(engine, asked, _own_name(asker))


@router.delete("/v1/me/keys/{provider}/{name}", response_model=KeyShape)
def remove_own_key(
    engine: AskedEngine, asker: Operator, provider: Provider, name: Name
) -> Response:
    """Erase a key of one's own; its vendor still accepts it."""
    return _erase(engine, provider, name, _own_name(asker))


def _own_name(asker: Principal) -> str:
    if not asker.name:
        raise UsageError(
            "nobody is signed in here, so that no key is anybody's own",
            "keep it for the workspace, or name a person: POST /v1/keys",
        )
    return asker.name


def _listing(found: Sequence[KnownKey]) -> dict[str, object]:
    items = [known._asdict() | {"state": known.standing} for known in found]
    return {"items": items, "next": None}


def _keep(engine: Engine, asked: OwnKey, person: str) -> Response:
    check_names(asked.provider, asked.name)
    key, doubt = read_key(asked.provider, asked.key)
    engine.keys.add(asked.provider, asked.name, key, person)
    kept = {"provider": asked.provider, "name": asked.name, "person": person, "tail": key.tail}
    return answer_json(kept | {"doubt": doubt}, 201)


def _erase(engine: Engine, provider: str, name: str, person: str) -> Response:
    check_names(provider, name)
    removed = engine.keys.remove(provider, name, person)
    return answer_json(
        {"provider": provider, "name": removed.name, "person": person, "tail": removed.tail}
    )
