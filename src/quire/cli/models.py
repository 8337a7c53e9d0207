"""The command that shows which models there are, what they cost, and whether that is still so."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.options import AsJson
from quire.cli.printing import console, print_json, print_pairs, print_table, quantity, say
from quire.cli.session import DONE, SOME_FAILED
from quire.domain.errors import UnknownModel

if TYPE_CHECKING:
    from quire.domain.models import Limits, ModelFacts, Price


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelList:
    """The models of the catalog, and over them those that quire.toml states."""

    known: "Mapping[str, ModelFacts]"
    own: "Mapping[str, ModelFacts]"  # stated in quire.toml
    aliases: Mapping[str, str]
    unpriced: Mapping[str, str]
    made: str  # the day of the catalog's prices

    def pick(self, name: str) -> "list[ModelFacts]":
        """The model of a name or an alias, else those whose names contain it; never none."""
        from quire.providers.catalog import find_model

        exact = self.aliases.get(name, name)
        if exact not in self.known:
            part = name.lower()
            found = [facts for text, facts in self.known.items() if part in text.lower()]
            if found:
                return found
        return [find_model(name, self.own, self.aliases)]

    def source(self, facts: "ModelFacts") -> str:
        """Where these facts come from."""
        if facts.name in self.own:
            return "quire.toml"
        return f"catalog of {self.made}" if facts.name in self.known else "its name alone"


def read_model_list() -> ModelList:
    """Read the catalog and the nearest quire.toml."""
    from quire.providers.catalog import CATALOG, PRICED_ON, UNPRICED, facts_from_tables
    from quire.settings import read_settings

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
    model_list: ModelList, chosen: "Mapping[str, ModelFacts]", now: datetime
) -> CatalogCheck:
    """Check models against the clock, against each other and against a second opinion."""
    from quire.providers.price_check import COMPARED_PROVIDERS, price_differences

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


def _retirements(chosen: "Iterable[ModelFacts]", today: date) -> Iterator[str]:
    for facts in chosen:
        if facts.retires and date.fromisoformat(facts.retires) <= today:
            yield f"{facts.name} was shut down on {facts.retires}"


def _upcoming_retirements(chosen: "Iterable[ModelFacts]", today: date) -> Iterator[str]:
    for facts in chosen:
        left = (date.fromisoformat(facts.retires) - today).days if facts.retires else 0
        if 0 < left <= SOON_DAYS:
            yield f"{facts.name} will be shut down on {facts.retires}, in {quantity(left, 'day')}"


def _dangling_aliases(model_list: ModelList) -> Iterator[str]:
    from quire.providers.catalog import find_model

    for alias in model_list.aliases:
        try:
            find_model(alias, model_list.own, model_list.aliases)
        except UnknownModel as error:
            yield f"aliases.{alias}: {error.headline}"


def print_check(checked: CatalogCheck, as_json: bool) -> None:
    """Print what a check found, what is wrong first."""
    if as_json:
        print_json(checked)
        return
    for line in (*checked.problems, *checked.remarks):
        say(line)
    say(f"catalog of {checked.made}: {quantity(checked.age_days, 'day')} old")
    if checked.compared is None:
        say("prices were not compared; `pip install genai-prices` makes it possible")
    else:
        say(f"{quantity(checked.compared, 'model')} compared with genai-prices")
    say(quantity(len(checked.problems), "problem") if checked.problems else "nothing is wrong")


def per_million(micro: int) -> str:
    """Dollars per million tokens, in as few digits as are exact."""
    return f"{micro / 1_000_000:.9g}"


_COLUMNS = (
    *("*model", ">size", ">in", ">read", ">write", ">out", ">batch", ">min", "JSON", "retires"),
)
_OPTIONAL_COLUMNS = ("JSON", ">min", ">write", "retires")  # on narrow screens, in this order
_GAP = 2

_ANSWER_FORMS = {
    "schema": "bound to a JSON Schema",
    "tool": "the argument of a forced tool",
    "json": "some JSON, its form asked for in words",
    "text": "asked for in words",
}
_CACHE_MARKINGS = {
    "none": "not planned on",
    "automatic": "found by the provider",
    "breakpoint": "the end of the prefix is marked",
}


def models(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="A model, an alias, or a part of names; all by default.",
            show_default=False,
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            metavar="",
            help="Compare prices with genai-prices; tell what is shut down, and how old it all is.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the models with their prices, or show one in full."""
    model_list = read_model_list()
    found = {facts.name: facts for name in names or () for facts in model_list.pick(name)}
    if check:
        from quire.dispatch.runtime import Runtime

        checked = check_models(model_list, found or model_list.known, Runtime().now())
        print_check(checked, as_json)
        raise typer.Exit(SOME_FAILED if checked.problems else DONE)
    chosen = [*(found if names else model_list.known).values()]
    if as_json:
        _print_models_json(model_list, chosen, everything=not names)
    elif names and len(chosen) == 1:
        print_pairs(_model_pairs(model_list, chosen[0]))
    else:
        _print_models(model_list, chosen, everything=not names)


