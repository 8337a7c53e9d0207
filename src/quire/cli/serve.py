"""Serve: the HTTP API and the pages, with a worker beside them, until Ctrl-C."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from quire.cli.options import flag, option
from quire.cli.printing import say
from quire.cli.session import session
from quire.domain.errors import UsageError


def serve(
    context: typer.Context,
    *,
    host: Annotated[str, option("ADDRESS", "Where to listen.")] = "127.0.0.1",
    port: Annotated[int, option("PORT", "On which port; 0: any that is free.", min=0)] = 8321,
    workers: Annotated[
        int, option("N", "Workers beside the server, for each workspace in use.", min=0)
    ] = 1,
    allow_host: Annotated[
        list[str] | None, option("NAME", "A name that others reach it by.", "--allow-host")
    ] = None,
    demo: Annotated[
        bool, flag("Filled, with the simulated model; gone afterwards but for --ledger.", "--demo")
    ] = False,
) -> None:
    """Serve the pages and the HTTP API, with a worker beside them.

    On this machine nobody signs in. Where others may reach it, tokens are needed: quire token.
    """
    try:
        from quire.web.serving import Serving, listen, run_site
    except ModuleNotFoundError as error:
        raise UsageError("the pages need the extra `web`", "pip install 'quire[web]'") from error
    serving = Serving(session(context).ledger, host, workers, tuple(allow_host or ()))
    with listen(host, port) as listening:
        if not demo:
            run_site(listening, serving, say)
            return
        from quire.web.demo import SLOW

        with _demo_ledger(serving.ledger) as ledger:
            run_site(listening, serving._replace(ledger=ledger, faults=SLOW), say)


@contextmanager
def _demo_ledger(named: str | None) -> Iterator[str]:
    """A filled ledger: the one that was named, or one that is gone afterwards."""
    from quire.engine import open_engine
    from quire.web.demo import FAULTS, fill_demo

    with TemporaryDirectory(prefix="quire-demo-") as folder:
        ledger = named or str(Path(folder) / "demo.db")
        say("filling a demo with the simulated model …")
        with open_engine(ledger, faults=FAULTS) as engine:
            fill_demo(engine)
        yield ledger
