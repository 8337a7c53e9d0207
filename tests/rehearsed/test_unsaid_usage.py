"""What a server does not say of tokens is estimated, its cost presumed, and the run told once."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from quire.domain.data import JsonObject
from quire.domain.reasons import EventKind
from quire.domain.requests import Reply
from quire.domain.states import RunState
from quire.providers.openai import OpenAI
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.test_undecodable import speaking
from tests.world import sentences

Usage = dict[str, object]
SAID: dict[str, Callable[[Usage], object]] = {
    "missing": lambda usage: None,
    "nought": lambda usage: {**usage, "input_tokens": 0, "output_tokens": 0},
    "half": lambda usage: {"input_tokens": usage["input_tokens"], "output_tokens": None},
    "text": lambda usage: {"input_tokens": "many", "output_tokens": "some"},
}


class Silent(OpenAI):
    """A server that says something else of what was used."""

    def __init__(self, say: Callable[[Usage], object]) -> None:
        """Say this."""
        super().__init__()
        self._say = say

    def decode(self, raw: bytes, body: JsonObject | None = None) -> Reply:
        """Read what the server says."""
        found: Any = orjson.loads(raw)
        return super().decode(raw, found | {"usage": self._say(found["usage"])})


@pytest.mark.parametrize("name", SAID)
def test_a_run_goes_on_with_estimates_that_are_presumed(
    rehearse: Rehearse, ledger_url: str, name: str
) -> None:
    here = speaking(rehearse(url=ledger_url), Silent(SAID[name]))
    here.ingest(sentences(20))

    run = here.run(pack_size=5, concurrency=2)

    ended = run.progress()
    assert (ended.state, ended.done, ended.holds) == (RunState.FINISHED, 20, ())
    assert ended.cost_pico == 0
    assert here.bill() <= ended.presumed_pico <= 3 * here.bill()
    assert min(ended.input_tokens, ended.output_tokens) > 0
    with here.engine.ledger.snapshot() as tx:
        assert tx.attempts.spend_of_run(run.id) == (0, ended.presumed_pico)
        assert tx.checks.miscounts() == []
        told = [event.kind for event in tx.events.events_of_run(run.id)]
    assert told.count(EventKind.USAGE_ESTIMATED) == 1
    assert {attempt.cost_basis for attempt in here.attempts(run.id)} == {"presumed"}
