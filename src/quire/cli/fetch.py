"""Fetch: a local copy of a run's export from a server, brought up to date when it changed."""

import os
from typing import Annotated

import typer

from quire.cli.exports import EVERY
from quire.cli.options import AsJson, Only, argument, option
from quire.cli.order_options import StageName
from quire.cli.session import print_outcome

TOKEN = "QUIRE_TOKEN"  # noqa: S105 - the name of a variable


def fetch(
    context: typer.Context,
    server: Annotated[str, argument("SERVER", "Its address, such as http://localhost:8321.")],
    run: Annotated[int, argument("RUN", "The number of the run there.")],
    *,
    output: Annotated[
        str | None,
        option(
            "FILE",
            "Where to; its ending says the format. By default run_RUN.jsonl.",
            "--output",
            "-o",
        ),
    ] = None,
    only: Only = EVERY,
    stage: StageName = None,
    as_json: AsJson = False,
) -> None:
    """Keep a copy of a remote run's export; it is fetched only if it has changed.

    A token, where the server wants one, is taken from QUIRE_TOKEN.
    """
    from quire.client import connect, fetch_export

    path = output or f"run_{run}.jsonl"
    found = connect(server, os.environ.get(TOKEN) or None).get(run)
    copy = fetch_export(found, server, path, only, stage)
    counts = ", ".join(f"{count:,} {status}" for status, count in copy.rows.items()) or "no rows"
    words = "fetched" if copy.changed else "unchanged, left as it is:"
    print_outcome(context, as_json, copy._asdict(), f"{words} {path} ({counts})")
