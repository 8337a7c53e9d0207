"""Checking models: against the clock, against a second opinion on prices, and their aliases."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING

from quire.cli.printing import counted, print_json, say
from quire.cli.shelf import Shelf
from quire.domain.errors import UnknownModel

if TYPE_CHECKING:
    from quire.domain.models import ModelFacts

OLD_DAYS = 90  # after which prices are no longer believed
SOON_DAYS = 60  # before a model is shut down, when it is worth a line


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What a check of the catalog found."""

    made: str
    age_days: int
    compared: int | None  # models; None: genai-prices is not installed
    problems: tuple[str, ...]
    remarks: tuple[str, ...]  # worth a line, and not wrong


def examine(shelf: Shelf, chosen: "Mapping[str, ModelFacts]", now: datetime) -> Checked:
    """Check models against the clock, against each other and against a second opinion."""
    from quire.providers.second_opinion import ASKED, differences

    today = now.date()
    age = (today - date.fromisoformat(shelf.made)).days
    ours = [
        facts
        for name, facts in chosen.items()
        if name not in shelf.own and facts.provider in ASKED  # own prices may be negotiated ones
    ]
    differing = differences(ours, now)
    problems = [
        *_gone(chosen.values(), today),
        *(
            f"{each.model}: {each.kind} costs {per_million(each.ours)} in the catalog, and"
            f" {per_million(each.theirs)} in genai-prices"
            for each in differing or ()
        ),
        *_dangling(shelf),
    ]
    if age > OLD_DAYS:
        problems.append(f"the catalog is {age:,} days old: a newer Quire has newer prices")
    return Checked(
        made=shelf.made,
        age_days=age,
        compared=None if differing is None else len(ours),
        problems=tuple(problems),
        remarks=tuple(_going(chosen.values(), today)),
    )


def _gone(chosen: "Iterable[ModelFacts]", today: date) -> Iterator[str]:
    for facts in chosen:
        if facts.retires and date.fromisoformat(facts.retires) <= today:
            yield f"{facts.name} was shut down on {facts.retires}"


def _going(chosen: "Iterable[ModelFacts]", today: date) -> Iterator[str]:
    for facts in chosen:
        left = (date.fromisoformat(facts.retires) - today).days if facts.retires else 0
        if 0 < left <= SOON_DAYS:
            yield f"{facts.name} will be shut down on {facts.retires}, in {counted(left, 'day')}"


def _dangling(shelf: Shelf) -> Iterator[str]:
    from quire.providers.catalog import find_model

    for alias in shelf.aliases:
        try:
            find_model(alias, shelf.own, shelf.aliases)
        except UnknownModel as error:
            yield f"aliases.{alias}: {str(error).splitlines()[0]}"


def tell(checked: Checked, as_json: bool) -> None:
    """Print what a check found, what is wrong first."""
    if as_json:
        print_json(checked)
        return
    for line in (*checked.problems, *checked.remarks):
        say(line)
    say(f"catalog of {checked.made}: {counted(checked.age_days, 'day')} old")
    if checked.compared is None:
        say("prices were not compared; `pip install genai-prices` makes it possible")
    else:
        say(f"{counted(checked.compared, 'model')} compared with genai-prices")
    say(counted(len(checked.problems), "problem") if checked.problems else "nothing is wrong")


def per_million(micro: int) -> str:
    """Dollars per million tokens, in as few digits as are exact."""
    return f"{micro / 1_000_000:.9g}"
