"""The model list: which models there are, what they cost, and whether that is still so."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from quire.domain.errors import UnknownModel
from quire.domain.models import ModelFacts
from quire.domain.pricing import per_million
from quire.providers.catalog import CATALOG, PRICED_ON, UNPRICED, facts_from_tables, find_model
from quire.providers.model_names import split_date
from quire.providers.price_check import COMPARED_PROVIDERS, price_differences
from quire.settings import read_settings


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelList:
    """The models of the catalog, and over them those that quire.toml states."""

    known: Mapping[str, ModelFacts]
    own: Mapping[str, ModelFacts]  # stated in quire.toml
    aliases: Mapping[str, str]
    unpriced: Mapping[str, str]
    made: str  # the day of the catalog's prices

    def pick(self, name: str) -> list[ModelFacts]:
        """The model of a name or an alias, else those whose names contain it; never none."""
        exact = self.aliases.get(name, name)
        if exact not in self.known:
            part = name.lower()
            found = [facts for text, facts in self.known.items() if part in text.lower()]
            if found:
                return found
        return [find_model(name, self.own, self.aliases)]

    def source(self, facts: ModelFacts) -> str:
        """Where these facts come from."""
        names = {facts.name, split_date(facts.name).family}
        if names & self.own.keys():
            return "quire.toml"
        return f"catalog of {self.made}" if names & self.known.keys() else "its name alone"


def read_model_list() -> ModelList:
    """Read the catalog and the nearest quire.toml."""
    settings = read_settings(Path.cwd(), os.environ, ())
    own = facts_from_tables(settings.models)
    return ModelList(
        known={**CATALOG, **own},
        own=own,
        aliases=settings.aliases,
        unpriced={name: why for name, why in UNPRICED.items() if name not in own},
        made=PRICED_ON,
    )


OLD_DAYS = 90  # after which prices are no longer believed
SOON_DAYS = 60  # before a model is shut down, when it is worth a line


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogCheck:
    """What a check of the catalog found."""

    made: str
    age_days: int
    compared: int | None  # models; None: genai-prices is not installed
    problems: tuple[str, ...]
    remarks: tuple[str, ...]  # worth a line, and not wrong


def check_models(
    model_list: ModelList, chosen: Mapping[str, ModelFacts], now: datetime | None = None
) -> CatalogCheck:
    """Check models against the clock, against each other and against a second opinion."""
    from quire.dispatch.runtime import Runtime  # loads the database: not for a list

    now = now or Runtime().now()
    today = now.date()
    age = (today - date.fromisoformat(model_list.made)).days
    ours = [
        facts
        for name, facts in chosen.items()
        if name not in model_list.own
        and facts.provider in COMPARED_PROVIDERS  # own prices may be negotiated ones
    ]
    differing = price_differences(ours, now)
    problems = [
        *_retirements(chosen.values(), today),
        *(
            f"{difference.model}: {difference.kind} costs {per_million(difference.ours)} in the"
            f" catalog, and {per_million(difference.theirs)} in genai-prices"
            for difference in differing or ()
        ),
        *_dangling_aliases(model_list),
    ]
    if age > OLD_DAYS:
        problems.append(f"the catalog is {age:,} days old: a newer Quire has newer prices")
    return CatalogCheck(
        made=model_list.made,
        age_days=age,
        compared=None if differing is None else len(ours),
        problems=tuple(problems),
        remarks=tuple(_upcoming_retirements(chosen.values(), today)),
    )


def _retirements(chosen: Iterable[ModelFacts], today: date) -> Iterator[str]:
    for facts in chosen:
        if facts.retires and date.fromisoformat(facts.retires) <= today:
            yield f"{facts.name} was shut down on {facts.retires}"


def _upcoming_retirements(chosen: Iterable[ModelFacts], today: date) -> Iterator[str]:
    for facts in chosen:
        left = (date.fromisoformat(facts.retires) - today).days if facts.retires else 0
        if 0 < left <= SOON_DAYS:
            days = "1 day" if left == 1 else f"{left} days"
            yield f"{facts.name} will be shut down on {facts.retires}, in {days}"


def _dangling_aliases(model_list: ModelList) -> Iterator[str]:
    for alias in model_list.aliases:
        try:
            find_model(alias, model_list.own, model_list.aliases)
        except UnknownModel as error:
            yield f"aliases.{alias}: {error.headline}"
