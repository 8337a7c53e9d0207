"""Schemas: one name, one body, never changed."""

from datetime import datetime

from quire.domain.data import plain_json, stored_json
from quire.domain.recipes import Schema
from quire.ledger.connection import Row
from quire.ledger.stored_values import to_micros
from quire.ledger.tables.table import Table


class Schemas(Table):
    """The workspace's schemas."""

    def schema_by_ref(self, ref: str) -> Schema | None:
        """The schema of this name."""
        return _first_schema(self._run("schema_by_ref", ref=ref))

    def schema_by_uid(self, uid: str) -> Schema | None:
        """The schema of this fingerprint."""
        return _first_schema(self._run("schema_by_uid", uid=uid))

    def list_schemas(self) -> list[Schema]:
        """Every schema, by name."""
        return [_to_schema(row) for row in self._run("list_schemas")]

    def add_schema(self, schema: Schema, now: datetime) -> None:
        """Keep a schema."""
        self._change(
            "add_schema",
            ref=schema.ref,
            uid=schema.uid,
            body=plain_json(schema.body),
            now=to_micros(now),
        )


def _first_schema(rows: list[Row]) -> Schema | None:
    return _to_schema(rows[0]) if rows else None


def _to_schema(row: Row) -> Schema:
    # not orjson, which reads an integer beyond 64 bits as a float
    return Schema(ref=row[0], uid=row[1], body=stored_json(row[2]))
