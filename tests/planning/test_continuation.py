"""An answer goes on while that brings something, up to the cap, in words that name what is open."""

from dataclasses import replace

import pytest

from quire.domain.continuation import Gap, Trigger
from quire.domain.models import Params
from quire.domain.policy import Policy
from quire.domain.requests import CONTINUE
from quire.planning.continuation import LEAST_PROGRESS, ChainStep, after_piece, instruction
from quire.planning.sizing import limit_alone, limit_to_stage, max_tokens
from quire.planning.stage_forecasts import StageForecast, StageWork, forecast_stage
from tests.pipeline.recipe_stages import text_stage
from tests.planning.examples import make_facts

POLICY = Policy(max_continuations=2)


@pytest.mark.parametrize(
    ("continued", "added", "fits", "step"),
    [
        (0, 1, True, ChainStep.GO_ON),
        (1, LEAST_PROGRESS, True, ChainStep.GO_ON),
        (1, LEAST_PROGRESS - 1, True, ChainStep.STALLED),
        (2, 999, True, ChainStep.FULL),
        (1, 999, False, ChainStep.FULL),
    ],
)
def test_what_follows_a_piece(continued: int, added: int, fits: bool, step: ChainStep) -> None:
    assert after_piece(continued=continued, added=added, fits=fits, policy=POLICY) is step


@pytest.mark.parametrize("trigger", Trigger)
def test_every_instruction_begins_alike_and_is_of_one_piece(trigger: Trigger) -> None:
    words = instruction(Gap(trigger, ("title", "text")), 'So far "it" went\n')

    assert words.startswith(CONTINUE)
    assert ("title, text" in words) == (trigger is Trigger.MISSING)
    assert (r"\"it\" went\n" in words) == (trigger in (Trigger.LENGTH, Trigger.UNFINISHED))


def test_a_stages_limit_is_the_most_that_a_call_may_write() -> None:
    stage = replace(text_stage("essay", "each_document", "x"), params=Params(max_tokens=700))
    facts = limit_to_stage(make_facts(), stage)

    assert max_tokens([2_000], facts, limit_alone(stage), 0) == 700
    assert max_tokens([10], facts, limit_alone(stage), 0) == 700
    assert max_tokens([100, 100], facts, limit_alone(stage), 0) == 512


def test_the_forecast_counts_the_pieces_of_a_limited_stage() -> None:
    def plan(limit: int | None) -> StageForecast:
        stage = replace(text_stage("essay", "each_document", "x"), params=Params(max_tokens=limit))
        work = StageWork(
            stage=stage,
            facts=make_facts(),
            policy=Policy(),
            rules=None,
            tasks=10,
            content=400,
            largest=400,
            rough=False,
        )
        return forecast_stage(work)

    whole, limited = plan(None), plan(150)

    assert (whole.calls, limited.calls) == (10, 30)
    assert limited.output_tokens == whole.output_tokens
    assert limited.input_tokens > 3 * whole.input_tokens
    assert limited.cost > whole.cost
