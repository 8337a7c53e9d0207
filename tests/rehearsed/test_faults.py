"""Faults over real HTTP: every block is answered, and the money is the server's, to the last."""

from threading import Event, Lock
from typing import Any

import pytest

from quire.domain.states import AttemptState, RequestState
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.front_proxy import front_proxy
from tests.rehearsed.rehearsed import VENDORS, Rehearsed, billed_entries
from tests.world import sentences

MIXED = (
    "429=0.005,500=0.01,503=0.005,529=0.005,skip=0.003,wrong=0.003,duplicate=0.002,conflict=0.002"
    ",malformed=0.01,empty=0.005,stranger=0.005,refuse=0.002,retry_after=0.05,seed=7"
)
OFTEN = (  # the same in a small run: everything is met there too
    "429=0.02,500=0.04,503=0.02,529=0.02,skip=0.012,wrong=0.012,duplicate=0.008,conflict=0.008"
    ",malformed=0.04,empty=0.02,stranger=0.02,refuse=0.008,retry_after=0.05,seed=7"
)
CUT_PACKS = ",truncate=0.01"  # a lone block that is cut off twice has failed, and rightly so
PATIENT: dict[str, Any] = {
    "max_tries": 8,
    "max_calls": 40,
}  # at this rate of faults, some blocks need it


def mixed_faults(pack_size: int, faults: str = MIXED) -> str:
    """Everything that a call may meet and every block can outlast."""
    return faults + CUT_PACKS if pack_size > 1 else faults


def run_blocks(here: Rehearsed, blocks: int, pack_size: int) -> None:
    """Run, and hold the ledger against the server's log where every answer arrived."""
    here.ingest(sentences(blocks))

    run = here.run(pack_size=pack_size, concurrency=32, **PATIENT)

    ended, seen = run.progress(), here.server.stats()
    assert (ended.state, dict(ended.counts)) == ("finished", {"done": blocks})
    assert (ended.cost_pico, ended.presumed_pico) == (here.bill(), 0)
    assert ended.calls == seen["answered"]
    usages = [usage for _, usage in billed_entries(here.server.entries())]
    assert ended.input_tokens == sum(usage.input_total for usage in usages)
    assert ended.output_tokens == sum(usage.output for usage in usages)
    assert [row["first_40_chars"] for row in run.rows()] == [
        text[:40] for text in sentences(blocks)
    ]


@pytest.mark.parametrize("pack_size", [1, 10])
@pytest.mark.parametrize("asks", VENDORS)
def test_a_run_among_faults_answers_every_block_and_pays_what_the_server_billed(
    rehearse: Rehearse, asks: str, pack_size: int
) -> None:
    run_blocks(rehearse(asks, faults=mixed_faults(pack_size, OFTEN)), 150, pack_size)


@pytest.mark.soak
@pytest.mark.parametrize("pack_size", [1, 10])
@pytest.mark.parametrize("asks", VENDORS)
def test_a_large_run_among_faults_answers_every_block_and_pays_what_the_server_billed(
    rehearse: Rehearse, asks: str, pack_size: int
) -> None:
    run_blocks(rehearse(asks, faults=mixed_faults(pack_size)), 5_000, pack_size)


@pytest.mark.parametrize("asks", VENDORS)
def test_every_call_that_was_refused_is_in_the_ledger_free_and_with_its_reason(
    rehearse: Rehearse, asks: str
) -> None:
    here = rehearse(asks, faults="429=0.02,500=0.1,503=0.05,retry_after=0.05,seed=3")
    here.ingest(sentences(120))

    run = here.run(pack_size=2, concurrency=8, max_calls=40)

    attempts, statuses = here.attempts(run.id), here.server.stats()["statuses"]
    failed = [attempt for attempt in attempts if attempt.state == AttemptState.REFUSED]
    assert run.progress().done == 120
    assert len(attempts) == here.server.stats()["requests"]
    assert len(failed) == sum(count for status, count in statuses.items() if status != "200") > 0
    assert {(view.cost_pico, view.cost_basis) for view in failed} == {(0, "free")}
    provider = here.facts.provider
    told = {str(view.error).split(":")[0] for view in failed}
    assert told == {f"{provider} {status}" for status in statuses if status != "200"}
    lines = here.lines(run.id)
    halved = sum(line.state == RequestState.DROPPED and line.sent > 0 for line in lines)
    assert run.progress().resent + halved == len(failed)  # one that fails again and again is halved
    assert sum(line.sent for line in lines) == len(attempts)


@pytest.mark.parametrize("asks", VENDORS)
def test_a_call_that_is_too_large_is_split_and_the_ledger_shows_it(
    rehearse: Rehearse, asks: str
) -> None:
    here = rehearse(asks, faults="413@MARK,seed=1")
    here.ingest(sentences(40, mark=17))

    run = here.run(pack_size=10, concurrency=8)

    ended = run.progress()
    sizes = [line.tasks for line in here.lines(run.id) if line.state == "closed"]
    assert (ended.done, ended.failed) == (39, 1)  # the culprit is never let in
    assert ended.splits >= 3
    assert {10, 5, 1} <= {*sizes}
    assert ended.cost_pico == here.bill()


@pytest.mark.parametrize("asks", VENDORS)
def test_dropped_connections_are_presumed_paid_and_the_bill_lies_between(
    rehearse: Rehearse, asks: str
) -> None:
    here = rehearse(asks, faults="drop=0.1,429=0.06,skip=0.03,retry_after=0.05,seed=11")
    here.ingest(sentences(150))

    run = here.run(pack_size=3, concurrency=16, **PATIENT)

    ended, dropped = run.progress(), here.server.stats()["faults"]["drop"]
    assert dict(ended.counts) == {"done": 150}
    assert ended.cost_pico <= here.bill() <= ended.cost_pico + ended.presumed_pico
    lost = [
        attempt
        for attempt in here.attempts(run.id)
        if attempt.state in (AttemptState.UNKNOWN, AttemptState.WRITTEN_OFF)
    ]
    assert len(lost) == dropped > 0
    assert ended.presumed_pico == sum(view.reserved_pico for view in lost)
    arrived = [entry for entry, _ in billed_entries(here.server.entries()) if entry.fault != "drop"]
    assert ended.calls == len(arrived)


def test_a_server_with_one_slot_that_ignores_disconnects_is_not_flooded(
    rehearse: Rehearse, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = rehearse()
    here.ingest(sentences(8))
    calls: list[int] = []
    slot, never = Lock(), Event()

    def say(number: int, key: str) -> None:
        calls.append(number)
        with slot:  # whoever hangs up meanwhile is still served, and billed
            never.wait(0.6)  # two in a row, and little else, fit into the time that a call has

    with front_proxy(say, here.server.url) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
        run = here.run(pack_size=1, concurrency=16, call_timeout=1.5)

    assert run.progress().done == 8
    assert len(calls) <= 16
