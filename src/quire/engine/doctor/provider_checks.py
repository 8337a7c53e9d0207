"""Checks of providers: which are used, with which key each is called, whether they answer."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from statistics import median
from typing import NamedTuple

import aiohttp

from quire.accounts.account_choice import choose_accounts
from quire.accounts.credentials import KnownKey, check_box, list_keys, stored_credentials
from quire.accounts.encryption import Box, open_box, secret_key_place
from quire.accounts.key_search import key_doubt, search_keys
from quire.dispatch.runtime import Runtime
from quire.domain.accounts import Account, label_credential
from quire.domain.errors import Error
from quire.domain.states import CREDENTIAL, CredentialState
from quire.domain.version import VERSION
from quire.engine.doctor.findings import (
    Finding,
    Installation,
    finding_of_error,
    ok,
    problem,
    warning,
)
from quire.engine.doctor.ledger_checks import skew_finding, trial_transaction
from quire.engine.keys import box_opener
from quire.ledger.ledger import Transaction
from quire.providers.catalog import facts_from_tables, find_model
from quire.providers.certificates import trusted_certificates
from quire.providers.key_check import KeyCheck, check_keys
from quire.providers.model_facts import provider_of
from quire.providers.network_errors import FAILURES, explain, host_of
from quire.providers.vendors import KEYED_PROVIDERS, VENDORS, vendor_facts
from quire.settings import base_url

SIMULATED = "simulated"
Place = tuple[str, str]  # a provider, and the URL of one of its models if that has its own


class ProviderUse(NamedTuple):
    """A provider, at the place of one of its models if that has its own."""

    provider: str
    url: str
    needed: bool  # by the model of choice, or by a run that is going on


def providers_in_use(installation: Installation, tx: Transaction) -> list[ProviderUse]:
    """Every provider that has a key, is named in the settings, or is asked by a running run."""
    settings = installation.settings
    chosen = [settings.model] if settings.model else []
    needed = {*_places_of_runs(tx), *_places_of_models(chosen, installation)}
    stored = stored_credentials(tx.credentials.list_credentials())
    names = [
        *settings.providers,
        *(credential.provider for credential in stored),
        *(name for name in KEYED_PROVIDERS if _has_key_in_environment(name, installation)),
        *_own_servers(installation),
    ]
    others = _places_of_models([*settings.aliases, *settings.models], installation)
    places = {*needed, *others, *((name, "") for name in names)}
    return [
        ProviderUse(provider, url, (provider, url) in needed)
        for provider, url in sorted(places)
        if provider != SIMULATED and (url or not _only_elsewhere(provider, places, installation))
    ]


def _places_of_runs(tx: Transaction) -> Iterator[Place]:
    for wish in tx.runs.running_wishes():
        for facts in tx.runs.models_of_run(tx.runs.must_get_run(wish.run_id)):
            yield facts.provider, facts.wire.url


def _places_of_models(names: Iterable[str], installation: Installation) -> Iterator[Place]:
    """Models by their names; one that there is not is another check's business."""
    settings = installation.settings
    for name in names:
        try:
            facts = find_model(name, facts_from_tables(settings.models), settings.aliases)
        except Error:
            provider = provider_of(settings.aliases.get(name, name))
            if provider in KEYED_PROVIDERS:
                yield provider, ""
        else:
            yield facts.provider, facts.wire.url


def _has_key_in_environment(provider: str, installation: Installation) -> bool:
    """Whether the environment has a key of it; what Google finds by itself is not looked for."""
    try:
        key_search = search_keys(provider, installation.settings, installation.environment)
    except Error:
        return True  # what is said about it cannot be used: that is worth a line
    return bool(key_search.without_default_credentials().keys or key_search.problem)


def _own_servers(installation: Installation) -> list[str]:
    own = (name for name, facts in VENDORS.items() if facts.own_machine)
    return [name for name in own if _has_address(name, installation)]


