"""A recipe whose stages ask two vendors, in batches, when the key of one is missing."""

from typing import Any

import pytest

from quire.domain.reasons import HoldKind
from quire.domain.states import RunState
from tests.pipeline.recipe_stages import recipe, task_states, text_stage
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.rehearsed import ANTHROPIC, KEYS, OPENAI, QuickClock, Rehearsed
from tests.rehearsed.test_batch_routes import skipping
from tests.time_limits import at_most
from tests.world import until_rest

COUNT = 6
BY_HAND = "ANTHROPIC_API_KEY"
OTHERS = "openai"
ASKED = "Sum up:\n{{ document.text }}"
APART = (
    text_stage("first", "each_document", ASKED, models=(OPENAI,)),
    text_stage("second", "each_document", ASKED, models=(ANTHROPIC,)),
)
IN_TURN = (
    text_stage("first", "each_document", ASKED, models=(ANTHROPIC,)),
    text_stage("second", "each_result", "{{ inputs.first.text }}", of="first", models=(OPENAI,)),
)


def begun(rehearse: Rehearse, url: str, stages: Any, **server_config: Any) -> tuple[Rehearsed, Any]:
    """A run of these stages over a few documents."""
    here = rehearse(
        OPENAI, url=url, clock=QuickClock(60), **{"batch_latency": "20s", **server_config}
    )
    for number in range(COUNT):
        here.ingest([f"Document {number} speaks of itself."], f"doc{number}")
    cooked = recipe(*stages)
    return here, here.engine.run(recipe=cooked, model=OPENAI, route="batch", min_batch_size=2)


@pytest.mark.parametrize("stages", [APART, IN_TURN], ids=["apart", "in turn"])
def test_a_missing_key_holds_the_run_and_nothing_is_lost(
    rehearse: Rehearse, ledger_url: str, monkeypatch: pytest.MonkeyPatch, stages: Any
) -> None:
    monkeypatch.delenv(BY_HAND)
    here, run = begun(rehearse, ledger_url, stages)

    held = until_rest(run, at_most())

    assert [hold.kind for hold in held.holds] == [HoldKind.CREDENTIAL]
    assert "anthropic" in held.holds[0].detail
    made = [batch["vendor"] for batch in here.server.batches()]
    assert made in ([], [OTHERS] * (stages is APART))  # at most the other's, if it was quicker
    monkeypatch.setenv(BY_HAND, KEYS[BY_HAND])
    run.resume()
    ended = run.wait(at_most())
    assert ended.state == RunState.FINISHED
    assert task_states(here.engine, run) == {"first": {"done": COUNT}, "second": {"done": COUNT}}
    assert len(here.server.batches()) == 2


def test_a_key_that_goes_missing_while_its_batch_is_out_spares_the_other_vendors(
    rehearse: Rehearse, ledger_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, run = begun(rehearse, ledger_url, APART, batch_latency="600s")

    def both_out(progress: Any) -> None:
        if [batch.state for batch in here.engine.batches()] == ["open", "open"]:
            here.engine.stop()

    here.engine.drive(run.id, both_out)
    monkeypatch.delenv(BY_HAND)
    here.server.advance(600)

    held = until_rest(run, at_most())

    assert [hold.kind for hold in held.holds] == [HoldKind.CREDENTIAL]
    assert task_states(here.engine, run)["first"] == {
        "done": COUNT
    }  # collected although it is held
    monkeypatch.setenv(BY_HAND, KEYS[BY_HAND])
    run.resume()
    assert run.wait(skipping(here, 600)).state == RunState.FINISHED
    assert len(here.server.batches()) == 2
