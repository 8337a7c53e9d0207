"""Options that say how the server of a rehearsal behaves, and how much is rehearsed."""

from typing import Annotated

import typer

Host = Annotated[str, typer.Option(metavar="HOST", help="Where to listen.")]
Port = Annotated[
    int, typer.Option(metavar="PORT", min=0, max=65535, help="0 takes any that is free.")
]
LatencyRule = Annotated[
    str,
    typer.Option(
        metavar="TIME",
        help="How long an answer takes: 0.05, 2s, uniform:1s-3s, lognormal:2s.",
        show_default=False,
    ),
]
BatchLatency = Annotated[
    str,
    typer.Option(
        metavar="TIME",
        help="How long a batch takes, in the same forms; 1s unless told.",
        show_default=False,
    ),
]
BatchHits = Annotated[
    float,
    typer.Option(
        metavar="SHARE",
        min=0.0,
        max=1.0,
        help="Of the rows of batches, how many find a prefix that is kept.",
    ),
]
FaultRates = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=RATE", help="What goes wrong; may be repeated.", show_default=False),
]
LimitRates = Annotated[
    str,
    typer.Option(
        metavar="KIND=N,…",
        help="Limits a minute for each key and model: requests, input, output, total.",
        show_default=False,
    ),
]
KeyStandings = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=valid|invalid|spent",
        help="How a key stands; by default every key is valid. May be repeated.",
        show_default=False,
    ),
]
Thinking = Annotated[
    int, typer.Option(metavar="TOKENS", min=0, help="Reasoning billed with every answer.")
]
Strict = Annotated[
    bool, typer.Option("--strict", metavar="", help="Refuse models that the catalog lacks.")
]
Seed = Annotated[int, typer.Option(metavar="N", min=0, help="Of chance.")]
LogFile = Annotated[
    str,
    typer.Option(
        metavar="FILE", help="Write a line of JSON for every request.", show_default=False
    ),
]
Sample = Annotated[
    int | None,
    typer.Option(
        min=1,
        metavar="N",
        help="Rehearse N blocks, spread over all documents.",
        show_default=False,
    ),
]
LimitProfile = Annotated[
    str,
    typer.Option(
        metavar="KIND=N,…",
        help="Limits a minute: requests, input, output, total; or `model`: what is known of it.",
        show_default=False,
    ),
]
