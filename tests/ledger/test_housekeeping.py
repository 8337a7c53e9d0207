"""Leases, spend, names and erasure, as the sweeps and people's commands read them."""

from datetime import timedelta
from pathlib import Path

from quire.domain.runs import HoldKind
from quire.ledger.ledger import Ledger, open_ledger
from quire.pipeline.record import record_answers
from quire.pipeline.rescue import GRACE, rescue
from tests.ledger.making import (
    NOW,
    add_document,
    add_worker,
    answer,
    begin,
    owing,
    parsed,
    reply,
    request_of,
    sent,
    tasks_of,
)
from tests.ledger.raw import Raw

LEASE = timedelta(seconds=30)


def test_a_worker_is_silent_once_its_lease_ran_out(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        quick, slow = add_worker(tx), add_worker(tx)
        tx.workers.beat(quick, NOW + LEASE)

        assert tx.workers.silent(NOW + timedelta(microseconds=1)) == [slow]
        assert tx.workers.alive(NOW + timedelta(microseconds=1)) == [quick]
        assert tx.workers.silent(NOW) == []


def test_a_worker_that_was_ended_cannot_renew_its_lease(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        worker = add_worker(tx)
        assert tx.workers.beat(worker, NOW)
        tx.workers.end([worker], NOW)

        assert not tx.workers.beat(worker, NOW + LEASE)
        assert tx.workers.silent(NOW + 2 * LEASE) == []


def test_what_a_worker_claimed_while_it_was_declared_dead_is_rescued(
    ledger: Ledger, raw: Raw
) -> None:
    sent(ledger)
    raw.rows("UPDATE workers SET ended_at = 1")

    with ledger.transaction() as tx:
        assert rescue(tx, LEASE, NOW).calls == 1
    assert raw.rows("SELECT state FROM attempts") == [("unknown",)]


def test_a_lost_call_is_written_off_after_its_grace_and_not_before(ledger: Ledger) -> None:
    _, (attempt,) = sent(ledger)
    with ledger.transaction() as tx:
        rescue(tx, LEASE, NOW + 2 * LEASE)
        lost_at = NOW + 2 * LEASE

        early = rescue(tx, LEASE, lost_at + GRACE - timedelta(microseconds=1))
        late = rescue(tx, LEASE, lost_at + GRACE)
        (view,) = tx.views.attempts(request_of(tx, attempt))

    assert (early.written_off, late.written_off) == (0, 1)
    assert (view.state, view.cost_basis, view.cost) == ("written_off", "presumed", view.reserved)


def test_tallied_money_equals_the_attempts_own(ledger: Ledger) -> None:
    place, attempts = sent(ledger, ["one"] * 10)
    paid, unread, lost, late, _ = attempts
    with ledger.transaction() as tx:
        record_answers(tx, [answer(place, paid, b"{}", reply()), answer(place, unread)], NOW)
        tx.attempts.move("lose", [lost, late])
        reserved = {row.id: row.reserved for row in tx.attempts.by_id(attempts)}
        tx.tallies.add(place.stage, {"presumed": reserved[lost] + reserved[late]})
        record_answers(tx, [answer(place, late, b"{}", reply())], NOW)

        sums = tx.tallies.of_run(place.run)
        assert tx.attempts.spend(place.run) == (sums["cost"], sums["presumed"])
        assert sums["cost"] == 14
        assert sums["presumed"] == 7 + reserved[lost]


def test_a_document_is_matched_by_its_names_and_the_start_of_its_fingerprint(
    ledger: Ledger,
) -> None:
    with ledger.transaction() as tx:
        document, other = (add_document(tx, ["one"], name) for name in ("a_b.txt", "other"))
        names = [str(document), "a_b.txt", "/somewhere/a_b.txt", parsed("a_b.txt").conv_uid[:6]]

        assert [[each.id for each in tx.documents.match(name)] for name in names] == [
            [document]
        ] * len(names)
        assert [each.id for each in tx.documents.match(str(other))] == [other]


def test_a_name_with_wildcards_matches_nothing_else(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        add_document(tx, ["one"])

        wild = ["%", "%%%%%%%", "_" * 64, "a%txt", "", parsed().conv_uid[:5], "\\"]
        assert [tx.documents.match(name) for name in wild] == [[]] * len(wild)


def test_an_erased_document_leaves_counts_and_money_but_no_text(ledger: Ledger, raw: Raw) -> None:
    secret = "the secret word"
    place, (attempt,) = sent(ledger, [secret])
    with ledger.transaction() as tx:
        request = request_of(tx, attempt)
        record_answers(tx, [answer(place, attempt, secret.encode(), reply(secret))], NOW)
        tx.requests.judge([(request, 1, "retry", secret)])
        requests = tx.purges.touched(place.document).requests
        tx.purges.erase_exchanges([each for each, _ in requests], NOW)
        tx.purges.erase_document(place.document, NOW)

        assert tx.attempts.spend(place.run) == (7, 0)
        assert tx.tallies.recount(place.stage) == {"packed": 1}
        assert tx.documents.all() == tx.documents.of_run(place.run) == []
        assert tx.documents.find(parsed().conv_uid) is None
    ledger.scrub()
    everything = [
        raw.rows(f"SELECT * FROM {table}")
        for table in ("documents", "blocks", "tasks", "requests", "request_tasks", "responses")
    ]
    assert secret not in str(everything)
    assert parsed().title not in str(everything)


def test_an_erased_document_leaves_no_trace_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "quire.db"
    ledger = open_ledger(str(path))
    place = begin(ledger, ["the secret word"] * 500)
    with ledger.transaction() as tx:
        tx.purges.erase_document(place.document, NOW)

    ledger.scrub()

    files = b"".join(each.read_bytes() for each in path.parent.iterdir())
    assert b"the secret word" not in files
    ledger.close()


def test_an_erased_document_may_come_again(ledger: Ledger) -> None:
    place = owing(ledger, ["one"])
    with ledger.transaction() as tx:
        tx.purges.erase_document(place.document, NOW)
        again = add_document(tx, ["one"])

        assert [each.id for each in tx.documents.all()] == [again] != [place.document]


def test_a_lane_that_may_not_send_is_not_open(ledger: Ledger) -> None:
    held, waiting, cancelling, ended, free = (owing(ledger, name=name) for name in "abcde")
    with ledger.transaction() as tx:
        tx.holds.add(held.run, HoldKind.USER, "", NOW)
        tx.requests.delay_lane(waiting.lane, NOW + LEASE)
        tx.runs.ask_cancel(cancelling.run, NOW)
        tx.runs.move("finish", ended.run, NOW)

        assert [lane.id for lane in tx.requests.open_lanes(NOW)] == [free.lane]
        assert [lane.id for lane in tx.requests.open_lanes(NOW + LEASE)] == [
            waiting.lane,
            free.lane,
        ]
        tx.holds.lift(held.run, [HoldKind.FUNDS, HoldKind.USER])
        assert [lane.id for lane in tx.requests.open_lanes(NOW)] == [held.lane, free.lane]


def test_a_lane_never_waits_less_than_it_was_told_before(ledger: Ledger) -> None:
    place = owing(ledger)
    with ledger.transaction() as tx:
        tx.requests.delay_lane(place.lane, NOW + LEASE)
        tx.requests.delay_lane(place.lane, NOW)

        assert tx.requests.open_lanes(NOW) == []


def test_subjects_come_in_order_from_any_place(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        documents = [add_document(tx, ["x"] * size, str(size)) for size in (3, 1, 2)]
        run = tx.runs.add(b"key", ({}, {}, {}), None, NOW)
        tx.runs.add_inputs(run, [documents[2], documents[0], documents[1]])
        places = [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (2, 0)]

        for limit in (1, 2, 10):
            for start, after in enumerate([(0, -1), *places]):
                found = tx.documents.subjects(run, *after, limit)
                assert [each[:2] for each in found] == places[start : start + limit]


def test_a_task_in_another_live_request_is_carried_elsewhere(ledger: Ledger, raw: Raw) -> None:
    place, (attempt,) = sent(ledger)
    with ledger.transaction() as tx:
        (task,) = tasks_of(tx, place)
        request = request_of(tx, attempt)

        assert tx.requests.carried_elsewhere([task], [request]) == set()
        assert tx.requests.carried_elsewhere([task], []) == {task}
    raw.rows("UPDATE tasks SET version = 2")
    with ledger.transaction() as tx:
        assert tx.requests.carried_elsewhere([task], []) == set()
