"""The command that shows which models there are, what they cost, and whether that is still so."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.edge import DONE, SOME_FAILED
from quire.cli.model_check import examine, per_million, tell
from quire.cli.options import AsJson
from quire.cli.printing import console, print_json, print_pairs, print_table, say
from quire.cli.shelf import Shelf, fill_shelf

if TYPE_CHECKING:
    from quire.domain.models import Limits, ModelFacts, Price

_COLUMNS = (
    *("*model", ">size", ">in", ">read", ">write", ">out", ">batch", ">min", "JSON", "retires"),
)
_GIVE_WAY = ("JSON", ">min", ">write", "retires")  # on narrow screens, in this order
_GAP = 2

_WAYS = {
    "schema": "bound to a JSON Schema",
    "tool": "the argument of a forced tool",
    "json": "some JSON, its form asked for in words",
    "text": "asked for in words",
}
_MARKS = {
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
    shelf = fill_shelf()
    found = {facts.name: facts for name in names or () for facts in shelf.pick(name)}
    if check:
        from quire.dispatch.outside import Outside

        checked = examine(shelf, found or shelf.known, Outside().now())
        tell(checked, as_json)
        raise typer.Exit(SOME_FAILED if checked.problems else DONE)
    chosen = [*(found if names else shelf.known).values()]
    if as_json:
        _print_json(shelf, chosen, everything=not names)
    elif names and len(chosen) == 1:
        print_pairs(_in_full(shelf, chosen[0]))
    else:
        _print_all(shelf, chosen, everything=not names)


def _print_json(shelf: Shelf, chosen: "Sequence[ModelFacts]", *, everything: bool) -> None:
    """Print a list of models; prices are micro-dollars per million tokens, as in the ledger."""
    unknown = shelf.unpriced.items() if everything else ()
    print_json(
        [
            *({**facts.as_json(), "from": shelf.source(facts)} for facts in chosen),
            *({"name": name, "price": None, "note": why} for name, why in unknown),
        ]
    )


def _print_all(shelf: Shelf, chosen: "Sequence[ModelFacts]", *, everything: bool) -> None:
    width = console().width
    providers = list(dict.fromkeys(facts.provider for facts in chosen))
    together = sorted(chosen, key=lambda facts: providers.index(facts.provider))
    for _, group in groupby(together, key=lambda facts: facts.provider):
        rows = [dict(zip(_COLUMNS, _row(facts), strict=True)) for facts in group]
        shown = _fitting(rows, width)
        print_table(shown, [[row[each] for each in shown] for row in rows])
        say()
    say(
        "size: window/longest answer, in tokens. in … batch: dollars per million tokens, as of"
        f" {shelf.made}.\n"
        "read, write: of the prompt cache, where it differs from in. batch: in/out.\n"
        "min: tokens that a prefix needs to be cached. +: dearer above a size."
    )
    if everything:
        for name, target in shelf.aliases.items():
            say(f"{name} = {target}")
        for name, why in shelf.unpriced.items():
            say(f"{name}: no price is known ({why}); [models] in quire.toml states it")


def _fitting(rows: Sequence[Mapping[str, str]], width: int) -> list[str]:
    """The columns that have something in them, without those for which there is no room."""
    shown = [each for each in _COLUMNS if any(row[each] for row in rows)]
    for least in _GIVE_WAY:
        widths = (max(len(each.lstrip("*>")), *(len(row[each]) for row in rows)) for each in shown)
        if sum(widths) + _GAP * (len(shown) - 1) <= width:
            break
        shown = [each for each in shown if each != least]
    return shown


def _row(facts: "ModelFacts") -> tuple[str, ...]:
    price, batch = facts.price, facts.batch_price
    more = "+" if facts.tiers else ""
    return (
        facts.name,
        f"{_short(facts.window)}/{_short(facts.max_output)}",
        per_million(price.input) + more,
        per_million(price.cached) if price.cached != price.input else "",
        per_million(price.written_short) if price.written_short != price.input else "",
        per_million(price.output) + more,
        f"{per_million(batch.input)}/{per_million(batch.output)}" if batch else "",
        str(facts.cache_minimum or ""),
        str(facts.wire.structured),
        facts.retires,
    )


def _in_full(shelf: Shelf, facts: "ModelFacts") -> Iterator[tuple[str, str]]:
    wire = facts.wire
    yield "model", facts.name
    yield "note", facts.note
    yield "retires", facts.retires
    yield "window", f"{facts.window:,} tokens, input and output together"
    yield "input", f"at most {facts.max_input:,} tokens" if facts.max_input else ""
    yield "answer", f"at most {facts.max_output:,} tokens"
    yield "price", _prices(facts.price)
    for tier in facts.tiers:
        yield "", f"with more than {tier.above:,} tokens of input: {_prices(tier.price)}"
    yield "batch", _prices(facts.batch_price) if facts.batch_price else "no price is known"
    least = f", from {facts.cache_minimum:,} tokens on" if facts.cache_minimum else ""
    yield "cache", _MARKS[wire.marking] + least
    yield "JSON", _WAYS[wire.structured]
    yield "temperature", "taken" if wire.sampling else "refused"
    yield "thinking", f"{facts.thinking:,} tokens are allowed for it" if facts.thinking else ""
    yield "counts", f"{facts.token_factor:g} × the usual tokens" if facts.token_factor != 1 else ""
    yield "limits", _limits(facts.limits)
    yield "called", f"{wire.id or facts.name.partition('/')[2]} {wire.url}".rstrip()
    yield "aliases", ", ".join(name for name, to in shelf.aliases.items() if to == facts.name)
    yield "known from", shelf.source(facts)


def _prices(price: "Price") -> str:
    parts = [
        f"in ${per_million(price.input)}",
        f"cached ${per_million(price.cached)}",
        f"written ${per_million(price.written_short)}",
        f"for long ${per_million(price.written_long)}",
        f"out ${per_million(price.output)}",
    ]
    return ", ".join(parts) + " per million tokens"


def _limits(limits: "Limits") -> str:
    told = {
        "requests": limits.requests,
        "input tokens": limits.input,
        "output tokens": limits.output,
        "tokens": limits.total,
    }
    parts = [f"{value:,} {name}" for name, value in told.items() if value is not None]
    return ", ".join(parts) + " a minute" if parts else ""


def _short(tokens: int) -> str:
    """Tokens in few characters, rounded down: 1M, 400k, 8k."""
    return f"{tokens // 1_000_000}M" if tokens >= 1_000_000 else f"{tokens // 1_000}k"
