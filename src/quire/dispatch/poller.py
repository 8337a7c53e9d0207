"""The poller: asks how batches stand, finds lost ones again, and brings their rows home."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from quire.dispatch.collecting import Collector
from quire.dispatch.means import Means
from quire.dispatch.office import InHand, Office
from quire.dispatch.reading import describe
from quire.dispatch.submitter import SECONDS as CREATE_SECONDS
from quire.dispatch.sweeper import living_workers
from quire.domain.batches import Batch, BatchStatus, End, Found, Lookup, Sought
from quire.domain.errors import ProviderError, Remedy
from quire.domain.ids import BatchId, WorkerId
from quire.domain.runs import HoldKind
from quire.ledger.ledger import Transaction
from quire.pipeline.collect import hold_failed, hold_unknown, note_status, put_off
from quire.pipeline.record import hold
from quire.pipeline.submit import (
    LOOK_AGAIN,
    absent,
    confirm,
    may_be_twice,
    not_before,
    note_twice,
    recover,
)
from quire.plan.batching import next_look, wait_after

ASK_SECONDS = 60.0  # that one question may take
LATER = timedelta(minutes=5)  # until a key that is missing may be back
AGAIN = timedelta(seconds=30)  # until a batch that others may have the key of is looked at again
AT_PROVIDER = ("unknown", "open", "ended")
NEW = timedelta(minutes=2)  # in which a provider may not know its own batch yet
TOLERATED = 4  # failures in a row of such a kind
PERSON = timedelta(hours=1)  # until somebody may have looked


class Poller:
    """Looks after what one ledger has at providers."""

    def __init__(
        self,
        means: Means,
        office: Office,
    ) -> None:
        """Start with nothing in memory: everything is in the ledger."""
        self._ledger = means.ledger
        self._contexts = means.contexts
        self._vendors = means.vendors
        self._accounts = means.accounts
        self._outside = means.outside
        self._thread = means.thread
        self._office = office
        self._collector = Collector(means)
        self._single: set[BatchId] = set()  # batches that were made once, as far as lists show
        self._keyless: dict[BatchId, datetime] = {}  # left to others until then
        self.poll: float | None = None  # seconds between two looks, instead of the vendor's

    async def step(self, group: asyncio.TaskGroup, worker: WorkerId, now: datetime) -> int:
        """Take what is due in hand; returns how much that is."""
        if not self._office.free:
            return 0
        due = await self._thread.run(self._take, worker, now)
        for each in due:
            self._office.begin(group, each.batch, worker, self._look(each))
        return len(due)

    def _take(self, worker: WorkerId, now: datetime) -> list[InHand]:
        taken: list[InHand] = []
        with self._ledger.transaction() as tx:
            self._keyless = {each: at for each, at in self._keyless.items() if at > now}
            for batch in tx.batches.due(now, self._office.free + len(self._keyless)):
                if self._office.holds(batch.id) or batch.id in self._keyless:
                    continue
                if batch.state == "submitting":
                    recover(tx, batch, now)
                    continue
                hand = self._in_hand(tx, batch, now)
                if hand is None:
                    continue
                if tx.batches.lease(batch.id, worker, now + self._office.lease, now):
                    taken.append(hand)
        return taken

    def _in_hand(self, tx: Transaction, batch: Batch, now: datetime) -> InHand | None:
        context = self._contexts.of_batch(tx, batch)
        vendor = self._vendors.batching(context.provider)
        chosen = self._accounts.recall(tx, context.facts, batch.credential_id, now)
        if vendor is not None and chosen.accounts:
            return InHand(batch, context, chosen.accounts[0], vendor)
        if living_workers(tx, now - self._office.lease) <= 1:  # nobody else may have the key
            detail = f"batch {batch.id}: {chosen.problem}; then `quire resume {batch.run_id}`"
            hold(tx, batch.run_id, HoldKind.CREDENTIAL, detail, now)
            tx.batches.delay(batch.id, now + LATER, "its key is missing", failed=False)
        self._keyless[batch.id] = now + AGAIN
        return None

    async def _look(self, hand: InHand) -> None:
        """Do what is next for a batch; a provider that does not answer is asked again later."""
        try:
            hand = hand._replace(account=await self._accounts.ready(hand.account))
            if hand.batch.state == "unknown":
                await self._find(hand)
            else:
                await self._ask(hand)
        except ProviderError as error:
            await self._thread.run(self._failed, hand, error)
        except TimeoutError:
            late = ProviderError("the provider did not answer in time", remedy=Remedy.RETRY)
            await self._thread.run(self._failed, hand, late)
        except Exception as error:  # noqa: BLE001 - whatever a vendor's code raises, the batch stays ours
            failure = ProviderError(describe(error), remedy=Remedy.RETRY)
            await self._thread.run(self._failed, hand, failure)

    async def _ask(self, hand: InHand) -> None:
        batch, vendor = hand.batch, hand.vendor
        async with asyncio.timeout(ASK_SECONDS):
            if batch.cancel_asked_at and not batch.cancel_sent_at and vendor.rules.cancels:
                await self._cancel(hand)
            status = await vendor.poll(self._vendors.door(), hand.account, batch.ref)
        self._outside.reach("after_poll")
        ended = await self._thread.run(self._note, hand, status)
        if ended is not None:
            self._outside.reach("after_end")
            await self._collector.collect(hand._replace(batch=ended), status, self._vendors.door())
            await self._discard(hand)
        await self._end_others(hand, status)

    async def _cancel(self, hand: InHand) -> None:
        """Ask for its end; where that cannot be asked for, its rows still come home."""
        with suppress(ProviderError):
            await hand.vendor.cancel(self._vendors.door(), hand.account, hand.batch.ref)
            await self._thread.run(self._note_cancel, hand)

    async def _discard(self, hand: InHand) -> None:
        """Leave no prompts behind at the provider, as far as that can be."""
        if hand.batch.input_ref:
            with suppress(ProviderError, TimeoutError):
                async with asyncio.timeout(ASK_SECONDS):
                    door = self._vendors.door()
                    await hand.vendor.discard(door, hand.account, hand.batch.input_ref)

    async def _find(self, hand: InHand) -> None:
        """Look for a batch that may have been made; nothing is sent again before that is known."""
        batch, rules = hand.batch, hand.vendor.rules
        if rules.lookup is Lookup.NONE:
            await self._thread.run(self._leave_to_person, hand)
            return
        sought = await self._thread.run(self._sought, hand)
        async with asyncio.timeout(CREATE_SECONDS):
            found = await hand.vendor.find(self._vendors.door(), hand.account, sought)
            sure = not_before(batch, self._office.lease, CREATE_SECONDS, rules.lag)
            gone = not found.ref and not found.unsure and self._outside.now() >= sure
            if gone and batch.input_ref:
                await hand.vendor.discard(self._vendors.door(), hand.account, batch.input_ref)
        await self._cancel_spares(hand, await self._thread.run(self._found, hand, found, gone))

    async def _end_others(self, hand: InHand, status: BatchStatus) -> None:
        """Look, once, whether a batch was made before, although no list showed that then.

        Nothing is wanted of it any more, and all that it answers is paid.
        """
        batch, rules = hand.batch, hand.vendor.rules
        since = batch.submitted_at or batch.created_at
        shown = self._outside.now() >= since + timedelta(seconds=rules.lag)
        told = status.end is not None or (rules.lookup is Lookup.TAG and shown)
        if batch.id in self._single or rules.lookup is Lookup.NONE or not told:
            return
        sought = await self._thread.run(self._sought_besides, hand)
        with suppress(ProviderError, TimeoutError):  # no answer of ours depends on it
            if sought is not None:
                async with asyncio.timeout(ASK_SECONDS):
                    found = await hand.vendor.find(self._vendors.door(), hand.account, sought)
                spares = await self._thread.run(self._note_others, hand, found)
                await self._cancel_spares(hand, spares)
            self._single.add(batch.id)

    async def _cancel_spares(self, hand: InHand, spares: Sequence[str]) -> None:
        for spare in spares:
            with suppress(ProviderError, TimeoutError):
                async with asyncio.timeout(ASK_SECONDS):
                    await hand.vendor.cancel(self._vendors.door(), hand.account, spare)

    def _sought_besides(self, hand: InHand) -> Sought | None:
        with self._ledger.snapshot() as tx:
            if not may_be_twice(tx, hand.batch):
                return None
        return self._sought(hand)

    def _note_others(self, hand: InHand, found: Found) -> Sequence[str]:
        """Write down what was made besides, and is to be cancelled; never the batch itself."""
        own = _last(hand.batch.ref)
        spare = [ref for ref in (found.ref, *found.earlier) if ref and _last(ref) != own]
        with self._ledger.transaction() as tx:
            note_twice(tx, hand.batch, spare, self._outside.now())
        return spare

    def _sought(self, hand: InHand) -> Sought:
        batch = hand.batch
        with self._ledger.snapshot() as tx:
            known = tx.batches.refs(batch.credential_id)
            retired = tx.batches.nonces(batch.id) - {batch.nonce}
        began = None if retired else batch.creating_at
        since, now = began or batch.created_at, self._outside.now()
        return Sought(batch.nonce, batch.calls, batch.input_ref, since, known, retired, now)

    def _found(self, hand: InHand, found: Found, gone: bool) -> Sequence[str]:
        """Write down what was found; returns what was made besides, and is to be cancelled.

        What an earlier submission made is adopted, once the last one is known to be nowhere: its
        rows find their calls by the names that they were sent under.
        """
        now, batch = self._outside.now(), hand.batch
        made = (found.ref, *found.earlier) if found.ref else found.earlier
        spare: Sequence[str] = ()
        with self._ledger.transaction() as tx:
            if found.ref or (gone and made):
                if confirm(tx, batch, made[0], now, now):
                    tx.holds.lift(batch.run_id, [HoldKind.UNKNOWN_SUBMIT])
                    spare = made[1:]
                    note_twice(tx, batch, spare, now)
            elif gone:
                absent(tx, batch, now)
            else:
                _look_again(tx, hand, found, now)
        return spare

    def _leave_to_person(self, hand: InHand) -> None:
        now = self._outside.now()
        with self._ledger.transaction() as tx:
            hold_unknown(tx, hand.batch, now)
            tx.batches.delay(hand.batch.id, now + PERSON, "a person must look", failed=False)

    def _note_cancel(self, hand: InHand) -> None:
        with self._ledger.transaction() as tx:
            tx.batches.note_cancel_sent(hand.batch.id, self._outside.now())

    def _note(self, hand: InHand, status: BatchStatus) -> Batch | None:
        """Write down how it stands; the batch as it is now, if its rows are to be collected."""
        now, batch, rules = self._outside.now(), hand.batch, hand.vendor.rules
        age = (now - (batch.submitted_at or now)).total_seconds()
        wait = self.poll or next_look(rules.cadence, age, rules.window)
        with self._ledger.transaction() as tx:
            ended = note_status(tx, batch, status, now + timedelta(seconds=wait), now)
            if ended and status.end is End.FAILED:
                hold_failed(tx, batch, status.problem, now)
            over = ended or (batch.state == "ended" and status.end is not None)
            return tx.batches.get(batch.id) if over else None

    def _failed(self, hand: InHand, error: ProviderError) -> None:
        now = self._outside.now()
        with self._ledger.transaction() as tx:
            batch = tx.batches.get(hand.batch.id) or hand.batch
            if batch.state not in AT_PROVIDER:  # another worker brought it home meanwhile
                return
            put_off(tx, batch, str(error), error.retry_after, now)
            if error.remedy is Remedy.FIX_ACCOUNT and not _may_pass(batch, error, now):
                # only this key may ask, so that no other takes over
                detail = (
                    f"batch {batch.id}: {error}; mend that, then `quire resume {batch.run_id}`;"
                    f" if it is gone for good: `quire batches adopt {batch.id} --absent`"
                )
                hold(tx, batch.run_id, HoldKind.CREDENTIAL, detail, now)


def _last(ref: str) -> str:
    """What is a batch's own in its reference; some are paths, which may be told in two ways."""
    return ref.rpartition("/")[2]


def _may_pass(batch: Batch, error: ProviderError, now: datetime) -> bool:
    """Whether what is said not to be there may only not be there yet."""
    if error.bad_key or error.spent or batch.failures >= TOLERATED:
        return False
    return batch.state == "ended" or now - (batch.submitted_at or now) < NEW


def _look_again(tx: Transaction, hand: InHand, found: Found, now: datetime) -> None:
    """It is not certain yet whether a batch was made: it stays unknown."""
    wait, waits = LOOK_AGAIN, "not found yet; it may still show"
    if found.earlier:
        waits = (
            f"an earlier submission was made, as {found.earlier[0]}; the last one may still show"
        )
    if found.unsure:  # asked ever more rarely: it may stay so for hours
        waits = found.unsure
        seconds = min(wait_after(hand.batch.failures, None), hand.vendor.rules.cadence.later)
        wait = timedelta(seconds=seconds)
    tx.batches.delay(hand.batch.id, now + wait, waits, failed=bool(found.unsure))
