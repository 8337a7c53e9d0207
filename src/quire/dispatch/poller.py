"""The poller: polls batches, reconciles those of unknown fate, and has their rows collected."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial

from quire.dispatch.batch_leases import BatchLeases, LeasedBatch
from quire.dispatch.collector import Collector
from quire.dispatch.loop_context import LoopContext
from quire.dispatch.response_decoder import describe_error
from quire.dispatch.runtime import living_workers
from quire.dispatch.submitter import CREATE_SECONDS
from quire.domain.batches import Batch, BatchEnd, BatchLookup, BatchMatch, BatchQuery, BatchStatus
from quire.domain.errors import ProviderError, Remedy
from quire.domain.ids import BatchId, WorkerId
from quire.domain.reasons import BatchTrouble, Fields, HoldCause
from quire.domain.states import BatchState
from quire.ledger.ledger import Transaction
from quire.pipeline.batches.collect import (
    back_off_poll,
    hold_refused_batch,
    note_status,
)
from quire.pipeline.batches.reconcile import (
    absence_certain_at,
    apply_match,
    hold_unknown_batch,
    may_be_duplicate,
    note_duplicates,
    recover_submission,
)
from quire.pipeline.calls.record import hold_run
from quire.planning.batch_schedule import seconds_to_next_poll

ASK_SECONDS = 60.0  # that one question may take
MISSING_KEY_WAIT = timedelta(minutes=5)  # until a key that is missing may be back
KEYLESS_WAIT = timedelta(seconds=30)  # until a batch that others may have the key of is tried again
AT_PROVIDER = (BatchState.UNKNOWN, BatchState.OPEN, BatchState.ENDED)
NEW_BATCH_AGE = timedelta(minutes=2)  # in which a provider may not know its own batch yet
TOLERATED = 4  # failures in a row of such a kind
PERSON_WAIT = timedelta(hours=1)  # until somebody may have looked


class Poller:
    """Looks after what one ledger has at providers."""

    def __init__(self, context: LoopContext, leases: BatchLeases) -> None:
        """Start with nothing in memory: everything is in the ledger."""
        self._contexts, self._providers, self._accounts, self._runtime, self._thread = context
        self._leases = leases
        self._collector = Collector(context)
        self._single: set[BatchId] = set()  # batches that were made once, as far as lists show
        self._keyless: dict[BatchId, datetime] = {}  # left to others until then
        self.poll: float | None = None  # seconds between two looks, instead of the vendor's

    async def step(self, group: asyncio.TaskGroup, worker: WorkerId, now: datetime) -> int:
        """Take what is due in hand; returns how much that is."""
        if not self._leases.free_slots:
            return 0
        due = await self._thread.transact(self._lease_due, worker, now)
        for batch in due:
            self._leases.start_work(group, batch.batch, worker, self._process(batch))
        return len(due)

    def _lease_due(self, tx: Transaction, worker: WorkerId, now: datetime) -> list[LeasedBatch]:
        ready: list[LeasedBatch] = []
        until = now + self._leases.lease
        self._keyless = {batch_id: at for batch_id, at in self._keyless.items() if at > now}
        for batch in tx.batches.due_batches(now, self._leases.free_slots + len(self._keyless)):
            if self._leases.has_batch(batch.id) or batch.id in self._keyless:
                continue
            if batch.state == BatchState.SUBMITTING:
                recover_submission(tx, batch, now)
                continue
            leased = self._leased_batch(tx, batch, now)
            if leased is not None and tx.batches.lease_batch(batch.id, worker, until, now):
                ready.append(leased)
        return ready

    def _leased_batch(self, tx: Transaction, batch: Batch, now: datetime) -> LeasedBatch | None:
        context = self._contexts.of_batch(tx, batch)
        batch_api = self._providers.batch_api(context.provider)
        chosen = self._accounts.recall(tx, context, batch.credential_id, now)
        if batch_api is not None and chosen.accounts:
            return LeasedBatch(batch, context, chosen.accounts[0], batch_api)
        if living_workers(tx, now - self._leases.lease) <= 1:  # nobody else may have the key
            fields: Fields = {"batch": batch.id, "problem": str(chosen.problem)}
            hold_run(tx, batch.run_id, HoldCause.BATCH_KEY_MISSING, now, **fields)
            tx.batches.delay_batch(
                batch.id, now + MISSING_KEY_WAIT, BatchTrouble.KEY_MISSING, "its key is missing"
            )
        self._keyless[batch.id] = now + KEYLESS_WAIT
        return None

    async def _process(self, leased: LeasedBatch) -> None:
        """Do what is next for a batch; a provider that does not answer is asked again later."""
        try:
            leased = leased._replace(account=await self._accounts.ready_account(leased.account))
            if leased.batch.state == BatchState.UNKNOWN:
                await self._reconcile(leased)
            else:
                await self._poll_status(leased)
        except Exception as error:  # noqa: BLE001 - whatever a vendor's code raises, the batch stays ours
            await self._thread.transact(self._postpone, leased, _failure(error))

    async def _poll_status(self, leased: LeasedBatch) -> None:
        batch, batch_api = leased.batch, leased.batch_api
        async with asyncio.timeout(ASK_SECONDS):
            if batch.cancel_asked_at and not batch.cancel_sent_at and batch_api.rules.cancels:
                await self._cancel(leased)
            status = await batch_api.poll(self._providers.http(), leased.account, batch.ref)
        self._runtime.reach("after_poll")
        ended = await self._thread.transact(self._note_status, leased, status)
        if ended is not None:
            self._runtime.reach("after_end")
            await self._collector.collect(leased._replace(batch=ended), status)
            await self._discard(leased)
        await self._cancel_duplicates(leased, status)

    async def _cancel(self, leased: LeasedBatch) -> None:
        """Ask for its end; where that cannot be asked for, its rows still come home."""
        with suppress(ProviderError):
            await leased.batch_api.cancel(self._providers.http(), leased.account, leased.batch.ref)
            now, batch = self._runtime.now(), leased.batch.id
            await self._thread.transact(lambda tx: tx.batches.note_cancel_sent(batch, now))

    async def _discard(self, leased: LeasedBatch) -> None:
        """Leave no prompts behind at the provider, as far as that can be."""
        if leased.batch.input_ref:
            with suppress(ProviderError, TimeoutError):
                async with asyncio.timeout(ASK_SECONDS):
                    http = self._providers.http()
                    await leased.batch_api.discard(http, leased.account, leased.batch.input_ref)

    async def _reconcile(self, leased: LeasedBatch) -> None:
        """Look for a batch that may have been made; nothing is sent again before that is known."""
        batch, rules = leased.batch, leased.batch_api.rules
        if rules.lookup is BatchLookup.NONE:
            await self._thread.transact(self._leave_to_person, leased)
            return
        query, http = await self._thread.read(partial(self._query, leased)), self._providers.http()
        async with asyncio.timeout(CREATE_SECONDS):
            match = await leased.batch_api.find(http, leased.account, query)
            sure = absence_certain_at(batch, self._leases.lease, CREATE_SECONDS, rules.lag)
            gone = not match.ref and not match.unsure and self._runtime.now() >= sure
            if gone and batch.input_ref:
                await leased.batch_api.discard(http, leased.account, batch.input_ref)
        spares = await self._thread.transact(self._record_match, leased, match, gone)
        await self._cancel_spares(leased, spares)

    async def _cancel_duplicates(self, leased: LeasedBatch, status: BatchStatus) -> None:
        """Look, once, whether a batch was made before, although no list showed that then.

        Nothing is wanted of it any more, and all that it answers is paid.
        """
        batch, rules = leased.batch, leased.batch_api.rules
        since = batch.submitted_at or batch.created_at
        is_listed = self._runtime.now() >= since + timedelta(seconds=rules.lag)
        is_decisive = status.end is not None or (rules.lookup is BatchLookup.TAG and is_listed)
        if batch.id in self._single or rules.lookup is BatchLookup.NONE or not is_decisive:
            return
        query = await self._thread.read(partial(self._duplicate_query, leased))
        with suppress(ProviderError, TimeoutError):  # no answer of ours depends on it
            if query is not None:
                http = self._providers.http()
                async with asyncio.timeout(ASK_SECONDS):
                    match = await leased.batch_api.find(http, leased.account, query)
                spares = await self._thread.transact(self._note_duplicates, leased, match)
                await self._cancel_spares(leased, spares)
            self._single.add(batch.id)

    async def _cancel_spares(self, leased: LeasedBatch, spares: Sequence[str]) -> None:
        for spare in spares:
            with suppress(ProviderError, TimeoutError):
                async with asyncio.timeout(ASK_SECONDS):
                    await leased.batch_api.cancel(self._providers.http(), leased.account, spare)

    def _duplicate_query(self, leased: LeasedBatch, tx: Transaction) -> BatchQuery | None:
        return self._query(leased, tx) if may_be_duplicate(tx, leased.batch) else None

    def _note_duplicates(
        self, tx: Transaction, leased: LeasedBatch, match: BatchMatch
    ) -> Sequence[str]:
        """Write down what was made besides, and is to be cancelled; never the batch itself."""
        own = _last_segment(leased.batch.ref)
        spare = [ref for ref in (match.ref, *match.earlier) if ref and _last_segment(ref) != own]
        note_duplicates(tx, leased.batch, spare, self._runtime.now())
        return spare

    def _query(self, leased: LeasedBatch, tx: Transaction) -> BatchQuery:
        batch = leased.batch
        known = tx.batches.refs_of_credential(batch.credential_id)
        retired = tx.batches.nonces_of_batch(batch.id) - {batch.nonce}
        began = None if retired else batch.creating_at
        since, now = began or batch.created_at, self._runtime.now()
        return BatchQuery(batch.nonce, batch.calls, batch.input_ref, since, known, retired, now)

    def _record_match(
        self, tx: Transaction, leased: LeasedBatch, match: BatchMatch, gone: bool
    ) -> Sequence[str]:
        longest = timedelta(seconds=leased.batch_api.rules.cadence.later)
        return apply_match(tx, leased.batch, match, gone, longest, self._runtime.now())

    def _leave_to_person(self, tx: Transaction, leased: LeasedBatch) -> None:
        now, batch = self._runtime.now(), leased.batch
        hold_unknown_batch(tx, batch, now)
        tx.batches.delay_batch(
            batch.id, now + PERSON_WAIT, BatchTrouble.NEEDS_PERSON, "a person must look"
        )

    def _note_status(
        self, tx: Transaction, leased: LeasedBatch, status: BatchStatus
    ) -> Batch | None:
        """Write down how it stands; the batch as it is now, if its rows are to be collected."""
        now, batch, rules = self._runtime.now(), leased.batch, leased.batch_api.rules
        age = (now - (batch.submitted_at or now)).total_seconds()
        wait = self.poll or seconds_to_next_poll(rules.cadence, age, rules.window)
        ended = note_status(tx, batch, status, now + timedelta(seconds=wait), now)
        if ended and status.end is BatchEnd.FAILED:
            hold_refused_batch(tx, batch, status.problem, now)
        over = ended or (batch.state == BatchState.ENDED and status.end is not None)
        return tx.batches.get_batch(batch.id) if over else None

    def _postpone(self, tx: Transaction, leased: LeasedBatch, error: ProviderError) -> None:
        now = self._runtime.now()
        batch = tx.batches.get_batch(leased.batch.id) or leased.batch
        if batch.state not in AT_PROVIDER:  # another worker brought it home meanwhile
            return
        back_off_poll(tx, batch, str(error), error.retry_after, now)
        if error.remedy is Remedy.FIX_ACCOUNT and not _is_transient(batch, error, now):
            # only this key may ask, so that no other takes over
            fields: Fields = {"batch": batch.id, "problem": str(error)}
            hold_run(tx, batch.run_id, HoldCause.BATCH_UNREACHABLE, now, **fields)


def _failure(error: Exception) -> ProviderError:
    """Why the provider did not say how a batch stands."""
    if isinstance(error, ProviderError):
        return error
    late = isinstance(error, TimeoutError)
    reason = "the provider did not answer in time" if late else describe_error(error)
    return ProviderError(reason, remedy=Remedy.RETRY)


def _last_segment(ref: str) -> str:
    """What is a batch's own in its reference; some are paths, which may be told in two ways."""
    return ref.rpartition("/")[2]


def _is_transient(batch: Batch, error: ProviderError, now: datetime) -> bool:
    """Whether what is said not to be there may only not be there yet."""
    if error.bad_key or error.spent or batch.failures >= TOLERATED:
        return False
    return batch.state == BatchState.ENDED or now - (batch.submitted_at or now) < NEW_BATCH_AGE
