"""Ledger views: the rows of a run as people's tools see them, streamed, with every text whole."""

from collections.abc import Iterator, Mapping
from decimal import Decimal

from quire.domain.ids import RunId
from quire.ledger.connection import Row
from quire.ledger.tables.attempts import decompress
from quire.ledger.tables.table import Table

# Every table that can be read of a run, in the order in which people should see them.
LEDGER_TABLES: Mapping[str, str] = {
    "runs": "rows_of_runs",
    "run_stages": "rows_of_run_stages",
    "requests": "rows_of_requests",
    "request_tasks": "rows_of_request_tasks",
    "attempts": "rows_of_attempts",
    "responses": "rows_of_responses",
    "batches": "rows_of_batches",
    "batch_items": "rows_of_batch_items",
    "results": "rows_of_results",
    "reviews": "rows_of_reviews",
    "events": "rows_of_events",
}
RESPONSES = "responses"
_CODEC, _TEXTS = 4, 8  # columns of a response: how it is kept; where its texts begin


class LedgerViews(Table):
    """A run's own part of the ledger."""

    def rows_of_table(self, table: str, run: RunId) -> Iterator[Row]:
        """The rows of one table, money as plain numbers; responses with what came at their end."""
        rows = self._connection.stream(LEDGER_TABLES[table], run=run)
        if table == RESPONSES:
            return map(_decode_response, rows)
        return (tuple(map(_plain_number, row)) for row in rows)


def _plain_number(value: object) -> object:
    return float(value) if isinstance(value, Decimal) else value


def _decode_response(row: Row) -> Row:
    *head, raw, decoded, reasoning = row
    texts = (_decode(stored, head[_CODEC]) for stored in (decoded, reasoning, raw))
    return (*head[:_TEXTS], *texts)


def _decode(stored: bytes | None, codec: str) -> str | None:
    plain = decompress(stored, codec)
    return None if plain is None else plain.decode("utf-8", "replace")
