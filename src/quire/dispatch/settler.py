"""The settler: judges stored answers in groups, and packs what goes out next."""

from collections.abc import Set
from datetime import datetime

from quire.dispatch.loop_context import LoopContext
from quire.dispatch.response_decoder import BatchLine, build_answer, decode_response
from quire.domain.accounts import Account, Secret
from quire.domain.batches import RowEnd, parse_custom_id
from quire.domain.errors import Undecodable
from quire.domain.ids import AttemptId, RunId
from quire.domain.pricing import price_call
from quire.domain.reasons import HoldKind, ResumeCause
from quire.domain.requests import Answer
from quire.ledger.ledger import Transaction
from quire.pipeline.answers.notifications import lift_holds
from quire.pipeline.answers.reuse_answers import share_questions
from quire.pipeline.answers.settle import settle
from quire.pipeline.batches.collect import KeptLine, collect_kept_lines
from quire.pipeline.calls.estimate import with_estimates
from quire.pipeline.calls.open_lanes import open_lanes
from quire.pipeline.calls.prepare import prepare
from quire.pipeline.calls.record import record_redecoded_answer
from quire.pipeline.contexts import LaneContext
from quire.providers.protocol import BatchApi


class Settler:
    """Turns one ledger's answers into results."""

    def __init__(self, context: LoopContext) -> None:
        """Use the worker's ledger and thread."""
        self._contexts, self._providers, _, self._runtime, self._thread = context
        self.only: RunId | None = None  # for whom calls are packed; None = for every run

    async def step(self, now: datetime, *, packing: bool = True) -> int:
        """Judge one group of answers and refill the queues; returns how much was done."""
        self._runtime.reach("before_settle")
        moved = await self._thread.transact(self._settle, now, packing)
        if moved:
            self._runtime.reach("after_settle")
        return moved

    async def decode_again(self) -> int:
        """Try newer decoders on what older ones could not read; returns how many runs gained."""
        return await self._thread.transact(self._decode_again)

    def _settle(self, tx: Transaction, now: datetime, packing: bool) -> int:
        """One transaction for both: the ledger syncs to disk once."""
        moved = settle(tx, self._contexts, now)
        lanes = open_lanes(tx, self._contexts, now, self.only) if packing else []
        for lane in [item for item in lanes if item.serves]:
            context = self._contexts.of_lane(tx, lane)
            moved += prepare(tx, self._contexts, context, now, share_questions)
        return moved

    def _decode_again(self, tx: Transaction) -> int:
        helped = self._decode_responses(tx)
        lines = self._decode_lines(tx)
        helped |= set(lines)
        doubtful = {run for run, whole in lines.items() if not whole}
        doubtful |= {response.run_id for response in tx.attempts.undecoded_responses()}
        for run in helped - doubtful:
            if not tx.views.has_unreadable_lines(run):  # those are a person's to look at
                kinds, now = [HoldKind.UNDECODABLE], self._runtime.now()
                lift_holds(tx, run, kinds, ResumeCause.DECODED, now)
        return len(helped)

    def _decode_responses(self, tx: Transaction) -> set[RunId]:
        """Read responses of calls; returns the runs that gained."""
        helped: set[RunId] = set()
        for response in tx.attempts.undecoded_responses():
            provider = self._providers.provider(response.provider)
            if response.decoder_version >= provider.decoder_version:
                continue
            batch_api = self._providers.batch_api(response.provider) if response.batched else None
            line = BatchLine(batch_api, response.attempt_id) if batch_api else None
            reply = decode_response(provider, response.raw, line=line)
            if isinstance(reply, Undecodable):
                continue
            context = self._contexts.of_lane_id(tx, response.run_id, response.lane_id)
            version, now = provider.decoder_version, self._runtime.now()
            found = build_answer(context, response.attempt_id, response.raw, reply, version)
            (answer,) = with_estimates(tx, self._contexts, [found], now)
            reply = answer.reply or reply
            cost = price_call(context.facts, reply.usage, batched=response.batched)
            record_redecoded_answer(tx, response, reply, version, cost, now)
            helped.add(response.run_id)
        return helped

    def _decode_lines(self, tx: Transaction) -> dict[RunId, bool]:
        """Read lines that named no call; returns the runs that gained, and if nothing is left."""
        whole: dict[RunId, bool] = {}
        doubtful = tx.views.batches_with_unreadable_lines()
        for batch in filter(None, map(tx.batches.get_batch, doubtful)):
            context = self._contexts.of_batch(tx, batch)
            batch_api = self._providers.batch_api(context.provider)
            if batch_api is None:
                continue
            nonces = tx.batches.nonces_of_batch(batch.id)
            lines = tx.views.unreadable_lines(batch.id)
            answers = [self._answer_in_line(item, context, batch_api, nonces) for item in lines]
            found = [KeptLine(line, it) for line, it in zip(lines, answers, strict=True) if it]
            if found:
                over = collect_kept_lines(tx, self._contexts, batch, found, self._runtime.now())
                whole[batch.run_id] = whole.get(batch.run_id, True) and over
        return whole

    def _answer_in_line(
        self, line: bytes, context: LaneContext, batch_api: BatchApi, nonces: Set[str]
    ) -> Answer | None:
        """The answer in a line of a batch's results, where it names a call of that batch by now."""
        nobody = Account(provider=batch_api.name, credential="", key=Secret(""))
        try:
            row = batch_api.row(line, nobody)
        except Exception:  # noqa: BLE001 - a bug in a reader must not cost the line
            return None
        named = parse_custom_id(row.custom_id)
        if row.end is not RowEnd.ANSWERED or named is None or named[0] not in nonces:
            return None
        provider = self._providers.provider(context.provider)
        reply = decode_response(provider, row.raw, row.body)
        if isinstance(reply, Undecodable):
            return None
        attempt, version = AttemptId(named[1]), provider.decoder_version
        return build_answer(context, attempt, row.raw, reply, version)
