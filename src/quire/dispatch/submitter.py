"""The submitter: gathers queued requests into batch files and submits them, once each."""

import asyncio
import os
import shutil
import tempfile
import weakref
from datetime import datetime, timedelta
from pathlib import Path

from quire.dispatch.batch_leases import BatchLeases, LeasedBatch
from quire.dispatch.loop_context import LoopContext
from quire.dispatch.response_decoder import describe_error
from quire.dispatch.runtime import is_process_alive
from quire.domain.accounts import Account
from quire.domain.batches import BatchRules, Submission, custom_id
from quire.domain.errors import ProviderError, Remedy
from quire.domain.ids import AttemptId, LaneId, RunId, WorkerId
from quire.domain.reasons import BatchTrouble, HoldCause
from quire.domain.requests import Call
from quire.domain.runs import BATCH, Lane
from quire.domain.states import BatchMove, BatchState
from quire.ledger.ledger import Transaction
from quire.pipeline.batches.collect import hold_refused_batch
from quire.pipeline.batches.draft import DraftTerms, fill_draft
from quire.pipeline.batches.reconcile import mark_unknown, note_duplicates
from quire.pipeline.batches.submit import (
    confirm_created,
    is_current_submission,
    next_part,
    record_intent,
    requeue_rest,
    return_to_draft,
    take_back,
)
from quire.pipeline.calls.open_lanes import is_lane_open, open_lanes
from quire.pipeline.calls.record import hold_run, mark_key_or_hold
from quire.pipeline.calls.route import send_directly
from quire.planning.batch_schedule import seconds_to_next_poll
from quire.planning.retrying import FAULT_CAUSES
from quire.providers.protocol import BatchApi


class Spool:
    """A file that grows call by call."""

    def __init__(self, path: Path, batch_api: BatchApi, account: Account, nonce: str) -> None:
        """Begin an empty file."""
        self.path = path
        self.rows = 0
        self.size = 0
        self.full = False  # the next call did not fit
        self.last = AttemptId(0)  # of those that did
        self._batch_api = batch_api
        self._account = account
        self._nonce = nonce
        path.write_bytes(b"")
        path.chmod(0o600)

    def write(self, calls: list[Call]) -> None:
        """Add calls until one does not fit; into an empty file the first always goes."""
        rules = self._batch_api.rules
        lines = []
        for call in calls:
            name = custom_id(self._nonce, call.attempt_id)
            line = self._batch_api.line(call, self._account, name)
            if self.rows:
                line = rules.separator + line
            if self.rows and not self._fits(len(line), rules):
                self.full = True
                break
            lines.append(line)
            self.rows += 1
            self.size += len(line)
            self.last = call.attempt_id
        with self.path.open("ab") as file:
            file.writelines(lines)

    def _fits(self, length: int, rules: BatchRules) -> bool:
        return self.rows < rules.calls and self.size + length <= rules.size


CREATE_SECONDS = 900.0  # that an upload, or a create, may take
FOLDER = "quire-batches-"  # and the process that writes there
BUSY_KEY_WAIT = timedelta(seconds=2)  # until the key's other create is settled, perhaps


