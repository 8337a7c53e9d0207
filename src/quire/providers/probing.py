"""Probing a key: one cheap call that costs nothing and says whether the vendor accepts it."""

import asyncio
import ssl
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

import aiohttp

from quire.domain.accounts import Account
from quire.domain.errors import ProviderError
from quire.domain.version import VERSION
from quire.providers import anthropic, failing, gemini
from quire.providers.http import one_line
from quire.providers.network import FAILURES, explain, where
from quire.providers.profiles import CHAT_PROFILES, PROFILES
from quire.providers.protocol import HttpResponse
from quire.providers.writing import address, headers

SECONDS = 20.0
LARGEST_BODY = 2**18

_MONEY = frozenset(
    (
        *("insufficient_quota", "credit_balance_exhausted", "billing_hard_limit_reached"),
        *("billing_not_active", "insufficient_credits", "billing_error"),
        *("organization_spend_limit_exceeded", "project_spend_limit_exceeded"),
        *("organization_usage_limit_exceeded", "enforced_spend_limit_reached"),
    )
)


class Probe(NamedTuple):
    """What a vendor said of a key."""

    state: str  # valid, invalid or spent; "" = that did not become clear
    said: str  # one line, never with the key in it


class _Question(NamedTuple):
    url: str
    headers: dict[str, str]


async def check_keys(accounts: Sequence[Account], seconds: float = SECONDS) -> list[Probe]:
    """Try several keys at once; the answers are in the order of the accounts."""
    timeout = aiohttp.ClientTimeout(total=seconds)
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context())
    async with aiohttp.ClientSession(
        timeout=timeout, connector=connector, trust_env=True, cookie_jar=aiohttp.DummyCookieJar()
    ) as session:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_check(each, session)) for each in accounts]
        return [each.result() for each in tasks]


async def _check(account: Account, session: aiohttp.ClientSession) -> Probe:
    try:
        question = _question(account)
    except ProviderError as error:
        return Probe("invalid" if error.bad_key else "", str(error))
    if question is None:
        return Probe("", f"{account.provider} has nothing that costs nothing; a run will tell")
    try:
        response = await _get(question, session)
    except FAILURES as error:
        return Probe("", str(explain(error, question.url)))
    return _judge(account, question, response)


async def _get(question: _Question, session: aiohttp.ClientSession) -> HttpResponse:
    # a redirect is not followed: the key would go along
    async with session.get(
        question.url, headers=question.headers, allow_redirects=False
    ) as response:
        body = b""
        async for part in response.content.iter_any():
            body += part
            if len(body) > LARGEST_BODY:
                break
        return HttpResponse(response.status, {}, body)


def _question(account: Account) -> _Question | None:
    """The vendor's cheapest call that a wrong key does not get through; None if it has none."""
    name, key, base = account.provider, account.key, account.base_url
    match name:
        case "simulated" | "local" | "vertex":
            return None
        case "anthropic":
            spans = ("anthropic-workspace-id", account.options.get("workspace", ""))
            version = ("anthropic-version", "2023-06-01")
            made = headers("x-api-key", key, "", version, spans)
            url = _versioned(name, base or anthropic.HOME, ("/v1",)) + "?limit=1"
        case "gemini":
            made = headers("x-goog-api-key", key)
            url = _versioned(name, base or gemini.HOME, ("/v1", "/v1beta")) + "?pageSize=1"
        case "azure":
            made = headers("api-key", key)
            url = address(name, base.rstrip("/").removesuffix("/openai"), "/openai/v1", "/models")
        case _:
            made = headers("Authorization", key, "Bearer ", *_behalf(account))
            path = CHAT_PROFILES[name].path if name in CHAT_PROFILES else "/v1"
            end = "/key" if name == "openrouter" else "/models"  # its models are no secret
            url = address(name, base or PROFILES[name].base_url, path, end)
    return _Question(url, {**made, "User-Agent": f"quire/{VERSION}"})


def _behalf(account: Account) -> tuple[tuple[str, str], ...]:
    """On whose behalf OpenAI is asked; a key need not be good for everybody's."""
    names = ("organization", "project") if account.provider == "openai" else ()
    return tuple((f"OpenAI-{name.title()}", account.options.get(name, "")) for name in names)


def _versioned(name: str, base: str, versions: tuple[str, ...]) -> str:
    """A vendor's list of models at a base URL that may or may not end with the API's version."""
    whole = base.rstrip("/")
    if not urlsplit(whole).path.endswith(versions):
        whole += versions[0]
    return address(name, whole, "", "/models")


def _judge(account: Account, question: _Question, response: HttpResponse) -> Probe:
    place, status = where(question.url), response.status
    if 200 <= status < 300:
        return Probe("valid", "accepted")
    if 300 <= status < 400 or response.body[:200].lstrip().startswith(b"<"):
        return Probe("", f"{status} from {place}, but not from an API; check the base URL")
    told = failing.complaint(response.body)
    quoted = told._replace(message=account.key.hide_in(told.message))  # before it is cut short
    said = one_line(failing.sentence(account.provider, status, quoted))
    if status == 402 or _MONEY.intersection(told.words):
        return Probe("spent", said)
    if status in (401, 403) or b"API_KEY_INVALID" in response.body:
        return Probe("invalid", said)
    if status in (404, 405):
        return Probe("", f"{place} has no list of models ({status}); a run will tell")
    return Probe("", said)
