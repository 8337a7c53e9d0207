"""Commands that keep keys, show which there are, try them and erase them."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.options import AsJson
from quire.cli.printing import moment, note, plain_text, print_json, print_table, say
from quire.cli.session import SOME_FAILED, engine_for, session
from quire.domain.errors import NotFound, UsageError
from quire.domain.states import CredentialState

if TYPE_CHECKING:
    from datetime import datetime

    from quire.accounts.credentials import KnownKey
    from quire.accounts.encryption import Box, SecretKeyPlace
    from quire.accounts.key_search import KeySearch
    from quire.domain.accounts import Account, Secret
    from quire.engine import Engine
    from quire.providers.key_check import KeyCheck

MAX_KEY_BYTES = 65536  # bytes

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
    from quire.accounts.key_search import key_doubt, validate_key_name, validate_provider

    validate_provider(provider)
    validate_key_name(name)
    key = _read_piped_key() if stdin else _prompt_for_key(provider)
    doubted = key_doubt(provider, key)
    if doubted:
        note(f"quire: {doubted}; it is kept all the same")
    with engine_for(context, make=True) as engine:
        box = _open_key_box(engine)
        with engine.ledger.transaction() as tx:
            credentials.check_box(tx, box)
            credentials.add(tx, box, provider, name, key, _current_time())
    if as_json:
        print_json({"provider": provider, "name": name, "tail": key.tail, "doubt": doubted})
    elif not session(context).quiet:
        tail = f" …{key.tail}" if key.tail else ""
        say(f"kept the key {provider} {name}{tail}, encrypted; `quire keys test {provider}`")


def _read_piped_key() -> "Secret":
    from quire.accounts.key_search import validate_key

    return validate_key(sys.stdin.buffer.read(MAX_KEY_BYTES).decode(errors="replace"), "the key")


def _prompt_for_key(provider: str) -> "Secret":
    from quire.accounts.key_search import validate_key

    if not sys.stdin.isatty():
        raise UsageError("without a terminal to ask on, the key is read with --stdin")
    typed = typer.prompt(
        f"Key of {provider} (it is not shown)",
        hide_input=True,
        default="",
        show_default=False,
        err=True,
    )
    return validate_key(str(typed), "the key")


def _open_key_box(engine: "Engine") -> "Box":
    """The box to keep one more key in; where nothing is kept yet, a secret key may be made."""
    from quire.accounts.credentials import stored_credentials
    from quire.accounts.encryption import make_secret_key, open_box

    place = _key_location(engine)
    with engine.ledger.snapshot() as tx:
        is_first = not stored_credentials(tx.credentials.list_credentials())
    if is_first and make_secret_key(place):
        note(
            f"quire: {place.path} is new, and guards stored keys; keep it, and keep it to yourself"
        )
    return open_box(place)


@app.command("list", epilog="Example: quire keys list --json")
def list_all(context: typer.Context, as_json: AsJson = False) -> None:
    """List the keys there are, here and in the environment, in the order they are tried."""
    from quire.accounts.credentials import list_keys
    from quire.providers.vendors import KEYED_PROVIDERS

    with engine_for(context) as engine:
        searches = [_key_search(engine, name) for name in KEYED_PROVIDERS]
        with engine.ledger.snapshot() as tx:
            found = list_keys(tx, searches)
    for around in searches:
        if around.problem:
            note(f"quire: {around.problem}")
    if as_json:
        print_json(found)
    elif not found:
        say("no keys yet; `quire keys add PROVIDER` keeps one")
    else:
        columns = ("provider", "~name", "key", "from", "state", "since", "*reason")
        print_table(columns, map(_key_row, found))


def _key_row(known: "KnownKey") -> tuple[str, ...]:
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

    from quire.providers.key_check import check_keys

    with engine_for(context) as engine:
        accounts = _matching_accounts(engine, which)
        probes = asyncio.run(check_keys(accounts))
        _record_probes(engine, accounts, probes)
    if as_json:
        print_json([_probe_json(*item) for item in zip(accounts, probes, strict=True)])
    else:
        for account, probe in zip(accounts, probes, strict=True):
            called = " ".join(part for part in (account.provider, account.credential) if part)
            say(f"{called}: {probe.message}")
    if any(check.state != CredentialState.VALID for check in probes):
        raise typer.Exit(SOME_FAILED)


def _matching_accounts(engine: "Engine", which: str | None) -> list["Account"]:
    """The accounts that are meant: all, those of a provider, or those with a key of this name."""
    from quire.accounts.account_choice import every_account
    from quire.accounts.credentials import stored_credentials
    from quire.accounts.encryption import open_box
    from quire.providers.vendors import KEYED_PROVIDERS

    place = _key_location(engine)
    found: list[Account] = []
    for provider in [
        name for name in KEYED_PROVIDERS if which not in KEYED_PROVIDERS or which == name
    ]:
        search = _key_search(engine, provider)
        if which != provider:  # what Google would find may not even be there
            search = search.without_default_credentials()
        with engine.ledger.transaction() as tx:
            chosen = every_account(tx, lambda: open_box(place), search, _current_time())
            rows = tx.credentials.credentials_of_provider(search.provider)
        named = {row.id for row in rows if which in (None, row.provider, row.name)}
        found += [
            account
            for account in chosen.accounts
            if account.id in named or which == account.provider
        ]
        if chosen.problem and (which == provider or search.problem or stored_credentials(rows)):
            note(f"quire: {chosen.problem}")
    if not found:  # what was typed is not repeated: it may be a key
        raise NotFound("no such key to try; `quire keys list` shows which there are")
    return found


def _record_probes(engine: "Engine", accounts: list["Account"], probes: list["KeyCheck"]) -> None:
    from quire.accounts.credentials import clear_one, mark

    with engine.ledger.transaction() as tx:
        for account, probe in zip(accounts, probes, strict=True):
            if probe.state:
                clear_one(tx, account, _current_time())
            if probe.state in (CredentialState.INVALID, CredentialState.SPENT):
                mark(tx, account, probe.state, probe.message, _current_time())


def _probe_json(account: "Account", probe: "KeyCheck") -> dict[str, str]:
    return {
        "provider": account.provider,
        "credential": account.credential,
        "state": probe.state or "unknown",
        "said": plain_text(probe.message),
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
    from quire.accounts.key_search import validate_key_name, validate_provider

    validate_provider(provider)
    if name is not None:
        validate_key_name(name)
    with engine_for(context) as engine, engine.ledger.transaction() as tx:
        removed = credentials.remove(tx, provider, name, _current_time())
    if as_json:
        print_json({"provider": provider, "name": removed.name, "tail": removed.tail})
    elif not session(context).quiet:
        say(f"erased the key {provider} {removed.name}; the vendor still accepts it")


def _key_location(engine: "Engine") -> "SecretKeyPlace":
    from quire.accounts.encryption import secret_key_place

    return secret_key_place(engine.environment, Path.cwd(), engine.settings.ledger)


def _key_search(engine: "Engine", provider: str) -> "KeySearch":
    from quire.accounts.key_search import search_keys

    return search_keys(provider, engine.settings, engine.environment)


def _current_time() -> "datetime":
    from quire.engine import Runtime

    return Runtime().now()
