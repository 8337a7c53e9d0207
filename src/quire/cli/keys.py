"""Commands that keep keys, show which there are, try them and erase them."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.options import AsJson, argument, flag, option
from quire.cli.printing import (
    Cell,
    Narrowing,
    clip,
    note,
    print_json,
    print_table,
    say,
    shorter,
)
from quire.cli.session import SOME_FAILED, engine_for, print_outcome
from quire.domain.errors import UsageError
from quire.domain.plain_text import plain_text
from quire.domain.states import CredentialState

if TYPE_CHECKING:
    from quire.domain.accounts import Account
    from quire.engine import KeyCheck, KnownKey

MAX_KEY_BYTES = 65536  # bytes
_NARROWING: tuple[Narrowing, ...] = (
    ("since", shorter),
    ("since", None),
    ("name", lambda name: clip(name, 24)),
)

app = typer.Typer(
    help="Keep the keys of providers, encrypted.",
    epilog="Example: quire keys add anthropic",
    no_args_is_help=True,
)

Provider = Annotated[str, argument("PROVIDER", "openai, anthropic, gemini, mistral, groq, …")]
Person = Annotated[
    str | None,
    option("NAME", "Whose: only runs that they start use it. By default the workspace's."),
]


@app.command(epilog="Example: quire keys add anthropic --name work")
def add(
    context: typer.Context,
    provider: Provider,
    extra: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
    *,
    name: Annotated[str, option("NAME", "What to call it.")] = "default",
    person: Person = None,
    stdin: Annotated[bool, flag("Read it from a pipe, without asking.", "--stdin")] = False,
    as_json: AsJson = False,
) -> None:
    """Keep a key, encrypted; it is asked for, and not shown."""
    if extra:
        raise UsageError(
            "a key does not belong on the command line, where histories and other users see it;"
            f" leave it out: it is asked for, or read with --stdin ({len(extra[0])} characters"
            " were there, and nothing was kept)"
        )
    from quire.engine.keys import check_names, read_key

    check_names(provider, name)
    key, doubt = read_key(provider, _read_piped_key() if stdin else _prompt_for_key(provider))
    if doubt:
        note(f"quire: {doubt}; it is kept all the same")
    with engine_for(context, make=True) as engine:
        made = engine.keys.add(provider, name, key, person or "")
    if made:
        note(f"quire: {made} is new, and guards stored keys; keep it, and keep it to yourself")
    tail = f" …{key.tail}" if key.tail else ""
    whose = f" of {person}" if person else ""
    kept = f"kept the key {provider} {name}{whose}{tail}, encrypted; `quire keys test {provider}`"
    stored = {"provider": provider, "name": name, "person": person or "", "tail": key.tail}
    stored["doubt"] = doubt
    print_outcome(context, as_json, stored, kept)


def _read_piped_key() -> str:
    return sys.stdin.buffer.read(MAX_KEY_BYTES).decode(errors="replace")


def _prompt_for_key(provider: str) -> str:
    if not sys.stdin.isatty():
        raise UsageError("without a terminal to ask on, the key is read with --stdin")
    typed = typer.prompt(
        f"Key of {provider} (it is not shown)",
        hide_input=True,
        default="",
        show_default=False,
        err=True,
    )
    return str(typed)


@app.command("list", epilog="Example: quire keys list --json")
def list_all(context: typer.Context, as_json: AsJson = False) -> None:
    """List the keys there are, here and in the environment, in the order they are tried."""
    with engine_for(context) as engine:
        found, problems = engine.keys.listing()
    for problem in problems:
        note(f"quire: {problem}")
    whose = ("of",) if any(known.person for known in found) else ()
    columns = ("provider", "name", *whose, "key", "from", "state", "since", "*reason")
    nothing = "no keys yet; `quire keys add PROVIDER` keeps one"
    listed = [known._asdict() | {"state": known.standing} for known in found]
    rows = (_key_row(known, with_person=bool(whose)) for known in found)
    if as_json:
        print_json(listed)
    elif found:
        print_table(columns, rows, narrowing=_NARROWING)
    else:
        say(nothing)


def _key_row(known: "KnownKey", *, with_person: bool) -> tuple[str | Cell, ...]:
    provider, name, source, tail, _, reason, since, _, person = known
    key = f"…{tail}" if tail else ""
    whose = (person or "the workspace",) if with_person else ()
    state = (source.value, known.standing, Cell.of_moment(since), reason)
    return (provider, name, *whose, key, *state)


@app.command("test", epilog="Example: quire keys test anthropic")
def try_keys(
    context: typer.Context,
    which: Annotated[
        str | None, argument("PROVIDER|NAME", "Only this provider's, or this key.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Try keys with a call that costs nothing; marks those refused, clears those accepted."""
    with engine_for(context) as engine:
        found = engine.keys.test(which, lambda problem: note(f"quire: {problem}"))
    if as_json:
        print_json([_test_json(*test) for test in found])
    else:
        for account, check in found:
            called = " ".join(part for part in (account.provider, account.credential) if part)
            say(f"{called}: {check.message}")
    if any(test.check.state != CredentialState.VALID for test in found):
        raise typer.Exit(SOME_FAILED)


def _test_json(account: "Account", check: "KeyCheck") -> dict[str, str]:
    return {
        "provider": account.provider,
        "credential": account.credential,
        "state": check.state or "unknown",
        "said": plain_text(check.message),
    }


@app.command(epilog="Example: quire keys remove anthropic work")
def remove(
    context: typer.Context,
    provider: Provider,
    name: Annotated[str | None, argument("NAME", "Which, if there are several.")] = None,
    person: Person = None,
    as_json: AsJson = False,
) -> None:
    """Erase a stored key."""
    from quire.engine.keys import check_names

    check_names(provider, name)
    with engine_for(context) as engine:
        removed = engine.keys.remove(provider, name, person or "")
    erased = {"provider": provider, "name": removed.name, "person": removed.person}
    erased["tail"] = removed.tail
    whose = f" of {removed.person}" if removed.person else ""
    said = f"erased the key {provider} {removed.name}{whose}; the vendor still accepts it"
    print_outcome(context, as_json, erased, said)
