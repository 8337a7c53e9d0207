"""The page of settings: keys, models, policy and webhooks; its forms act through the HTTP API."""

from typing import Annotated, NamedTuple

import orjson
from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse

from quire.domain.data import Json
from quire.domain.errors import Error
from quire.engine import Engine, KnownKey
from quire.engine.model_list import read_model_list
from quire.providers.vendors import PROVIDER_NAMES
from quire.server.access import AccessRole, AskedEngine, Principal, find_principal
from quire.web.pages import render
from quire.web.policy_words import FUND_WORDS, POLICY_WORDS

router = APIRouter()
KEYLESS = ("simulated", "local")
CHANGES = 10  # of the policy, the newest


@router.get("/settings")
def show_settings(
    request: Request,
    principal: Annotated[Principal, Depends(find_principal)],
    engine: AskedEngine,
) -> HTMLResponse:
    """Show what this workspace is set to; keys by their last four characters, and to whose."""
    admin, operator = principal.role >= AccessRole.ADMIN, principal.role >= AccessRole.OPERATOR
    keys, problems = _keys(engine, principal) if operator else ([], [])
    models = read_model_list()
    return render(
        request,
        "settings.html",
        principal,
        admin=admin,
        operator=operator,
        keys=keys,
        problems=problems,
        providers=[name for name in PROVIDER_NAMES if name not in KEYLESS],
        webhooks=engine.webhooks.list() if admin else [],
        models=sorted(models.known.values(), key=lambda facts: facts.name),
        priced_on=models.made,
        policy=_policy(engine),
        changes=engine.workspace_policy.history(limit=CHANGES),
        tokens=engine.access_tokens.list() if admin else [],
        roles=[role.name.lower() for role in AccessRole],
    )


def _keys(engine: Engine, principal: Principal) -> tuple[list[KnownKey], list[str]]:
    """All keys for an admin; else those of whoever looks."""
    found, problems = engine.keys.listing()
    if principal.role < AccessRole.ADMIN:
        return [known for known in found if known.person == principal.name != ""], []
    return list(found), [str(problem) for problem in problems if isinstance(problem, Error)]


class PolicyLine(NamedTuple):
    """One value of the policy, with what it does and what may be typed for it."""

    name: str
    source: str
    typed: str  # its value, as somebody would type it
    does: str
    takes: str
    choices: tuple[str, ...]


def _policy(engine: Engine) -> list[PolicyLine]:
    """What runs that begin now are told unless their order says otherwise."""
    return [
        PolicyLine(
            name,
            str(pair.get("source") or ""),
            _type_value(pair.get("value")),
            *(POLICY_WORDS.get(name) or FUND_WORDS[name]),
        )
        for name, pair in engine.workspace_policy.show().items()
        if isinstance(pair, dict)
    ]


def _type_value(value: Json) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else orjson.dumps(value).decode()
