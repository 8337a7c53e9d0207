"""Concerns: which providers this installation has to do with, and how much depends on each."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from quire.accounts.credentials import stored
from quire.accounts.finding import surroundings
from quire.accounts.vendors import VARIABLES
from quire.domain.errors import Error
from quire.engine.examining.findings import Patient
from quire.ledger.ledger import Transaction
from quire.providers.catalog import facts_from_tables, find_model
from quire.providers.naming import OWN_MACHINE, provider_of
from quire.settings import base_url

SIMULATED = "simulated"


class Concern(NamedTuple):
    """A provider, at the place of one of its models if that has its own."""

    provider: str
    url: str = ""
    needed: bool = False  # by the model of choice, or by a run that is going on


def concerns(patient: Patient, tx: Transaction) -> list[Concern]:
    """Every provider that has a key, is named in the settings, or is asked by a running run."""
    settings = patient.settings
    needed = [*_running(tx), *_found([settings.model] if settings.model else [], patient)]
    named = _found([*settings.aliases, *settings.models], patient)
    places: dict[tuple[str, str], bool] = {(each.provider, each.url): True for each in needed}
    others = [
        *named,
        *(Concern(name) for name in settings.providers),
        *(Concern(each.provider) for each in stored(tx.credentials.all())),
        *(Concern(name) for name in VARIABLES if _is_around(name, patient)),
        *(Concern(name) for name in OWN_MACHINE if _has_address(name, patient)),
    ]
    for each in others:
        places.setdefault((each.provider, each.url), False)
    return [
        Concern(provider, url, needed)
        for (provider, url), needed in sorted(places.items())
        if provider != SIMULATED and (url or not _only_elsewhere(provider, places, patient))
    ]


def _running(tx: Transaction) -> Iterator[Concern]:
    for wish in tx.runs.wishes():
        for facts in tx.runs.models(tx.runs.must_get(wish.run_id)):
            yield Concern(facts.provider, facts.wire.url)


def _found(names: Iterable[str], patient: Patient) -> list[Concern]:
    """Models by their names; one that there is not is another check's business."""
    settings = patient.settings
    found = []
    for name in names:
        try:
            facts = find_model(name, facts_from_tables(settings.models), settings.aliases)
        except Error:
            provider = provider_of(settings.aliases.get(name, name))
            found += [Concern(provider)] if provider in VARIABLES else []
        else:
            found.append(Concern(facts.provider, facts.wire.url))
    return found


def _is_around(provider: str, patient: Patient) -> bool:
    """Whether there is a key of it outside; what Google finds by itself is not looked for."""
    try:
        around = surroundings(provider, patient.settings, patient.environment)
    except Error:
        return True  # what is said about it cannot be used: that is worth a line
    return bool(around.without_search().keys or around.problem)


def _has_address(provider: str, patient: Patient) -> bool:
    try:
        return bool(base_url(patient.settings, provider, patient.environment))
    except Error:
        return True


def _only_elsewhere(provider: str, places: Iterable[tuple[str, str]], patient: Patient) -> bool:
    """Whether a provider without a usual place is found only where its models say."""
    elsewhere = any(each == provider and url for each, url in places)
    return elsewhere and not _has_address(provider, patient)
