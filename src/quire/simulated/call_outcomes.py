"""One call answered, or failed as the fault script says; the transport gives it its form."""

from dataclasses import dataclass, field
from itertools import islice

from quire.domain.data import Json, JsonObject, as_object
from quire.domain.models import Usage
from quire.domain.quotes import is_quote_name
from quire.domain.requests import Call, Stop
from quire.simulated.block_answers import (
    AskedBlock,
    answer,
    blocks_in,
    byte_length,
    records_for,
    text_of,
)
from quire.simulated.continued_answers import (
    is_continued,
    question_of,
    rest_of_answer,
    rest_with_slip,
)
from quire.simulated.counted_lists import asks_tasks, with_asked_counts
from quire.simulated.fault_scripts import CUT_FAULTS, GOING_ON_FAULTS, JUDGE_FAULTS, Faults
from quire.simulated.judge_prompts import JudgePrompt, read_prompt
from quire.simulated.judge_replies import (
    draws_of,
    reply_as_judge,
    write_reply,
    write_reply_with_slip,
)
from quire.simulated.long_texts import read_long_prompt, write_long_text

REFUSAL = "I cannot help with this request."
BYTES_PER_TOKEN = 4
# These leave a call without an answer; where several strike, the first one counts.
UNANSWERED = ("key", "429", "500", "413", "400", "hang", "drop", "garbage")
_MOST_DRAWS = 20  # to find an answer that differs
INVENTED_QUOTE = "words that nobody wrote"
_WRONG = "a simulated value of the wrong type"


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedOutcome:
    """What becomes of one call."""

    blocks: list[AskedBlock]
    fault: str = ""  # the fault that left the call without an answer; "" where there is one
    slip: str = ""  # what went wrong with going on, or with stopping
    text: str = ""
    stop: Stop = Stop.END
    usage: Usage = field(default_factory=Usage)