def _print_models_json(
    model_list: ModelList, chosen: "Sequence[ModelFacts]", *, everything: bool
) -> None:
    """Print a list of models; prices are micro-dollars per million tokens, as in the ledger."""
    unknown = model_list.unpriced.items() if everything else ()
    print_json(
        [
            *({**facts.as_json(), "from": model_list.source(facts)} for facts in chosen),
            *({"name": name, "price": None, "note": why} for name, why in unknown),
        ]
    )


def _print_models(
    model_list: ModelList, chosen: "Sequence[ModelFacts]", *, everything: bool
) -> None:
    width = console().width
    providers = list(dict.fromkeys(facts.provider for facts in chosen))
    together = sorted(chosen, key=lambda facts: providers.index(facts.provider))
    for _, group in groupby(together, key=lambda facts: facts.provider):
        rows = [dict(zip(_COLUMNS, _model_row(facts), strict=True)) for facts in group]
        columns = _fitting_columns(rows, width)
        print_table(columns, [[row[text] for text in columns] for row in rows])
        say()
    say(
        "size: window/longest answer, in tokens. in … batch: dollars per million tokens, as of"
        f" {model_list.made}.\n"
        "read, write: of the prompt cache, where it differs from in. batch: in/out.\n"
        "min: tokens that a prefix needs to be cached. +: dearer above a size."
    )
    if everything:
        for name, target in model_list.aliases.items():
            say(f"{name} = {target}")
        for name, why in model_list.unpriced.items():
            say(f"{name}: no price is known ({why}); [models] in quire.toml states it")


def _fitting_columns(rows: Sequence[Mapping[str, str]], width: int) -> list[str]:
    """The columns that have something in them, without those for which there is no room."""
    columns = [name for name in _COLUMNS if any(row[name] for row in rows)]
    for least in _OPTIONAL_COLUMNS:
        widths = (
            max(len(name.lstrip("*>")), *(len(row[name]) for row in rows)) for name in columns
        )
        if sum(widths) + _GAP * (len(columns) - 1) <= width:
            break
        columns = [name for name in columns if name != least]
    return columns


def _model_row(facts: "ModelFacts") -> tuple[str, ...]:
    price, batch = facts.price, facts.batch_price
    more = "+" if facts.tiers else ""
    return (
        facts.name,
        f"{_short_count(facts.window)}/{_short_count(facts.max_output)}",
        per_million(price.input) + more,
        per_million(price.cached) if price.cached != price.input else "",
        per_million(price.written_short) if price.written_short != price.input else "",
        per_million(price.output) + more,
        f"{per_million(batch.input)}/{per_million(batch.output)}" if batch else "",
        str(facts.cache_minimum or ""),
        str(facts.wire.structured),
        facts.retires,
    )


def _model_pairs(model_list: ModelList, facts: "ModelFacts") -> Iterator[tuple[str, str]]:
    wire = facts.wire
    yield "model", facts.name
    yield "note", facts.note
    yield "retires", facts.retires
    yield "window", f"{facts.window:,} tokens, input and output together"
    yield "input", f"at most {facts.max_input:,} tokens" if facts.max_input else ""
    yield "answer", f"at most {facts.max_output:,} tokens"
    yield "price", _price_words(facts.price)
    for tier in facts.tiers:
        yield "", f"with more than {tier.above:,} tokens of input: {_price_words(tier.price)}"
    yield "batch", _price_words(facts.batch_price) if facts.batch_price else "no price is known"
    least = f", from {facts.cache_minimum:,} tokens on" if facts.cache_minimum else ""
    yield "cache", _CACHE_MARKINGS[wire.marking] + least
    yield "JSON", _ANSWER_FORMS[wire.structured]
    yield "temperature", "taken" if wire.sampling else "refused"
    yield "thinking", f"{facts.thinking:,} tokens are allowed for it" if facts.thinking else ""
    yield "counts", f"{facts.token_factor:g} × the usual tokens" if facts.token_factor != 1 else ""
    yield "limits", _limit_words(facts.limits)
    yield "called", f"{wire.id or facts.name.partition('/')[2]} {wire.url}".rstrip()
    yield "aliases", ", ".join(name for name, to in model_list.aliases.items() if to == facts.name)
    yield "known from", model_list.source(facts)


def _price_words(price: "Price") -> str:
    parts = [
        f"in ${per_million(price.input)}",
        f"cached ${per_million(price.cached)}",
        f"written ${per_million(price.written_short)}",
        f"for long ${per_million(price.written_long)}",
        f"out ${per_million(price.output)}",
    ]
    return ", ".join(parts) + " per million tokens"


def _limit_words(limits: "Limits") -> str:
    per_minute = {
        "requests": limits.requests,
        "input tokens": limits.input,
        "output tokens": limits.output,
        "tokens": limits.total,
    }
    parts = [f"{value:,} {name}" for name, value in per_minute.items() if value is not None]
    return ", ".join(parts) + " a minute" if parts else ""


def _short_count(tokens: int) -> str:
    """Tokens in few characters, rounded down: 1M, 400k, 8k."""
    return f"{tokens // 1_000_000}M" if tokens >= 1_000_000 else f"{tokens // 1_000}k"
