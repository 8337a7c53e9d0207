"""Sizing: tokens of a text and of an answer, and what one call may hold.

Tokens are needed before a call and known only after it. Vendors count differently, some say how
only over the network, and a job may have millions of blocks: so sizes are counted in bytes of
UTF-8, which cost nothing, and turned into tokens twice. The *forecast* (four bytes a token) is what
to expect, for prices; the *bound* (three) is what to allow for, for all that must fit. Mixing them
up is the mistake to make here: a pack that fits only by the forecast is refused by the provider,
and a price by the bound frightens people away.

Both are rules of thumb, so a run learns. `calibrate` follows the tokens billed for the bytes sent,
in fading sums, and widens its bound by how far samples strayed; `learn_output` takes the 90th
percentile of what answers took, because the mean would cut off every other answer. Too few samples
say nothing: chance speaks louder. Until then an answer is sized from its schema, where fields that
say the source again are what makes an answer grow with its block.

Estimates may be wrong, in one direction cheaply. A pack planned too small costs a part of a prefix;
one too large costs an answer cut off. So budgets fill 85 % of every limit, and a small window never
gives more than a third to the answer.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from quire.domain.data import Json, JsonObject, as_object
from quire.domain.models import CacheMarking, ModelFacts
from quire.domain.policy import Policy
from quire.domain.recipes import Schema, Stage
from quire.domain.requests import OutputSample
from quire.planning.rendering import FRAMING_BYTES

LARGEST_PACK = 25  # more only after a probe has shown parity
LARGEST_PROBED_PACK = 50
DEFAULT_CAP = 10
TEXT_HEAVY_CAP = 6
SMALLEST_MAX_TOKENS = 512
FORECAST_BYTES = 4  # of UTF-8 to a token, mostly
BOUND_BYTES = 3  # of UTF-8 that surely hold a token
ENVELOPE_TOKENS = 16  # roles and separators that providers put around the two messages
MARGIN_PERCENT = 85  # of a limit that we plan to fill; estimates are estimates
FEWEST_SAMPLES = 5  # before that, chance speaks louder than the model
UNKNOWN_SIZE = 2**62  # bytes: nothing is larger
LONGEST_PROMPT = 2_000_000  # characters of a text that a template makes
TEXT_TOKENS = 2000  # to allow for an answer that is text

RESTATING_WORDS = ("content", "revised", "rewrite")
WORDY_KEYS = ("content", "summary", "analysis", "reason", "rewrite", "revised")
WORDY_TOKENS = 140


class OutputShape(NamedTuple):
    """Output tokens of one task = fixed + restated × tokens of its block content."""

    fixed: int
    restated: int  # fields that say the source again


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputPercentiles:
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
    asked = schema.asked_schema
    properties = as_object(asked["properties"])
    fixed = max(floor, 120 + 40 * len(properties))
    for key, field in properties.items():
        if isinstance(field, Mapping):
            fixed += _field_tokens(key.lower(), field)
    return OutputShape(fixed, sum(map(_restates, _iter_fields(asked))))


def learn_output(samples: Sequence[OutputSample]) -> OutputPercentiles | None:
    """Take the 90th percentile (nearest rank) per task and per byte; None while samples are few."""
    usable = [sample for sample in samples if sample.tasks > 0]
    if len(usable) < FEWEST_SAMPLES:
        return None
    per_task = [sample.output_tokens / sample.tasks for sample in usable]
    per_byte = [sample.output_tokens / max(1, sample.content_bytes) for sample in usable]
    return OutputPercentiles(per_task=_percentile_90(per_task), per_byte=_percentile_90(per_byte))


def output_estimate(
    shape: OutputShape, content_bytes: int, percentiles: OutputPercentiles | None, max_output: int
) -> int:
    """Expect this many output tokens for one task; `content_bytes` is its content as JSON.

    What was learned replaces the formula, up or down. A restating answer then grows with its
    block, but never falls below the smaller of what a task took and what the formula gives a task
    without content: a one-word block still needs its other fields.
    """
    if percentiles is None:
        estimate = shape.fixed + shape.restated * bound_tokens(content_bytes)
    elif shape.restated:
        least = min(percentiles.per_task, shape.fixed)
        estimate = math.ceil(max(percentiles.per_byte * content_bytes, least))
    else:
        estimate = math.ceil(percentiles.per_task)
    return max(1, min(estimate, max_output))


def output_estimates(
    shape: OutputShape,
    content_bytes: Sequence[int],
    percentiles: OutputPercentiles | None,
    max_output: int,
) -> Sequence[int]:
    """Expect so many output tokens for each of some tasks; most schemas expect the same of all."""
    if not shape.restated:
        return [output_estimate(shape, 0, percentiles, max_output)] * len(content_bytes)
    return [output_estimate(shape, byte, percentiles, max_output) for byte in content_bytes]


def is_text_heavy(schema: Schema) -> bool:
    """Say whether any field, at any depth, asks for prose."""
    return any(
        field.key == "final" or _mentions(field.key, WORDY_KEYS)
        for field in _iter_fields(schema.record_schema)
    )


def largest_pack(stage: Stage, most: int = LARGEST_PACK) -> int:
    """Say how many tasks of this stage may ever share a call, whatever a policy wants."""
    # text cannot be told apart, critics judge alone, draws in one call would repeat each other,
    # and a history is one task's own
    if stage.schema is None or stage.critic or stage.samples > 1 or stage.history:
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
        heavy = stage.schema is not None and is_text_heavy(stage.schema)
        wanted = TEXT_HEAVY_CAP if heavy else DEFAULT_CAP
    return max(1, min(wanted, largest_pack(stage, LARGEST_PROBED_PACK)))


def is_cached(facts: ModelFacts, policy: Policy, system: str) -> bool:
    """Say whether the provider is asked to keep the prefix: it can, may, and it is long enough.

    Only the system text surely counts towards the minimum, and only at four bytes a token.
    """
    can = facts.wire.marking is not CacheMarking.NONE
    return can and policy.caching != "off" and cacheable_tokens(system) >= facts.cache_minimum


def cacheable_tokens(system: str) -> int:
    """Tokens of a prefix that surely count towards a provider's minimum."""
    return forecast_tokens(len(system.encode()))


