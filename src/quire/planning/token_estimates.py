"""Token estimates: what calls take, by typical records first, then by answered calls.

Packing needs a size that answers rarely pass (`sizing.py`); a forecast needs the one they have."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from quire.domain.data import Json, JsonObject
from quire.domain.models import ModelFacts
from quire.domain.recipes import Schema, Stage
from quire.domain.requests import OutputSample
from quire.planning.batch_caching import HITS, whole_hits
from quire.planning.job_costs import TokenUse
from quire.planning.rendering import FRAMING_BYTES, USUAL_OVERHEAD, Prefix, billed_prefix_bytes
from quire.planning.sizing import FORECAST_BYTES, RESTATING_WORDS
from quire.planning.stated_lengths import stated_length

ANSWER_BYTES = len('{"results":[]}')
RECORD_BYTES = len('{"block_uid":"12ab"},')
FIELD_BYTES = len('"":,')  # around a key and its value
SHORT_TEXT = 40  # bytes of a free string that nothing limits: some seven words
ITEM_TEXT = 14  # the same, in a list: names and terms rather than sentences
PROSE_TEXT = 240  # the same, where the key promises prose
ITEMS = 2  # of an array that nothing limits
PROSE_WORDS = ("summary", "analysis", "reason", "notes", "explanation", "description")
VALUE_BYTES = {"boolean": 5, "integer": 3, "number": 4, "null": 4}


class RecordSize(NamedTuple):
    """Bytes of one record = fixed + restated × bytes of its block."""

    fixed: int
    restated: int


def typical_record_size(schema: Schema) -> RecordSize:
    """Size a typical record of a schema."""
    inside = _object_size(schema.asked_schema)
    return RecordSize(RECORD_BYTES + inside.fixed, inside.restated)


def _object_size(schema: JsonObject) -> RecordSize:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return RecordSize(2, 0)
    fixed, restated = sum(len(key.encode()) + FIELD_BYTES for key in properties), 0
    for key, field in properties.items():
        if isinstance(field, Mapping):
            size = _field_size(key.lower(), field)
            fixed, restated = fixed + size.fixed, restated + size.restated
    return RecordSize(fixed, restated)


def _field_size(key: str, field: JsonObject, text: int = SHORT_TEXT) -> RecordSize:
    choices = field.get("enum") or ([field["const"]] if "const" in field else None)
    if isinstance(choices, Sequence) and not isinstance(choices, str):
        return RecordSize(sum(len(str(choice)) + 2 for choice in choices) // len(choices), 0)
    kinds = kinds_of(field)
    kind = next((name for name in kinds if name != "null"), "null")
    if kind == "object":
        return _object_size(field)
    if kind == "array":
        return _array_size(key, field)
    if kind == "string":
        size = _text_size(key, field, text)
        if "null" not in kinds or size.restated:
            return size
        # half of all blocks have nothing to say where nothing may be said
        return RecordSize((size.fixed + VALUE_BYTES["null"]) // 2, 0)
    return RecordSize(VALUE_BYTES.get(kind, text), 0)


def _array_size(key: str, field: JsonObject) -> RecordSize:
    items = field.get("items")
    item = items if isinstance(items, Mapping) else {}
    item_size = _field_size(key, item, ITEM_TEXT)
    least, most = _whole_or(field.get("minItems"), 0), _whole_or(field.get("maxItems"), ITEMS)
    count = max(least, min(most, ITEMS))
    return RecordSize(2 + count * (item_size.fixed + 1), count * item_size.restated)


def _text_size(key: str, field: JsonObject, text: int) -> RecordSize:
    longest = field.get("maxLength")
    if any(word in key for word in RESTATING_WORDS) and not isinstance(longest, int):
        return RecordSize(2, 1)
    likely = PROSE_TEXT if any(word in key for word in PROSE_WORDS) else text
    return RecordSize(2 + min(likely, _whole_or(longest, likely)), 0)


def text_length(key: str, field: JsonObject, text: int) -> int:
    """Bytes of a typical string of a field, `text` of them where nothing says otherwise."""
    return _text_size(key, field, text).fixed - 2


def kinds_of(field: JsonObject) -> list[str]:
    """The types that a field may have, as it states them."""
    stated = field.get("type")
    if isinstance(stated, str):
        return [stated]
    return [str(item) for item in stated] if isinstance(stated, Sequence) else []


def _whole_or(value: Json, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise


FEWEST_CALLS = 5  # before that, chance speaks louder than the model …
FEWEST_TASKS = 30  # … unless they were large
STIFFNESS = 0.01  # how much sizes must differ (its root, of their mean) before a slope is believed
NOTICEABLE_REASONING = 0.02  # of an answer: what is billed beyond that is reasoning, not chance
BEYOND = 2  # times the largest mean size of a call's tasks: single ones are larger than it
SURELY_CACHED = 0.95  # of the prefix that was read: then all of it was, and is as large as that


class PastCalls(NamedTuple):
    """Answered calls that asked the same of the same model."""

    samples: Sequence[OutputSample] = ()
    calls: int = 0  # all that were answered, also beyond the samples
    output_tokens: int = 0  # of all of them, reasoning included
    cached_tokens: int = 0  # that all of them read from a cache
    batched: int = 0  # of the calls, those inside batches
    further: Sequence[OutputSample] = ()  # of other runs, whose texts may be of other sizes

    @property
    def acceptable(self) -> list[OutputSample]:
        """The calls with nothing refused in them.

        How long answers are that will not do says nothing of those that will: they leave tasks
        out, or say of them what nobody asked.
        """
        return [
            sample
            for sample in (*self.samples, *self.further)
            if sample.tasks > 0 and not sample.refused
        ]


NO_PAST_CALLS = PastCalls()


class FittedLine(NamedTuple):
    """y = at_zero + slope × x."""

    at_zero: float
    slope: float


class Observation(NamedTuple):
    """One observation, and how much it counts."""

    weight: float
    x: float
    y: float


class LearnedUse(NamedTuple):
    """What the past taught."""

    use: TokenUse
    hits: float  # the share of direct calls, after the first, that read the prefix from a cache
    batch_hits: float | None  # the same of calls in batches; None where that is not known
    longest: int | None = None  # bytes of a task beyond which its answer is not known to grow


RUBRIC = "rubric"  # the kind of marker that is more than a line
RUBRIC_LINE = 126  # bytes of each stage of a rubric
MARKER_LINES: Mapping[object, int] = {  # bytes of a marker, what it says and the blank line before
    RUBRIC: len("\n\nRUBRIC:"),
    "verdict": len("\n\nVERDICT: Ab3dE, B"),  # one identifier or two, of one character or six
    "quality": len("\n\nQUALITY: observability=0.75, discriminability=0.75"),
    "agreement": len("\n\nEXPERT_AGREEMENT: 0.75"),
}
MARKER_LINE = 25  # of any other
TEXT_ANSWER = 1600  # bytes of an answer in text of which nothing is known: some 250 words


def text_answer_bytes(stage: Stage, asked: str = "") -> float:
    """Bytes of a typical answer in text: as it is asked for, within what the stage's gate allows.

    A marker comes on top: a line, or one for each stage of a rubric.
    """
    params: Mapping[str, object] = stage.gates[0].params if stage.gates else {}
    most, likely = params.get("max_length"), stated_length(asked) or TEXT_ANSWER
    if "kind" in params:
        likely += MARKER_LINES.get(params["kind"], MARKER_LINE)
    if params.get("kind") == RUBRIC and isinstance(params.get("scale_size"), int):
        likely += RUBRIC_LINE * int(str(params["scale_size"]))
    return min(most, likely) if isinstance(most, int) else likely


def guess_token_use(stage: Stage, facts: ModelFacts, head: Prefix) -> TokenUse:
    """Rules of thumb: a token for four bytes, a typical record, what vendors are known to bill."""
    per_byte = facts.token_factor / FORECAST_BYTES
    # an answer is no denser than JSON is
    written_per_byte = max(1.0, facts.token_factor) / FORECAST_BYTES
    if stage.schema is None:
        return TokenUse(
            prefix=len(head.system.encode()) * per_byte,
            byte_input=per_byte,
            call_output=min(text_answer_bytes(stage) * written_per_byte, facts.max_output),
        )
    record = typical_record_size(stage.record)
    return TokenUse(
        prefix=billed_prefix_bytes(head, facts.wire.structured) * per_byte,
        head=(len(stage.prompt.encode()) + FRAMING_BYTES) * per_byte,
        task_input=USUAL_OVERHEAD * per_byte,
        byte_input=per_byte,
        call_output=ANSWER_BYTES * written_per_byte,
        task_output=record.fixed * written_per_byte,
        byte_output=record.restated * per_byte,
    )


def learn_token_use(
    past: PastCalls, guessed: TokenUse, *, automatic: bool = False
) -> LearnedUse | None:
    """Replace guesses by what was seen; None while too little was.

    `automatic` says that the provider keeps prefixes by itself: then one that was never read will
    not be. Where they are marked, it may be that nobody marked it.

    What every call takes is told apart from what its content takes by how calls of different sizes
    differ; where they hardly do, the guess for a byte stands, and the rest is the call's own.
    """
    usable = [sample for sample in past.acceptable if sample.input_tokens > 0]
    tasks = sum(sample.tasks for sample in usable)
    if len(usable) < FEWEST_CALLS and tasks < FEWEST_TASKS:
        return None
    input_line, output_line = _fit_samples(usable, guessed)
    own = guessed.prefix + guessed.head
    part = guessed.prefix / own if own else 0.0
    use = TokenUse(
        prefix=input_line.at_zero * part,
        head=input_line.at_zero * (1 - part),
        task_input=input_line.slope * USUAL_OVERHEAD,
        byte_input=input_line.slope,
        call_output=_reasoning_tokens(past),
        task_output=output_line.at_zero,
        byte_output=output_line.slope,
    )
    learnt = _add_cache_hits(past, use, automatic)
    if guessed.byte_output or not use.byte_output:
        return learnt
    # rows that grow from ten bytes to twenty do not show what is said of a page
    largest = max(sample.content_bytes / sample.tasks for sample in usable)
    return learnt._replace(longest=math.ceil(BEYOND * largest))


def fit_line(points: Sequence[Observation], slope: float) -> FittedLine:
    """Fit a line, held towards a slope where the points hardly differ in x; never falling."""
    weight = sum(point.weight for point in points)
    x = sum(point.weight * point.x for point in points) / weight
    y = sum(point.weight * point.y for point in points) / weight
    spread = sum(point.weight * (point.x - x) ** 2 for point in points)
    common = sum(point.weight * (point.x - x) * (point.y - y) for point in points)
    stiff = STIFFNESS * weight * x * x
    if spread + stiff == 0:
        return FittedLine(y, 0.0)
    found = max(0.0, (common + stiff * slope) / (spread + stiff))
    if found * x > y:  # nothing takes less than nothing
        return FittedLine(0.0, y / x)
    return FittedLine(y - found * x, found)


def _fit_samples(
    samples: Sequence[OutputSample], guessed: TokenUse
) -> tuple[FittedLine, FittedLine]:
    """What calls took in by their bytes, and what each task wrote by its own."""
    taken, written = [], []
    for sample in samples:
        tasks, content = sample.tasks, sample.content_bytes
        taken.append(Observation(1, tasks * USUAL_OVERHEAD + content, sample.input_tokens))
        written.append(Observation(tasks, content / tasks, sample.output_tokens / tasks))
    return fit_line(taken, guessed.byte_input), fit_line(written, guessed.byte_output)


def _reasoning_tokens(past: PastCalls) -> float:
    """Tokens of a call that were billed as output and are no part of the answer."""
    samples = [sample for sample in past.samples if sample.tasks > 0 and sample.input_tokens > 0]
    if past.calls < 1 or not samples:
        return 0.0
    answers = sum(sample.output_tokens for sample in samples) / len(samples)
    more = past.output_tokens / past.calls - answers
    return more if more > NOTICEABLE_REASONING * answers else 0.0


def _add_cache_hits(past: PastCalls, use: TokenUse, automatic: bool) -> LearnedUse:
    """Tell how often the prefix was read; where there were batches, that of their rows.

    Direct calls beside batches are few, and taken to have read it all but once, as they are meant
    to: what is missing was missed by rows.
    """
    whole, direct = use.prefix, past.calls - past.batched
    if not whole or past.calls < 2 or not (past.cached_tokens or automatic):
        return LearnedUse(use, 1.0, None)
    if past.batched:
        found = past.cached_tokens / whole - max(0, direct - 1)
        return LearnedUse(use, 1.0, _batch_hits(found, past.batched))
    read = past.cached_tokens / (past.calls - 1)
    if read < whole * SURELY_CACHED:
        return LearnedUse(use, read / whole, None)
    prefix = min(read, whole + use.head)
    return LearnedUse(replace(use, prefix=prefix, head=whole + use.head - prefix), 1.0, None)


def _batch_hits(found: float, rows: int) -> float | None:
    """The share of rows that find the prefix; None while nothing speaks against the usual one.

    A row finds it or does not: of a share, whole rows show only so much.
    """
    if rows < FEWEST_CALLS or round(found) == whole_hits(rows, HITS):
        return None
    return min(1.0, max(0.0, (found + 0.5) / rows))
