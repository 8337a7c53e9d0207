"""Forecast corrections: how far the forecast of earlier work was off, put right in the next one.

The same rules forecast the earlier work and the new; what they get wrong, they get wrong alike:
how large prompts are, how long answers, how many are asked again, refused by critics or gone on
with. So a stage that was forecast at 42,000 tokens and took 20,000 is forecast at 20/42 of what the
rules say next time, however many documents there are then.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from quire.domain.spend import SpendGroup
from quire.planning.stage_forecasts import CORRECTED, StageForecast

StageKey = tuple[str, str]  # a stage, and a model that it asks


class StageSpend(NamedTuple):
    """What one stage took of one model, all that was asked again included."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: int = 0  # picodollars


NOTHING_TAKEN = StageSpend()


def spend_by_stage(groups: Iterable[SpendGroup]) -> dict[StageKey, StageSpend]:
    """What each stage of a run took of each model."""
    found: dict[StageKey, StageSpend] = {}
    for group in groups:
        key = (group.stage, group.model)
        before = found.get(key, NOTHING_TAKEN)
        found[key] = StageSpend(
            before.calls + group.calls,
            before.input_tokens + group.input_total,
            before.output_tokens + group.output,
            before.cost + group.cost,
        )
    return found


def correct_forecasts(
    stages: Sequence[StageForecast],
    earlier: Sequence[StageForecast],
    spent: Mapping[StageKey, StageSpend],
) -> list[StageForecast]:
    """Forecasts put right by what earlier work was forecast at, by the same rules, and took."""
    by_key = {(stage.stage, stage.model): stage for stage in earlier}
    return [
        _correct(
            stage, by_key.get((stage.stage, stage.model)), spent.get((stage.stage, stage.model))
        )
        for stage in stages
    ]


def _correct(
    stage: StageForecast, earlier: StageForecast | None, spent: StageSpend | None
) -> StageForecast:
    if stage.reused or earlier is None or spent is None or not spent.calls or not earlier.calls:
        return stage
    return replace(
        stage,
        calls=_in_proportion(stage.calls, earlier.calls, spent.calls),
        input_tokens=_in_proportion(stage.input_tokens, earlier.input_tokens, spent.input_tokens),
        output_tokens=_in_proportion(
            stage.output_tokens, earlier.output_tokens, spent.output_tokens
        ),
        cost=_in_proportion(stage.cost, earlier.cost, spent.cost),
        rough=False,
        spread=CORRECTED,
        asked=stage.asked and _correct(stage.asked, earlier, spent),
    )


def _in_proportion(now: int, forecast: int, actual: int) -> int:
    """The new forecast, times what the earlier one was off by; a price of nothing stays that."""
    return round(now * actual / forecast) if forecast else now
