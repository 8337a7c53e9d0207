"""One call: rows in and a frame out, planned or streamed, on a ledger that is opened for it."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike, fspath

from quire.domain.errors import UsageError
from quire.engine.engine import Engine, open_engine
from quire.engine.forecasts import Plan
from quire.engine.foreign_values import Cell, ForeignRows, Said
from quire.engine.kept_schemas import SchemaSource
from quire.engine.wallets import Dollars

_log = logging.getLogger("quire")  # what a script's or a notebook's user should hear at once

Store = str | PathLike[str] | Engine | None


def extract(  # noqa: PLR0913 - all that a person may say of it
    data: ForeignRows,
    schema: SchemaSource,
    *,
    prompt: str | None = None,
    text: str | None = None,
    key: str | None = None,
    model: str | None = None,
    store: Store = None,
    as_: str | None = None,
    limit: int | None = None,
    max_cost: float | None = None,
    wallet: str | None = None,
    budget: Dollars | None = None,
    progress: bool | None = None,
    **policy: Said,
) -> ForeignRows:
    """Ask a schema of every row, and give the rows back with typed answers beside them.

    `data`: a list of texts or mappings, a pandas, polars or Arrow table, a Hugging Face dataset, an
    iterator, or a path of files. `schema`: a Pydantic class, a mapping, a file, or a kept name;
    `prompt` says what to do, by default the class's docstring. `text` is a column, or a template
    such as "{title}: {body}"; left out, the whole row is shown as JSON. `key` names rows.

    Beside the caller's own columns come the schema's fields, `status`, `error` and `cost_usd`;
    `as_="objects"` gives a list of the class instead. The same call goes on where it stopped, and
    asks only what was not answered before. `store` is the ledger, by default the one that the
    nearest quire.toml names, of this folder or one above, and without one quire.db of this folder.
    `limit` rows at most; `max_cost` and `budget` in dollars; the rest is policy, and `new=True`,
    another run: with `reuse=False` it asks everything again.
    """
    asked = {"prompt": prompt, "text": text, "key": key, "model": model, "limit": limit}
    money = {"max_cost": max_cost, "wallet": wallet, "budget": budget}
    with _engine(store) as engine:
        return engine.extract(data, schema, as_=as_, progress=progress, **asked, **money, **policy)


def plan(data: ForeignRows, schema: SchemaSource, *, store: Store = None, **said: Said) -> Plan:
    """What the same call of `extract` would cost; sends nothing."""
    with _engine(store) as engine:
        return engine.plan_extract(data, schema, **said)


def stream(
    data: ForeignRows, schema: SchemaSource, *, store: Store = None, **said: Said
) -> Iterator[dict[str, Cell]]:
    """The rows that `extract` would give back, one by one, as they are accepted or fail."""
    with _engine(store) as engine:
        yield from engine.stream(data, schema, **said)


@contextmanager
def _engine(store: Store) -> Iterator[Engine]:
    """The engine that is given, which stays open; or one that is opened for this call."""
    if isinstance(store, Engine):
        yield store
        return
    if not isinstance(store, str | PathLike | None):
        raise UsageError(
            f"store is a file, postgresql://… or what quire.open gave, not {type(store).__name__}",
            "behind a server, files are asked about by ingest() and run()",
        )
    with open_engine(None if store is None else fspath(store)) as engine:
        if new := engine.new_ledger_words:
            _log.warning("%s", new)
        yield engine
