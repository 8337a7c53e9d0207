"""Display bias: a preference for lines is found, a judgement of stages is not taken for one."""

from collections.abc import Callable
from random import Random

import pytest

from quire.kits.judge.agreement import Display, Displays, measure_agreement
from quire.kits.judge.display_bias import DisplayBias, measure_display_bias
from quire.kits.judge.metrics import Score
from quire.kits.judge.randomization import ANONYMIZE, RANDOMIZATIONS, SHUFFLE, scale_display
from quire.simulated.judge_prompts import JudgePrompt
from quire.simulated.judge_replies import Draws, reply_as_judge

STAGES, SAMPLES, BUNDLES = 4, 12, 10


def _displays(seed: int, samples: int = SAMPLES) -> Displays:
    shown = [scale_display(seed * 1000 + n, STAGES, RANDOMIZATIONS) for n in range(samples)]
    return {("m", n): Display(item.order, item.tokens) for n, item in enumerate(shown)}


def _scores(displays: Displays, choose: Callable[[Display, int], int]) -> list[Score]:
    return [
        Score("m", sample, f"e{bundle}", decoded=True, stages=(choose(display, bundle),))
        for (_, sample), display in displays.items()
        for bundle in range(BUNDLES)
    ]


def _bias(scores: list[Score], displays: Displays, *allowed: str) -> dict[str, DisplayBias]:
    found = measure_display_bias(scores, displays, allowed or RANDOMIZATIONS, 1)
    return {bias.kind: bias for bias in found}


def test_a_judge_that_takes_the_first_line_is_found_out() -> None:
    random, displays = Random(1), _displays(1)
    scores = _scores(displays, lambda shown, _: shown.order[random.choice((0, 0, 0, 1, 2, 3))])

    found = _bias(scores, displays)

    assert found["position"].p_value == 1 / 1_000
    assert found["position"].slots[0].chosen.value == pytest.approx(0.5, abs=0.12)
    assert (found["position"].slots[0].chosen.low or 0) > 0.25
    assert (found["alphabet"].p_value or 0) > 0.01


def test_a_judge_that_reads_what_stages_say_is_not() -> None:
    """Though all verdicts of a sample are alike, which a test of single verdicts would take ill."""
    p_values = []
    for seed in range(20):
        random, displays = Random(seed), _displays(seed)
        liked = {sample: random.choice((2, 3)) for sample in range(SAMPLES)}
        scores = [
            Score("m", sample, f"e{n}", decoded=True, stages=(liked[sample],))
            for sample in range(SAMPLES)
            for n in range(BUNDLES)
        ]
        p_values.append(_bias(scores, displays, SHUFFLE)["position"].p_value or 0)

    assert sum(p < 0.05 for p in p_values) <= 3  # one is expected, of twenty
    assert 0.35 < sum(p_values) / 20 < 0.65


def test_a_judge_that_prefers_digits_is_found_out() -> None:
    displays = _displays(3)

    def prefer_digits(shown: Display, bundle: int) -> int:
        digits = [n for n, token in enumerate(shown.tokens, 1) if token[0].isdigit()]
        return digits[0] if digits else 1 + bundle % STAGES

    found = _bias(_scores(displays, prefer_digits), displays)

    assert (found["beginning"].p_value or 1) < 0.01
    assert found["beginning"].slots[0].slot == "a digit"


def test_alphas_of_lines_and_stages_tell_such_judges_apart() -> None:
    random, displays = Random(4), _displays(4)
    places = [random.randrange(STAGES) for _ in range(BUNDLES)]
    by_line = _scores(displays, lambda shown, bundle: shown.order[places[bundle]])
    by_stage = _scores(displays, lambda _, bundle: places[bundle] + 1)

    (line,) = measure_agreement(by_line, displays).within
    (stage,) = measure_agreement(by_stage, displays).within

    assert line.positions_ordinal.value == stage.stages_ordinal.value == 1
    assert abs(line.stages_ordinal.value or 1) < 0.1
    assert abs(stage.positions_ordinal.value or 1) < 0.1


def test_the_simulated_judge_goes_by_lines_and_it_shows() -> None:
    """It leans to a line for each text, whatever stage stands there."""
    displays, scores = _displays(6, 40), []
    for (_, sample), shown in displays.items():
        in_order = tuple(shown.tokens[stage - 1] for stage in shown.order)
        for bundle in range(BUNDLES):
            text = f"March {bundle} ended with {bundle * 7} arrests."
            prompt = JudgePrompt("VERDICT", STAGES, in_order, False, False, "order", text)
            (token,) = reply_as_judge(prompt, Draws(sample, bundle), "m").lines
            stage = shown.tokens.index(token) + 1
            scores.append(Score("m", sample, f"e{bundle}", decoded=True, stages=(stage,)))

    (within,) = measure_agreement(scores, displays).within

    lines, stages = within.positions_ordinal, within.stages_ordinal
    assert (lines.value or 0) > (stages.value or 0) + 0.2
    assert (lines.low or 0) > max(0, stages.high or 1)


def test_what_was_not_drawn_is_not_tested() -> None:
    displays = _displays(5)
    scores = _scores(displays, lambda shown, _: shown.order[0])

    assert set(_bias(scores, displays, ANONYMIZE)) == {"alphabet", "beginning"}
    assert set(_bias(scores, displays, SHUFFLE)) == {"position"}
    assert _bias(scores, displays, "hide_label_text") == {}
    assert _bias([], displays) == {}
