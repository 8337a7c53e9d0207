"""The JSON gate of packed answers: records matched to wire ids, a verdict for each task."""

from collections.abc import Sequence
from typing import NamedTuple

from quire.domain.data import Json, canonical_json, to_named_tuples
from quire.domain.gates import (
    CUT_OFF,
    EMPTY,
    NO_STRAYS,
    Blame,
    Judgement,
    ResponseJudgement,
    StrayIds,
    Verdict,
    clip,
    refusal_reason,
)
from quire.domain.requests import Stop
from quire.gates.records import (
    Record,
    Records,
    find_roots,
    flaw_of,
    parse_records,
    parse_strictly,
)
from quire.gates.shape import Shape
from quire.gates.thoughts import UNCLEAR_END, SpokenAnswer, split_thoughts

MOST_STRAYS = 20  # ids that nobody asked for, kept of one answer
LONGEST_ID = 80  # characters of one of them

_DIFFERENT = Verdict(
    Judgement.RETRY, reasons=("model answered this block twice, differently",), blame=Blame.PACK
)


class MappedRecords(NamedTuple):
    """Each expected id that was answered: its fields, or why they cannot be had."""

    fields: dict[str, Json]
    refused: dict[str, Verdict]
    strays: StrayIds = NO_STRAYS
    nameless: int = 0  # records without any id


def map_records(
    records: Sequence[Record], expected: Sequence[str], *, nested: bool, unwrap: bool
) -> MappedRecords:
    """Sort records by wire id.

    `nested`: the fields were asked for inside `data`. `unwrap`: a lone `data` object is understood
    although they were not, because no field of the schema has that name.
    """
    nameless, strays = 0, []
    own: dict[str, Record] = {}
    repeats: dict[str, list[Record]] = {}
    wanted = frozenset(expected)
    for record in records:
        value = record.value
        uid = value.get("block_uid") if isinstance(value, dict) else None
        if not isinstance(uid, str) or uid not in wanted:
            strays.append(uid)
            nameless += uid is None
        elif uid in own:
            repeats.setdefault(uid, []).append(record)
        else:
            own[uid] = record
    fields: dict[str, Json] = {}
    refused: dict[str, Verdict] = {}
    for uid, record in own.items():
        answer, *others = (
            _record_fields(item, nested=nested, unwrap=unwrap)
            for item in (record, *repeats.get(uid, ()))
        )
        if not all(_is_same(answer, other) for other in others):
            refused[uid] = _DIFFERENT
        elif isinstance(answer, Verdict):
            refused[uid] = answer
        else:
            fields[uid] = answer
    return MappedRecords(fields, refused, _stray_ids(strays, list(repeats)), nameless)


def _stray_ids(unknown: Sequence[Json], duplicates: Sequence[str]) -> StrayIds:
    shown = tuple(clip(_id_text(uid), LONGEST_ID) for uid in unknown[:MOST_STRAYS])
    return StrayIds(shown, tuple(duplicates), len(unknown))


def _id_text(uid: Json) -> str:
    if uid is None:
        return ""
    text = uid if isinstance(uid, str) else canonical_json(uid)
    return text.encode(errors="replace").decode()


def _record_fields(record: Record, *, nested: bool, unwrap: bool) -> dict[str, Json] | Verdict:
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
    return {name: item for name, item in value.items() if name != "block_uid"}


def _is_same(one: dict[str, Json] | Verdict, other: dict[str, Json] | Verdict) -> bool:
    if isinstance(one, Verdict) or isinstance(other, Verdict):
        return False
    # canonical text, because Python holds 1, 1.0 and True to be equal
    return canonical_json(one) == canonical_json(other)


def _refusal(reason: str) -> Verdict:
    return Verdict(Judgement.RETRY, reasons=(reason,))


GATE_VERSION = "json/5"  # raised when the same response would be judged differently
_SKIPPED = "model skipped this block"
_TWO_NAMES = _refusal("the record names two blocks, and whose it is cannot be told")
_NAMELESS = "answer has a record without its block_uid, and whose it is cannot be told"


