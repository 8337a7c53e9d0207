"""One call answered, or failed as the fault script says; the transport gives it its form."""

from dataclasses import dataclass, field
from itertools import islice

from quire.domain.data import Json, JsonObject
from quire.domain.models import Usage
from quire.domain.requests import Call, Stop
from quire.simulated.answering import (
    AskedBlock,
    answer,
    blocks_in,
    byte_length,
    records_for,
    text_of,
)
from quire.simulated.faults import JUDGE_FAULTS, Faults
from quire.simulated.judging import draws_of, speak
from quire.simulated.prompting import Asked, read_prompt
from quire.simulated.slips import slipped, written

REFUSAL = "I cannot help with this request."
BYTES_PER_TOKEN = 4
# These leave a call without an answer; where several strike, the first one counts.
UNANSWERED = ("key", "429", "500", "413", "400", "hang", "drop", "garbage")
_MOST_DRAWS = 20  # to find an answer that differs
_WRONG = "a simulated value of the wrong type"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What becomes of one call."""

    blocks: list[AskedBlock]
    fault: str = ""  # the fault that left the call without an answer; "" where there is one
    text: str = ""
    stop: Stop = Stop.END
    usage: Usage = field(default_factory=Usage)


def respond(call: Call, faults: Faults, max_output: int | None = None) -> Outcome:
    """Answer one call; the same attempt of the same call always comes out the same."""
    asked = blocks_in(call.user)
    strike = "" if faults.quiet else _strike(call, asked, faults)
    if strike in UNANSWERED:
        return Outcome(blocks=asked, fault=strike)
    if strike == "refuse":
        text, stop = REFUSAL, Stop.REFUSAL
    elif strike == "empty":
        text, stop = "", Stop.END
    else:
        text, stop = _limited(call, _said(call, asked, faults), faults, max_output)
        if strike == "truncate" and stop is Stop.END:
            text, stop = clipped(text, byte_length(text) // 2), Stop.LENGTH
    asked_with = byte_length(call.system) + byte_length(call.user)
    usage = Usage(input=-(-asked_with // BYTES_PER_TOKEN), output=tokens(text))
    return Outcome(blocks=asked, text=text, stop=stop, usage=usage)


def tokens(text: str) -> int:
    """Count tokens as the simulated models bill them."""
    return -(-byte_length(text) // BYTES_PER_TOKEN)


def clipped(text: str, most: int) -> str:
    """Keep at most so many bytes, and no part of a character."""
    return text.encode()[:most].decode("utf-8", "ignore")


def _strike(call: Call, asked: list[AskedBlock], faults: Faults) -> str:
    """Name the fault that decides about the call as a whole; "" where there is none."""
    asked = asked or [AskedBlock("", call.user)]  # what holds no blocks is one
    contents = [block.content for block in asked]
    for name in UNANSWERED:
        if faults.strikes_call(name, call.attempt_id, contents):
            return name
    if any(faults.strikes_block("refuse", call.attempt_id, *block) for block in asked):
        return "refuse"
    for name in ("empty", "truncate"):
        if faults.strikes_call(name, call.attempt_id, contents):
            return name
    return ""


def _limited(call: Call, text: str, faults: Faults, max_output: int | None) -> tuple[str, Stop]:
    limits = (call.params.max_tokens, max_output, faults.truncate_at)
    most = min((each for each in limits if each is not None), default=None)
    if most is None or byte_length(text) <= most * BYTES_PER_TOKEN:
        return text, Stop.END
    return clipped(text, most * BYTES_PER_TOKEN), Stop.LENGTH


def _said(call: Call, asked: list[AskedBlock], faults: Faults) -> str:
    """Write the answer, with whatever the script does to its records."""
    schema = call.output_schema
    judged = read_prompt(call.system, call.user) if schema is None else None
    if judged is not None:
        return _judged(call, judged, faults)
    records = None if schema is None else records_for(asked, schema)
    if schema is None or records is None:
        return answer(call.user, schema)
    if not faults.quiet:
        records = _disturbed(asked, records, schema, faults, call.attempt_id)
    text = text_of(records, faults.longer if len(asked) > 1 else 0.0)
    contents = [block.content for block in asked]
    if not faults.quiet and faults.strikes_call("malformed", call.attempt_id, contents):
        return text.replace("[", "[,", 1)  # no reader of JSON takes a comma there
    return text


def _judged(call: Call, asked: Asked, faults: Faults) -> str:
    """Answer as a judge, with the first slip that strikes."""
    spoken = speak(asked, draws_of(call), call.model)
    struck = (
        each for each in JUDGE_FAULTS if faults.strikes_call(each, call.attempt_id, [call.user])
    )
    slip = "" if faults.quiet else next(struck, "")
    if not slip:
        return written(asked, spoken)
    others = (speak(asked, draws_of(call, again), call.model) for again in range(1, _MOST_DRAWS))
    other = next((each for each in others if each.said != spoken.said), spoken)
    return slipped(slip, asked, spoken, other)


def _disturbed(
    asked: list[AskedBlock],
    records: list[JsonObject],
    schema: JsonObject,
    faults: Faults,
    attempt_id: int,
) -> list[JsonObject]:
    disturbed: list[JsonObject] = []
    packed = ("drift",) if len(asked) > faults.drift_above else ()
    names = ("skip", "wrong", "conflict", "duplicate", "noise", *packed)
    for block, record in zip(asked, records, strict=True):
        struck = (each for each in names if faults.strikes_block(each, attempt_id, *block))
        match next(struck, ""):
            case "skip":
                continue
            case "wrong":
                disturbed.append(_mistyped(record))
            case "conflict":
                disturbed += [record, _different(record, block, schema)]
            case "duplicate":
                disturbed += [record, record]
            case "noise" | "drift":
                disturbed.append(_drifted(record, block, schema))
            case _:
                disturbed.append(record)
    if faults.strikes_call("stranger", attempt_id, [block.content for block in asked]):
        disturbed.append(_stranger(asked, records))
    return disturbed


def _mistyped(record: JsonObject) -> dict[str, Json]:
    """Give every field but the id a value of another type than the right one has."""
    return {
        name: value if name == "block_uid" else _WRONG if isinstance(value, list) else [_WRONG]
        for name, value in record.items()
    }


def _different(record: JsonObject, block: AskedBlock, schema: JsonObject) -> JsonObject:
    """Write a second record, as valid as the first where the schema leaves a choice."""
    return _other(record, block, schema) or _mistyped(record)


def _drifted(record: JsonObject, block: AskedBlock, schema: JsonObject) -> JsonObject:
    """Change one field to another valid value, where the schema leaves a choice."""
    other = _other(record, block, schema) or record
    changed = (name for name in record if other[name] != record[name])
    return {**record, **{name: other[name] for name in islice(changed, 1)}}


def _other(record: JsonObject, block: AskedBlock, schema: JsonObject) -> JsonObject | None:
    beginnings = ("Otherwise", "Elsewhere", "Then", "Or")
    others = [AskedBlock(block.uid, f"{each} {block.content}") for each in beginnings]
    differing = (each for each in records_for(others, schema) or () if each != record)
    return next(differing, None)


def _stranger(asked: list[AskedBlock], records: list[JsonObject]) -> dict[str, Json]:
    """Write a record under an id that this call never had."""
    uid = "stranger"
    while any(uid == block.uid for block in asked):
        uid += "?"
    return {**(records[0] if records else {}), "block_uid": uid}
