"""Runs that spend from wallets and within budgets: held without money, and nothing is lost."""

import re
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from importlib.resources import files
from typing import Any

import pytest

from quire.domain.errors import OutOfFunds, UsageError
from quire.domain.ids import AttemptId, LaneId, RequestId, RunId, WorkerId
from quire.domain.models import Usage
from quire.domain.pricing import DOLLAR
from quire.domain.reasons import HoldCause, HoldKind
from quire.domain.requests import Answer, QueuedRequest, Reply, Stop
from quire.domain.runs import HeldError, Progress
from quire.domain.states import RunState
from quire.domain.wallets import EntryKind, Payment
from quire.engine import RunHandle
from quire.ledger.ledger import Ledger, Transaction, open_ledger
from quire.ledger.statements import _split
from quire.pipeline.calls.afford import Purse, reserve_funds
from quire.pipeline.calls.record import record_answers
from quire.pipeline.calls.rescue import reclaim_expired_leases
from quire.pipeline.commands.wallets import create_wallet, credit, fund_run
from quire.pipeline.contexts import Contexts
from tests.ledger.factories import NOW, new_run
from tests.ledger.raw import Raw
from tests.ready_databases import ReadyDatabases
from tests.world import METADATA, World, sentences, until_rest

Worlds = Callable[..., World]
CALL = DOLLAR // 100  # more than one call of these tests reserves
LEASE = timedelta(hours=1)


def begin(here: World, wallet: str | None = None, budget: int | None = None) -> RunHandle:
    """Order a run that spends no more than this."""
    policy: Any = {"pack_size": 10}
    order = here.engine.orders.resolve(schema=METADATA, model="simulated/small", policy=policy)
    return here.engine.start(replace(order, wallet=wallet, budget=budget))


def assert_books_balance(here: World) -> None:
    """Every wallet, grant and slice is what it should be."""
    with here.engine.ledger.snapshot() as tx:
        assert tx.checks.unbalanced_wallets() == []
        assert tx.checks.unbalanced_runs() == []
        assert tx.checks.unbalanced_slices() == []


def balance(here: World, name: str = "team") -> int:
    """What a wallet holds."""
    return here.engine.wallets.get(name).balance


def cause(now: Progress) -> HoldCause | None:
    """What holds a run."""
    return now.holds[0].cause if now.holds else None


def test_a_run_is_held_when_its_wallet_is_empty_and_goes_on_after_a_credit(world: Worlds) -> None:
    here = world(faults="skip=0.1,500=0.1,drop=0.05,seed=3")
    here.ingest(sentences(200))
    here.engine.wallets.create("team", "0.01")
    run = begin(here, "team")

    held = until_rest(run)
    done_before, missing = held.done, int(held.holds[0].fields["missing"])
    here.engine.wallets.credit("team", 1)
    after = run.wait()

    assert cause(held) is HoldCause.WALLET_EMPTY
    assert missing > 0
    assert held.holds[0].fields["tasks"] == 200 - done_before - held.failed
    assert after.state == RunState.FINISHED
    assert after.done == 200
    assert balance(here) == 1_010_000_000_000 - after.cost_pico - after.presumed_pico
    assert_books_balance(here)


def test_a_budget_holds_a_run_until_it_is_raised(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(300))
    run = begin(here, budget=CALL)

    held = until_rest(run)
    spent = held.cost_pico
    run.resume(budget_usd="0.5")
    after = run.wait()

    assert cause(held) is HoldCause.BUDGET_SPENT
    assert 0 < spent <= CALL
    assert after.done == 300
    assert after.money is not None
    assert after.money.left == DOLLAR // 2 - after.cost_pico
    assert_books_balance(here)


