"""Probes: what was shown about how many blocks may share a call."""

import json
from datetime import datetime
from typing import NamedTuple

from quire.domain.data import Json, JsonObject, plain_json
from quire.domain.ids import WorkspaceId
from quire.ledger.connection import Connection
from quire.ledger.moments import to_micros


class Question(NamedTuple):
    """What a probe holds for, and nothing besides."""

    schema_uid: str
    model: str
    params: str  # canonical JSON


class KeptProbe(NamedTuple):
    """What a probe recommends, with all that it measured."""

    size: int  # blocks per call
    report: JsonObject


class Probes:
    """The workspace's probes; none is ever changed."""

    def __init__(self, connection: Connection, workspace: WorkspaceId) -> None:
        """Work in one transaction, for one workspace."""
        self._connection = connection
        self._workspace = workspace

    def add(self, question: Question, size: int, report: Json, now: datetime) -> None:
        """Keep what a probe found; from now on it is the newest of its question."""
        self._connection.change(
            "add_probe",
            workspace=self._workspace,
            size=size,
            report=plain_json(report),
            now=to_micros(now),
            **question._asdict(),
        )

    def newest(self, question: Question) -> KeptProbe | None:
        """What was found last, if there was a probe."""
        rows = self._connection.run("newest_probe", workspace=self._workspace, **question._asdict())
        if not rows:
            return None
        size, report = rows[0]
        return KeptProbe(size, json.loads(report))