def _has_address(provider: str, installation: Installation) -> bool:
    try:
        return bool(base_url(installation.settings, provider, installation.environment))
    except Error:
        return True


def _only_elsewhere(provider: str, places: Iterable[Place], installation: Installation) -> bool:
    """Whether a provider without a usual place is found only where its models say."""
    elsewhere = any(place == provider and url for place, url in places)
    return elsewhere and not _has_address(provider, installation)


class ProviderAccess(NamedTuple):
    """As whom a provider would be called, or why it could not be."""

    use: ProviderUse
    account: Account | None
    problem: Error | None
    marked: tuple[KnownKey, ...]  # keys that were refused before


def provider_accesses(installation: Installation) -> list[ProviderAccess]:
    """Choose accounts as a worker would, and leave no trace of that."""
    box = box_opener(installation.settings, installation.environment)
    with trial_transaction(installation.ledger) as tx:
        used = providers_in_use(installation, tx)
        return [_provider_access(tx, box, installation, use) for use in used]


def check_key_choice(installation: Installation) -> Iterator[Finding]:
    """Which key each provider would be called with."""
    found = provider_accesses(installation)
    for access in found:
        yield _access_finding(access)
        yield from _doubts(access)
        for known in access.marked:
            shown = label_credential(known.source, known.name, known.tail, known.person)
            yield warning(
                f"{known.provider}: {shown} is marked {known.state} ({known.reason})",
                f"`quire keys test {known.provider}` tries it again",
            )
    if not found:
        yield ok("there are none; `quire keys add PROVIDER` keeps one")


def check_secret_key(installation: Installation) -> Iterator[Finding]:
    """Whether stored keys can be opened, and only by their owner."""
    place = secret_key_place(installation.environment, Path.cwd(), installation.settings.ledger)
    with installation.ledger.snapshot() as tx:
        kept = len(stored_credentials(tx.credentials.list_credentials()))
        if not kept and not place.secret and not place.path.exists():
            yield ok("none is stored, so nothing guards them")
            return
        try:
            check_box(tx, open_box(place))
        except Error as error:
            found = finding_of_error(error)
            yield found if kept else warning(found.message, found.fix)
            return
    where = "QUIRE_SECRET_KEY" if place.secret else str(place.path)
    yield ok(f"{kept} stored, guarded by {where}, which is its owner's alone")


def _provider_access(
    tx: Transaction, box: Callable[[], Box], installation: Installation, use: ProviderUse
) -> ProviderAccess:
    settings, environment = installation.settings, installation.environment
    marked: tuple[KnownKey, ...] = ()
    try:
        search = search_keys(use.provider, settings, environment, use.url)
        marked = tuple(
            known
            for known in list_keys(tx, [search])
            if known.provider == use.provider and known.state != CREDENTIAL.start
        )
        chosen = choose_accounts(tx, box, search, installation.runtime.now())
    except Error as error:
        return ProviderAccess(use, None, error, marked)
    return ProviderAccess(use, next(iter(chosen.accounts), None), chosen.problem, marked)


def _access_finding(access: ProviderAccess) -> Finding:
    name = access.use.provider
    if access.account is None:
        missing = access.problem or Error()
        severity = problem if access.use.needed else warning
        return severity(f"{name}: {missing.message}", missing.fix)
    if not access.account.credential:
        return ok(f"{name}: no key, and none is needed")
    return ok(f"{name}: {access.account.credential}")


def _doubts(access: ProviderAccess) -> Iterator[Finding]:
    if access.account is not None and access.account.key and not access.account.base_url:
        doubted = key_doubt(access.use.provider, access.account.key)
        if doubted:
            shown = f"{access.use.provider}: {access.account.credential}"
            yield warning(f"{shown}: {doubted}", f"`quire keys test {access.use.provider}`")


SECONDS = 8.0
_SECOND = 1.0  # what a Date header leaves in doubt: it names whole seconds


