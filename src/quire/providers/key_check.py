"""Key check: one call that costs nothing says whether the vendor accepts a key."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

import aiohttp

from quire.domain.accounts import Account
from quire.domain.errors import ProviderError
from quire.domain.states import CredentialState
from quire.domain.version import VERSION
from quire.providers import error_codes
from quire.providers.certificates import trusted_certificates
from quire.providers.http import one_line, with_own_headers
from quire.providers.network_errors import FAILURES, explain, host_of
from quire.providers.protocol import HttpRequest, HttpResponse
from quire.providers.redaction import redact_complaint, redact_words
from quire.providers.vendors import vendor_facts
from quire.providers.wire import endpoint_url, headers

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


class KeyCheck(NamedTuple):
    """What a vendor said of a key."""

    state: CredentialState | None  # None: that did not become clear
    message: str  # one line, never with the key in it
    untestable: bool = False  # no call that costs nothing would show it


class _CheckRequest(NamedTuple):
    url: str
    headers: dict[str, str]


async def check_keys(accounts: Sequence[Account], seconds: float = SECONDS) -> list[KeyCheck]:
    """Try several keys at once; the answers are in the order of the accounts."""
    timeout = aiohttp.ClientTimeout(total=seconds)
    connector = aiohttp.TCPConnector(ssl=trusted_certificates())
    async with aiohttp.ClientSession(
        timeout=timeout, connector=connector, trust_env=True, cookie_jar=aiohttp.DummyCookieJar()
    ) as session:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_check_key(account, session)) for account in accounts]
        return [task.result() for task in tasks]


async def _check_key(account: Account, session: aiohttp.ClientSession) -> KeyCheck:
    try:
        question = _check_request(account)
    except ProviderError as error:
        return KeyCheck(CredentialState.INVALID if error.bad_key else None, str(error))
    if question is None:
        said = f"{account.provider} has nothing that costs nothing; a run will tell"
        return KeyCheck(None, said, untestable=True)
    try:
        response = await _get(question, session)
    except FAILURES as error:
        return KeyCheck(None, str(explain(error, question.url)))
    return _read_check(account, question, response)


async def _get(question: _CheckRequest, session: aiohttp.ClientSession) -> HttpResponse:
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


def _check_request(account: Account) -> _CheckRequest | None:
    """The vendor's cheapest call that a wrong key does not get through; None if it has none."""
    facts, options = vendor_facts(account.provider), account.options
    check, path = facts.key_check, facts.path
    if check is None:
        return None
    others = [(header, options.get(name, "")) for header, name in check.option_headers.items()]
    made = headers(check.header, account.key, check.scheme, *check.headers, *others)
    base = (account.base_url or facts.base_url).rstrip("/").removesuffix(facts.portal_path)
    if check.versions:
        path = ""
        base += "" if urlsplit(base).path.endswith(check.versions) else check.versions[0]
    url = endpoint_url(facts.name, base, path, check.path)
    url += f"?{check.query}" if check.query else ""
    request = with_own_headers(HttpRequest(url, made, b"", method="GET"), account)
    return _CheckRequest(url, {**request.headers, "User-Agent": f"quire/{VERSION}"})


def _read_check(account: Account, question: _CheckRequest, response: HttpResponse) -> KeyCheck:
    place, status = host_of(question.url), response.status
    if 200 <= status < 300:
        return KeyCheck(CredentialState.VALID, "accepted")
    if 300 <= status < 400 or response.body[:200].lstrip().startswith(b"<"):
        return KeyCheck(None, f"{status} from {place}, but not from an API; check the base URL")
    error_body = error_codes.read_error(redact_complaint(response.body, account))
    # Before it is cut short.
    quoted = error_body._replace(message=redact_words(error_body.message, account))
    said = one_line(error_codes.error_message(account.provider, status, quoted))
    if status == 402 or _MONEY.intersection(error_body.codes):
        return KeyCheck(CredentialState.SPENT, said)
    if status in (401, 403) or b"API_KEY_INVALID" in response.body:
        return KeyCheck(CredentialState.INVALID, said)
    if status in (404, 405):
        unlisted = f"{place} has no list of models ({status}); a run will tell"
        return KeyCheck(None, unlisted, untestable=True)
    return KeyCheck(None, said)
