"""Verdicts: what critics said of a result, as it stands beside it in files and frames."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import orjson

from quire.domain.data import Json
from quire.export.choosing import Source
from quire.ledger.tables.exports import Word

STATUSES = {  # of a task; what is not here is pending
    "done": "accepted",
    "failed": "failed",
    "cancelled": "cancelled",
    "blocked": "blocked",
    "proposed": "proposed",
}


class Verdict(NamedTuple):
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
            "data": kept(self.data),
        }


def kept(text: str | None) -> orjson.Fragment | None:
    """JSON from the ledger, to be written as it is."""
    return None if text is None else orjson.Fragment(text)


def verdicts(source: Source, words: Iterable[Word]) -> tuple[Verdict, ...]:
    """The words of critics with the names of who spoke."""
    return tuple(
        Verdict(
            each.stage,
            STATUSES.get(each.state, "pending"),
            source.models[each.model_no],
            each.data if each.state == "done" else None,
        )
        for each in words
    )


def critic_columns(critics: Iterable[Verdict]) -> dict[str, Json]:
    """What critics said as columns of a flat row: `check.score`; a second one's `check.2.score`."""
    columns: dict[str, Json] = {}
    seen: Counter[str] = Counter()
    for each in critics:
        seen[each.stage] += 1
        prefix = each.stage if seen[each.stage] == 1 else f"{each.stage}.{seen[each.stage]}"
        columns[f"{prefix}.status"] = each.status
        data = json.loads(each.data) if each.data else None
        columns |= {f"{prefix}.{name}": value for name, value in fields_of(data).items()}
    return columns


def fields_of(data: Json) -> Mapping[str, Json]:
    """Data as columns: what is no record is one column."""
    if data is None:
        return {}
    return data if isinstance(data, Mapping) else {"value": data}
