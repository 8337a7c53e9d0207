"""Schemas: a name has versions, each with one body that never changes."""

from datetime import datetime

from quire.domain.data import plain_json, stored_json
from quire.domain.recipes import Schema
from quire.ledger.connection import Row
from quire.ledger.stored_values import to_micros
from quire.ledger.tables.table import Table


class Schemas(Table):
    """The workspace's schemas."""

    def schema_by_ref(self, ref: str) -> Schema | None:
        """The version that this name means: the one that was added or gone back to last."""
        return _first_schema(self._run("schema_by_ref", ref=ref))

    def schema_versions(self, ref: str) -> list[Schema]:
        """Every version of this name, first the one that it means."""
        return [_to_schema(row) for row in self._run("schema_versions", ref=ref)]

    def schema_by_uid(self, uid: str) -> Schema | None:
        """The schema of this fingerprint."""
        return _first_schema(self._run("schema_by_uid", uid=uid))

    def list_schemas(self) -> list[Schema]:
        """Every version of every schema, by name."""
        return [_to_schema(row) for row in self._run("list_schemas")]

    def add_schema(self, schema: Schema, now: datetime) -> None:
        """Keep a version of a schema; from now on its name means it."""
        self._change(
            "add_schema",
            ref=schema.ref,
            version=schema.version,
            uid=schema.uid,
            body=plain_json(schema.body),
            now=to_micros(now),
        )

    def go_back_to_schema(self, schema: Schema) -> None:
        """From now on the name means this version, which is kept."""
        self._change("go_back_to_schema", ref=schema.ref, version=schema.version)


def _first_schema(rows: list[Row]) -> Schema | None:
    return _to_schema(rows[0]) if rows else None


def _to_schema(row: Row) -> Schema:
    # not orjson, which reads an integer beyond 64 bits as a float
    return Schema(ref=row[0], version=row[1], uid=row[2], body=stored_json(row[3]))
