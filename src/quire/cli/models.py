"""The command that shows which models there are, what they cost, and whether that is still so."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.options import AsJson, argument, flag
from quire.cli.printing import Narrowing, print_json, print_pairs, print_table, quantity, say
from quire.cli.session import DONE, SOME_FAILED, engine_for, print_outcome
from quire.domain.errors import LedgerError, UsageError
from quire.domain.pricing import per_million
from quire.domain.wording import way_text
from quire.engine.json_views.model_views import models_json

if TYPE_CHECKING:
    from quire.domain.fallbacks import KnownFallback
    from quire.domain.models import Limits, ModelFacts, Price
    from quire.engine.model_list import CatalogCheck, ModelList


def print_check(checked: "CatalogCheck", as_json: bool) -> None:
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


_COLUMNS = (
    *("*model", ">size", ">in", ">read", ">write", ">out", ">batch", ">min", "JSON", "retires"),
)
_NARROWING: tuple[Narrowing, ...] = (
    *((name, None) for name in ("JSON", "min", "write", "retires")),
)

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
    context: typer.Context,
    names: Annotated[
        list[str] | None, argument("NAME", "A model, an alias, or a part of names; all by default.")
    ] = None,
    check: Annotated[
        bool,
        flag(
            "Compare prices with genai-prices; tell what is shut down, and how old it all is.",
            "--check",
        ),
    ] = False,
    forget: Annotated[
        bool, flag("Forget what the server of NAME refused: ask as is stated.", "--forget")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the models with their prices, or show one in full."""
    from quire.engine.model_list import check_models, read_model_list

    model_list = read_model_list()
    found = {facts.name: facts for name in names or () for facts in model_list.pick(name)}
    if check:
        checked = check_models(model_list, found or model_list.known)
        print_check(checked, as_json)
        raise typer.Exit(SOME_FAILED if checked.problems else DONE)
    if forget:
        _forget(context, list(found), as_json)
        return
    chosen = [*(found if names else model_list.known).values()]
    if as_json:
        print_json(models_json(model_list, chosen, everything=not names))
    elif names and len(chosen) == 1:
        print_pairs(_model_pairs(model_list, chosen[0], _read_fallbacks(context, chosen[0].name)))
    else:
        _print_models(model_list, chosen, everything=not names)


def _forget(context: typer.Context, names: Sequence[str], as_json: bool) -> None:
    if not names:
        raise UsageError("--forget needs a model", "`quire models NAME --forget`")
    with engine_for(context) as engine:
        counts = {name: engine.commands.forget_fallbacks(name) for name in names}
    lines = [f"{name}: {quantity(count, 'weaker way')} forgotten" for name, count in counts.items()]
    print_outcome(context, as_json, counts, *lines)


def _read_fallbacks(context: typer.Context, name: str) -> "Sequence[KnownFallback]":
    """The weaker ways that the ledger knows of, if there is one."""
    with suppress(LedgerError), engine_for(context) as engine:
        return engine.queries.fallbacks_of_model(name)
    return ()


def _print_models(
    model_list: "ModelList", chosen: "Sequence[ModelFacts]", *, everything: bool
) -> None:
    providers = list(dict.fromkeys(facts.provider for facts in chosen))
    together = sorted(chosen, key=lambda facts: providers.index(facts.provider))
    for _, group in groupby(together, key=lambda facts: facts.provider):
        rows = [dict(zip(_COLUMNS, _model_row(facts), strict=True)) for facts in group]
        columns = [name for name in _COLUMNS if any(row[name] for row in rows)]
        cells = ([row[name] for name in columns] for row in rows)
        print_table(columns, cells, narrowing=_NARROWING)
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


def _model_pairs(
    model_list: "ModelList", facts: "ModelFacts", fallbacks: "Sequence[KnownFallback]"
) -> Iterator[tuple[str, str]]:
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
    for known in fallbacks:
        where = f"at {known.address} " if known.address else ""
        said = f"{where}since {known.since:%Y-%m-%d}: {way_text(known.part, known.way)}"
        yield "fallback", f"{said}; it said: {known.problem}"


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
