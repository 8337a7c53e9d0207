"""Forecasts of experiments: a prompt shows its bundle of evidence, in its view, and no more."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from benchmarks.bench_forecasts import FIRST, SECOND, Job, run_once
from quire.engine import open_engine
from quire.kits.judge.experiment_runs import plan_experiment, start_experiment
from tests.kits.judge.examples import write
from tests.world import World

Worlds = Callable[..., World]


def write_experiment(folder: Path, bundle: int, view: str, pieces: int, words: int) -> Path:
    """An experiment about evidence of so many words or twice that; nothing is left to chance.

    Views of it are as long as the text: the simulated model restates 400 words at most.
    """
    text = f"""
experiment_tag = "forecast"
task_type = "ecc"
concept = "civil order"
models = ["simulated/small"]
samples = 3
temperature = 0
method = "subset"
randomizations = ["anonymize_stages", "hide_label_text", "shuffle_rubric_order"]
evidence_view = "{view}"
evidence_bundle_size = {bundle}
"""
    for number in range(pieces):
        said = " ".join(f"On day {day} of {number} all was calm." for day in range(words // 8))
        text += f'[[evidence]]\ntext = "Report {number}. {said * (1 + number % 2)}"\n'
    return write(folder, text)


@pytest.mark.parametrize("view", ["raw", "abstracted"])
@pytest.mark.parametrize("bundle", [1, 3, 5])  # ten pieces in threes: the last bundle has one
def test_a_forecast_is_near_at_first_and_all_but_exact_the_second_time(
    tmp_path: Path, bundle: int, view: str
) -> None:
    path = write_experiment(tmp_path, bundle, view, pieces=10, words=190)
    with open_engine(f"{tmp_path}/quire.db", environment={"QUIRE_REUSE": "off"}) as engine:
        job = Job(
            partial(plan_experiment, engine, path),
            partial(start_experiment, engine, path, new=True),
        )

        first, second = run_once(job), run_once(job)

    assert abs(first.error) <= FIRST
    assert abs(second.error) <= SECOND
    assert first.within
    assert second.within


def test_what_a_limited_run_left_is_to_be_asked_by_the_next(world: Worlds, tmp_path: Path) -> None:
    path, here = write_experiment(tmp_path, 5, "raw", pieces=10, words=60), world()
    path.write_text(path.read_text().replace("temperature = 0\n", ""))
    start_experiment(here.engine, path, limit=2).wait()

    planned = plan_experiment(here.engine, path)
    asked = here.model.calls
    start_experiment(here.engine, path, new=True).wait()

    assert [stage.to_ask.tasks for stage in planned.stages] == [1, 1, 2, 2]
    assert here.model.calls - asked == 6


@pytest.mark.parametrize("pieces", [10, 11])
def test_every_piece_is_forecast_once_in_each_sample(
    world: Worlds, tmp_path: Path, pieces: int
) -> None:
    """However pieces are bundled, all that grows is what each call says beside them."""
    planned = []
    for bundle in (1, 2, 3, 4, 7, pieces):
        path = write_experiment(tmp_path, bundle, "raw", pieces=pieces, words=190)
        stages = plan_experiment(world().engine, path).stages
        planned.append(next(stage for stage in stages if stage.stage == "score_gen"))
    calls = [stage.calls for stage in planned]
    taken = [stage.input_tokens for stage in planned]
    of_call = (taken[0] - taken[-1]) / (calls[0] - calls[-1])

    assert calls[:3] == [3 * pieces, 3 * -(-pieces // 2), 3 * -(-pieces // 3)]
    assert taken == pytest.approx(
        [taken[-1] + of_call * (number - calls[-1]) for number in calls], rel=0.01
    )


def test_no_prompt_is_said_not_to_fit_where_only_all_evidence_together_would_not(
    world: Worlds, tmp_path: Path
) -> None:
    path = write_experiment(tmp_path, 1, "raw", pieces=40, words=1000)

    planned = plan_experiment(world().engine, path)

    score = next(stage for stage in planned.stages if stage.stage == "score_gen")
    assert score.fits
    assert not score.oversized
    assert score.input_tokens / score.calls < score.room / 10 < planned.stages[0].room
    assert 40 * score.input_tokens / score.calls > score.room  # all of them in one would not fit
