"""Stages: the results of any stage, a task at a time in subject order, for files and frames."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from quire.domain.data import Json
from quire.domain.ids import TaskId, block_uid
from quire.domain.recipes import Stage
from quire.export.choosing import Source, check_only
from quire.export.verdicts import STATUSES, Verdict, critic_columns, fields_of, kept, verdicts
from quire.ledger.ledger import Transaction
from quire.ledger.tables.exports import Outcome

TOLD = ("failed", "blocked")  # statuses whose error is told


@dataclass(frozen=True, slots=True, kw_only=True)
class StageRow:
    """One task of a stage with what became of it."""

    stage: str
    outcome: Outcome
    model: str
    inputs: tuple[TaskId, ...]
    attempts: int
    critics: tuple[Verdict, ...]

    @property
    def status(self) -> str:
        """Accepted, failed, blocked, cancelled, proposed or pending."""
        if self.outcome.review_state == "rejected":
            return "pending"
        return STATUSES.get(self.outcome.state, "pending")

    @property
    def data(self) -> Json:
        """The accepted data; what was not accepted is never exported."""
        found: Json = json.loads(self.text) if self.text else None  # exact beyond 64 bits
        return found

    @property
    def fields(self) -> Mapping[str, Json]:
        """The same as columns."""
        return fields_of(self.data)

    @property
    def text(self) -> str | None:
        """The same as JSON."""
        return self.outcome.data if self.status == "accepted" else None

    @property
    def error(self) -> str | None:
        """Why there is no data, where that is known."""
        return self.outcome.error if self.status in TOLD else None

    @property
    def block_uid(self) -> str | None:
        """The name of the block it is about, or comes from."""
        uid, index = self.outcome.conv_uid, self.outcome.block_index
        return None if uid is None or index is None else block_uid(uid, index)

    @property
    def part(self) -> Json:
        """What its grouping said of it."""
        found: Json = json.loads(self.outcome.part) if self.outcome.part else None
        return found

    def as_json(self) -> dict[str, object]:
        """As one line of a file; JSON that is kept goes out as it is."""
        outcome = self.outcome
        return {
            "stage": self.stage,
            "task_id": outcome.task_id,
            "subject": {
                "title": outcome.title,
                "conv_uid": outcome.conv_uid,
                "block_uid": self.block_uid,
                "model": self.model,
                "sample": outcome.sample,
                "part": kept(outcome.part),
                "inputs": list(self.inputs),
            },
            "status": self.status,
            "error": self.error,
            "attempt_count": self.attempts,
            "version": outcome.version,
            "stale": outcome.stale_since is not None,
            "data": kept(self.text),
            "critics": [each.as_json() for each in self.critics],
        }


def stage_rows(tx: Transaction, source: Source, stage: Stage, only: str) -> Iterator[StageRow]:
    """Every task of a stage in subject order, some read at a time; `only` keeps one status."""
    check_only(only)
    for chunk in tx.exports.outcomes(source.stage_ids[stage.name]):
        further = tx.exports.further([each.task_id for each in chunk])
        for each in chunk:
            row = StageRow(
                stage=stage.name,
                outcome=each,
                model=source.models[each.model_no],
                inputs=tuple(further.inputs.get(each.task_id, ())),
                attempts=further.attempts.get(each.task_id, 0),
                critics=verdicts(source, further.words.get(each.task_id, [])),
            )
            if only in ("all", row.status):
                yield row


def flat_tasks(
    tx: Transaction, source: Source, stage: Stage, only: str
) -> Iterator[dict[str, Json]]:
    """Rows as a data frame wants them: one flat mapping a task, its data and critics as columns."""
    known = stage.schema.properties if stage.schema else ()
    for each in stage_rows(tx, source, stage, only):
        outcome = each.outcome
        ours: dict[str, Json] = {
            "stage": each.stage,
            "task_id": outcome.task_id,
            "title": outcome.title,
            "conv_uid": outcome.conv_uid,
            "block_uid": each.block_uid,
            "model": each.model,
            "sample": outcome.sample,
            "part": each.part,
            "status": each.status,
            "error": each.error,
            "attempt_count": each.attempts,
            "version": outcome.version,
            "stale": outcome.stale_since is not None,
        }
        data = dict.fromkeys(known, None) | dict(each.fields)
        yield (
            {f"quire_{name}" if name in data else name: value for name, value in ours.items()}
            | data
            | critic_columns(each.critics)
        )
