"""Opening: from the global options to an engine, and from a number to a run."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from quire.cli.printing import print_json, say
from quire.domain.errors import NotFound
from quire.domain.ids import RunId

if TYPE_CHECKING:
    from quire.engine import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What the options before the command said."""

    ledger: str | None
    quiet: bool


def session(context: typer.Context) -> Session:
    """The global options of this command line."""
    found = context.find_object(Session)
    assert found is not None
    return found


def tell(context: typer.Context, as_json: bool, data: object, *lines: str) -> None:
    """Say what was done: as JSON, or in words unless these are not wanted."""
    if as_json:
        print_json(data)
    elif not session(context).quiet:
        for each in lines:
            say(each)


@contextmanager
def opened(context: typer.Context, *, make: bool = False) -> Iterator["Engine"]:
    """Open the ledger that is meant; only a command that brings something in may make it."""
    from quire.engine import open_engine  # loads the database: not for --help

    with open_engine(session(context).ledger, must_exist=not make) as engine:
        yield engine


def chosen(engine: "Engine", run: int | None) -> RunId:
    """The run that is meant: by its number, or the newest."""
    if run is not None:
        return engine.get(run).id
    newest = engine.runs(1)
    if not newest:
        raise NotFound("there are no runs yet; `quire run --schema SCHEMA` starts one")
    return newest[0].id