class Submitter:
    """Turns one ledger's queues into batches."""

    def __init__(self, context: LoopContext, leases: BatchLeases) -> None:
        """Start with nothing gathered."""
        self._contexts, self._providers, self._accounts, self._runtime, self._thread = context
        self._leases = leases
        self._waiting: dict[LaneId, datetime] = {}  # since when a queue has not been empty
        self._folder = ""  # where calls are written on their way
        self.only: RunId | None = None  # whose calls go out; None = those of every run
        self.poll: float | None = None  # seconds between two looks, instead of the vendor's

    async def step(self, group: asyncio.TaskGroup, worker: WorkerId, now: datetime) -> int:
        """Gather, and begin to submit what is worth it; returns how much was done."""
        moved, ready = await self._thread.transact(self._gather, worker, now)
        if ready or moved:
            self._runtime.reach("after_draft")
        for batch in ready:
            self._leases.start_work(group, batch.batch, worker, self._submit(batch))
        return moved + len(ready)

    def close(self) -> None:
        """Remove what was written to disk on the way."""
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = ""

    def _gather(
        self, tx: Transaction, worker: WorkerId, now: datetime
    ) -> tuple[int, list[LeasedBatch]]:
        lanes = open_lanes(tx, self._contexts, now, self.only)
        drafts = [self._draft(tx, lane, worker, now) for lane in lanes if lane.route == BATCH]
        return sum(moved for moved, _ in drafts), [batch for _, batch in drafts if batch]

    def _draft(
        self, tx: Transaction, lane: Lane, worker: WorkerId, now: datetime
    ) -> tuple[int, LeasedBatch | None]:
        """Fill a lane's draft: how many calls moved, and the batch if it is to be submitted now."""
        context = self._contexts.of_lane(tx, lane)
        batch_api = self._providers.batch_api(context.provider)
        if batch_api is None:
            return send_directly(tx, lane), None
        account = self._accounts.choose(tx, context, now)
        if account is None:
            return 0, None
        since = self._waiting.setdefault(lane.id, now)
        terms = DraftTerms(batch_api.rules, account.id, (now - since).total_seconds())
        draft, moved, waiting = fill_draft(tx, self._contexts, lane, terms, now)
        if not waiting:
            self._waiting.pop(lane.id, None)
        if draft is None or not self._leases.free_slots:
            return moved, None
        if not tx.batches.lease_batch(draft, worker, now + self._leases.lease, now):
            return moved, None
        batch = record_intent(tx, draft, account.id, self._runtime.nonce(), now)
        if batch is None:
            waits = "another batch of the same key is not known to be made or not yet"
            tx.batches.delay_batch(draft, now + BUSY_KEY_WAIT, BatchTrouble.KEY_BUSY, waits)
            tx.batches.end_batch_lease(draft, worker)
            return moved, None
        return moved, LeasedBatch(batch, context, account, batch_api)

    async def _submit(self, leased: LeasedBatch) -> None:
        """Take a batch to its provider; whatever happens on the way is written down."""
        self._runtime.reach("after_intent")
        remedy = Remedy.RETRY
        try:
            leased = leased._replace(account=await self._accounts.ready_account(leased.account))
            if (prepared := await self._prepare(leased)) is None:
                return
            remedy = Remedy.LOST  # from here on the provider may have made it
            await self._create(leased, *prepared)
        except ProviderError as error:
            await self._thread.transact(self._apply_remedy, leased, error)
        except (Exception, asyncio.CancelledError) as error:
            failure = ProviderError(_describe_failure(error), remedy=remedy)
            await asyncio.shield(self._thread.transact(self._apply_remedy, leased, failure))
            if isinstance(error, asyncio.CancelledError):
                raise
        finally:
            self._path(leased).unlink(missing_ok=True)

    async def _prepare(self, leased: LeasedBatch) -> tuple[Submission, str] | None:
        """Upload what it is to be made of, and say so; None if it is not ours to make, or empty."""
        spool = await self._spool(leased)
        if spool is None:
            return None  # somebody took over
        if not spool.rows:  # all that it was about moved on
            await self._thread.transact(self._give_up, leased)
            return None
        submission = _submission(leased, spool)
        http = self._providers.http()
        async with asyncio.timeout(CREATE_SECONDS):
            input_ref = await leased.batch_api.upload(http, leased.account, submission)
        self._runtime.reach("after_upload")
        began = self._runtime.now()
        if not await self._thread.transact(self._mark_creating, leased, spool, input_ref):
            return None  # somebody took over, or it is not to go any more
        self._runtime.reach("before_create")
        if self._runtime.now() - began > self._leases.lease:  # stopped here: others may go on
            raise ProviderError("it was held up before it was sent", remedy=Remedy.RETRY)
        return submission, input_ref

    async def _create(self, leased: LeasedBatch, submission: Submission, input_ref: str) -> None:
        """Let the provider make it, and note under which name."""
        http = self._providers.http()
        async with asyncio.timeout(CREATE_SECONDS):
            ref = await leased.batch_api.create(http, leased.account, submission, input_ref)
        self._runtime.reach("after_create")
        if not await self._thread.transact(self._confirm, leased, ref):  # others went on without us
            await leased.batch_api.cancel(http, leased.account, ref)
        self._runtime.reach("after_confirm")

    async def _spool(self, leased: LeasedBatch) -> Spool | None:
        spool = Spool(self._path(leased), leased.batch_api, leased.account, leased.batch.nonce)
        after = AttemptId(0)
        while not spool.full:
            last = await self._thread.transact(self._write_part, leased, spool, after)
            if last is None:
                return None
            if not last:
                break
            after = last
        self._runtime.reach("after_spool")
        return spool

    def _write_part(
        self, tx: Transaction, leased: LeasedBatch, spool: Spool, after: AttemptId
    ) -> AttemptId | None:
        now, batch = self._runtime.now(), leased.batch
        if not is_current_submission(tx, batch):  # what is in it is not ours to leave behind
            return None
        part = next_part(tx, leased.context, leased.account, batch.id, after, now)
        spool.write(part.calls)
        if spool.full:
            requeue_rest(tx, batch.id, spool.last, now)
        return part.last

    def _give_up(self, tx: Transaction, leased: LeasedBatch) -> None:
        now, batch = self._runtime.now(), leased.batch
        if return_to_draft(tx, batch, "nothing in it is owed any more", now):
            tx.batches.move_batch(BatchMove.ABANDON, batch.id, [BatchState.DRAFT])

    def _mark_creating(
        self, tx: Transaction, leased: LeasedBatch, spool: Spool, input_ref: str
    ) -> bool:
        now, batch = self._runtime.now(), leased.batch
        if not is_lane_open(tx, self._contexts, batch.lane_id, now):
            take_back(tx, batch, now)
            return False
        return tx.batches.mark_batch_creating(batch, input_ref, spool.rows, spool.size, now)

    def _confirm(self, tx: Transaction, leased: LeasedBatch, ref: str) -> bool:
        now, rules = self._runtime.now(), leased.batch_api.rules
        wait = self.poll or seconds_to_next_poll(rules.cadence, 0, rules.window)
        if confirm_created(tx, leased.batch, ref, now + timedelta(seconds=wait), now):
            return True
        note_duplicates(tx, leased.batch, [ref], now)
        return False

    def _apply_remedy(self, tx: Transaction, leased: LeasedBatch, error: ProviderError) -> None:
        """Apply the remedy of a submission that came to nothing, or may have."""
        now, batch = self._runtime.now(), leased.batch
        self._accounts.forget()
        if error.remedy is Remedy.LOST:
            mark_unknown(tx, batch, str(error), now)
        elif return_to_draft(tx, batch, str(error), now, error.retry_after):
            if error.no_batches:
                hold_run(tx, batch.run_id, HoldCause.NO_BATCHES, now, problem=str(error))
            elif error.remedy is Remedy.FIX_ACCOUNT:
                cause = FAULT_CAUSES[error.fault]
                mark_key_or_hold(tx, batch.run_id, error, leased.account, now, cause)
            elif error.remedy in (Remedy.FIX_REQUEST, Remedy.SPLIT):
                hold_refused_batch(tx, batch, str(error), now)

    def _path(self, leased: LeasedBatch) -> Path:
        if not self._folder:
            _sweep_folders()
            self._folder = tempfile.mkdtemp(prefix=f"{FOLDER}{os.getpid()}-")
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        return Path(self._folder, f"{leased.batch.nonce}.jsonl")


def _sweep_folders() -> None:
    """Remove what those who were killed have left on disk."""
    for path in Path(tempfile.gettempdir()).glob(f"{FOLDER}*-*"):
        pid = path.name.removeprefix(FOLDER).partition("-")[0]
        if pid.isdecimal() and not is_process_alive(int(pid)):
            shutil.rmtree(path, ignore_errors=True)


def _submission(leased: LeasedBatch, spool: Spool) -> Submission:
    return Submission(
        nonce=leased.batch.nonce,
        model=leased.context.facts.name,
        rows=spool.rows,
        path=str(spool.path),
        wire=leased.context.facts.wire,
    )


def _describe_failure(error: BaseException) -> str:
    if isinstance(error, asyncio.CancelledError):
        return "interrupted while it was submitted"
    if isinstance(error, TimeoutError):
        return f"the provider did not take it within {CREATE_SECONDS:g} s"
    return describe_error(error)
