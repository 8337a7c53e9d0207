"""Kept schemas: read from files, mappings and classes, kept as versions of a name, found again."""

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from quire.domain.data import Json
from quire.domain.errors import Conflict, NotFound, UsageError
from quire.domain.ids import fingerprint
from quire.domain.recipes import Schema
from quire.ledger.ledger import Transaction
from quire.recipes.user_schemas import load_schema, read_schema, schema_of

SchemaFile = str | Path | Mapping[str, Json] | type[object]  # a class: Pydantic's
SchemaSource = SchemaFile | Schema

SHORTEST_UID = 6  # characters of a fingerprint that may stand for a name


def read_schema_source(source: SchemaFile, ref: str | None) -> Schema:
    """Read a schema from a file, a mapping, or a Pydantic class."""
    if isinstance(source, Mapping):
        return load_schema(dict(source), name=ref or "schema", ref=ref)
    if isinstance(source, type):
        return schema_of(source, ref=ref)
    if not isinstance(source, str | Path):
        raise UsageError(f"{source!r} is no schema: give a file, a mapping or a class")
    try:
        text = Path(source).read_bytes()
    except OSError as error:
        raise UsageError(f"{source}: {error.strerror}") from None
    return read_schema(text, os.fspath(source), ref)


def find_kept_schema(tx: Transaction, name: str) -> Schema:
    """A schema by its name, `name@version`, or the start of its fingerprint."""
    ref, at, number = name.rpartition("@")
    versions = tx.schemas.schema_versions(ref if at else name)
    if versions:
        return _pick_version(versions, number) if at else versions[0]
    known = tx.schemas.list_schemas()
    alike = [schema for schema in known if schema.uid.startswith(name)]
    if len(name) >= SHORTEST_UID and len(alike) == 1:
        return alike[0]
    names = ", ".join(dict.fromkeys(schema.ref for schema in known))
    names = names or "none yet; `quire schema add FILE` keeps one"
    is_path = "/" in name or bool(Path(name).suffix)
    missing = f"file {name!r}, nor a schema of that name" if is_path else f"schema {name!r}"
    raise NotFound(f"there is no {missing}; known: {names}")


def _pick_version(versions: Sequence[Schema], number: str) -> Schema:
    for schema in versions:
        if str(schema.version) == number:
            return schema
    there = ", ".join(f"{schema.ref}@{schema.version}" for schema in reversed(versions))
    raise NotFound(f"there is no version {number!r} of {versions[0].ref}; there are {there}")


def find_same_schema(tx: Transaction, schema: Schema, *, named: bool) -> Schema | None:
    """The kept version with this body, if any; `named`: somebody chose the name.

    A body has one name, so a second one is refused; a name that was only derived gives way.
    """
    kept = tx.schemas.schema_by_uid(schema.uid)
    if kept is not None and named and kept.ref != schema.ref:
        raise Conflict(f"this schema is kept already, as {kept.label!r}")
    return kept


def keep_schema(
    tx: Transaction, schema: Schema, now: datetime, *, named: bool, unchanged_file: str = ""
) -> Schema:
    """Keep a schema, or go back to the version with its body; from now on its name means it.

    Other content under a kept name becomes a version of its own. Of `unchanged_file` it is refused:
    a file may be another one that happens to have the same title.
    """
    tx.runs.lock_key(fingerprint("schemas", schema.ref))  # two at once get two numbers
    same = find_same_schema(tx, schema, named=named)
    versions = tx.schemas.schema_versions(same.ref if same else schema.ref)
    if same is not None:
        if same != versions[0]:
            tx.schemas.go_back_to_schema(same)
        return same
    added = replace(schema, version=1 + max((kept.version for kept in versions), default=0))
    if versions and unchanged_file:
        raise Conflict(
            f"schema {schema.ref!r} is kept with other content: `quire schema add"
            f" {shlex.quote(unchanged_file)} --new-version` keeps this as {added.label},"
            " --ref NAME under a name of its own"
        )
    tx.schemas.add_schema(added, now)
    return added
