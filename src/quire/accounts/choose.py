"""Choose the account that calls to a provider go out with: stored keys, then those outside."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from quire.accounts.credentials import row_of, stored
from quire.accounts.finding import DEFAULT_CREDENTIALS, Surroundings
from quire.accounts.sealing import Box, Owner
from quire.accounts.vendors import variables_of
from quire.domain.accounts import Account, Credential, CredentialId, Secret
from quire.domain.errors import UsageError
from quire.domain.states import CREDENTIAL
from quire.ledger.ledger import Transaction
from quire.ledger.tables.credentials import NewCredential

OpenBox = Callable[[], Box]  # called only when something stored must be opened

_SAID = {"invalid": "was not accepted", "spent": "has no credit left"}


class Chosen(NamedTuple):
    """With which accounts calls may go out, the first one first; else why there is none."""

    accounts: tuple[Account, ...]
    problem: str = ""  # and what to do about it


class _Candidate(NamedTuple):
    """A credential, and its key where that is not sealed."""

    credential: Credential
    key: Secret | None


def choose(tx: Transaction, box: OpenBox, around: Surroundings, now: datetime) -> Chosen:
    """Find the accounts that calls to a provider may go out with.

    Keys outside the ledger are written down when they are first seen (never the key itself), so
    that they can be marked. Nothing is raised: where there is no account, `problem` is the hold.
    """
    if around.key_is_never_asked_for:
        return Chosen((_without_key(around),))
    candidates = _candidates(tx, around, now)
    refused = {each.credential.digest for each in candidates if not _is_valid(each.credential)}
    usable = [each for each in candidates if each.credential.digest not in refused]
    if around.problem and all(each.key is not None for each in usable):  # nothing stored
        return Chosen((), around.problem)
    if candidates and not usable:
        return Chosen((), _all_refused(around.provider, [each.credential for each in candidates]))
    try:
        return _at_last(around, [_account(tx, box, around, each) for each in usable])
    except UsageError as error:  # not the next key in its place: that is another's money
        return Chosen((), str(error))


def every(tx: Transaction, box: OpenBox, around: Surroundings, now: datetime) -> Chosen:
    """Every account of a provider, marked or not, and what is wrong with the others."""
    if around.key_is_never_asked_for:
        return Chosen((_without_key(around),))
    accounts: list[Account] = []
    problems = [around.problem] if around.problem else []
    for each in _candidates(tx, around, now):
        try:
            accounts.append(_account(tx, box, around, each))
        except UsageError as error:
            problems.append(str(error))
    if problems:
        return Chosen(tuple(accounts), "; ".join(dict.fromkeys(problems)))
    return _at_last(around, accounts)


def recall(tx: Transaction, box: OpenBox, around: Surroundings, credential: CredentialId) -> Chosen:
    """The one account that something already sent belongs to, marked or not."""
    known = tx.credentials.get(credential)
    if known is None:
        return Chosen((), f"there is no credential {credential} in this ledger")
    key = next((each.key for each in around.keys if each.digest == known.digest), None)
    if known.sealed is None and key is None:
        return Chosen((), f"the key that this was sent with is gone ({known.label}); put it back")
    try:
        return Chosen((_account(tx, box, around, _Candidate(known, key)),))
    except UsageError as error:
        return Chosen((), str(error))


def _candidates(tx: Transaction, around: Surroundings, now: datetime) -> list[_Candidate]:
    """Every key with its row: stored ones, the oldest first, then those found outside."""
    rows = tx.credentials.of(around.provider)
    unseen = [each for each in around.keys if row_of(rows, each) is None]
    for each in unseen:
        new = NewCredential(each.provider, each.name, each.source, each.key.tail, each.digest)
        tx.credentials.add(new, now)
    if unseen:
        rows = tx.credentials.of(around.provider)
    candidates = [_Candidate(each, None) for each in stored(rows)]
    for each in around.keys:
        row = row_of(rows, each)
        if row is not None and all(row.digest != other.credential.digest for other in candidates):
            candidates.append(_Candidate(row, each.key))
    return candidates


def _is_valid(credential: Credential) -> bool:
    return credential.state == CREDENTIAL.start


def _account(tx: Transaction, box: OpenBox, around: Surroundings, candidate: _Candidate) -> Account:
    credential, key = candidate
    if key is None:
        owner = Owner(tx.credentials.workspace, credential.provider, credential.name)
        key = box().open(credential.sealed or b"", owner)
    options = dict(around.options)
    if credential.name == DEFAULT_CREDENTIALS:
        options["adc"] = "true"
    return Account(
        provider=around.provider,
        credential=credential.label,
        key=key,
        base_url=around.base_url,
        options=options,
        id=credential.id,
    )


def _without_key(around: Surroundings) -> Account:
    return Account(
        provider=around.provider,
        credential="",
        key=Secret(""),
        base_url=around.base_url,
        options=around.options,
    )


def _at_last(around: Surroundings, accounts: Sequence[Account]) -> Chosen:
    """What was found; where that is nothing, a server of one's own is asked without a key."""
    if accounts:
        return Chosen(tuple(accounts))
    if not around.needs_key:
        return Chosen((_without_key(around),))
    provider, usual = around.provider, " or ".join(variables_of(around.provider))
    return Chosen((), f"no key for {provider}: `quire keys add {provider}`, or set {usual}")


def _all_refused(provider: str, credentials: Sequence[Credential]) -> str:
    said = "; ".join(
        f"{each.label} {_SAID[each.state]} ({each.reason})"
        for each in credentials
        if not _is_valid(each)
    )
    more = f"`quire keys add {provider} --name another`"
    return f"no usable key for {provider}: {said}; mend that, or {more}"
