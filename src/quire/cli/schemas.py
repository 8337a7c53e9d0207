"""Commands about schemas, which are asked of every block: kept, listed, shown, compared."""

import json
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.options import AsJson, argument, flag, option
from quire.cli.printing import print_json, print_list, quantity, say
from quire.cli.schema_drafts import draft
from quire.cli.session import engine_for, print_outcome
from quire.domain.errors import UsageError
from quire.engine.json_views.library_views import schema_json

if TYPE_CHECKING:
    from quire.domain.recipes import Schema

Named = Annotated[str, argument("REF", "A name, such as ticket or ticket@1, or a uid's start.")]

schema_app = typer.Typer(
    help="Keep schemas: what is asked about every block.",
    epilog="Example: quire schema add clauses.json",
    no_args_is_help=True,
)


@schema_app.command(epilog="Example: quire schema add clauses.json --new-version")
def add(
    context: typer.Context,
    file: Annotated[Path, argument("FILE", "A JSON Schema with properties.")],
    ref: Annotated[
        str | None, option("NAME", "Its name; by default what the file calls itself.")
    ] = None,
    new_version: Annotated[
        bool, flag("Where its name has other content: keep this as a version.", "--new-version")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check a schema and keep it under a name; every mistake is told at once."""
    with engine_for(context, make=True) as engine:
        schema = engine.add_schema(file, ref, new_version=new_version)
    fields = quantity(len(schema.properties), "field")
    said = f"schema {schema.label}: {fields}, {schema.uid[:12]}"
    print_outcome(context, as_json, schema_json(schema), said)


@schema_app.command("list", epilog="Example: quire schema list")
def list_all(context: typer.Context, as_json: AsJson = False) -> None:
    """List the kept schemas, each of their versions."""
    with engine_for(context) as engine:
        found = engine.schemas()
        newest = {schema.uid for schema in map(engine.library.schema, {s.ref for s in found})}
    several = {schema.ref for schema in found if schema.version > 1}
    rows = (
        (
            schema.ref,
            f"{schema.version}{', newest' * (schema.ref in several and schema.uid in newest)}",
            schema.uid[:12],
            ", ".join(schema.properties),
        )
        for schema in found
    )
    nothing = "no schemas yet; `quire schema add FILE` keeps one"
    listed = [{**schema_json(schema), "newest": schema.uid in newest} for schema in found]
    print_list(as_json, listed, nothing, ("ref", "version", "uid", "*fields"), rows)


@schema_app.command(epilog="Example: quire schema show clauses@1")
def show(context: typer.Context, ref: Named, as_json: AsJson = False) -> None:
    """Print a kept schema; a bare name means the version added or gone back to last."""
    with engine_for(context) as engine:
        found = engine.library.schema(ref)
    if as_json:
        names = {"ref": found.ref, "version": found.version, "uid": found.uid}
        print_json({**names, "body": found.body})
    else:
        say(_body_text(found))


@schema_app.command(epilog="Example: quire schema diff clauses@1")
def diff(
    context: typer.Context,
    ref: Named,
    other: Annotated[str | None, argument("OTHER", "By default what the bare name means.")] = None,
    as_json: AsJson = False,
) -> None:
    """Say how a version of a schema differs from another one."""
    with engine_for(context) as engine:
        before = engine.library.schema(ref)
        after = engine.library.schema(other or before.ref)
    if before.uid == after.uid:
        raise UsageError(f"{before.label} is one schema; name another version, such as its first")
    if as_json:
        print_json(_difference_json(before, after))
        return
    old, new = (_body_text(schema).splitlines() for schema in (before, after))
    names = (f"{schema.ref}@{schema.version}" for schema in (before, after))
    for line in unified_diff(old, new, next(names), next(names), lineterm=""):
        say(line)


def _body_text(schema: "Schema") -> str:
    return json.dumps(schema.body, indent=2, ensure_ascii=False)


def _difference_json(before: "Schema", after: "Schema") -> dict[str, object]:
    """Which fields came, went and changed, and what changed around them."""
    fields = (before.properties, after.properties)
    around = [{**schema.body, "properties": None} for schema in (before, after)]
    return {
        "from": schema_json(before),
        "to": schema_json(after),
        "added": [name for name in fields[1] if name not in fields[0]],
        "removed": [name for name in fields[0] if name not in fields[1]],
        "changed": list(_changed_keys(*fields)),
        "changed_around_fields": sorted(
            {*_changed_keys(*around), *(around[0].keys() ^ around[1].keys())}
        ),
    }


def _changed_keys(before: Mapping[str, object], after: Mapping[str, object]) -> Iterator[str]:
    for name, value in after.items():
        if name in before and before[name] != value:
            yield name


schema_app.command(epilog='Example: quire schema draft "party and amount of every duty" -m M')(
    draft
)
