"""Reaching: providers are asked for something that costs nothing, all at once, and for the time."""

import asyncio
import ssl
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from email.utils import parsedate_to_datetime
from statistics import median
from types import MappingProxyType
from typing import NamedTuple

import aiohttp

from quire.dispatch.outside import Outside
from quire.domain.accounts import Account
from quire.domain.version import VERSION
from quire.engine.examining.findings import Finding, Patient, fine, odd, wrong
from quire.engine.examining.keys import Called, called
from quire.engine.examining.ledgers import judge_skew
from quire.providers import anthropic, gemini
from quire.providers.naming import OWN_MACHINE
from quire.providers.network import FAILURES, explain, where
from quire.providers.probing import Probe, check_keys
from quire.providers.profiles import PROFILES

SECONDS = 8.0
_SECOND = 1.0  # what a Date header leaves in doubt: it names whole seconds

_HOMES: Mapping[str, str] = MappingProxyType(
    {
        "anthropic": anthropic.HOME,
        "gemini": gemini.HOME,
        "vertex": "https://aiplatform.googleapis.com",
    }
)
_STARTING: Mapping[str, str] = MappingProxyType(
    {
        "ollama": "`ollama serve`",
        "vllm": "`vllm serve MODEL`",
        "llamacpp": "`llama-server -m MODEL.gguf`",
        "lmstudio": "`lms server start`",
        "local": "`quire local serve`",
    }
)


class Knock(NamedTuple):
    """Who opened when somebody without a key came to a door."""

    problem: str = ""  # nobody did
    skew: float | None = None  # seconds that our clock is ahead of theirs
    doubt: float = 0.0  # seconds that the skew may be off


def reachability(patient: Patient) -> Iterator[Finding]:
    """Try every key with a call that costs nothing; and compare clocks on the way."""
    asked = [each for each in called(patient) if each.account is not None]
    if patient.offline or not asked:
        yield fine("reach", "nobody was asked" + (" (--offline)" if patient.offline else ""))
        return
    accounts = [each.account for each in asked if each.account is not None]
    probes, knocks = asyncio.run(_ask(accounts, patient.outside))
    for each, probe, knock in zip(asked, probes, knocks, strict=True):
        yield _judge(each, probe, knock)
    known = [each for each in knocks if each.skew is not None]
    if known:
        skew = median(each.skew or 0.0 for each in known)
        doubt = max(each.doubt for each in known)
        yield judge_skew(skew, doubt, "the providers'", patient.settings.lease)


async def _ask(accounts: Sequence[Account], outside: Outside) -> tuple[list[Probe], list[Knock]]:
    async with asyncio.TaskGroup() as group:
        probes = group.create_task(check_keys(accounts, SECONDS))
        knocks = group.create_task(_knock(accounts, outside))
    return probes.result(), knocks.result()


async def _knock(accounts: Sequence[Account], outside: Outside) -> list[Knock]:
    """Ask without a key, only to see whether somebody answers, and what time it is there."""
    async with aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(total=SECONDS),
        connector=aiohttp.TCPConnector(ssl=ssl.create_default_context()),
        trust_env=True,
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": f"quire/{VERSION}"},
    ) as session:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_knock_at(each, session, outside)) for each in accounts]
        return [each.result() for each in tasks]


async def _knock_at(account: Account, session: aiohttp.ClientSession, outside: Outside) -> Knock:
    url = _home(account)
    start = _STARTING.get(account.provider)
    before = outside.now()
    try:
        async with session.get(url, allow_redirects=False) as response:
            told = response.headers.get("Date", "")
    except FAILURES as error:
        return Knock(str(explain(error, url, f"start it with {start}" if start else "")))
    return measured(told, before, outside.now())


def measured(told: str, before: datetime, after: datetime) -> Knock:
    """How far our clock is ahead of one that said so at some moment between two."""
    try:
        theirs = parsedate_to_datetime(told)
        middle = before + (after - before) / 2
        skew = (middle - theirs).total_seconds() - _SECOND / 2
    except (TypeError, ValueError):  # no date, or none with a zone
        return Knock()
    return Knock("", skew, _SECOND / 2 + (after - before).total_seconds() / 2)


def _home(account: Account) -> str:
    usual = PROFILES[account.provider].base_url if account.provider in PROFILES else ""
    return account.base_url or _HOMES.get(account.provider, usual)


def _judge(each: Called, probe: Probe, knock: Knock) -> Finding:
    name, account = each.concern.provider, each.account
    assert account is not None
    bad = wrong if each.concern.needed else odd
    place = where(_home(account))
    if knock.problem:
        said, _, fix = knock.problem.partition("; ")
        return bad("reach", f"{name}: {said}", fix)
    if probe.state in ("invalid", "spent"):
        said = f"{name}: {account.credential or 'without a key'}: {probe.said}"
        return bad(
            "reach", said, f"`quire keys add {name}`; `quire keys test {name}` marks this one"
        )
    if probe.state == "valid":
        by = f"{account.credential} is accepted" if account.credential else "answers"
        return fine("reach", f"{name}: {by} ({place})")
    if "a run will tell" in probe.said:
        untold = "; whether it takes the key, a run will tell" if account.credential else ""
        return fine("reach", f"{name}: {place} answers{untold}")
    kind = fine if name in OWN_MACHINE else odd
    return kind("reach", f"{name}: {probe.said}")