def test_what_was_just_answered_is_no_part_of_what_a_held_run_needs_money_for(
    world: Worlds,
) -> None:
    here = world()
    here.ingest(sentences(52))
    run = begin(here, budget=CALL * 3 // 10)  # it does not cover all

    held = until_rest(run)

    assert 0 < held.done < 52
    assert held.holds[0].fields["tasks"] == 52 - held.done


def test_status_says_that_calls_wait_for_money_that_others_have_reserved(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(300))
    run = begin(here, budget=CALL)
    told: list[str] = []
    here.model.hold = lambda number: not told

    def look(_: Progress) -> None:
        told.extend(it for it in here.engine.stall_reasons(run.id) if "money" in it)

    until_rest(run, look)

    assert re.fullmatch(
        r"calls wait for money: \$[\d.]+ of its budget is free, the next call reserves \$[\d.]+;"
        r" \d calls that are out have \$[\d.]+ reserved, and what is not used comes back",
        told[0],
    )


def test_wallet_and_budget_both_bind(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(100))
    here.engine.wallets.create("team", "0.001")
    run = begin(here, "team", budget=DOLLAR // 1000)

    first = cause(until_rest(run))
    here.engine.wallets.credit("team", 1)
    second = cause(until_rest(run))
    begin(here, budget=DOLLAR)  # the same order again raises it
    third = run.wait()

    assert (first, second) == (HoldCause.WALLET_EMPTY, HoldCause.BUDGET_SPENT)
    assert third.done == 100


def test_a_run_without_wallet_and_budget_asks_nothing_of_them(
    world: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = world(faults="skip=0.1,500=0.1,drop=0.05,seed=3")
    here.ingest(sentences(60))
    asked = _listen(here.engine.ledger, monkeypatch)

    assert here.run(pack_size=5).progress().done == 60

    assert asked
    assert asked.keys() & _statements_of_wallets() == set()


def test_calls_that_come_back_together_change_their_slice_by_one_statement(
    world: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = world()
    here.ingest(sentences(600))
    here.engine.wallets.create("team", 1)
    asked = _listen(here.engine.ledger, monkeypatch)

    assert begin(here, "team").wait().done == 600

    assert asked["slices_of_attempts"] == 0
    first = 1  # a first claim does not know that few calls may go, and gives back for the others
    leases = asked["take_slice"]  # which take more from the wallet first
    assert 0 < asked["settle_slice"] <= asked["count_open_attempts"] + leases + first
    assert_books_balance(here)


def _statements_of_wallets() -> set[str]:
    text = (files("quire.ledger") / "sql" / "shared" / "wallets.sql").read_text()
    return {name for name, _ in _split(text)}


def _listen(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> "Counter[str]":
    """The names of all statements from now on, and how often each was carried out."""
    with ledger.transaction() as tx:
        kind = type(tx.connection)
    asked: Counter[str] = Counter()
    for method in ("run", "change", "run_many"):
        usual = getattr(kind, method)

        def heard(self: Any, /, *given: Any, _usual: Any = usual, **values: Any) -> Any:
            asked[given[0]] += 1
            return _usual(self, *given, **values)

        monkeypatch.setattr(kind, method, heard)
    return asked


def test_what_a_run_spent_before_it_had_a_budget_counts(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(50))
    run = here.start(pack_size=10, limit=20)
    spent = until_rest(run).cost_pico

    with here.engine.ledger.transaction() as tx:
        fund_run(tx, run.id, None, DOLLAR, here.engine.runtime.now())

    money = run.progress().money
    assert money is not None
    assert (money.spent, money.left) == (spent, DOLLAR - spent)
    assert_books_balance(here)


def test_a_run_that_spent_without_a_wallet_gets_none(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(50))
    here.engine.wallets.create("team", 1)
    run = here.run(pack_size=10, limit=20)

    refused = pytest.raises(UsageError, match="without a wallet")
    with refused, here.engine.ledger.transaction() as tx:
        fund_run(tx, run.id, "team", None, NOW)


def test_a_late_answer_corrects_what_was_counted_under_its_own_key(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(10))
    here.engine.wallets.create("team", 1)
    here.model.script = ["drop=1"]
    run = begin(here, "team")
    ended = run.wait()
    before = balance(here)
    with here.engine.ledger.snapshot() as tx:
        request = tx.views.list_requests(run.id, 0, 10)[0].id
        first = AttemptId(tx.views.attempts_of_request(request)[0].id)
        (lost,) = tx.attempts.attempts_by_id([first])

    with here.engine.ledger.transaction() as tx:
        stage = tx.runs.stages_of_run(run.id)[0].id
        said = Reply("{}", Stop.END, Usage(input=1, output=1))
        late = Answer(lost.id, run.id, stage, b"{}", said, 1, 7)
        record_answers(tx, [late], here.engine.runtime.now())
        record_answers(tx, [late], here.engine.runtime.now())

    newest = here.engine.wallets.entries("team", 1)[0]
    assert ended.presumed_pico == lost.reserved
    assert (newest.key, newest.kind) == (f"late:{lost.id}", EntryKind.CORRECTION)
    assert balance(here) - before == newest.amount == lost.reserved - 7
    assert_books_balance(here)


def test_what_a_dead_worker_had_free_goes_back(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(10))
    here.engine.wallets.create("team", 1)
    run = begin(here, "team")
    with here.engine.ledger.transaction() as tx:
        worker = tx.workers.add_worker("elsewhere", 1, "0", NOW)
        purse = reserve(tx, run.id, worker, [queued(CALL)])
        assert purse is not None
        tx.wallets.settle_slice(purse.slice_id, -CALL)
    taken = balance(here)

    with here.engine.ledger.transaction() as tx:
        reclaim_expired_leases(tx, LEASE, NOW, [worker])

    assert taken < DOLLAR == balance(here)
    assert_books_balance(here)


def test_an_idle_slice_is_recalled_before_a_run_is_held(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(100))
    here.engine.wallets.create("team", "0.02")
    run = begin(here, "team")
    with here.engine.ledger.transaction() as tx:  # somebody took nearly all, and rests
        worker = tx.workers.add_worker("elsewhere", 1, "0", here.engine.runtime.now())
        purse = reserve(tx, run.id, worker, [queued(DOLLAR // 55)])
        assert purse is not None
        tx.wallets.settle_slice(purse.slice_id, -purse.reserved)

    after = run.wait()

    assert after.done == 100
    assert_books_balance(here)


def test_a_held_run_goes_on_when_another_gives_money_back(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(20))
    here.engine.wallets.create("team", "0.02")
    waits = begin(here, "team")
    other = new_run(here.engine.ledger)
    with here.engine.ledger.transaction() as tx:
        fund_run(tx, other.run, "team", None, NOW, new=True)
        worker = tx.workers.add_worker("elsewhere", 1, "0", here.engine.runtime.now())
        purse = reserve(tx, other.run, worker, [queued(DOLLAR // 50)])
        assert purse is not None
        assert purse.calls == 1
    held = until_rest(waits)

    with here.engine.ledger.transaction() as tx:
        tx.wallets.settle_slice(purse.slice_id, -purse.reserved)
        reclaim_expired_leases(tx, LEASE, NOW, [worker])

    assert [hold.kind for hold in held.holds] == [HoldKind.FUNDS]
    assert waits.progress().holds == ()


def test_a_held_run_says_what_it_needs_in_words(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(30))
    run = begin(here, budget=1)

    with pytest.raises(HeldError, match=r"needs \$0\.\d+ more for 30 tasks"):
        run.wait()


def test_workers_at_once_never_reserve_more_than_there_is(
    ready_postgres: ReadyDatabases,
) -> None:
    with ready_postgres.lend() as url:
        ledger = open_ledger(url)
        _reserve_at_once(ledger)
        ledger.close()


def _reserve_at_once(postgres_ledger: Ledger) -> None:
    place, workers = new_run(postgres_ledger), 8
    with postgres_ledger.transaction() as tx:
        create_wallet(tx, "team", NOW)
        credit(tx, "team", Payment(100 * CALL, "paid"), NOW)
        fund_run(tx, place.run, "team", 90 * CALL, NOW, new=True)
        ids = [tx.workers.add_worker("here", at, "0", NOW) for at in range(workers)]

    def reserve_often(worker: WorkerId) -> int:
        got = 0
        for _ in range(12):
            with postgres_ledger.transaction() as tx:
                purse = reserve(tx, place.run, worker, [queued(CALL)] * 3)
                got += purse.calls if purse else 0
                if tx.holds.holds_of_run(place.run):
                    break
        return got

    with ThreadPoolExecutor(workers) as pool:
        got = sum(pool.map(reserve_often, ids))

    with postgres_ledger.snapshot() as tx:
        funds, wallet = tx.wallets.funds_of_run(place.run), tx.wallets.get_wallet("team")
        assert funds is not None
        assert wallet is not None
        assert tx.checks.unbalanced_wallets() == []
        assert tx.checks.unbalanced_runs() == []
    assert got == 90
    assert funds.granted == 90 * CALL
    assert wallet.balance == 10 * CALL


def test_a_transfer_never_overdraws(world: Worlds) -> None:
    here = world()
    here.engine.wallets.create("team", 1)
    here.engine.wallets.create("lab")

    with pytest.raises(OutOfFunds):
        here.engine.wallets.transfer("team", "lab", "1.01")
    here.engine.wallets.transfer("team", "lab", 1, key="all")
    here.engine.wallets.transfer("team", "lab", 1, key="all")

    assert (balance(here), balance(here, "lab")) == (0, DOLLAR)


def test_nobody_pays_in_under_a_key_that_workers_enter_under(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(3))
    for name in ("team", "lab"):
        here.engine.wallets.create(name, 1)
    begin(here, "team").wait()
    entered = here.engine.wallets.entries("team")
    keys = {entry.key for entry in entered if entry.kind != EntryKind.CREDIT}

    assert {key.partition(":")[0] for key in keys} >= {"slice", "return"}
    for key in (*keys, "correction:1:2:3", "late:7", "refused:7"):
        with pytest.raises(UsageError, match="what workers enter"):
            here.engine.wallets.credit("lab", 1, key=key)
        with pytest.raises(UsageError, match="what workers enter"):
            here.engine.wallets.transfer("team", "lab", "0.1", key=key)
    here.engine.wallets.credit("lab", 1, key="slice: May")


def queued(reserve: int) -> QueuedRequest:
    """A call that reserves so much."""
    return QueuedRequest(RequestId(1), LaneId(1), b"", 1, 1, 1, 1, reserve, 0, 0, None)


def reserve(
    tx: Transaction, run: RunId, worker: WorkerId, calls: list[QueuedRequest]
) -> Purse | None:
    """Reserve for calls of a run's first lane."""
    contexts = Contexts()
    contexts.funded_runs = {run}
    context = contexts.of_lane(tx, tx.requests.lanes_of_run(run)[0])
    return reserve_funds(tx, contexts, context, worker, calls, NOW)


def test_what_was_reserved_for_a_call_that_does_not_go_is_free_again(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(40))
    spoilt: list[int] = []

    def let_go(number: int) -> bool:
        """The texts of all that waits are not those that were promised, as of another version."""
        if not spoilt:
            raw = Raw(here.url)
            other = "'x'" if raw.dialect == "postgres" else "x'00'"
            waiting = "WHERE state = 'queued' RETURNING id"
            found = raw.rows(f"UPDATE requests SET payload_hash = {other} {waiting}")
            spoilt.extend(row[0] for row in found)
            raw.close()
        return False

    here.model.hold = let_go
    policy: Any = {"pack_size": 1, "concurrency": 2}
    order = here.engine.orders.resolve(schema=METADATA, model="simulated/small", policy=policy)
    run = here.engine.start(replace(order, budget=DOLLAR))

    assert run.wait().done == 40

    money = run.progress().money
    assert spoilt
    assert money is not None
    assert (money.reserved, money.spent) == (0, run.progress().cost_pico)
    assert_books_balance(here)


def test_the_same_order_with_another_budget_leaves_that_of_a_finished_run(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(3))
    first = begin(here, budget=DOLLAR)
    first.wait()

    again = begin(here, budget=DOLLAR // 2)

    money = again.progress().money
    assert (again.id, money and money.budget) == (first.id, DOLLAR)
