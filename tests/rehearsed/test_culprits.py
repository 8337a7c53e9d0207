"""A server that breaks down whenever one certain block is in the call, over real HTTP."""

from collections import Counter

import pytest

from quire.domain.states import RunState
from quire.planning.call_health import VERY_MANY_FAILURES
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.front_proxy import DROPPED, Answer, front_proxy
from tests.rehearsed.rehearsed import OPENAI, QuickClock
from tests.world import sentences

BROKEN = Answer(
    500, b'{"error": {"message": "it broke down"}}', {"Content-Type": "application/json"}
)
BUSY = BROKEN._replace(status=503)
POISON = "the poisoned sentence"


def poisoned_blocks(count: int, *places: int) -> list[str]:
    """Blocks, of which some break a server."""
    blocks = sentences(count)
    for place in places:
        blocks[place] = f"This is {POISON} number {place}."
    return blocks


SAID_BY_500, SAID_BY_DROP = {"it broke down (sent "}, {"(sent ", "brought no answer"}


@pytest.mark.parametrize(
    ("answer", "said", "places"),
    [
        pytest.param(answer, said, places, id=f"{name} at {len(places)}")
        for answer, said, name in [(BROKEN, SAID_BY_500, "500"), (DROPPED, SAID_BY_DROP, "dropped")]
        for places in [(17,), (3, 17, 18, 40, 77, 99)]  # six: most of the first packs
    ]
    + [pytest.param(BROKEN, SAID_BY_500, (3, 7, 95), id="500 at 3")]
    + [pytest.param(DROPPED, SAID_BY_DROP, (3, 7, 95), id="dropped at 3", marks=pytest.mark.soak)]
    + [pytest.param(BUSY, SAID_BY_500, (17,), id="503 at 1")],
)
def test_blocks_that_break_a_server_fail_alone_with_the_reason(
    rehearse: Rehearse,
    monkeypatch: pytest.MonkeyPatch,
    answer: Answer,
    said: set[str],
    places: tuple[int, ...],
) -> None:
    here = rehearse(OPENAI)
    here.ingest(poisoned_blocks(100, *places))
    calls: Counter[str] = Counter()

    def refuse(body: bytes) -> Answer | None:
        poisoned = POISON.encode() in body
        calls["broken" if poisoned else "answered"] += 1
        if calls["answered"] == 10 - len({place // 10 for place in places}):  # all clean packs
            calls.setdefault("broken_before_all_went", calls["broken"])
        return answer if poisoned else None

    with front_proxy(lambda number, key: None, here.server.url, refuse=refuse) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
        run = here.start(concurrency=4, pack_size=10)
        ended = run.wait()

    assert ended.state == RunState.FINISHED
    assert (ended.done, ended.failed) == (100 - len(places), len(places))
    failed = [error for state, _, error in here.task_tries(run.id) if state == "failed"]
    assert all(any(words in error for words in said) for error in failed)
    assert calls["answered"] <= 10 + 4 * len(places)
    # Two that happen to be left of one pack clear neither: each is then sent very often.
    assert calls["broken"] <= (80 if len(places) == 1 else VERY_MANY_FAILURES + 30) * len(places)
    assert calls["broken_before_all_went"] <= 8 * len(places)  # nobody waits for them


def test_in_an_outage_nothing_is_halved_and_nothing_fails(
    rehearse: Rehearse, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = rehearse(OPENAI)
    here.ingest(sentences(100))
    calls: Counter[bool] = Counter()

    def say(number: int, key: str) -> Answer | None:
        down = 2 < number <= 80
        calls[down] += 1
        return BROKEN if down else None

    with front_proxy(say, here.server.url) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
        ended = here.start(concurrency=4, pack_size=10).wait()

    assert (ended.state, ended.done, ended.splits) == (RunState.FINISHED, 100, 0)
    assert calls == {True: 78, False: 10}


@pytest.mark.parametrize("places", [(37,), (3, 37, 95)])
def test_a_block_that_breaks_its_row_of_a_batch_holds_up_no_other(
    rehearse: Rehearse, ledger_url: str, places: tuple[int, ...]
) -> None:
    clock = QuickClock(240)
    here = rehearse(OPENAI, url=ledger_url, clock=clock, batch_latency="20s", faults="500@poisoned")
    here.ingest(poisoned_blocks(100, *places))

    run = here.start(route="batch", min_batch_size=2, pack_size=10)
    ended = run.wait()

    assert ended.state == RunState.FINISHED
    assert (ended.done, ended.failed) == (100 - len(places), len(places))
    assert sum(entry.status == 500 for entry in here.server.entries()) <= 40 * len(places)