class Ping(NamedTuple):
    """Whether a server answered a request without a key."""

    problem: Error | None = None  # why it did not
    skew: float | None = None  # seconds that our clock is ahead of theirs
    doubt: float = 0.0  # seconds that the skew may be off


def check_reachability(installation: Installation) -> Iterator[Finding]:
    """Try every key with a call that costs nothing; and compare clocks on the way."""
    asked = [access for access in provider_accesses(installation) if access.account is not None]
    if installation.offline or not asked:
        yield ok("nobody was asked" + (" (--offline)" if installation.offline else ""))
        return
    accounts = [access.account for access in asked if access.account is not None]
    probes, pings = asyncio.run(_probe_and_ping(accounts, installation.runtime))
    for access, probe, ping in zip(asked, probes, pings, strict=True):
        yield _reach_finding(access, probe, ping)
    known = [item for item in pings if item.skew is not None]
    if known:
        skew = median(item.skew or 0.0 for item in known)
        doubt = max(item.doubt for item in known)
        yield skew_finding(skew, doubt, "the providers'", installation.settings.lease)


async def _probe_and_ping(
    accounts: Sequence[Account], runtime: Runtime
) -> tuple[list[KeyCheck], list[Ping]]:
    async with asyncio.TaskGroup() as group:
        probes = group.create_task(check_keys(accounts, SECONDS))
        pings = group.create_task(_ping_all(accounts, runtime))
    return probes.result(), pings.result()


async def _ping_all(accounts: Sequence[Account], runtime: Runtime) -> list[Ping]:
    """Ask without a key, only to see whether somebody answers, and what time it is there."""
    async with aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(total=SECONDS),
        connector=aiohttp.TCPConnector(ssl=trusted_certificates()),
        trust_env=True,
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": f"quire/{VERSION}"},
    ) as session:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_ping(account, session, runtime)) for account in accounts]
        return [task.result() for task in tasks]


async def _ping(account: Account, session: aiohttp.ClientSession, runtime: Runtime) -> Ping:
    url = _home_url(account)
    start = vendor_facts(account.provider).start_command
    before = runtime.now()
    try:
        async with session.get(url, allow_redirects=False) as response:
            date_header = response.headers.get("Date", "")
    except FAILURES as error:
        return Ping(explain(error, url, f"start it with {start}" if start else ""))
    return ping_from_date(date_header, before, runtime.now())


def ping_from_date(date_header: str, before: datetime, after: datetime) -> Ping:
    """How far our clock is ahead of one that said so at some moment between two."""
    try:
        theirs = parsedate_to_datetime(date_header)
        middle = before + (after - before) / 2
        skew = (middle - theirs).total_seconds() - _SECOND / 2
    except (TypeError, ValueError):  # no date, or none with a zone
        return Ping()
    return Ping(None, skew, _SECOND / 2 + (after - before).total_seconds() / 2)


def _home_url(account: Account) -> str:
    return account.base_url or vendor_facts(account.provider).base_url


def _reach_finding(access: ProviderAccess, probe: KeyCheck, ping: Ping) -> Finding:
    name, account = access.use.provider, access.account
    assert account is not None
    bad = problem if access.use.needed else warning
    place = host_of(_home_url(account))
    if ping.problem:
        return bad(f"{name}: {ping.problem.message}", ping.problem.fix)
    if probe.state in (CredentialState.INVALID, CredentialState.SPENT):
        said = f"{name}: {account.credential or 'without a key'}: {probe.message}"
        return bad(said, f"`quire keys add {name}`; `quire keys test {name}` marks this one")
    if probe.state == CredentialState.VALID:
        by = f"{account.credential} is accepted" if account.credential else "answers"
        return ok(f"{name}: {by} ({place})")
    if probe.untestable:
        untold = "; whether it takes the key, a run will tell" if account.credential else ""
        return ok(f"{name}: {place} answers{untold}")
    kind = ok if vendor_facts(name).own_machine else warning
    return kind(f"{name}: {probe.message}")
