"""Account choice: calls go out with a person's own keys, the workspace's, then those outside."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from quire.accounts.credentials import owner_of, row_of_key, stored_credentials
from quire.accounts.encryption import Box
from quire.accounts.key_search import DEFAULT_CREDENTIALS, KeySearch, variables_of
from quire.domain.accounts import Account, Credential, CredentialId, Secret
from quire.domain.errors import Error, NotFound, UsageError
from quire.domain.states import CREDENTIAL, CredentialState
from quire.ledger.ledger import Transaction
from quire.ledger.tables.credentials import NewCredential

OpenBox = Callable[[], Box]  # called only when something stored must be opened

_STATE_WORDS = {
    CredentialState.INVALID: "was not accepted",
    CredentialState.SPENT: "has no credit left",
}


class AccountChoice(NamedTuple):
    """With which accounts calls may go out, the first one first; else why there is none."""

    accounts: tuple[Account, ...]
    problem: Error | None = None


class _Candidate(NamedTuple):
    """A credential, and its key where that is not sealed."""

    credential: Credential
    key: Secret | None


def choose_accounts(
    tx: Transaction, box: OpenBox, search: KeySearch, now: datetime, person: str = ""
) -> AccountChoice:
    """Find the accounts that calls to a provider may go out with, in a run that a person started.

    Keys outside the ledger are written down when they are first seen (never the key itself), so
    that they can be marked. Nothing is raised: where there is no account, `problem` is the hold.
    """
    if search.is_keyless:
        return AccountChoice((_keyless_account(search),))
    candidates = _candidates(tx, search, now, [person, ""] if person else [""])
    credentials = [candidate.credential for candidate in candidates]
    refused = {credential.digest for credential in credentials if not _is_valid(credential)}
    usable = [item for item in candidates if item.credential.digest not in refused]
    if search.problem and all(candidate.key is not None for candidate in usable):  # nothing stored
        return AccountChoice((), search.problem)
    if candidates and not usable:
        return AccountChoice((), _all_refused(search.provider, credentials))
    try:
        accounts = [_account(tx, box, search, candidate) for candidate in usable]
        return _choice_or_keyless(search, accounts)
    except UsageError as error:  # not the next key in its place: that is another's money
        return AccountChoice((), error)


def every_account(tx: Transaction, box: OpenBox, search: KeySearch, now: datetime) -> AccountChoice:
    """Every account of a provider, marked or not, and what is wrong with the others."""
    if search.is_keyless:
        return AccountChoice((_keyless_account(search),))
    accounts: list[Account] = []
    problems = [str(search.problem)] if search.problem else []
    for candidate in _candidates(tx, search, now, None):
        try:
            accounts.append(_account(tx, box, search, candidate))
        except UsageError as error:
            problems.append(str(error))
    if problems:
        return AccountChoice(tuple(accounts), UsageError("; ".join(dict.fromkeys(problems))))
    return _choice_or_keyless(search, accounts)


def recall(
    tx: Transaction, box: OpenBox, search: KeySearch, credential: CredentialId
) -> AccountChoice:
    """The one account that something already sent belongs to, marked or not."""
    known = tx.credentials.get_credential(credential)
    if known is None:
        return AccountChoice((), NotFound(f"there is no credential {credential} in this ledger"))
    key = next((found.key for found in search.keys if found.digest == known.digest), None)
    if known.sealed is None and key is None:
        said = f"the key that this was sent with is gone ({known.label})"
        return AccountChoice((), UsageError(said, "put it back"))
    try:
        return AccountChoice((_account(tx, box, search, _Candidate(known, key)),))
    except UsageError as error:
        return AccountChoice((), error)


def _candidates(
    tx: Transaction, search: KeySearch, now: datetime, persons: Sequence[str] | None
) -> list[_Candidate]:
    """Keys with their rows: stored ones of these persons, or of all, then those found outside.

    Persons come in their order, of each the oldest key first.
    """
    rows = tx.credentials.credentials_of_provider(search.provider)
    unseen = [key for key in search.keys if row_of_key(rows, key) is None]
    for key in unseen:
        new = NewCredential(key.provider, key.name, key.source, key.key.tail, key.digest)
        tx.credentials.add_credential(new, now)
    if unseen:
        rows = tx.credentials.credentials_of_provider(search.provider)
    stored = stored_credentials(rows)
    if persons is not None:
        stored = [row for whose in persons for row in stored if row.person == whose]
    candidates = [_Candidate(credential, None) for credential in stored]
    for key in search.keys:
        row = row_of_key(rows, key)
        if row is not None and all(row.digest != other.credential.digest for other in candidates):
            candidates.append(_Candidate(row, key.key))
    return candidates


def _is_valid(credential: Credential) -> bool:
    return credential.state == CREDENTIAL.start


def _account(tx: Transaction, box: OpenBox, search: KeySearch, candidate: _Candidate) -> Account:
    credential, key = candidate
    if key is None:
        key = box().open(credential.sealed or b"", owner_of(tx, credential))
    options = dict(search.options)
    if credential.name == DEFAULT_CREDENTIALS:
        options["adc"] = "true"
    return Account(
        provider=search.provider,
        credential=credential.label,
        key=key,
        base_url=search.base_url,
        options=options,
        headers=search.headers,
        id=credential.id,
    )


def _keyless_account(search: KeySearch) -> Account:
    return Account(
        provider=search.provider,
        credential="",
        key=Secret(""),
        base_url=search.base_url,
        options=search.options,
        headers=search.headers,
    )


def _choice_or_keyless(search: KeySearch, accounts: Sequence[Account]) -> AccountChoice:
    """What was found; where that is nothing, a server of one's own is asked without a key."""
    if accounts:
        return AccountChoice(tuple(accounts))
    if not search.needs_key:
        return AccountChoice((_keyless_account(search),))
    provider, usual = search.provider, " or ".join(variables_of(search.provider))
    adds = f"`quire keys add {provider}` (with --person NAME: for runs of that person alone)"
    missing = f"no key for {provider}: {adds}, or set {usual}"
    return AccountChoice((), UsageError(missing))


def _all_refused(provider: str, credentials: Sequence[Credential]) -> UsageError:
    said = "; ".join(
        f"{credential.label} {_STATE_WORDS[credential.state]} ({credential.reason})"
        for credential in credentials
        if not _is_valid(credential)
    )
    fix = f"mend that, or `quire keys add {provider} --name another`"
    return UsageError(f"no usable key for {provider}: {said}", fix)
