"""A wallet's books balance after any sequence of operations, whichever of them is cut short.

A process that dies leaves a transaction half done, and the database takes it back; so dying is
breaking off at the n-th statement. Whoever does not hear of a commit does the same again.
"""

from collections.abc import Callable
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from quire.domain.accounts import KEYLESS_ACCOUNT
from quire.domain.errors import Conflict, OutOfFunds, ProviderError, Remedy
from quire.domain.ids import AttemptId, WorkerId, WorkspaceId
from quire.domain.models import Usage
from quire.domain.requests import Answer, CallFailure, Reply, Stop
from quire.domain.wallets import Payment
from quire.ledger.ledger import Transaction, open_ledger
from quire.pipeline.calls.claim import Sender, claim
from quire.pipeline.calls.funds import end_slices_of_run
from quire.pipeline.calls.record import record_answers, record_failures
from quire.pipeline.calls.rescue import WRITE_OFF_AFTER, reclaim_expired_leases
from quire.pipeline.commands.wallets import create_wallet, credit, fund_run, transfer
from quire.pipeline.contexts import Contexts
from tests.ledger.factories import NOW, pack_tasks, run_with_ready_tasks

LEASE = timedelta(hours=1)
_numbers = count()
Live = st.none()
Dying = Live | Live | Live | st.integers(1, 30)  # the statement that is not carried out any more
Amount = st.sampled_from([1, 3, 4, 8, 40])


class Died(Exception):
    """The process is gone."""


class Mortal:
    """A connection that is cut off at its n-th statement."""

    def __init__(self, connection: Any, left: int | None) -> None:
        """Carry out so many statements less one; all of them with None."""
        self._connection, self._left = connection, left

    def __getattr__(self, name: str) -> Any:
        """A statement counts; it is the last where the number says so."""
        found = getattr(self._connection, name)
        if name not in ("run", "change", "run_many", "insert_many", "take_ids"):
            return found
        if self._left is not None:
            self._left -= 1
            if self._left <= 0:
                raise Died
        return found


