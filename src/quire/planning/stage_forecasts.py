"""Stage forecasts: what one stage of a recipe takes of one model, before anything is spent."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import repeat
from typing import NamedTuple

from quire.domain.batches import BatchRules
from quire.domain.models import ModelFacts
from quire.domain.policy import Policy
from quire.domain.pricing import price_at, to_usd
from quire.domain.recipes import Stage
from quire.domain.requests import OutputSample
from quire.domain.spend import ForecastRow
from quire.planning.job_forecasts import forecast
from quire.planning.prompt_fitting import fit_prompts, prompt_room_of
from quire.planning.rendering import prefix_bytes, render_prefix
from quire.planning.routing import BATCH
from quire.planning.size_samples import SizeSample
from quire.planning.sizing import (
    FORECAST_BYTES,
    TEXT_TOKENS,
    bound_tokens,
    limit_alone,
    limit_to_stage,
    max_tokens,
    output_estimate,
    output_shape,
    reserved_output,
)
from quire.planning.token_estimates import (
    NO_PAST_CALLS,
    PastCalls,
    text_answer_bytes,
    typical_record_size,
)
from quire.planning.variants import Forecast


class Spread(NamedTuple):
    """How far below and above its forecast a cost may well be, as factors of it."""

    low: float
    high: float


VETOED = 0.1  # of the answers that a critic decides about, before any run has shown how many
CORRECTED = Spread(0.9, 1.15)  # by what the same stage took of a run that is through
LEARNT = Spread(0.85, 1.25)  # from some answered calls
GUESSED = Spread(0.7, 1.4)  # from the schema, where the inputs are known
ROUGH = Spread(0.5, 2.0)  # the inputs are answers that nobody has seen, or nothing limits them

MOST_PLANNED = 2000  # tasks of one size that are planned one by one; the rest are like them


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
    cost: int  # picodollars
    rough: bool  # the sizes depend on answers, or nothing limits them
    largest: int  # tokens that the largest prompt may have
    room: int  # tokens that a prompt may have there
    lone_call: int = 0  # picodollars that a call about one task may cost: no smaller sum sends it
    oversized: int = 0  # of the tasks, whose prompts no call to this model can hold
    compressed: int = 0  # of the tasks, whose prompts will have to be
    compressible: bool = False  # what is too large is compressed, as far as it can be
    forecast: Forecast | None = None  # every way its calls could go; texts have only one
    reused: bool = False  # an earlier run has its answers: nothing is asked
    embeds: bool = False  # these are calls for embeddings, and owe no answers
    spread: Spread = ROUGH
    asked: "StageForecast | None" = None  # the same of what is not answered yet; None: of all

    @property
    def to_ask(self) -> "StageForecast":
        """What of it is really asked, and paid for."""
        return self.asked or self

    @property
    def key(self) -> tuple[str, str]:
        """The stage, and the model that it asks."""
        return self.stage, self.model

    @property
    def low(self) -> int:
        """Picodollars that it will hardly cost less than."""
        return round(self.cost * self.spread.low)

    @property
    def high(self) -> int:
        """Picodollars that it will hardly cost more than."""
        return math.ceil(self.cost * self.spread.high)

    @property
    def cost_usd(self) -> float:
        """Its cost in dollars."""
        return to_usd(self.cost)

    @property
    def fits(self) -> bool:
        """Whether every prompt fits the model's window, as far as that can be told."""
        return not self.oversized and self.largest <= self.room

    def with_vetoes(self, share: float) -> "StageForecast":
        """The same where that share of its answers is asked for again."""
        calls, taken, written, cost = (
            round(number * (1 + share))
            for number in (self.calls, self.input_tokens, self.output_tokens, self.cost)
        )
        spread = self.spread._replace(high=self.spread.high * (1 + share))
        again = replace(self, calls=calls, input_tokens=taken, output_tokens=written, cost=cost)
        asked = self.asked and self.asked.with_vetoes(share)
        return replace(again, spread=spread, asked=asked)

    def in_part(self, tasks: int, of: int) -> "StageForecast":
        """The same for so many of its tasks."""

        def scale(number: int) -> int:
            return -(-number * tasks // of) if of else number

        return replace(
            self,
            tasks=scale(self.tasks),
            calls=scale(self.calls),
            input_tokens=scale(self.input_tokens),
            output_tokens=scale(self.output_tokens),
            cost=scale(self.cost),
            oversized=scale(self.oversized),
            compressed=scale(self.compressed),
        )

    @property
    def row(self) -> ForecastRow:
        """What is kept of it with a run."""
        return ForecastRow(
            self.stage,
            self.model,
            self.tasks,
            self.calls,
            self.input_tokens,
            self.output_tokens,
            self.low,
            self.cost,
            self.high,
        )

    def as_reused(self) -> "StageForecast":
        """The same where an earlier run has the answers."""
        kept = replace(self, calls=0, input_tokens=0, output_tokens=0, cost=0, oversized=0)
        return replace(kept, rough=False, largest=0, reused=True, asked=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class StageWork:
    """The tasks of one stage for one model, and how large they are."""

    stage: Stage  # with its parameters filled in
    facts: ModelFacts
    policy: Policy
    rules: BatchRules | None
    tasks: int
    content: float  # bytes that are said of a task, on average
    largest: float  # and at most
    rough: bool
    sizes: Iterable[int] | None = None  # of every task, where they are known, or of a sample
    contents: Iterable[float] | None = None  # bytes said of each, where a template says it
    fixed: float | None = None  # bytes said of a task that cannot be compressed; None: nothing can
    past: PastCalls = NO_PAST_CALLS  # calls that were answered before
    asked: str = ""  # what a typical task is asked, as far as that is known


def answer_bytes(
    stage: Stage, content: float, samples: Iterable[OutputSample] = (), asked: str = ""
) -> float:
    """Bytes of one typical answer; what was seen wins over how long it is asked to be."""
    seen = [sample for sample in samples if sample.tasks]
    if seen:
        tokens = sum(sample.output_tokens for sample in seen) / sum(sample.tasks for sample in seen)
        return tokens * FORECAST_BYTES
    if stage.schema is not None:
        record = typical_record_size(stage.schema)
        return record.fixed + record.restated * content
    return text_answer_bytes(stage, asked)


def forecast_stage(work: StageWork) -> StageForecast:
    """Forecast one stage with one model; what no call can hold is counted, and costs nothing."""
    work = replace(work, facts=limit_to_stage(work.facts, work.stage))
    facts, head = work.facts, prefix_bytes(render_prefix(work.stage))
    fitted = fit_prompts(_contents(work), work.fixed, prompt_room_of(work.stage, facts, head))
    fitting = replace(work, tasks=round(work.tasks * fitted.sent), content=fitted.content)
    if work.contents is not None and not work.stage.templated:  # of all there is to ask about
        fitting = replace(fitting, sizes=[max(1, round(size)) for size in fitted.contents])
    records = _forecast_records(fitting) if work.stage.schema is not None else None
    calls, taken, written, cost = records.totals if records else _forecast_texts(fitting)
    unpackable = records.oversized if records else 0
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
        rough=work.rough and not work.past.acceptable,
        largest=math.ceil(largest),
        room=room if facts.max_input is None else min(room, facts.max_input),
        lone_call=_lone_call(work, math.ceil(largest)) if work.tasks else 0,
        oversized=work.tasks - fitting.tasks + unpackable,
        compressed=round(work.tasks * fitted.compressed),
        compressible=work.fixed is not None,
        forecast=records.forecast if records else None,
        spread=_spread(work, learnt=bool(records and records.forecast.learnt)),
    )


def _lone_call(work: StageWork, prompt_tokens: int) -> int:
    """The most that a call about the largest task may cost, direct: what it reserves."""
    facts = work.facts
    shape = output_shape(work.stage.schema, work.policy.estimated_output_per_task)
    estimate = output_estimate(shape, round(work.largest), None, facts.max_output)
    longest = max_tokens([estimate], facts, limit_alone(work.stage), 0)
    price = price_at(facts, prompt_tokens)
    return prompt_tokens * max(price.input, price.written_short) + longest * price.output


def _spread(work: StageWork, *, learnt: bool) -> Spread:
    """How sure a forecast is before any earlier work corrects it."""
    if learnt:
        return LEARNT
    return ROUGH if work.rough and not work.past.acceptable else GUESSED


def _contents(work: StageWork) -> list[float]:
    """The sizes of prompts that all others are alike to."""
    return [work.content] if work.contents is None else list(work.contents)


_Totals = tuple[int, int, int, int]  # calls, tokens in and out, cost


class _RecordForecast(NamedTuple):
    totals: _Totals
    oversized: int
    forecast: Forecast


def _forecast_records(work: StageWork) -> _RecordForecast:
    """Records share calls; of many tasks of one size, some are planned and the rest are alike."""
    sizes = work.sizes
    if sizes is None:
        sizes = repeat(max(1, round(work.content)), min(work.tasks, MOST_PLANNED))
    sample = SizeSample(sizes, work.tasks)
    found = forecast(sample, work.stage, work.facts, work.policy, work.past, work.rules)
    way, times = found.expected, work.tasks / found.tasks if found.tasks else 0.0
    totals = (way.requests, way.input_tokens, way.output_tokens, way.cost)
    calls, taken, written, cost = (math.ceil(number * times) for number in totals)
    return _RecordForecast((calls, taken, written, cost), math.ceil(found.oversized * times), found)


def _forecast_texts(work: StageWork) -> _Totals:
    """Texts go one to a call, or to as many as it takes: each says again what came before."""
    facts = work.facts
    head = len(work.stage.instructions.encode())
    taken = (head + work.content) / FORECAST_BYTES * facts.token_factor
    answer = answer_bytes(work.stage, work.content, work.past.acceptable, work.asked)
    written = answer / FORECAST_BYTES
    written *= max(1.0, facts.token_factor)
    # each call may write as much as is allowed for a text, so a longer one comes in pieces
    room = max_tokens([TEXT_TOKENS], facts, limit_alone(work.stage), 0)
    pieces = max(1, min(1 + work.policy.max_continuations, math.ceil(written / room)))
    written = min(written, pieces * room)
    taken = pieces * taken + room * pieces * (pieces - 1) / 2
    batched = work.policy.route == BATCH and work.tasks >= work.policy.min_batch_size
    price = price_at(facts, round(taken / pieces), batched=batched)
    cost = work.tasks * (taken * price.input + written * price.output)
    tokens = math.ceil(work.tasks * taken), math.ceil(work.tasks * written)
    return work.tasks * pieces, *tokens, math.ceil(cost)
