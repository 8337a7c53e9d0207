"""Many processes and threads on one ledger: everyone waits their turn, nothing is taken twice."""

import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from quire.domain.ids import RequestId
from quire.domain.runs import RunStage
from quire.domain.states import AttemptMove, RequestMove
from quire.ledger.ledger import Ledger, open_ledger
from quire.pipeline.answers.settle import settle
from quire.pipeline.calls import prepare
from quire.pipeline.calls.record import record_answers
from quire.pipeline.contexts import Contexts
from tests.ledger import factories
from tests.ledger.factories import (
    NOW,
    Place,
    answer,
    claim_next,
    claim_requests,
    new_run,
    pack_tasks,
    reply,
    run_with_ready_tasks,
    send_all,
)
from tests.ledger.raw import Raw

ROOT = Path(factories.__file__).parents[2]
STEP_ON = """
import sys
from quire.ledger.ledger import open_ledger
ledger = open_ledger(sys.argv[1], durable=False)
for _ in range(50):
    with ledger.transaction() as tx:
        stage = tx.runs.lock_stage(int(sys.argv[2]))
        tx.runs.set_stage_cursor(stage.id, stage.cursor_document + 1, 0, 1)
ledger.close()
"""


def test_four_processes_that_read_and_then_write_lose_no_update(
    ledger: Ledger, warm: list[str]
) -> None:
    place = new_run(ledger)
    command = [*warm, "-c", STEP_ON, ledger.url, str(place.stage)]
    running = [
        subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) for _ in range(4)
    ]
    complaints = [process.communicate()[1] for process in running]

    assert complaints == [""] * 4
    stage = _stage(ledger, place)
    assert (stage.cursor_document, stage.expanded) == (200, 200)


def test_threads_that_share_a_ledger_lose_no_update(ledger: Ledger) -> None:
    place = new_run(ledger)

    def step_on() -> None:
        for _ in range(20):
            with ledger.transaction() as tx:
                stage = tx.runs.lock_stage(place.stage)
                tx.runs.set_stage_cursor(stage.id, stage.cursor_document + 1, 0, 1)

    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(step_on) for _ in range(4)]:
            future.result()

    assert _stage(ledger, place).cursor_document == 80


def test_a_second_writer_waits_and_then_sees_what_the_first_wrote(ledger: Ledger) -> None:
    place = new_run(ledger)
    other = open_ledger(ledger.url, durable=False)
    coming = threading.Event()

    def look() -> int:
        coming.set()
        with other.transaction() as tx:
            return tx.runs.lock_stage(place.stage).expanded

    with ThreadPoolExecutor(1) as pool:
        with ledger.transaction() as tx:
            tx.runs.lock_stage(place.stage)
            looked = pool.submit(look)
            coming.wait()
            tx.runs.set_stage_cursor(place.stage, 0, 0, 5)
        assert looked.result() == 5
    other.close()


def test_workers_who_claim_at_once_take_every_request_exactly_once(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prepare, "FIRST_PACKS", 24)  # though no answer was accepted yet
    place = run_with_ready_tasks(ledger, ["one"] * 48)
    with ledger.transaction() as tx:
        assert pack_tasks(tx, place) == 24

    def claim_all() -> list[list[RequestId]]:
        taken: list[list[RequestId]] = []
        while True:
            with ledger.transaction() as tx:
                claimed = claim_next(tx, place.lane, 3, NOW)
            if not claimed:
                return taken
            taken.append([queued_request.id for queued_request in claimed])

    with ThreadPoolExecutor(4) as pool:
        groups = [
            group
            for future in [pool.submit(claim_all) for _ in range(4)]
            for group in future.result()
        ]

    assert max(map(len, groups)) <= 3
    claimed = [request for group in groups for request in group]
    assert len(claimed) == len(set(claimed)) == 24


def test_a_claimed_request_counts_its_sending(ledger: Ledger, raw: Raw) -> None:
    place = run_with_ready_tasks(ledger, ["one"])
    with ledger.transaction() as tx:
        pack_tasks(tx, place)
        (outgoing,) = claim_requests(tx, place)

    assert raw.rows("SELECT state, sent FROM requests") == [("out", 1)]
    assert raw.rows("SELECT id, no, state FROM attempts") == [(outgoing.call.attempt_id, 1, "open")]


def test_a_request_that_waits_is_not_claimed_before_its_moment(ledger: Ledger, raw: Raw) -> None:
    place = run_with_ready_tasks(ledger, ["one"])
    with ledger.transaction() as tx:
        pack_tasks(tx, place)
    raw.rows("UPDATE requests SET not_before = :later", later=2**60)

    with ledger.transaction() as tx:
        assert claim_next(tx, place.lane, 1, NOW) == []


def test_a_request_whose_late_answer_is_here_is_not_claimed_again(ledger: Ledger) -> None:
    place, (attempt,) = send_all(ledger)
    with ledger.transaction() as tx:
        tx.attempts.move_attempts(AttemptMove.LOSE, [attempt])
        tx.requests.move_requests(RequestMove.REQUEUE, [factories.request_of(tx, attempt)])
        record_answers(tx, [answer(place, attempt, b"{}", reply())], NOW)

        assert claim_next(tx, place.lane, 1, NOW) == []


def test_an_answer_is_judged_once_however_many_settlers_there_are(ledger: Ledger) -> None:
    place, attempts = send_all(ledger, ["one"] * 16)
    with ledger.transaction() as tx:
        record_answers(tx, [answer(place, attempt, b"{}", reply()) for attempt in attempts], NOW)

    def judge() -> int:
        with ledger.transaction() as tx:
            return settle(tx, Contexts(), NOW, 3)

    with ThreadPoolExecutor(4) as pool:
        settled = [future.result() for future in [pool.submit(judge) for _ in range(8)]]

    assert sum(settled) == len(attempts) == 8


def _stage(ledger: Ledger, place: Place) -> RunStage:
    with ledger.snapshot() as tx:
        return tx.runs.stages_of_run(place.run)[0]
