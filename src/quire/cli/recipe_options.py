"""Options of commands that take a recipe in the place of a schema."""

from typing import Annotated

import typer

MaybeSchema = Annotated[
    str | None,
    typer.Option(
        "--schema",
        "-s",
        metavar="NAME",
        help="A kept schema, or a schema's file.",
        show_default=False,
    ),
]
RecipeName = Annotated[
    str | None,
    typer.Option(
        "--recipe",
        "-r",
        metavar="NAME",
        help="In the place of a schema: a recipe, or a recipe's file.",
        show_default=False,
    ),
]
Params = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        metavar="NAME=VALUE",
        help="A parameter of the recipe; may be repeated.",
        show_default=False,
    ),
]
Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        metavar="NAME=PATH",
        help="Files for an input of the recipe, or a document by number or title; may be repeated.",
        show_default=False,
    ),
]
StopAfter = Annotated[
    str | None,
    typer.Option(
        "--stop-after",
        metavar="STAGE",
        help="Begin no stage of the recipe after this one; `quire resume` goes on.",
        show_default=False,
    ),
]
StageName = Annotated[
    str | None,
    typer.Option(
        "--stage",
        metavar="STAGE",
        help="A stage of the recipe, by default the last one; export takes all as well.",
        show_default=False,
    ),
]
