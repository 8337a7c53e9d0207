"""Commands that keep keys, show which there are, try them and erase them."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.edge import SOME_FAILED
from quire.cli.opening import opened, session
from quire.cli.options import AsJson
from quire.cli.printing import moment, note, plain, print_json, print_table, say
from quire.domain.errors import NotFound, UsageError

if TYPE_CHECKING:
    from datetime import datetime

    from quire.accounts.credentials import Known
    from quire.accounts.finding import Surroundings
    from quire.accounts.sealing import Box
    from quire.accounts.secret_key import KeyPlace
    from quire.domain.accounts import Account, Secret
    from quire.engine import Engine
    from quire.providers.probing import Probe

MOST_TYPED = 65536  # bytes

app = typer.Typer(
    help="Keep the keys of providers, encrypted.",
    epilog="Example: quire keys add anthropic",
    no_args_is_help=True,
)

Provider = Annotated[
    str, typer.Argument(metavar="PROVIDER", help="openai, anthropic, gemini, mistral, groq, …")
]


@app.command(epilog="Example: quire keys add anthropic --name work")
def add(
    context: typer.Context,
    provider: Provider,
    extra: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
    name: Annotated[str, typer.Option(metavar="NAME", help="What to call it.")] = "default",
    stdin: Annotated[
        bool, typer.Option("--stdin", metavar="", help="Read it from a pipe, without asking.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Keep a key, encrypted; it is asked for, and not shown."""
    if extra:
        raise UsageError(
            "a key does not belong on the command line, where histories and other users see it;"
            f" leave it out: it is asked for, or read with --stdin ({len(extra[0])} characters"
            " were there, and nothing was kept)"
        )
    from quire.accounts import credentials
    from quire.accounts.vendors import checked_name, checked_provider, doubt

    checked_provider(provider)
    checked_name(name)
    key = _piped() if stdin else _asked(provider)
    doubted = doubt(provider, key)
    if doubted:
        note(f"quire: {doubted}; it is kept all the same")
    with opened(context, make=True) as engine:
        box = _box_for_more(engine)
        with engine.ledger.transaction() as tx:
            credentials.check_box(tx, box)
            credentials.add(tx, box, provider, name, key, _now())
    if as_json:
        print_json({"provider": provider, "name": name, "tail": key.tail, "doubt": doubted})
    elif not session(context).quiet:
        shown = f" …{key.tail}" if key.tail else ""
        say(f"kept the key {provider} {name}{shown}, encrypted; `quire keys test {provider}`")


def _piped() -> "Secret":
    from quire.accounts.vendors import checked_key

    return checked_key(sys.stdin.buffer.read(MOST_TYPED).decode(errors="replace"), "the key")


def _asked(provider: str) -> "Secret":
    from quire.accounts.vendors import checked_key

    if not sys.stdin.isatty():
        raise UsageError("without a terminal to ask on, the key is read with --stdin")
    typed = typer.prompt(
        f"Key of {provider} (it is not shown)",
        hide_input=True,
        default="",
        show_default=False,
        err=True,
    )
    return checked_key(str(typed), "the key")


def _box_for_more(engine: "Engine") -> "Box":
    """The box to keep one more key in; where nothing is kept yet, a secret key may be made."""
    from quire.accounts.credentials import stored
    from quire.accounts.secret_key import make_key, open_box

    place = _place(engine)
    with engine.ledger.snapshot() as tx:
        is_first = not stored(tx.credentials.all())
    if is_first and make_key(place):
        note(
            f"quire: {place.path} is new, and guards stored keys; keep it, and keep it to yourself"
        )
    return open_box(place)


@app.command("list", epilog="Example: quire keys list --json")
def list_all(context: typer.Context, as_json: AsJson = False) -> None:
    """List the keys there are, here and in the environment, in the order they are tried."""
    from quire.accounts.credentials import listing
    from quire.accounts.vendors import VARIABLES

    with opened(context) as engine:
        arounds = [_around(engine, each) for each in VARIABLES]
        with engine.ledger.snapshot() as tx:
            found = listing(tx, arounds)
    for each in arounds:
        if each.problem:
            note(f"quire: {each.problem}")
    if as_json:
        print_json(found)
    elif not found:
        say("no keys yet; `quire keys add PROVIDER` keeps one")
    else:
        columns = ("provider", "~name", "key", "from", "state", "since", "*reason")
        print_table(columns, map(_row, found))


