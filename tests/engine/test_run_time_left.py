"""A run's time left, from its ledger: by kept forecasts, and in words."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from quire.domain.states import RunState, StageState
from quire.engine.run_time_left import read_time_left, time_left_words
from quire.planning.time_left import TimeLeft, UnknownReason
from tests.engine.test_kept_forecasts import SMALL, TWO_STAGES, Worlds
from tests.world import sentences


def test_a_stage_that_has_not_begun_takes_the_calls_that_were_forecast(
    world: Worlds, tmp_path: Path
) -> None:
    here = world()
    for number in range(3):
        here.ingest(sentences(6 + number), f"doc{number}")
    (tmp_path / "notes.toml").write_text(TWO_STAGES)
    run = here.engine.run(recipe=str(tmp_path / "notes.toml"), model=SMALL)
    run.wait()
    summary, digest = run.progress().stages
    waiting = replace(digest, state=StageState.WAITING, counts={})
    going = replace(run.progress(), state=RunState.RUNNING, calls=3, stages=(summary, waiting))
    began = here.engine.runtime.now() - timedelta(days=3)
    head = replace(here.engine.queries.head(run.id), started_at=began)

    left = read_time_left(here.engine, head, going, 1, [])

    assert left is not None
    assert left.seconds == pytest.approx(
        86_400, rel=0.01
    )  # one call more, as long as each of the three


@pytest.mark.parametrize(
    ("left", "words"),
    [
        (None, ""),
        (TimeLeft(seconds=1200.0), "about 20 min"),
        (TimeLeft(unknown=UnknownReason.NO_FORECAST), "unknown: no forecast of what is to come"),
        (
            TimeLeft(seconds=86_400.0, providers=("openai",), batches=1),
            "until openai ends the batch, at most 24 h",
        ),
        (
            TimeLeft(seconds=7_200.0, providers=("gemini", "openai"), batches=3),
            "until gemini and openai end 3 batches, at most 2 h",
        ),
    ],
)
def test_time_left_in_words(left: TimeLeft | None, words: str) -> None:
    assert time_left_words(left) == words
