"""Keys: with which credential each provider would be called, and what guards the stored ones."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from quire.accounts.choose import Chosen, choose
from quire.accounts.credentials import Known, check_box, listing, stored
from quire.accounts.finding import Surroundings, surroundings
from quire.accounts.sealing import Box
from quire.accounts.secret_key import key_place, open_box
from quire.accounts.vendors import doubt
from quire.domain.accounts import Account, label
from quire.domain.errors import Error
from quire.domain.states import CREDENTIAL
from quire.engine.accounting import box_opener
from quire.engine.examining.concerns import Concern, concerns
from quire.engine.examining.findings import Finding, Patient, fine, odd, of_error, wrong
from quire.engine.examining.ledgers import undone
from quire.ledger.ledger import Transaction


class Called(NamedTuple):
    """As whom a provider would be called, or why it could not be."""

    concern: Concern
    account: Account | None
    problem: str
    marked: tuple[Known, ...]  # keys that were refused before


def called(patient: Patient) -> list[Called]:
    """Choose accounts as a worker would, and leave no trace of that."""
    box = box_opener(patient.settings, patient.environment)
    with undone(patient.ledger) as tx:
        return [_called(tx, box, patient, each) for each in concerns(patient, tx)]


def keys(patient: Patient) -> Iterator[Finding]:
    """Which key each provider would be called with."""
    found = called(patient)
    for each in found:
        yield _found(each)
        yield from _doubts(each)
        for known in each.marked:
            shown = label(known.source, known.name, known.tail)
            yield odd(
                "keys",
                f"{known.provider}: {shown} is marked {known.state} ({known.reason})",
                f"`quire keys test {known.provider}` tries it again",
            )
    if not found:
        yield fine("keys", "there are none; `quire keys add PROVIDER` keeps one")


def secret_key(patient: Patient) -> Iterator[Finding]:
    """Whether stored keys can be opened, and only by their owner."""
    place = key_place(patient.environment, Path.cwd(), patient.settings.ledger)
    with patient.ledger.snapshot() as tx:
        kept = len(stored(tx.credentials.all()))
        if not kept and not place.told and not place.path.exists():
            yield fine("keys", "none is stored, so nothing guards them")
            return
        try:
            check_box(tx, open_box(place))
        except Error as error:
            found = of_error("keys", error)
            yield found if kept else odd("keys", found.said, found.fix)
            return
    where = "QUIRE_SECRET_KEY" if place.told else str(place.path)
    yield fine("keys", f"{kept} stored, guarded by {where}, which is its owner's alone")


def _called(tx: Transaction, box: Callable[[], Box], patient: Patient, concern: Concern) -> Called:
    try:
        around = surroundings(concern.provider, patient.settings, patient.environment, concern.url)
    except Error as error:
        return Called(concern, None, str(error), ())
    chosen = _chosen(tx, box, around, patient)
    known = listing(tx, [around])
    marked = tuple(
        each
        for each in known
        if each.provider == concern.provider and each.state != CREDENTIAL.start
    )
    account = chosen.accounts[0] if chosen.accounts else None
    return Called(concern, account, chosen.problem, marked)


def _chosen(
    tx: Transaction, box: Callable[[], Box], around: Surroundings, patient: Patient
) -> Chosen:
    try:
        return choose(tx, box, around, patient.outside.now())
    except Error as error:
        return Chosen((), str(error))


def _found(each: Called) -> Finding:
    name = each.concern.provider
    if each.account is None:
        said, _, fix = each.problem.partition("; ")
        missing = f"{name}: {said}".replace(f"{name}: {name}", name)
        return (wrong if each.concern.needed else odd)("keys", missing, fix)
    if not each.account.credential:
        return fine("keys", f"{name}: no key, and none is needed")
    return fine("keys", f"{name}: {each.account.credential}")


def _doubts(each: Called) -> Iterator[Finding]:
    if each.account is not None and each.account.key and not each.account.base_url:
        doubted = doubt(each.concern.provider, each.account.key)
        if doubted:
            shown = f"{each.concern.provider}: {each.account.credential}"
            yield odd("keys", f"{shown}: {doubted}", f"`quire keys test {each.concern.provider}`")