def _row(known: "Known") -> tuple[str, ...]:
    provider, name, source, tail, state, reason, since = known
    return (provider, name, f"…{tail}" if tail else "", source.value, state, moment(since), reason)


@app.command("test", epilog="Example: quire keys test anthropic")
def try_keys(
    context: typer.Context,
    which: Annotated[
        str | None,
        typer.Argument(
            metavar="PROVIDER|NAME", help="Only this provider's, or this key.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Try keys with a call that costs nothing; marks those refused, clears those accepted."""
    import asyncio

    from quire.providers.probing import check_keys

    with opened(context) as engine:
        accounts = _accounts(engine, which)
        probes = asyncio.run(check_keys(accounts))
        _record(engine, accounts, probes)
    if as_json:
        print_json([_probe_json(*each) for each in zip(accounts, probes, strict=True)])
    else:
        for account, probe in zip(accounts, probes, strict=True):
            called = " ".join(part for part in (account.provider, account.credential) if part)
            say(f"{called}: {probe.said}")
    if any(each.state != "valid" for each in probes):
        raise typer.Exit(SOME_FAILED)


def _accounts(engine: "Engine", which: str | None) -> list["Account"]:
    """The accounts that are meant: all, those of a provider, or those with a key of this name."""
    from quire.accounts.choose import every
    from quire.accounts.credentials import stored
    from quire.accounts.secret_key import open_box
    from quire.accounts.vendors import VARIABLES

    place = _place(engine)
    found: list[Account] = []
    for provider in [each for each in VARIABLES if which not in VARIABLES or which == each]:
        around = _around(engine, provider)
        if which != provider:  # what Google would find may not even be there
            around = around.without_search()
        with engine.ledger.transaction() as tx:
            chosen = every(tx, lambda: open_box(place), around, _now())
            rows = tx.credentials.of(around.provider)
        named = {each.id for each in rows if which in (None, each.provider, each.name)}
        found += [each for each in chosen.accounts if each.id in named or which == each.provider]
        if chosen.problem and (which == provider or around.problem or stored(rows)):
            note(f"quire: {chosen.problem}")
    if not found:  # what was typed is not repeated: it may be a key
        raise NotFound("no such key to try; `quire keys list` shows which there are")
    return found


def _record(engine: "Engine", accounts: list["Account"], probes: list["Probe"]) -> None:
    from quire.accounts.credentials import clear_one, mark

    with engine.ledger.transaction() as tx:
        for account, probe in zip(accounts, probes, strict=True):
            if probe.state:
                clear_one(tx, account, _now())
            if probe.state in ("invalid", "spent"):
                mark(tx, account, probe.state, probe.said, _now())


def _probe_json(account: "Account", probe: "Probe") -> dict[str, str]:
    return {
        "provider": account.provider,
        "credential": account.credential,
        "state": probe.state or "unknown",
        "said": plain(probe.said),
    }


@app.command(epilog="Example: quire keys remove anthropic work")
def remove(
    context: typer.Context,
    provider: Provider,
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Which, if there are several.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Erase a stored key."""
    from quire.accounts import credentials
    from quire.accounts.vendors import checked_name, checked_provider

    checked_provider(provider)
    if name is not None:
        checked_name(name)
    with opened(context) as engine, engine.ledger.transaction() as tx:
        removed = credentials.remove(tx, provider, name, _now())
    if as_json:
        print_json({"provider": provider, "name": removed.name, "tail": removed.tail})
    elif not session(context).quiet:
        say(f"erased the key {provider} {removed.name}; the vendor still accepts it")


def _place(engine: "Engine") -> "KeyPlace":
    from quire.accounts.secret_key import key_place

    return key_place(engine.environment, Path.cwd(), engine.settings.ledger)


def _around(engine: "Engine", provider: str) -> "Surroundings":
    from quire.accounts.finding import surroundings

    return surroundings(provider, engine.settings, engine.environment)


def _now() -> "datetime":
    from quire.dispatch.outside import Outside

    return Outside().now()
