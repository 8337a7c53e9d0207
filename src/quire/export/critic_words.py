"""Critic words: what critics said of a result, in a line of a file and as columns of a row."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import orjson

from quire.domain.data import Json, stored_json, strict_json
from quire.domain.errors import LedgerError
from quire.domain.ids import TaskId
from quire.domain.states import TaskState
from quire.export.result_selection import ResultSource, task_status
from quire.ledger.tables.results import CritiqueRow


class ExportedVerdict(NamedTuple):
    """What one critic said of a result, if it has spoken."""

    stage: str
    status: str
    model: str
    data: str | None  # JSON

    def as_json(self) -> dict[str, object]:
        """As it stands in a line; JSON that is kept goes out as it is."""
        return {**self._asdict(), "data": json_fragment(self.data)}


def json_fragment(text: str | None) -> orjson.Fragment | None:
    """JSON from the ledger, to be written as it is."""
    return None if text is None else orjson.Fragment(text)


def read_stored(task: TaskId | None, text: str | None) -> Json:
    """Read a result; refuse to go on where the ledger holds no JSON."""
    if text is None:
        return None
    try:
        value: Json = strict_json(text.encode())
    except ValueError:
        raise LedgerError(
            f"task {task}: its result in the ledger is damaged: it is not JSON",
            "restore a copy of the ledger",
        ) from None
    return value


def check_stored(task: TaskId | None, *texts: str | None) -> None:
    """Refuse to go on where the ledger holds no JSON: it would be written as it is."""
    for text in texts:
        read_stored(task, text)


def critic_verdicts(
    source: ResultSource, words: Iterable[CritiqueRow]
) -> tuple[ExportedVerdict, ...]:
    """The words of critics with the names of who spoke."""
    words = list(words)
    for word in words:
        check_stored(word.task_id, word.data)
    return tuple(
        ExportedVerdict(
            word.stage,
            task_status(word.state),
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