class WalletMachine(RuleBasedStateMachine):
    """Two runs spend from one wallet, one of them within a budget, and sent by several workers."""

    url: str  # of the test's database

    @initialize()
    def begin(self) -> None:
        """Two runs with calls to send, and money for three of them."""
        self.number = next(_numbers)
        workspace = WorkspaceId(f"of {self.number}")  # nobody else's books are looked at
        self.ledger = open_ledger(self.url, workspace=workspace, durable=False)
        texts = [f"block {at} of {self.number}" for at in range(16)]
        self.places = [
            run_with_ready_tasks(self.ledger, texts, f"{self.number}-{name}.txt") for name in "ab"
        ]
        self.wallet, self.other = f"team-{self.number}", f"other-{self.number}"
        self.workers: list[WorkerId] = []
        self.attempts: list[tuple[int, AttemptId, int]] = []  # run, attempt, reserved
        self.keys = 0
        self.now = NOW
        with self.ledger.transaction() as tx:
            for name in (self.wallet, self.other):
                create_wallet(tx, name, NOW)
            for place in self.places:
                pack_tasks(tx, place)
            fund_run(tx, self.places[0].run, self.wallet, None, NOW, new=True)
            row = tx.requests.sendable_requests(self.places[0].lane, 1, NOW)[0]
            self.unit = row.reserve // 4  # amounts are about the size of calls
            fund_run(tx, self.places[1].run, self.wallet, 8 * self.unit, NOW, new=True)
            credit(tx, self.wallet, Payment(12 * self.unit, "first"), NOW)
            self.workers = [tx.workers.add_worker("here", at, "0", NOW) for at in range(3)]

    def carry_out(self, act: Callable[[Transaction], Any], dying: int | None) -> Any:
        """In a transaction that may be cut off; None then."""
        try:
            with self.ledger._database.transaction() as connection:
                return act(Transaction(Mortal(connection, dying), self.ledger.workspace))
        except Died:
            return None

    def teardown(self) -> None:
        """Let go of the database."""
        self.ledger.close()

    @rule(amount=Amount, dying=Dying)
    def pay_in(self, amount: int, dying: int | None) -> None:
        """Credit, and once more with the same key: that is one entry."""
        self.keys += 1
        key, pico = f"paid {self.keys}", amount * self.unit
        for _ in range(2):
            self.carry_out(lambda tx: credit(tx, self.wallet, Payment(pico, key), NOW), dying)
        entry = self.carry_out(lambda tx: credit(tx, self.wallet, Payment(pico, key), NOW), None)
        assert entry.amount == pico
        with pytest.raises(Conflict):
            self.carry_out(lambda tx: credit(tx, self.wallet, Payment(pico + 1, key), NOW), None)

    @rule(amount=Amount, back=st.booleans(), dying=Dying)
    def move_money(self, amount: int, back: bool, dying: int | None) -> None:
        """Transfer; more than there is, is refused."""
        self.keys += 1
        pico = amount * self.unit
        payment = Payment(pico, f"moved {self.keys}")
        source, target = (self.other, self.wallet) if back else (self.wallet, self.other)
        for _ in range(2):
            try:
                self.carry_out(lambda tx: transfer(tx, source, target, payment, NOW), dying)
            except OutOfFunds:
                assert self.balance(source) < pico

    @rule(amount=st.integers(0, 40), dying=Dying)
    def set_budget(self, amount: int, dying: int | None) -> None:
        """Raise or lower what the second run may spend."""
        run = self.places[1].run
        self.carry_out(lambda tx: fund_run(tx, run, None, amount * self.unit, NOW), dying)

    @rule(which=st.integers(0, 1), who=st.integers(0, 2), most=st.integers(1, 4), dying=Dying)
    def send(self, which: int, who: int, most: int, dying: int | None) -> None:
        """Claim: what is reserved is there."""
        place, worker = self.places[which], self.workers[who]

        def act(tx: Transaction) -> list[tuple[int, AttemptId, int]]:
            contexts = Contexts()
            contexts.funded_runs = {place.run}
            context = contexts.any_of_stage(tx, place.run, place.stage)
            if tx.holds.holds_of_run(place.run):
                return []
            sender = Sender(worker, KEYLESS_ACCOUNT)
            found = claim(tx, contexts, context, sender, most, self.now)
            return [(which, item.call.attempt_id, item.reserved) for item in found]

        sent = self.carry_out(act, dying) or []
        self.attempts += sent
        if sent:
            assert self.balance(self.wallet) >= 0
            with self.ledger.snapshot() as tx:
                funds = tx.wallets.funds_of_run(place.run)
            assert funds is not None
            assert funds.budget is None or funds.granted <= funds.budget

    @rule(
        at=st.integers(0, 50),
        together=st.integers(1, 4),
        quarters=st.sampled_from([1, 3, 4, 12]),
        dying=Dying,
    )
    def come_back(self, at: int, together: int, quarters: int, dying: int | None) -> None:
        """Answers, twice: in time or late, of any slices, cheaper than reserved or dearer."""
        if not self.attempts:
            return
        said = Reply("{}", Stop.END, Usage(input=1, output=1))
        last = len(self.attempts) - at % len(self.attempts)
        answers = [
            Answer(attempt, place.run, place.stage, b"{}", said, 1, reserved * quarters // 4)
            for which, attempt, reserved in self.attempts[max(0, last - together) : last]
            for place in [self.places[which]]
        ]
        for _ in range(2):
            self.carry_out(lambda tx: record_answers(tx, answers, self.now), dying)

    @rule(at=st.integers(0, 50), lost=st.booleans(), dying=Dying)
    def fail(self, at: int, lost: bool, dying: int | None) -> None:
        """A call is refused, or lost."""
        if not self.attempts:
            return
        _, attempt, _ = self.attempts[-1 - at % len(self.attempts)]
        error = ProviderError("no", remedy=Remedy.LOST if lost else Remedy.RETRY)
        failure = CallFailure(attempt, error, 0.0, KEYLESS_ACCOUNT)
        self.carry_out(lambda tx: record_failures(tx, Contexts(), [failure], self.now), dying)

    @rule(who=st.integers(0, 2), dying=Dying)
    def die(self, who: int, dying: int | None) -> None:
        """A worker is found dead, and another signs on; what was lost long ago is written off."""
        self.now += WRITE_OFF_AFTER
        gone = [self.workers[who]]
        self.carry_out(lambda tx: reclaim_expired_leases(tx, LEASE, self.now, gone), dying)
        self.carry_out(lambda tx: reclaim_expired_leases(tx, LEASE, self.now, gone), None)
        with self.ledger.transaction() as tx:
            self.workers[who] = tx.workers.add_worker("here", 9, "0", self.now)

    @rule(which=st.integers(0, 1), dying=Dying)
    def end_run(self, which: int, dying: int | None) -> None:
        """What is free goes back, as at a run's end; a retry may go on after it."""
        self.carry_out(lambda tx: end_slices_of_run(tx, self.places[which].run, self.now), dying)

    def balance(self, name: str) -> int:
        """What a wallet holds."""
        with self.ledger.snapshot() as tx:
            found = tx.wallets.get_wallet(name)
        assert found
        return found.balance

    @invariant()
    def books_balance(self) -> None:
        """A wallet is the sum of its entries, and all that was granted is accounted for."""
        if not hasattr(self, "places"):
            return
        with self.ledger.snapshot() as tx:
            assert tx.checks.unbalanced_wallets() == []
            assert tx.checks.unbalanced_runs() == []
            assert tx.checks.unbalanced_slices() == []
            runs = [place.run for place in self.places]
            slices = [piece for run in runs for piece in tx.wallets.slices_of_run(run)]
        assert [piece for piece in slices if piece.used > piece.granted] == []
        assert [piece for piece in slices if piece.ended and piece.free] == []


def test_the_books_balance_whatever_happens_and_wherever_it_is_cut_off(ledger_url: str) -> None:
    machine = type("Machine", (WalletMachine,), {"url": ledger_url})
    sqlite = "://" not in ledger_url
    examples = settings().max_examples // (1 if sqlite else 3)  # it costs eight times as much there

    run_state_machine_as_test(
        machine, settings=settings(stateful_step_count=30, max_examples=examples)
    )


def test_answers_of_several_slices_that_come_together_count_each_in_its_own(
    ledger_url: str,
) -> None:
    here = type("Machine", (WalletMachine,), {"url": ledger_url})()
    here.begin()
    here.pay_in(40, None)
    for which, worker in ((0, 0), (0, 1), (1, 1)):
        here.send(which, worker, 1, None)

    here.come_back(0, together=3, quarters=1, dying=None)

    assert len(here.attempts) == 3
    here.books_balance()
    here.teardown()