def respond(call: Call, faults: Faults, max_output: int | None = None) -> SimulatedOutcome:
    """Answer one call; the same attempt of the same call always comes out the same."""
    question = question_of(call)
    blocks = blocks_in(question.user)
    strike = "" if faults.quiet else _call_fault(question, blocks, faults)
    slip = "" if faults.quiet or strike else _continuation_slip(call, question, faults)
    if strike in UNANSWERED:
        return SimulatedOutcome(blocks=blocks, fault=strike)
    if strike == "refuse":
        text, stop = REFUSAL, Stop.REFUSAL
    elif strike == "empty":
        text, stop = "", Stop.END
    else:
        whole = _answer_text(question, blocks, faults)
        text = rest_with_slip(slip, call, whole) if slip else rest_of_answer(call, whole)
        text, stop = _limit_output(call, text, faults, max_output)
        if strike == "truncate" and stop is Stop.END:
            text, stop = clip_bytes(text, byte_length(text) // 2), Stop.LENGTH
        elif slip == "stop_silently":
            text, stop = clip_bytes(text, byte_length(text) // 2), Stop.END
    said = (call.system, *[turn.text for turn in call.turns], call.user)
    input_bytes = sum(map(byte_length, said))
    usage = Usage(input=-(-input_bytes // BYTES_PER_TOKEN), output=token_count(text))
    return SimulatedOutcome(blocks=blocks, text=text, stop=stop, usage=usage, slip=slip)


def token_count(text: str) -> int:
    """Count tokens as the simulated models bill them."""
    return -(-byte_length(text) // BYTES_PER_TOKEN)


def clip_bytes(text: str, most: int) -> str:
    """Keep at most so many bytes, and no part of a character."""
    return text.encode()[:most].decode("utf-8", "ignore")


def _call_fault(call: Call, blocks: list[AskedBlock], faults: Faults) -> str:
    """Name the fault that decides about the call as a whole; "" where there is none."""
    blocks = blocks or [AskedBlock("", call.user)]  # what holds no blocks is one
    contents = [block.content for block in blocks]
    for name in UNANSWERED:
        if faults.strikes_call(name, call.attempt_id, contents):
            return name
    if any(faults.strikes_block("refuse", call.attempt_id, *block) for block in blocks):
        return "refuse"
    for name in ("empty", "truncate"):
        if faults.strikes_call(name, call.attempt_id, contents):
            return name
    return ""


def _continuation_slip(call: Call, question: Call, faults: Faults) -> str:
    """Name what goes wrong with going on; of first answers only where they stop."""
    continued = is_continued(call.user, call.turns)
    names = (*(GOING_ON_FAULTS if continued else ()), *CUT_FAULTS)
    struck = (name for name in names if faults.strikes_call(name, call.attempt_id, [question.user]))
    return next(struck, "")


def _limit_output(
    call: Call, text: str, faults: Faults, max_output: int | None
) -> tuple[str, Stop]:
    limits = (call.params.max_tokens, max_output, faults.truncate_at)
    most = min((limit for limit in limits if limit is not None), default=None)
    if most is None or byte_length(text) <= most * BYTES_PER_TOKEN:
        return text, Stop.END
    return clip_bytes(text, most * BYTES_PER_TOKEN), Stop.LENGTH


def _answer_text(call: Call, blocks: list[AskedBlock], faults: Faults) -> str:
    """Write the answer, with whatever the script does to its records."""
    schema = call.output_schema
    prompt = read_prompt(call.system, call.user) if schema is None else None
    if prompt is not None:
        return _judge_text(call, prompt, faults)
    outline = read_long_prompt(call.user) if schema is None else None
    if outline is not None:
        return write_long_text(outline, call.model, call.user)
    records = None if schema is None else records_for(blocks, schema)
    if schema is None or records is None:
        return answer(call.user, schema)
    if asks_tasks(call.system):
        records = with_asked_counts(blocks, records, schema)
    if not faults.quiet:
        records = _disturb_records(blocks, records, schema, faults, call.attempt_id)
    text = text_of(records, faults.longer if len(blocks) > 1 else 0.0)
    contents = [block.content for block in blocks]
    if not faults.quiet and faults.strikes_call("malformed", call.attempt_id, contents):
        return text.replace("[", "[,", 1)  # no reader of JSON takes a comma there
    return text


def _judge_text(call: Call, prompt: JudgePrompt, faults: Faults) -> str:
    """Answer as a judge, with the first slip that strikes."""
    reply = reply_as_judge(prompt, draws_of(call), call.model)
    struck = (
        name for name in JUDGE_FAULTS if faults.strikes_call(name, call.attempt_id, [call.user])
    )
    slip = "" if faults.quiet else next(struck, "")
    if not slip:
        return write_reply(prompt, reply)
    others = (
        reply_as_judge(prompt, draws_of(call, again), call.model) for again in range(1, _MOST_DRAWS)
    )
    other = next((other for other in others if other.lines != reply.lines), reply)
    return write_reply_with_slip(slip, prompt, reply, other)


def _disturb_records(
    blocks: list[AskedBlock],
    records: list[JsonObject],
    schema: JsonObject,
    faults: Faults,
    attempt_id: int,
) -> list[JsonObject]:
    changed: list[JsonObject] = []
    packed = ("drift",) if len(blocks) > faults.drift_above else ()
    names = ("skip", "wrong", "misquote", "conflict", "duplicate", "noise", *packed)
    for block, record in zip(blocks, records, strict=True):
        struck = (name for name in names if faults.strikes_block(name, attempt_id, *block))
        changed += _disturb_record(next(struck, ""), record, block, schema)
    if faults.strikes_call("stranger", attempt_id, [block.content for block in blocks]):
        changed.append(_unknown_record(blocks, records))
    return changed


def _disturb_record(
    fault: str, record: JsonObject, block: AskedBlock, schema: JsonObject
) -> list[JsonObject]:
    """What one fault makes of a block's record."""
    made = [record]
    match fault:
        case "skip":
            made = []
        case "wrong":
            made = [_mistype_record(record)]
        case "misquote":
            made = [as_object(_misquote(record))]
        case "conflict":  # as valid as the first where the schema leaves a choice
            made += [_alternative_record(record, block, schema) or _mistype_record(record)]
        case "duplicate":
            made += [record]
        case "noise" | "drift":
            made = [_drift_record(record, block, schema)]
    return made


def _mistype_record(record: JsonObject) -> dict[str, Json]:
    """Give every field but the id a value of another type than the right one has."""
    return {
        name: value if name == "block_uid" else _WRONG if isinstance(value, list) else [_WRONG]
        for name, value in record.items()
    }


def _misquote(value: Json) -> Json:
    """The same with words in its quotes that nobody wrote."""
    if isinstance(value, list):
        return [_misquote(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: INVENTED_QUOTE if is_quote_name(name) and inner is not None else _misquote(inner)
        for name, inner in value.items()
    }


def _drift_record(record: JsonObject, block: AskedBlock, schema: JsonObject) -> JsonObject:
    """Change one field to another valid value, where the schema leaves a choice."""
    other = _alternative_record(record, block, schema) or record
    free = (name for name in record if not is_quote_name(name))
    changed = (name for name in free if other[name] != record[name])
    return {**record, **{name: other[name] for name in islice(changed, 1)}}


def _alternative_record(
    record: JsonObject, block: AskedBlock, schema: JsonObject
) -> JsonObject | None:
    beginnings = ("Otherwise", "Elsewhere", "Then", "Or")
    others = [AskedBlock(block.uid, f"{beginning} {block.content}") for beginning in beginnings]
    return next((other for other in records_for(others, schema) or () if other != record), None)


def _unknown_record(blocks: list[AskedBlock], records: list[JsonObject]) -> dict[str, Json]:
    """Write a record under an id that this call never had."""
    uid = "stranger"
    while any(uid == block.uid for block in blocks):
        uid += "?"
    return {**(records[0] if records else {}), "block_uid": uid}
