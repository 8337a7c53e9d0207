"""Holds and events: why a run does not go on, and its history worth telling."""

import json
from collections.abc import Sequence
from datetime import datetime

from quire.domain.ids import RunId, WorkspaceId
from quire.domain.notifications import notification_of
from quire.domain.reasons import EventKind, Fields, HoldCause, HoldKind
from quire.domain.runs import Event, Hold
from quire.domain.wording import event_text, hold_text
from quire.ledger.connection import Connection, Row
from quire.ledger.stored_values import from_micros, storable_text, to_micros


class Holds:
    """Reasons why runs do not go on."""

    def __init__(self, connection: Connection) -> None:
        """Work in one transaction."""
        self._connection = connection

    def add_hold(self, run: RunId, cause: HoldCause, now: datetime, /, **fields: str | int) -> bool:
        """Hold a run; false if something of that kind held it already."""
        added = self._connection.change(
            "add_hold",
            run=run,
            kind=cause.kind.value,
            cause=cause.value,
            detail=storable_text(hold_text(cause, {**fields, "run": run})),
            fields=_fields_json(fields),
            now=to_micros(now),
        )
        return added > 0

    def holds_of_run(self, run: RunId) -> tuple[Hold, ...]:
        """All reasons why a run does not go on."""
        rows = self._connection.run("holds_of_run", run=run)
        return tuple(
            Hold(
                HoldKind(kind),
                detail,
                from_micros(since),
                HoldCause(cause) if cause else None,
                json.loads(fields),
            )
            for kind, detail, since, cause, fields in rows
        )

    def lift_holds(self, run: RunId, kinds: Sequence[HoldKind]) -> int:
        """Let a run go on, as far as these reasons are concerned."""
        return self._connection.change("lift_holds", run=run, kinds=[kind.value for kind in kinds])


class Events:
    """The append-only history."""

    def __init__(self, connection: Connection, workspace: WorkspaceId) -> None:
        """Work in one transaction, for one workspace."""
        self._connection = connection
        self._workspace = workspace

    def add_event(
        self, run: RunId | None, kind: EventKind, now: datetime, /, **fields: str | int
    ) -> None:
        """Tell something: what its words need are its fields; webhooks hear of it by the outbox."""
        rows = self._connection.run(
            "add_event",
            workspace=self._workspace,
            run=run,
            kind=kind.value,
            detail=storable_text(event_text(kind, fields)),
            fields=_fields_json(fields),
            now=to_micros(now),
        )
        notification = notification_of(kind, fields)
        if notification is not None:
            pattern = f"%,{notification},%"
            self._connection.change("fill_outbox", event=rows[0][0], pattern=pattern)

    def has_event(self, run: RunId, kind: EventKind) -> bool:
        """Whether a run's history tells something of this kind."""
        values = {"workspace": self._workspace, "run": run, "kind": kind.value}
        return bool(self._connection.run("has_event", **values))

    def events_of_run(self, run: RunId, limit: int = 50) -> list[Event]:
        """A run's newest events, oldest of them first."""
        rows = self._connection.run(
            "events_of_run", workspace=self._workspace, run=run, limit=limit
        )
        return [_to_event(row) for row in reversed(rows)]

    def events_after(self, run: RunId, after: int, limit: int) -> list[Event]:
        """What happened to a run after an event, by its number, the oldest first."""
        values = {"run": run, "after": after, "limit": limit}
        rows = self._connection.run("events_after", workspace=self._workspace, **values)
        return [_to_event(row) for row in rows]


def _to_event(row: Row) -> Event:
    at, kind, detail, fields, number = row
    return Event(from_micros(at), kind, detail, json.loads(fields), number)


def _fields_json(fields: Fields) -> str:
    return json.dumps(
        {
            name: storable_text(value) if isinstance(value, str) else value
            for name, value in fields.items()
        }
    )