def judge_pack(
    text: str, stop: Stop, expected: Sequence[str], shape: Shape, nested: bool = False
) -> ResponseJudgement:
    """Judge a response; why the model stopped is read before what it wrote."""
    if stop is Stop.END and not nested and (usual := _judge_usual(text, expected, shape)):
        return usual
    truncated = stop is Stop.LENGTH
    if stop is Stop.REFUSAL:
        return _refuse_all(expected, refusal_reason(text))
    spoken = split_thoughts(text)
    if not spoken.text.strip():
        reason = CUT_OFF if truncated else spoken.problem or EMPTY
        return _refuse_all(expected, reason, truncated=truncated)
    parsed = _parse_spoken(text, spoken, expected)
    if not parsed.records and not parsed.complete:
        return _refuse_all(expected, CUT_OFF if truncated else parsed.problem, truncated=truncated)
    unwrap = "data" not in shape.fields
    records = _name_lone_record(parsed, expected, shape, nested=nested)
    mapped = map_records(records, expected, nested=nested, unwrap=unwrap)
    verdicts: dict[str, Verdict] = {}
    for uid in expected:
        data = mapped.fields.get(uid)
        if data is None:
            skipped = _NAMELESS if mapped.nameless else _SKIPPED
            missing = CUT_OFF if truncated else parsed.problem or skipped
            verdicts[uid] = mapped.refused.get(uid) or _blame_pack(missing)
            continue
        names_another = "block_uid" not in shape.fields and _named_block(data, uid) != uid
        verdicts[uid] = _TWO_NAMES if names_another else shape.judge(data)
    return ResponseJudgement(verdicts, mapped.strays, truncated)


def _named_block(data: Json, uid: str) -> Json:
    """The block that a record's own fields name, where nobody asked for such a field."""
    return data.get("block_uid", uid) if isinstance(data, dict) else uid


def refused_record(text: str, wire_id: str) -> Json:
    """What an answer says of one task, as the model wrote it; all of it where that is unclear."""
    spoken = split_thoughts(text)
    for record in _parse_spoken(text, spoken, [wire_id]).records:
        if isinstance(record.value, dict) and record.value.get("block_uid") == wire_id:
            return record.value
    return spoken.text or text


def _parse_spoken(text: str, spoken: SpokenAnswer, expected: Sequence[str]) -> Records:
    """Read records; a tag that ends a thought never opened may also stand inside of one."""
    if at := spoken.bare_end:
        around = [root for root in find_roots(text) if root.start < at <= root.end]
        if around and not around[0].problem:
            return parse_records(text, expected)
        if around:
            return Records(records=(), complete=False, problem=UNCLEAR_END)
    return parse_records(spoken.text, expected)


def _name_lone_record(
    parsed: Records, expected: Sequence[str], shape: Shape, *, nested: bool
) -> Sequence[Record]:
    """A lone record without an id is about the only block that was asked about."""
    if len(expected) != 1 or len(parsed.records) != 1 or not parsed.complete:
        return parsed.records
    value, flaw = parsed.records[0]
    if flaw or not isinstance(value, dict) or "block_uid" in value:
        return parsed.records
    wrapped = [*value] == ["data"] and (nested or "data" not in shape.fields)
    fields = value["data"] if wrapped else value
    if (nested and not wrapped) or not isinstance(fields, dict) or not shape.fields & fields.keys():
        return parsed.records
    return [Record({"block_uid": expected[0], **value})]


def _judge_usual(text: str, expected: Sequence[str], shape: Shape) -> ResponseJudgement | None:
    """Judge the answer that nearly always comes, fast; None leaves any other to the careful way."""
    items = parse_strictly(text, len(expected))
    if not items:
        return None
    wrapped = "data" not in shape.fields  # then `data` is not a field but a wrapping
    for uid, item in zip(expected, items, strict=True):
        if type(item) is not dict or item.pop("block_uid", None) != uid:
            return None
        if (wrapped and "data" in item) or flaw_of(item) or not shape.fits(item):
            return None
    accepted = to_named_tuples(
        Verdict,
        [(Judgement.ACCEPT, shape.write_whole(item), (), Blame.TASK, ()) for item in items],
    )
    return ResponseJudgement(dict(zip(expected, accepted, strict=True)), clean=True)


def _refuse_all(
    expected: Sequence[str], reason: str, *, truncated: bool = False
) -> ResponseJudgement:
    verdicts = dict.fromkeys(expected, _blame_pack(reason))
    return ResponseJudgement(verdicts, truncated=truncated)


def _blame_pack(reason: str) -> Verdict:
    return Verdict(Judgement.RETRY, None, (reason,), Blame.PACK)
