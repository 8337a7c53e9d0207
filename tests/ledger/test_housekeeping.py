"""Leases, spend, names and erasure, as the sweeps and people's commands read them."""

import re
from datetime import timedelta
from pathlib import Path

from quire.domain.reasons import HoldCause, HoldKind
from quire.domain.states import AttemptMove, RunMove
from quire.domain.tasks import MemberVerdict
from quire.ledger.ledger import Ledger, open_ledger
from quire.ledger.statements import load, migrations
from quire.pipeline.calls.record import lose_attempts, record_answers
from quire.pipeline.calls.rescue import WRITE_OFF_AFTER, reclaim_expired_leases
from tests.ledger.factories import (
    NOW,
    add_document,
    add_worker,
    answer,
    new_run,
    parsed_document,
    reply,
    request_of,
    run_with_ready_tasks,
    send_all,
    tasks_of,
)
from tests.ledger.raw import Raw

LEASE = timedelta(seconds=30)


def test_a_worker_is_silent_once_its_lease_ran_out(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        quick, slow = add_worker(tx), add_worker(tx)
        tx.workers.beat_worker(quick, NOW + LEASE)

        assert tx.workers.silent_workers(NOW + timedelta(microseconds=1)) == [slow]
        assert tx.workers.live_workers(NOW + timedelta(microseconds=1)) == [quick]
        assert tx.workers.silent_workers(NOW) == []


def test_a_worker_that_was_ended_cannot_renew_its_lease(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        worker = add_worker(tx)
        assert tx.workers.beat_worker(worker, NOW)
        tx.workers.end_workers([worker], NOW)

        assert not tx.workers.beat_worker(worker, NOW + LEASE)
        assert tx.workers.silent_workers(NOW + 2 * LEASE) == []


def test_what_a_worker_claimed_while_it_was_declared_dead_is_rescued(
    ledger: Ledger, raw: Raw
) -> None:
    send_all(ledger)
    raw.rows("UPDATE workers SET ended_at = 1")

    with ledger.transaction() as tx:
        assert reclaim_expired_leases(tx, LEASE, NOW).calls == 1
    assert raw.rows("SELECT state FROM attempts") == [("unknown",)]


def test_a_lost_call_is_written_off_after_its_grace_and_not_before(ledger: Ledger) -> None:
    _, (attempt,) = send_all(ledger)
    with ledger.transaction() as tx:
        reclaim_expired_leases(tx, LEASE, NOW + 2 * LEASE)
        lost_at = NOW + 2 * LEASE

        early = reclaim_expired_leases(
            tx, LEASE, lost_at + WRITE_OFF_AFTER - timedelta(microseconds=1)
        )
        late = reclaim_expired_leases(tx, LEASE, lost_at + WRITE_OFF_AFTER)
        (view,) = tx.views.attempts_of_request(request_of(tx, attempt))

    assert (early.written_off, late.written_off) == (0, 1)
    assert (view.state, view.cost_basis, view.cost_pico) == (
        "written_off",
        "presumed",
        view.reserved_pico,
    )


def test_tallied_money_equals_the_attempts_own(ledger: Ledger) -> None:
    place, attempts = send_all(ledger, ["one"] * 10)
    paid, unread, lost, late, _ = attempts
    with ledger.transaction() as tx:
        record_answers(tx, [answer(place, paid, b"{}", reply()), answer(place, unread)], NOW)
        tx.attempts.move_attempts(AttemptMove.LOSE, [lost, late])
        reserved = {row.id: row.reserved for row in tx.attempts.attempts_by_id(attempts)}
        tx.tallies.add_tallies(place.stage, {"presumed": reserved[lost] + reserved[late]})
        record_answers(tx, [answer(place, late, b"{}", reply())], NOW)

        sums = tx.tallies.tallies_of_run(place.run)
        assert tx.attempts.spend_of_run(place.run) == (sums["cost"], sums["presumed"])
        assert sums["cost"] == 14
        assert sums["presumed"] == 7 + reserved[lost]


def test_a_document_is_matched_by_its_names_and_the_start_of_its_fingerprint(
    ledger: Ledger,
) -> None:
    with ledger.transaction() as tx:
        document, other = (add_document(tx, ["one"], name) for name in ("a_b.txt", "other"))
        names = [
            str(document),
            "a_b.txt",
            "/somewhere/a_b.txt",
            parsed_document("a_b.txt").conv_uid[:6],
        ]

        assert [[item.id for item in tx.documents.match_documents(name)] for name in names] == [
            [document]
        ] * len(names)
        assert [item.id for item in tx.documents.match_documents(str(other))] == [other]


def test_a_name_with_wildcards_matches_nothing_else(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        add_document(tx, ["one"])

        wild = ["%", "%%%%%%%", "_" * 64, "a%txt", "", parsed_document().conv_uid[:5], "\\"]
        assert [tx.documents.match_documents(name) for name in wild] == [[]] * len(wild)


def test_an_erased_document_leaves_counts_and_money_but_no_text(ledger: Ledger, raw: Raw) -> None:
    secret = "the secret word"
    place, (attempt,) = send_all(ledger, [secret])
    with ledger.transaction() as tx:
        request = request_of(tx, attempt)
        record_answers(tx, [answer(place, attempt, secret.encode(), reply(secret))], NOW)
        tx.requests.note_verdicts([MemberVerdict(request, 1, "retry", secret)])
        scope = tx.purges.take_scope(place.document)
        tx.purges.erase_exchanges([request_id for request_id, _ in scope.requests], NOW)
        tx.purges.erase_documents(scope, NOW)

        assert tx.attempts.spend_of_run(place.run) == (7, 0)
        assert tx.tallies.recount_tasks(place.stage) == {"packed": 1}
        assert tx.documents.list_documents() == tx.documents.documents_of_run(place.run) == []
        assert tx.documents.find_document(parsed_document().conv_uid) is None
    ledger.scrub()
    everything = [
        raw.rows(f"SELECT * FROM {table}")
        for table in ("documents", "blocks", "tasks", "requests", "request_tasks", "responses")
    ]
    assert secret not in str(everything)
    assert parsed_document().title not in str(everything)


def test_an_erased_document_leaves_no_trace_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "quire.db"
    ledger = open_ledger(str(path))
    place = new_run(ledger, ["the secret word"] * 500)
    with ledger.transaction() as tx:
        tx.purges.erase_documents(tx.purges.take_scope(place.document), NOW)

    ledger.scrub()

    files = b"".join(key_path.read_bytes() for key_path in path.parent.iterdir())
    assert b"the secret word" not in files
    ledger.close()


def test_every_table_that_words_are_erased_from_is_rewritten(postgres_ledger: Ledger) -> None:
    texts = [item.text for name, item in load("postgres").items() if name.startswith("purge_")]
    erased = {re.search(r"(?:UPDATE|DELETE FROM) (\w+)", text)[1] for text in texts}  # type: ignore[index]
    wordless = {"compressions", "contents", "embeddings", "pieces", "task_documents"}
    tables = sorted(erased - wordless)
    raw = Raw(postgres_ledger.url)

    def files() -> list[int]:
        return [raw.one(f"SELECT pg_relation_filenode('{table}')") for table in tables]

    before = files()
    postgres_ledger.scrub()

    pairs = zip(tables, before, files(), strict=True)
    assert [table for table, old, new in pairs if old == new] == []
    raw.close()


def test_an_erased_document_may_come_again(ledger: Ledger) -> None:
    place = run_with_ready_tasks(ledger, ["one"])
    with ledger.transaction() as tx:
        tx.purges.erase_documents(tx.purges.take_scope(place.document), NOW)
        again = add_document(tx, ["one"])

        assert (
            [document.id for document in tx.documents.list_documents()]
            == [again]
            != [place.document]
        )


def test_a_lane_that_may_not_send_is_not_open(ledger: Ledger) -> None:
    held, waiting, cancelling, ended, free = (
        run_with_ready_tasks(ledger, name=name) for name in "abcde"
    )
    with ledger.transaction() as tx:
        tx.holds.add_hold(held.run, HoldCause.PAUSED, NOW)
        tx.requests.delay_lane(waiting.lane, NOW + LEASE)
        tx.runs.ask_cancel_run(cancelling.run, NOW)
        tx.runs.move_run(RunMove.FINISH, ended.run, NOW)

        assert [lane.id for lane in tx.requests.open_lanes(NOW)] == [free.lane]
        assert [lane.id for lane in tx.requests.open_lanes(NOW + LEASE)] == [
            waiting.lane,
            free.lane,
        ]
        tx.holds.lift_holds(held.run, [HoldKind.FUNDS, HoldKind.USER])
        assert [lane.id for lane in tx.requests.open_lanes(NOW)] == [held.lane, free.lane]


def test_a_lane_never_waits_less_than_it_was_told_before(ledger: Ledger) -> None:
    place = run_with_ready_tasks(ledger)
    with ledger.transaction() as tx:
        tx.requests.delay_lane(place.lane, NOW + LEASE)
        tx.requests.delay_lane(place.lane, NOW)

        assert tx.requests.open_lanes(NOW) == []


def test_subjects_come_in_order_from_any_place(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        documents = [add_document(tx, ["x"] * size, str(size)) for size in (3, 1, 2)]
        run = tx.runs.add_run(b"key", ({}, {}, {}), None, NOW)
        tx.runs.add_run_documents(run, [documents[2], documents[0], documents[1]])
        places = [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 0)]

        for limit in (1, 2, 10):
            for start, after in enumerate([(0, -1), *places]):
                found = tx.documents.next_subjects(run, *after, limit)
                assert [text[:2] for text in found] == places[start : start + limit]


def test_a_task_in_another_live_request_is_carried_elsewhere(ledger: Ledger, raw: Raw) -> None:
    place, (attempt,) = send_all(ledger)
    with ledger.transaction() as tx:
        (task,) = tasks_of(tx, place)
        request = request_of(tx, attempt)

        assert tx.requests.tasks_carried_elsewhere([task], [request]) == set()
        assert tx.requests.tasks_carried_elsewhere([task], []) == {task}
    raw.rows("UPDATE tasks SET version = 2")
    with ledger.transaction() as tx:
        assert tx.requests.tasks_carried_elsewhere([task], []) == set()


def test_a_ledger_in_micro_dollars_goes_on_in_picodollars(ledger: Ledger, raw: Raw) -> None:
    place, (paid, unread, lost, *_) = send_all(ledger, ["one"] * 10)
    with ledger.transaction() as tx:
        record_answers(tx, [answer(place, paid, b"{}", reply()), answer(place, unread)], NOW)
        lose_attempts(tx, tx.attempts.attempts_by_id([lost]), "the connection broke", NOW)
        tasks, spent = tx.tallies.tallies_of_run(place.run), tx.attempts.spend_of_run(place.run)
    reserves = raw.rows("SELECT id, reserve FROM requests ORDER BY id")

    for statement in migrations(ledger.dialect)[11].split(";"):
        if "UPDATE" in statement:
            raw.rows(statement)

    with ledger.snapshot() as tx:
        sums, exact = tx.tallies.tallies_of_run(place.run), tx.attempts.spend_of_run(place.run)
    assert exact == (sums["cost"], sums["presumed"])
    assert exact == tuple(amount * 10**6 for amount in spent)
    assert (sums["ready"], sums["calls"]) == (tasks["ready"], tasks["calls"])
    assert raw.rows("SELECT id, reserve FROM requests ORDER BY id") == [
        (request, reserve * 10**6) for request, reserve in reserves
    ]


def test_a_run_may_cost_millions_of_dollars(ledger: Ledger) -> None:
    place, attempts = send_all(ledger, ["one"] * 10)
    dear = 9 * 10**17  # picodollars; five such calls are four and a half million dollars
    with ledger.transaction() as tx:
        paid = [answer(place, item, b"{}", reply())._replace(cost=dear) for item in attempts]
        record_answers(tx, paid, NOW)

        assert tx.attempts.spend_of_run(place.run) == (len(attempts) * dear, 0)
        assert tx.tallies.tallies_of_run(place.run)["cost"] == len(attempts) * dear
        assert not [miss for miss in tx.checks.miscounts() if miss.what == "cost"]
