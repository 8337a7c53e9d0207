"""Contrasts of accuracy above chance: intervals moved along, and open where nobody is right."""

import numpy as np
import pytest

from quire.kits.judge.comparison import compare_experiments
from quire.kits.judge.contrasts import Arm, find_contrasts, find_levels
from tests.kits.judge.test_contrasts import arm


def _never_right(item: Arm) -> Arm:
    return item._replace(
        scores=tuple(s._replace(truth=2 if s.stages == (1,) else 1) for s in item.scores)
    )


def _guessing(item: Arm) -> dict[str, float]:
    """What guesses of the same sizes are right in, by model."""
    named: dict[str, list[bool]] = {}
    for score in item.scores:
        if score.decoded and score.stages:
            named.setdefault(score.model, []).append(len(score.stages) == 1)
    return {model: float(np.mean(single)) / item.scale_size for model, single in named.items()}


def test_accuracy_above_chance_has_the_interval_of_accuracy_moved_along_where_nobody_is_right() -> (
    None
):
    arms = compare_experiments([arm(1, scale_size=3), arm(2, scale_size=5)]).arms

    levels = find_levels([*arms, *(_never_right(a._replace(name=f"{a.name}-0")) for a in arms)])

    figures = {(x.question, x.experiment, x.model): x.figure for x in levels}
    chances = {name: _guessing(a) for a in arms for name in (a.name, f"{a.name}-0")}
    moved = [place for place in figures if place[0] == "accuracy_above_chance"]
    assert {name for _, name, _ in moved} == set(chances)
    for place in moved:
        accuracy, chance = figures["accuracy", *place[1:]], chances[place[1]][place[2]]
        wanted = [(end - chance) / (1 - chance) for end in accuracy[:3] if end is not None]
        found = figures[place]
        if accuracy.value == 0:
            assert list(found[:3]) == pytest.approx(wanted)
        else:  # chance moves from sample to sample as accuracy does
            assert found.value == pytest.approx(wanted[0])
            assert list(found[1:3]) != pytest.approx(wanted[1:])
        assert found.high > found.low >= -1 / 2  # type: ignore[operator]


def test_two_accuracies_of_0_leave_open_what_they_differ_by() -> None:
    arms = compare_experiments([arm(1, scale_size=3), arm(2, scale_size=5)]).arms

    found = find_contrasts([_never_right(item) for item in arms])

    hits = [item for item in found if item.question == "accuracy_above_chance"]
    assert hits
    for contrast in hits:
        item, (c, d) = contrast.difference, (contrast.of_value, contrast.against_value)
        assert item.value == pytest.approx(c - d)  # type: ignore[operator]
        assert -1 / 4 <= c < 0 > d >= -1 / 2  # type: ignore[operator]
        assert -1 / 4 - 1 <= item.low < item.value < item.high <= 1 + 1 / 2  # type: ignore[operator]
