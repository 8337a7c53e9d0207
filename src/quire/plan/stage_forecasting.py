"""Forecasting of stages: what one takes, roughly, from counts and typical sizes."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import repeat

from quire.domain.batches import BatchRules
from quire.domain.models import ModelFacts
from quire.domain.policy import Policy
from quire.domain.recipes import Stage
from quire.domain.requests import Sample
from quire.plan.forecasting import forecast
from quire.plan.learning import Past
from quire.plan.rendering import prefix, prefix_bytes
from quire.plan.routing import BATCH
from quire.plan.sizing import FORECAST_BYTES, bound_tokens, reserved_output
from quire.plan.typical_records import expect

TEXT_ANSWER = 1600  # bytes of an answer in text of which nothing is known: some 250 words
MOST = 2000  # tasks of one size that are planned one by one; the rest are like them


@dataclass(frozen=True, slots=True, kw_only=True)
class StageForecast:
    """What one stage takes of one model, before anything is spent."""

    stage: str
    about: str
    model: str
    tasks: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost: int  # micro-dollars
    rough: bool  # the sizes depend on answers, or nothing limits them
    largest: int  # tokens that the largest prompt may have
    room: int  # tokens that a prompt may have there

    @property
    def fits(self) -> bool:
        """Whether every prompt fits the model's window, as far as that can be told."""
        return self.largest <= self.room


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The tasks of one stage for one model, and how large they are."""

    stage: Stage  # with its parameters filled in
    facts: ModelFacts
    policy: Policy
    rules: BatchRules | None
    tasks: int
    content: float  # bytes that are said of a task, on average
    largest: float  # and at most
    rough: bool
    sizes: Iterable[int] | None = None  # of every task, where they are known
    samples: tuple[Sample, ...] = ()  # of calls that were answered before


def answer_bytes(stage: Stage, content: float, samples: Iterable[Sample] = ()) -> float:
    """Bytes of one typical answer; what was seen wins."""
    seen = [each for each in samples if each.tasks]
    if seen:
        tokens = sum(each.output_tokens for each in seen) / sum(each.tasks for each in seen)
        return tokens * FORECAST_BYTES
    if stage.schema is not None:
        record = expect(stage.schema)
        return record.fixed + record.restated * content
    return _longest_text(stage) or TEXT_ANSWER


def forecast_stage(work: Work) -> StageForecast:
    """Forecast one stage with one model."""
    if work.stage.schema is not None:
        calls, taken, written, cost = _records(work)
    else:
        calls, taken, written, cost = _texts(work)
    facts = work.facts
    head = prefix_bytes(prefix(work.stage))
    largest = bound_tokens(math.ceil(head + work.largest)) * facts.token_factor
    room = facts.window - reserved_output(facts)
    return StageForecast(
        stage=work.stage.name,
        about=work.stage.about,
        model=facts.name,
        tasks=work.tasks,
        calls=calls,
        input_tokens=taken,
        output_tokens=written,
        cost=cost,
        rough=work.rough and not work.samples,
        largest=math.ceil(largest),
        room=room if facts.max_input is None else min(room, facts.max_input),
    )


def _records(work: Work) -> tuple[int, int, int, int]:
    """Records share calls; of many tasks of one size, some are planned and the rest are alike."""
    planned = work.tasks if work.sizes is not None else min(work.tasks, MOST)
    sizes = work.sizes or repeat(max(1, round(work.content)), planned)
    past = Past(work.samples)
    found = forecast(sizes, work.stage, work.facts, work.policy, past, work.rules).expected
    times = work.tasks / planned if planned else 0.0
    told = (found.requests, found.input_tokens, found.output_tokens, found.cost)
    calls, taken, written, cost = (math.ceil(each * times) for each in told)
    return calls, taken, written, cost


def _texts(work: Work) -> tuple[int, int, int, int]:
    """Texts go one to a call."""
    facts = work.facts
    head = len(work.stage.instructions.encode())
    taken = (head + work.content) / FORECAST_BYTES * facts.token_factor
    written = answer_bytes(work.stage, work.content, work.samples) / FORECAST_BYTES
    written = min(written * max(1.0, facts.token_factor), facts.max_output)
    batched = work.policy.route == BATCH and work.tasks >= work.policy.min_batch_size
    price = (facts.batch_price_at(round(taken)) if batched else None) or facts.price_at(
        round(taken)
    )
    cost = work.tasks * (taken * price.input + written * price.output) / 1_000_000
    return (
        work.tasks,
        math.ceil(work.tasks * taken),
        math.ceil(work.tasks * written),
        math.ceil(cost),
    )


def _longest_text(stage: Stage) -> int | None:
    """What the stage's own gate limits a text to, where that is less than the usual."""
    params: Mapping[str, object] = stage.gates[0].params if stage.gates else {}
    most = params.get("max_length")
    return most if isinstance(most, int) and most < TEXT_ANSWER else None
