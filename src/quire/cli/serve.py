"""Serve: the HTTP API and the pages, with a worker beside them, until Ctrl-C."""

from typing import Annotated

import typer

from quire.cli.options import option
from quire.cli.printing import say
from quire.cli.session import session
from quire.domain.errors import UsageError


def serve(
    context: typer.Context,
    host: Annotated[str, option("ADDRESS", "Where to listen.")] = "127.0.0.1",
    port: Annotated[int, option("PORT", "On which port; 0: any that is free.", min=0)] = 8321,
    workers: Annotated[int, option("N", "Workers beside the server.", min=0)] = 1,
) -> None:
    """Serve the pages and the HTTP API, with a worker beside them."""
    try:
        from quire.web.serving import run_site
    except ModuleNotFoundError as error:
        raise UsageError("the pages need the extra `web`", "pip install 'quire[web]'") from error
    run_site(ledger=session(context).ledger, host=host, port=port, workers=workers, tell=say)
