"""The submitter: gathers queued requests into batches and hands them to providers, once each."""

import asyncio
import os
import shutil
import tempfile
import weakref
from datetime import datetime, timedelta
from pathlib import Path

from quire.dispatch.courier import of_run
from quire.dispatch.means import Means
from quire.dispatch.office import InHand, Office
from quire.dispatch.outside import process_alive
from quire.dispatch.reading import describe
from quire.dispatch.spooling import Spool
from quire.domain.batches import Submission
from quire.domain.errors import ProviderError, Remedy
from quire.domain.ids import AttemptId, LaneId, RunId, WorkerId
from quire.domain.runs import BATCH, Lane
from quire.ledger.ledger import Transaction
from quire.pipeline.collect import hold_failed
from quire.pipeline.draft import Drafting, Gathering, draft
from quire.pipeline.record import blame
from quire.pipeline.route import send_directly
from quire.pipeline.submit import (
    begin,
    confirm,
    cut_off,
    is_ours,
    lose,
    next_part,
    note_twice,
    refuse,
)
from quire.plan.batching import next_look

SECONDS = 900.0  # that an upload, or a create, may take
FOLDER = "quire-batches-"  # and the process that writes there
BUSY = timedelta(seconds=2)  # until the key's other create is settled, perhaps


class Submitter:
    """Turns one ledger's queues into batches."""

    def __init__(
        self,
        means: Means,
        office: Office,
    ) -> None:
        """Start with nothing gathered."""
        self._ledger = means.ledger
        self._contexts = means.contexts
        self._vendors = means.vendors
        self._accounts = means.accounts
        self._outside = means.outside
        self._thread = means.thread
        self._office = office
        self._waiting: dict[LaneId, datetime] = {}  # since when a queue has not been empty
        self._folder = ""  # where calls are written on their way
        self.only: RunId | None = None  # whose calls go out; None = those of every run
        self.poll: float | None = None  # seconds between two looks, instead of the vendor's

    async def step(self, group: asyncio.TaskGroup, worker: WorkerId, now: datetime) -> int:
        """Gather, and begin to submit what is worth it; returns how much was done."""
        moved, ready = await self._thread.run(self._gather, worker, now)
        if ready or moved:
            self._outside.reach("after_draft")
        for each in ready:
            self._office.begin(group, each.batch, worker, self._submit(each))
        return moved + len(ready)

    def close(self) -> None:
        """Remove what was written to disk on the way."""
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = ""

    def _gather(self, worker: WorkerId, now: datetime) -> tuple[int, list[InHand]]:
        moved, ready = 0, []
        with self._ledger.transaction() as tx:
            lanes = of_run(tx.requests.open_lanes(now), self.only)
            for lane in [each for each in lanes if each.route == BATCH]:
                drafting, in_hand = self._draft(tx, lane, worker, now)
                moved += drafting.moved
                ready += in_hand
        return moved, ready

    def _draft(
        self, tx: Transaction, lane: Lane, worker: WorkerId, now: datetime
    ) -> tuple[Drafting, list[InHand]]:
        context = self._contexts.of_lane(tx, lane)
        vendor = self._vendors.batching(context.provider)
        if vendor is None:
            return Drafting(moved=send_directly(tx, lane)), []
        account = self._accounts.choose(tx, context, now)
        if account is None:
            return Drafting(), []
        since = self._waiting.setdefault(lane.id, now)
        gathering = Gathering(vendor.rules, account.id, (now - since).total_seconds())
        drafting = draft(tx, self._contexts, lane, gathering, now)
        if not drafting.waiting:
            self._waiting.pop(lane.id, None)
        if drafting.ready is None or not self._office.free:
            return drafting, []
        if not tx.batches.lease(drafting.ready, worker, now + self._office.lease, now):
            return drafting, []
        batch = begin(tx, drafting.ready, account.id, self._outside.nonce(), now)
        if batch is None:
            waits = "another batch of the same key is not known to be made or not yet"
            tx.batches.delay(drafting.ready, now + BUSY, waits, failed=False)
            tx.batches.free(drafting.ready, worker)
            return drafting, []
        return drafting, [InHand(batch, context, account, vendor)]

    async def _submit(self, hand: InHand) -> None:
        """Take a batch to its provider; whatever happens on the way is written down."""
        self._outside.reach("after_intent")
        remedy = Remedy.RETRY
        try:
            hand = hand._replace(account=await self._accounts.ready(hand.account))
            if (prepared := await self._prepare(hand)) is None:
                return
            remedy = Remedy.LOST  # from here on the provider may have made it
            await self._create(hand, *prepared)
        except ProviderError as error:
            await self._thread.run(self._failed, hand, error)
        except (Exception, asyncio.CancelledError) as error:
            failure = ProviderError(_told(error), remedy=remedy)
            await asyncio.shield(self._thread.run(self._failed, hand, failure))
            if isinstance(error, asyncio.CancelledError):
                raise
        finally:
            self._path(hand).unlink(missing_ok=True)

    async def _prepare(self, hand: InHand) -> tuple[Submission, str] | None:
        """Upload what it is to be made of, and say so; None if it is not ours to make, or empty."""
        spool = await self._spool(hand)
        if spool is None:
            return None  # somebody took over
        if not spool.rows:  # all that it was about moved on
            await self._thread.run(self._give_up, hand)
            return None
        submission = _submission(hand, spool)
        async with asyncio.timeout(SECONDS):
            input_ref = await hand.vendor.upload(self._vendors.door(), hand.account, submission)
        self._outside.reach("after_upload")
        began = self._outside.now()
        if not await self._thread.run(self._creating, hand, spool, input_ref):
            return None  # somebody took over
        self._outside.reach("before_create")
        if self._outside.now() - began > self._office.lease:  # stopped here: others may go on
            raise ProviderError("it was held up before it was sent", remedy=Remedy.RETRY)
        return submission, input_ref

    async def _create(self, hand: InHand, submission: Submission, input_ref: str) -> None:
        """Let the provider make it, and note under which name."""
        door = self._vendors.door()
        async with asyncio.timeout(SECONDS):
            ref = await hand.vendor.create(door, hand.account, submission, input_ref)
        self._outside.reach("after_create")
        if not await self._thread.run(self._confirm, hand, ref):  # others went on without us
            await hand.vendor.cancel(door, hand.account, ref)
        self._outside.reach("after_confirm")

    async def _spool(self, hand: InHand) -> Spool | None:
        spool = Spool(self._path(hand), hand.vendor, hand.account, hand.batch.nonce)
        after = AttemptId(0)
        while not spool.full:
            last = await self._thread.run(self._write_part, hand, spool, after)
            if last is None:
                return None
            if not last:
                break
            after = last
        self._outside.reach("after_spool")
        return spool

    def _write_part(self, hand: InHand, spool: Spool, after: AttemptId) -> AttemptId | None:
        now = self._outside.now()
        with self._ledger.transaction() as tx:
            if not is_ours(tx, hand.batch):  # what is in it is not ours to leave behind
                return None
            part = next_part(tx, hand.context, hand.batch.id, after, now)
            spool.write(part.calls)
            if spool.full:
                cut_off(tx, hand.batch.id, spool.last, now)
        return part.last

    def _give_up(self, hand: InHand) -> None:
        with self._ledger.transaction() as tx:
            if refuse(tx, hand.batch, "nothing in it is owed any more", self._outside.now()):
                tx.batches.move("abandon", hand.batch.id, ["draft"])

    def _creating(self, hand: InHand, spool: Spool, input_ref: str) -> bool:
        now, batch = self._outside.now(), hand.batch
        with self._ledger.transaction() as tx:
            return tx.batches.begin_creating(batch, input_ref, spool.rows, spool.size, now)

    def _confirm(self, hand: InHand, ref: str) -> bool:
        now, rules = self._outside.now(), hand.vendor.rules
        wait = self.poll or next_look(rules.cadence, 0, rules.window)
        with self._ledger.transaction() as tx:
            if confirm(tx, hand.batch, ref, now + timedelta(seconds=wait), now):
                return True
            note_twice(tx, hand.batch, [ref], now)
        return False

    def _failed(self, hand: InHand, error: ProviderError) -> None:
        """Apply the remedy of a submission that came to nothing, or may have."""
        now, batch = self._outside.now(), hand.batch
        self._accounts.forget()
        with self._ledger.transaction() as tx:
            if error.remedy is Remedy.LOST:
                lose(tx, batch, str(error), now)
            elif refuse(tx, batch, str(error), now, error.retry_after):
                if error.remedy is Remedy.FIX_ACCOUNT:
                    blame(tx, batch.run_id, error, hand.account, now)
                elif error.remedy in (Remedy.FIX_REQUEST, Remedy.SPLIT):
                    hold_failed(tx, batch, str(error), now)

    def _path(self, hand: InHand) -> Path:
        if not self._folder:
            _sweep_folders()
            self._folder = tempfile.mkdtemp(prefix=f"{FOLDER}{os.getpid()}-")
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        return Path(self._folder, f"{hand.batch.nonce}.jsonl")


def _sweep_folders() -> None:
    """Remove what those who were killed have left on disk."""
    for each in Path(tempfile.gettempdir()).glob(f"{FOLDER}*-*"):
        pid = each.name.removeprefix(FOLDER).partition("-")[0]
        if pid.isdecimal() and not process_alive(int(pid)):
            shutil.rmtree(each, ignore_errors=True)


def _submission(hand: InHand, spool: Spool) -> Submission:
    return Submission(
        nonce=hand.batch.nonce,
        model=hand.context.facts.name,
        rows=spool.rows,
        path=str(spool.path),
        wire=hand.context.facts.wire,
    )


def _told(error: BaseException) -> str:
    if isinstance(error, asyncio.CancelledError):
        return "interrupted while it was submitted"
    if isinstance(error, TimeoutError):
        return f"the provider did not take it within {SECONDS:g} s"
    return describe(error)
