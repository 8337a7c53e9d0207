"""Critic verdicts: what critics said of a result, as it stands beside it in files and frames."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import orjson

from quire.domain.data import Json, stored_json
from quire.domain.states import TaskState
from quire.export.result_selection import ResultSource
from quire.ledger.tables.results import CritiqueRow

TASK_STATUSES = {  # of a task; what is not here is pending
    TaskState.DONE: "accepted",
    TaskState.FAILED: "failed",
    TaskState.CANCELLED: "cancelled",
    TaskState.BLOCKED: "blocked",
    TaskState.PROPOSED: "proposed",
}


class ExportedVerdict(NamedTuple):
    """What one critic said of a result, if it has spoken."""

    stage: str
    status: str
    model: str
    data: str | None  # JSON

    def as_json(self) -> dict[str, object]:
        """As it stands in a line; JSON that is kept goes out as it is."""
        return {
            "stage": self.stage,
            "status": self.status,
            "model": self.model,
            "data": json_fragment(self.data),
        }


def json_fragment(text: str | None) -> orjson.Fragment | None:
    """JSON from the ledger, to be written as it is."""
    return None if text is None else orjson.Fragment(text)


def critic_verdicts(
    source: ResultSource, words: Iterable[CritiqueRow]
) -> tuple[ExportedVerdict, ...]:
    """The words of critics with the names of who spoke."""
    return tuple(
        ExportedVerdict(
            word.stage,
            TASK_STATUSES.get(word.state, "pending"),
            source.models[word.model_no],
            word.data if word.state == TaskState.DONE else None,
        )
        for word in words
    )


def critic_columns(critics: Iterable[ExportedVerdict]) -> dict[str, Json]:
    """What critics said as columns of a flat row: `check.score`; a second one's `check.2.score`."""
    columns: dict[str, Json] = {}
    seen: Counter[str] = Counter()
    for critic in critics:
        seen[critic.stage] += 1
        prefix = critic.stage if seen[critic.stage] == 1 else f"{critic.stage}.{seen[critic.stage]}"
        columns[f"{prefix}.status"] = critic.status
        data = data_columns(stored_json(critic.data))
        columns |= {f"{prefix}.{name}": value for name, value in data.items()}
    return columns


def data_columns(data: Json) -> Mapping[str, Json]:
    """Data as columns: what is no record is one column."""
    if data is None:
        return {}
    return data if isinstance(data, Mapping) else {"value": data}
