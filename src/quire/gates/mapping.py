"""Records are matched to the tasks that were asked: every expected wire id exactly once."""

from collections.abc import Sequence
from typing import NamedTuple

from quire.domain.data import Json, canonical_json
from quire.domain.results import Blame, Judgement, Verdict
from quire.gates.records import Record

_DIFFERENT = Verdict(
    Judgement.RETRY, reasons=("model answered this block twice, differently",), blame=Blame.PACK
)


class Mapped(NamedTuple):
    """Each expected id that was answered: its fields, or why they cannot be had."""

    fields: dict[str, Json]
    refused: dict[str, Verdict]
    strangers: int  # records that belong to nobody here
    duplicates: int  # ids answered more than once


def map_records(
    records: Sequence[Record], expected: Sequence[str], *, nested: bool, unwrap: bool
) -> Mapped:
    """Sort records by wire id.

    `nested`: the fields were asked for inside `data`. `unwrap`: a lone `data` object is understood
    although they were not, because no field of the schema has that name.
    """
    strangers = 0
    own: dict[str, Record] = {}
    again: dict[str, list[Record]] = {}
    wanted = frozenset(expected)
    for record in records:
        value = record.value
        uid = value.get("block_uid") if isinstance(value, dict) else None
        if not isinstance(uid, str) or uid not in wanted:
            strangers += 1
        elif uid in own:
            again.setdefault(uid, []).append(record)
        else:
            own[uid] = record
    fields: dict[str, Json] = {}
    refused: dict[str, Verdict] = {}
    for uid, record in own.items():
        answer = _open(record, nested=nested, unwrap=unwrap)
        if uid in again and not all(
            _same(answer, _open(each, nested=nested, unwrap=unwrap)) for each in again[uid]
        ):
            refused[uid] = _DIFFERENT
        elif isinstance(answer, Verdict):
            refused[uid] = answer
        else:
            fields[uid] = answer
    return Mapped(fields, refused, strangers, len(again))


def _open(record: Record, *, nested: bool, unwrap: bool) -> dict[str, Json] | Verdict:
    """Take the fields out of a record that is known to be an object with an id."""
    value = record.value
    assert isinstance(value, dict)
    if record.flaw:
        return _refusal(f"the record {record.flaw}")
    inner = value.get("data")
    if isinstance(inner, dict) and len(value) == 2 and (nested or unwrap):
        return inner
    if nested:
        return _refusal('the fields must stand in "data", beside block_uid and nothing else')
    fields = dict(value)
    del fields["block_uid"]
    return fields


def _same(one: dict[str, Json] | Verdict, other: dict[str, Json] | Verdict) -> bool:
    if isinstance(one, Verdict) or isinstance(other, Verdict):
        return False
    # canonical text, because Python holds 1, 1.0 and True to be equal
    return canonical_json(one) == canonical_json(other)


def _refusal(reason: str) -> Verdict:
    return Verdict(Judgement.RETRY, reasons=(reason,))
