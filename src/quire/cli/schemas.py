"""Commands that keep schemas and show them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.opening import opened, tell
from quire.cli.options import AsJson
from quire.cli.printing import counted, print_json, print_table, say

if TYPE_CHECKING:
    from quire.domain.recipes import Schema

app = typer.Typer(
    help="Keep schemas: what is asked about every block.",
    epilog="Example: quire schema add clauses.json",
    no_args_is_help=True,
)


@app.command(epilog="Example: quire schema add clauses.json --ref clauses_v2")
def add(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A JSON Schema with properties.")],
    ref: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Its name; by default what the file calls itself."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a schema and keep it under a name; every mistake is told at once."""
    with opened(context, make=True) as engine:
        kept = engine.add_schema(file, ref)
    said = f"schema {kept.ref}: {counted(len(kept.properties), 'field')}, {kept.uid[:12]}"
    tell(context, as_json, _json(kept), said)


@app.command("list", epilog="Example: quire schema list")
def list_all(context: typer.Context, as_json: AsJson = False) -> None:
    """List the kept schemas."""
    with opened(context) as engine:
        found = engine.schemas()
    if as_json:
        print_json([_json(each) for each in found])
    elif not found:
        say("no schemas yet; `quire schema add FILE` keeps one")
    else:
        rows = ((each.ref, each.uid[:12], ", ".join(each.properties)) for each in found)
        print_table(("ref", "uid", "*fields"), rows)


@app.command(epilog="Example: quire schema show clauses")
def show(
    context: typer.Context,
    ref: Annotated[str, typer.Argument(metavar="REF", help="A name, or a uid's start.")],
    as_json: AsJson = False,
) -> None:
    """Print a kept schema, as it was given."""
    with opened(context) as engine:
        found = engine.look.schema(ref)
    if as_json:
        print_json({"ref": found.ref, "uid": found.uid, "body": found.body})
    else:
        import json

        say(json.dumps(found.body, indent=2, ensure_ascii=False))


def _json(schema: "Schema") -> dict[str, object]:
    return {"ref": schema.ref, "uid": schema.uid, "fields": list(schema.properties)}
