"""Commands about tokens: who may ask a server of this ledger, and as what."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.options import AsJson, argument, option
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
from quire.cli.session import print_outcome, session

if TYPE_CHECKING:
    from quire.domain.access import AccessToken
    from quire.engine import Engine

NAME = 24  # characters of a name: its number and role stand beside it
_NARROWING: tuple[Narrowing, ...] = (("made", shorter), ("last used", shorter), ("made", None))

app = typer.Typer(
    help="Tokens: who may ask a server, and as what.",
    epilog="Example: quire token create ann --role reviewer --expires 30d",
    no_args_is_help=True,
)

Workspace = Annotated[
    str | None, option("NAME", "Of this workspace; by default that of quire.toml.", "--workspace")
]


@contextmanager
def _engine_of(context: typer.Context, workspace: str | None, *, make: bool) -> Iterator["Engine"]:
    from quire.engine import open_engine

    place = session(context).ledger
    with open_engine(place, workspace=workspace, must_exist=not make) as engine:
        yield engine


@app.command(epilog="Example: quire token create ann --role reviewer --expires 30d")
def create(
    context: typer.Context,
    name: Annotated[str, argument("NAME", "Of who uses it: what decisions are signed with.")],
    role: Annotated[str, option("ROLE", "viewer, reviewer, operator or admin.", "--role")],
    workspace: Workspace = None,
    expires: Annotated[
        str | None, option("TIME", "12h, 30d, 8w; by default never.", "--expires")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a token; it is printed this once, and kept only as a digest."""
    with _engine_of(context, workspace, make=True) as engine:
        made = engine.access_tokens.create(name, role, expires)
    if as_json:
        print_json({**made.kept.as_json(), "token": made.token})
        return
    if not session(context).quiet:
        note(f"token {made.kept.id} of {made.kept.name}, {made.kept.role}; it is not shown again:")
    say(made.token)


@app.command("list", epilog="Example: quire token list --json")
def list_all(context: typer.Context, workspace: Workspace = None, as_json: AsJson = False) -> None:
    """List the tokens of a workspace."""
    with _engine_of(context, workspace, make=False) as engine:
        found, now = engine.access_tokens.list(), engine.runtime.now()
    columns = (">id", "name", "role", "token", "state", "made", "last used")
    rows = (
        (
            token.id,
            clip(token.name, NAME),
            token.role,
            f"…{token.tail}",
            _usable_words(token) if token.is_usable(now) else _end_of(token),
            Cell.of_moment(token.created_at),
            Cell.of_moment(token.last_used_at),
        )
        for token in found
    )
    nothing = "no tokens yet; `quire token create NAME --role ROLE` makes one"
    if as_json:
        print_json([token.as_json() for token in found])
    elif found:
        print_table(columns, rows, narrowing=_NARROWING)
    else:
        say(nothing)


def _usable_words(token: "AccessToken") -> str:
    """That it lets somebody in, and until which day."""
    until = token.expires_at
    return f"usable until {until.astimezone():%Y-%m-%d}" if until else "usable"


def _end_of(token: "AccessToken") -> str:
    return "revoked" if token.revoked_at else "expired"


@app.command(epilog="Example: quire token revoke 2")
def revoke(
    context: typer.Context,
    number: Annotated[int, argument("TOKEN", "Its number.")],
    workspace: Workspace = None,
    as_json: AsJson = False,
) -> None:
    """Let nobody in with a token any more, from now on."""
    with _engine_of(context, workspace, make=False) as engine:
        revoked = engine.access_tokens.revoke(number)
    said = f"token {number} of {revoked.name} lets nobody in any more"
    print_outcome(context, as_json, {"token": number, "name": revoked.name}, said)