def limit_to_stage(facts: ModelFacts, stage: Stage) -> ModelFacts:
    """What is known of a model, with the longest answer that a stage allows of one call."""
    most = stage.params.max_tokens
    return facts if most is None else replace(facts, max_output=min(facts.max_output, most))


def reserved_output(facts: ModelFacts) -> int:
    """Keep room for the longest answer, but never more than a third of a small window."""
    return min(facts.max_output, facts.window // 3)


def prompt_room(facts: ModelFacts) -> int:
    """Tokens that a prompt may have, beside the shortest answer that is ever asked for."""
    room = facts.window - min(SMALLEST_MAX_TOKENS, reserved_output(facts))
    return room if facts.max_input is None else min(room, facts.max_input)


def prompt_tokens(n_bytes: int, facts: ModelFacts, per_byte: float | None = None) -> int:
    """Expect so many tokens of a prompt: as stated of the model, or fewer where it showed so."""
    stated = facts.token_factor / FORECAST_BYTES
    return math.ceil(n_bytes * (stated if per_byte is None else min(stated, per_byte)))


def most_prompt_bytes(facts: ModelFacts, per_byte: float | None = None) -> int:
    """Bytes above which a prompt surely does not fit the window; a guessed one proves nothing."""
    if facts.window_guessed:
        return UNKNOWN_SIZE
    stated = facts.token_factor / FORECAST_BYTES
    return math.floor(prompt_room(facts) / (stated if per_byte is None else min(stated, per_byte)))


def fitting_prompt_bytes(facts: ModelFacts, answer: int, per_byte: float | None = None) -> int:
    """Bytes of a prompt that fits the window beside an answer of so many tokens, by the bound."""
    if facts.window_guessed:
        return UNKNOWN_SIZE
    room = facts.window - answer
    if facts.max_input is not None:
        room = min(room, facts.max_input)
    bound = facts.token_factor / BOUND_BYTES if per_byte is None else per_byte
    return max(0, math.floor((room - ENVELOPE_TOKENS) / bound))


def call_budget(
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


def limit_alone(stage: Stage) -> int | None:
    """What a lone task may write at least, where its stage says so."""
    return max(stage.max_tokens_per_block or 0, stage.params.max_tokens or 0) or None


def max_tokens(
    estimates: Sequence[int], facts: ModelFacts, alone: int | None, output_floor: int
) -> int:
    """Limit the output of a call that carries tasks with these estimates.

    `alone` is what a lone task may write at least; `output_floor` is the largest floor among its
    tasks; 0 = none.
    """
    wanted = max(SMALLEST_MAX_TOKENS, output_floor, -(-sum(estimates) * 100 // MARGIN_PERCENT))
    if len(estimates) == 1 and alone is not None:
        wanted = max(wanted, alone)
    return min(facts.max_output, wanted + facts.thinking)


def _field_tokens(key: str, field: JsonObject) -> int:
    nested = 60 * _may_be(field, "array") + 80 * _may_be(field, "object")
    return nested + 25 * _is_free_string(field) + WORDY_TOKENS * _mentions(key, WORDY_KEYS)


def _restates(field: _Field) -> bool:
    if not _mentions(field.key, RESTATING_WORDS):
        return False
    items = field.schema.get("items")
    text = items if isinstance(items, Mapping) else field.schema
    longest = text.get("maxLength")
    short = isinstance(longest, int) and forecast_tokens(longest) <= WORDY_TOKENS
    return _is_free_string(text) and not (short and text is field.schema)


def _mentions(key: str, words: Sequence[str]) -> bool:
    return any(word in key for word in words)


def _percentile_90(values: list[float]) -> float:
    return sorted(values)[-(-9 * len(values) // 10) - 1]


def _iter_fields(schema: JsonObject) -> Iterator[_Field]:
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        for key, field in properties.items():
            if isinstance(field, Mapping):
                yield _Field(key.lower(), field)
                yield from _iter_fields(field)
    for inner in _inner_schemas(schema):
        yield from _iter_fields(inner)


def _inner_schemas(schema: JsonObject) -> Iterator[JsonObject]:
    for holder in ("$defs", "definitions"):
        definitions = schema.get(holder)
        if isinstance(definitions, Mapping):
            yield from _objects(list(definitions.values()))
    if "items" in schema:
        yield from _objects([schema["items"]])
    yield from _branches(schema)


def _branches(schema: JsonObject) -> Iterator[JsonObject]:
    for word in ("anyOf", "oneOf", "allOf"):
        if word in schema:
            yield from _objects(schema[word])


def _objects(values: Json) -> Iterator[JsonObject]:
    if isinstance(values, Sequence) and not isinstance(values, str):
        yield from (value for value in values if isinstance(value, Mapping))


def _states_type(field: JsonObject, kind: str) -> bool:
    stated = field.get("type")
    return stated == kind or (isinstance(stated, list | tuple) and kind in stated)


def _may_be(field: JsonObject, kind: str) -> bool:
    if _states_type(field, kind) or (kind == "object" and "$ref" in field):
        return True
    return any(_may_be(branch, kind) for branch in _branches(field))


def _is_free_string(field: JsonObject) -> bool:
    if "enum" in field or "const" in field:
        return False
    return _states_type(field, "string") or any(map(_is_free_string, _branches(field)))


MOST_SAMPLES = 200  # settled attempts of a lane that anything is learnt from
MEMORY = 0.98  # what a sample's weight keeps with each one after it: some 50 of them count
LEAST_PER_BYTE, MOST_PER_BYTE = 0.1, 1.5  # tokens; beyond them, something else was counted
LEAST_MARGIN = 1.1  # of the bound above the forecast, however even the samples were
MOST_DEVIATIONS = 4  # mean deviations that the bound allows for


class TokenSample(NamedTuple):
    """One answered call: the bytes of all that it sent, and the input tokens billed for them."""

    bytes: int
    tokens: int


class Calibration(NamedTuple):
    """Sums over the samples of one model, in which older ones count for less and less."""

    samples: int = 0
    bytes: float = 0.0
    tokens: float = 0.0
    deviation: float = 0.0  # tokens by which each sample missed what was expected of it

    @property
    def per_byte(self) -> float | None:
        """Tokens to expect for a byte; None while the samples are few."""
        if self.samples < FEWEST_SAMPLES or self.bytes <= 0:
            return None
        return min(MOST_PER_BYTE, max(LEAST_PER_BYTE, self.tokens / self.bytes))

    @property
    def most_per_byte(self) -> float | None:
        """Tokens to allow for a byte; None while the samples are few."""
        expected = self.per_byte
        if expected is None:
            return None
        widened = expected + MOST_DEVIATIONS * self.deviation / self.bytes
        return min(MOST_PER_BYTE, max(expected * LEAST_MARGIN, widened))


UNCALIBRATED = Calibration()


def calibrate(samples: Iterable[TokenSample], previous: Calibration = UNCALIBRATED) -> Calibration:
    """Learn from more answered calls, the oldest first; calls without bytes or tokens say nothing.

    Long calls weigh more than short ones, as they do in the bill.
    """
    learnt = previous
    for sample in samples:
        if sample.bytes > 0 and sample.tokens > 0:
            learnt = _add_sample(learnt, sample)
    return learnt


def _add_sample(before: Calibration, sample: TokenSample) -> Calibration:
    n_bytes = before.bytes * MEMORY + sample.bytes
    tokens = before.tokens * MEMORY + sample.tokens
    expected = sample.bytes * tokens / n_bytes
    return Calibration(
        samples=before.samples + 1,
        bytes=n_bytes,
        tokens=tokens,
        deviation=before.deviation * MEMORY + abs(sample.tokens - expected),
    )
