"""How large things are: tokens of a text, of an answer, and what one call may hold."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from quire.domain.data import Json, JsonObject
from quire.domain.models import Marking, ModelFacts
from quire.domain.policy import Policy
from quire.domain.recipes import Schema, Stage
from quire.domain.requests import Sample
from quire.plan.rendering import FRAMING_BYTES

LARGEST_PACK = 25  # more only after a probe has shown parity
LARGEST_PROBED_PACK = 50
DEFAULT_CAP = 10
TEXT_HEAVY_CAP = 6
SMALLEST_MAX_TOKENS = 512
FORECAST_BYTES = 4  # of UTF-8 to a token, mostly
BOUND_BYTES = 3  # of UTF-8 that surely hold a token
ENVELOPE_TOKENS = 16  # roles and separators that providers put around the two messages
MARGIN_PERCENT = 85  # of a limit that we plan to fill; estimates are estimates
FEWEST_SAMPLES = 5
TEXT_TOKENS = 2000  # to allow for an answer that is text

RESTATING_WORDS = ("content", "revised", "rewrite")
WORDY_KEYS = ("content", "summary", "analysis", "reason", "rewrite", "revised")
WORDY_TOKENS = 140


class OutputShape(NamedTuple):
    """Output tokens of one task = fixed + restated × tokens of its block content."""

    fixed: int
    restated: int  # fields that say the source again


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """The 90th percentile of what a stage's answers really took."""

    per_task: float
    per_byte: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What the tasks of one call may take together."""

    input: int  # tokens, by the bound
    output: int  # tokens, by the estimate
    cap: int  # tasks


class _Field(NamedTuple):
    key: str  # lower case
    schema: JsonObject


def forecast_tokens(n_bytes: int) -> int:
    """Expect a token for every four bytes of UTF-8."""
    return (n_bytes + FORECAST_BYTES - 1) // FORECAST_BYTES


def bound_tokens(n_bytes: int) -> int:
    """Allow for a token for every three bytes of UTF-8; packs must fit by this."""
    return (n_bytes + BOUND_BYTES - 1) // BOUND_BYTES


def output_shape(schema: Schema | None, floor: int) -> OutputShape:
    """Size an answer from its schema; of a text there is only a guess.

    The fixed part looks at top-level fields only: max(floor, 120 + 40 a field), then 60 more for
    an array, 80 for an object (or a `$ref`, which mostly is one), 25 for a free string, 140 where
    the key promises prose. The restated part counts, at every depth, free strings (or arrays of
    them) whose key says that they give the content again; one whose `maxLength` fits the 140
    tokens of prose is not counted.
    """
    if schema is None:
        return OutputShape(max(floor, TEXT_TOKENS), 0)
    properties = schema.properties
    fixed = max(floor, 120 + 40 * len(properties))
    for key, field in properties.items():
        if isinstance(field, Mapping):
            fixed += _field_tokens(key.lower(), field)
    return OutputShape(fixed, sum(map(_restates, _fields(schema.record_schema))))


def learn(samples: Sequence[Sample]) -> Learned | None:
    """Take the 90th percentile (nearest rank) per task and per byte; None while samples are few."""
    usable = [each for each in samples if each.tasks > 0]
    if len(usable) < FEWEST_SAMPLES:
        return None
    return Learned(
        per_task=_percentile_90([each.output_tokens / each.tasks for each in usable]),
        per_byte=_percentile_90(
            [each.output_tokens / max(1, each.content_bytes) for each in usable]
        ),
    )


def output_estimate(
    shape: OutputShape, content_bytes: int, learned: Learned | None, max_output: int
) -> int:
    """Expect this many output tokens for one task; `content_bytes` is its content as JSON.

    What was learned replaces the formula, up or down. A restating answer then grows with its
    block, but never falls below the smaller of what a task took and what the formula gives a task
    without content: a one-word block still needs its other fields.
    """
    if learned is None:
        estimate = shape.fixed + shape.restated * bound_tokens(content_bytes)
    elif shape.restated:
        least = min(learned.per_task, shape.fixed)
        estimate = math.ceil(max(learned.per_byte * content_bytes, least))
    else:
        estimate = math.ceil(learned.per_task)
    return max(1, min(estimate, max_output))


def output_estimates(
    shape: OutputShape, content_bytes: Sequence[int], learned: Learned | None, max_output: int
) -> Sequence[int]:
    """Expect so many output tokens for each of some tasks; most schemas expect the same of all."""
    if not shape.restated:
        return [output_estimate(shape, 0, learned, max_output)] * len(content_bytes)
    return [output_estimate(shape, each, learned, max_output) for each in content_bytes]


def text_heavy(schema: Schema) -> bool:
    """Say whether any field, at any depth, asks for prose."""
    return any(
        field.key == "final" or _mentions(field.key, WORDY_KEYS)
        for field in _fields(schema.record_schema)
    )


def largest_pack(stage: Stage, most: int = LARGEST_PACK) -> int:
    """Say how many tasks of this stage may ever share a call, whatever a policy wants."""
    if stage.schema is None or stage.critic:  # plain text cannot be told apart; critics judge alone
        return 1
    if stage.samples > 1:  # draws in one call would repeat each other
        return 1
    return max(1, min(most, stage.max_batch_size or most))


def pack_cap(stage: Stage, policy: Policy) -> int:
    """Say how many tasks of this stage may share a call under this policy.

    A pack size beyond 25 can only come from a probe: the rules refuse it in every setting.
    """
    if not policy.packing:
        return 1
    wanted = policy.pack_size
    if wanted is None:
        heavy = stage.schema is not None and text_heavy(stage.schema)
        wanted = TEXT_HEAVY_CAP if heavy else DEFAULT_CAP
    return max(1, min(wanted, largest_pack(stage, LARGEST_PROBED_PACK)))


def is_cached(facts: ModelFacts, policy: Policy, system: str) -> bool:
    """Say whether the provider is asked to keep the prefix: it can, may, and it is long enough.

    Only the system text surely counts towards the minimum, and only at four bytes a token.
    """
    can = facts.wire.marking is not Marking.NONE
    return can and policy.caching != "off" and cacheable_tokens(system) >= facts.cache_minimum


def cacheable_tokens(system: str) -> int:
    """Tokens of a prefix that surely count towards a provider's minimum."""
    return forecast_tokens(len(system.encode()))


def reserved_output(facts: ModelFacts) -> int:
    """Keep room for the longest answer, but never more than a third of a small window."""
    return min(facts.max_output, facts.window // 3)


def budget(
    facts: ModelFacts, prefix_bytes: int, prompt_bytes: int, reserved_output: int, cap: int
) -> Budget:
    """Say what is left for the tasks of one call, in tokens of a common tokenizer.

    The output budget follows the reservation where that is below the model's own limit, so that
    input and output together always fit the window.
    """
    taken = bound_tokens(prefix_bytes) + bound_tokens(prompt_bytes + FRAMING_BYTES)
    room = facts.window - reserved_output
    if facts.max_input is not None:
        room = min(room, facts.max_input)
    room = math.floor((room - ENVELOPE_TOKENS) / facts.token_factor) - taken
    longest = min(facts.max_output, reserved_output) - facts.thinking
    return Budget(
        input=max(1, room * MARGIN_PERCENT // 100),
        output=max(1, longest * MARGIN_PERCENT // 100),
        cap=cap,
    )


def max_tokens(
    estimates: Sequence[int], facts: ModelFacts, max_tokens_per_block: int | None, output_floor: int
) -> int:
    """Limit the output of a call that carries tasks with these estimates.

    `output_floor` is the largest floor among its tasks; 0 = none.
    """
    wanted = max(SMALLEST_MAX_TOKENS, output_floor, -(-sum(estimates) * 100 // MARGIN_PERCENT))
    if len(estimates) == 1 and max_tokens_per_block is not None:
        wanted = max(wanted, max_tokens_per_block)
    return min(facts.max_output, wanted + facts.thinking)


def _field_tokens(key: str, field: JsonObject) -> int:
    tokens = 0
    if _may_be(field, "array"):
        tokens += 60
    if _may_be(field, "object"):
        tokens += 80
    if _free_string(field):
        tokens += 25
    if _mentions(key, WORDY_KEYS):
        tokens += WORDY_TOKENS
    return tokens


def _restates(field: _Field) -> bool:
    if not _mentions(field.key, RESTATING_WORDS):
        return False
    items = field.schema.get("items")
    text = items if isinstance(items, Mapping) else field.schema
    longest = text.get("maxLength")
    if (
        text is field.schema
        and isinstance(longest, int)
        and forecast_tokens(longest) <= WORDY_TOKENS
    ):
        return False
    return _free_string(text)


def _mentions(key: str, words: Sequence[str]) -> bool:
    return any(word in key for word in words)


def _percentile_90(values: list[float]) -> float:
    return sorted(values)[-(-9 * len(values) // 10) - 1]


def _fields(schema: JsonObject) -> Iterator[_Field]:
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        for key, field in properties.items():
            if isinstance(field, Mapping):
                yield _Field(key.lower(), field)
                yield from _fields(field)
    for inner in _inner(schema):
        yield from _fields(inner)


def _inner(schema: JsonObject) -> Iterator[JsonObject]:
    for holder in ("$defs", "definitions"):
        definitions = schema.get(holder)
        if isinstance(definitions, Mapping):
            yield from _objects(list(definitions.values()))
    yield from _objects([schema.get("items")])
    yield from _branches(schema)


def _branches(schema: JsonObject) -> Iterator[JsonObject]:
    for word in ("anyOf", "oneOf", "allOf"):
        yield from _objects(schema.get(word))


def _objects(values: Json) -> Iterator[JsonObject]:
    if isinstance(values, Sequence) and not isinstance(values, str):
        yield from (each for each in values if isinstance(each, Mapping))


def _states(field: JsonObject, kind: str) -> bool:
    stated = field.get("type")
    return stated == kind or (isinstance(stated, list | tuple) and kind in stated)


def _may_be(field: JsonObject, kind: str) -> bool:
    if _states(field, kind) or (kind == "object" and "$ref" in field):
        return True
    return any(_may_be(branch, kind) for branch in _branches(field))


def _free_string(field: JsonObject) -> bool:
    if "enum" in field or "const" in field:
        return False
    return _states(field, "string") or any(_free_string(branch) for branch in _branches(field))
