"""The courier: claims queued requests, sends them, and records what comes back, in groups."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import groupby
from typing import NamedTuple

from quire.dispatch.accounts import Accounts
from quire.dispatch.outside import LedgerThread, Outside
from quire.dispatch.reading import answer_of, describe, read
from quire.dispatch.throttle import Throttle
from quire.domain.errors import ProviderError, Remedy, Undecodable, UsageError
from quire.domain.ids import AttemptId, LaneId, RunId, WorkerId
from quire.domain.requests import CallFailure
from quire.domain.runs import DIRECT, Lane
from quire.ledger.ledger import Ledger, Transaction
from quire.pipeline.claim import Outgoing, Sender, claim
from quire.pipeline.contexts import Contexts, LaneContext
from quire.pipeline.receive import Returned, receive
from quire.providers.protocol import Provider, Sent

NOBODY_THERE = timedelta(minutes=5)  # until a person is asked to look at an address
NOTHING_WORKS = 2  # calls in a row that came to nothing: worth a word, then at each doubling


class Exchanged(NamedTuple):
    """What one step of the courier did."""

    stored: int = 0  # calls that came back and are in the ledger now
    sent: int = 0
    short: bool = False  # a lane had less to send than it had room for


class InFlight(NamedTuple):
    """A call that is out."""

    task: asyncio.Task[None]
    deadline: datetime


class Courier:
    """Carries one worker's direct calls."""

    def __init__(
        self,
        ledger: Ledger,
        contexts: Contexts,
        provider_for: Callable[[str], Provider],
        accounts: Accounts,
        outside: Outside,
        thread: LedgerThread,
    ) -> None:
        """Start with nothing in flight."""
        self._ledger = ledger
        self._contexts = contexts
        self._provider_for = provider_for
        self._outside = outside
        self._thread = thread
        self._accounts = accounts
        self.only: RunId | None = None  # whose calls go out; None = those of every run
        self.tell: Callable[[str], None] = lambda message: None  # where nothing works, and why
        self._throttles: defaultdict[str, Throttle] = defaultdict(Throttle)  # by model
        self._in_flight: Counter[str | LaneId] = Counter()  # by model, and by lane
        self.most = 1  # the largest concurrency seen: what is worth a look at the queues
        self._back: list[Returned] = []
        self._failing = 0  # calls in a row that came to nothing
        self._absent: dict[str, datetime] = {}  # since when nobody listens, by model
        self._last_lane = LaneId(0)
        self._sends: dict[AttemptId, InFlight] = {}
        self.returned = asyncio.Event()  # set when a call came back

    @property
    def in_flight(self) -> int:
        """Calls that are out."""
        return len(self._sends)

    def holds(self, attempt: AttemptId) -> bool:
        """Whether a call is in flight here, or back and not stored yet."""
        back = {each.outcome.attempt_id for each in self._back}
        return attempt in self._sends or attempt in back

    @property
    def unrecorded(self) -> int:
        """Calls that came back and are not in the ledger yet."""
        return len(self._back)

    async def step(self, worker: WorkerId, now: datetime, *, sending: bool = True) -> Exchanged:
        """Store what came back and send the next calls.

        What came back stays in memory until the ledger has it, however often that takes.
        """
        self.give_up_late(now)
        back = self._back[:]
        out = self._in_flight.copy()  # what comes back from here on is not stored by this exchange
        room = sending and self._has_room()
        if not back and not room:
            return Exchanged()
        self._outside.reach("before_record")
        outgoing, short = await self._thread.run(
            self._exchange, back, worker if room else None, out, now
        )
        del self._back[: len(back)]
        self._outside.reach("after_claim" if outgoing else "after_record")
        for _, calls in groupby(outgoing, lambda each: each.context.lane_id):
            self._begin(list(calls), now)
        return Exchanged(len(back), len(outgoing), short)

    def _has_room(self) -> bool:
        return self.in_flight <= self.most - _worth(self.most)

    def _begin(self, calls: list[Outgoing], now: datetime) -> None:
        """Send calls of one lane."""
        context = calls[0].context
        self._count(context, len(calls))
        self.most = max(self.most, context.policy.concurrency)
        deadline = now + timedelta(seconds=context.policy.call_timeout)
        create = asyncio.get_running_loop().create_task  # a group's own would cost as much again
        for each in calls:
            task = create(self._send(each, deadline))
            self._sends[each.call.attempt_id] = InFlight(task, deadline)

    def _count(self, context: LaneContext, change: int) -> None:
        self._in_flight[context.facts.name] += change
        self._in_flight[context.lane_id] += change

    def give_up_late(self, now: datetime) -> None:
        """Wait no longer for calls past their deadline: one look, instead of a timer for each."""
        for each in self._sends.values():
            if each.deadline <= now:
                each.task.cancel()

    def abandon(self) -> None:
        """Wait no longer for what is in flight."""
        for each in self._sends.values():
            each.task.cancel()

    async def gone(self) -> None:
        """Wait until nothing is in flight any more."""
        await asyncio.gather(*[each.task for each in self._sends.values()], return_exceptions=True)

    def _exchange(
        self,
        back: list[Returned],
        worker: WorkerId | None,
        out: Counter[str | LaneId],
        now: datetime,
    ) -> tuple[list[Outgoing], bool]:
        """Record and claim in one transaction: the ledger syncs to disk once for both."""
        if any(isinstance(each.outcome, CallFailure) for each in back):
            self._accounts.forget()  # a key may be to blame
        try:
            with self._ledger.transaction() as tx:
                receive(tx, self._contexts, back, now)
                if worker is None or not tx.workers.lives(worker):  # declared dead: register first
                    return [], False
                return self._claim(tx, worker, out, now)
        except BaseException:  # what was noted of this transaction may not be so
            self._accounts.forget()
            self._contexts.primed.clear()
            raise

    def _claim(
        self, tx: Transaction, worker: WorkerId, out: Counter[str | LaneId], now: datetime
    ) -> tuple[list[Outgoing], bool]:
        """Claim lane by lane, a fair share of the room each; says whether one had less."""
        outgoing: list[Outgoing] = []
        short = False
        lanes = of_run(tx.requests.open_lanes(now), self.only)
        lanes = self._in_turn([lane for lane in lanes if lane.route == DIRECT])
        shares = Counter(lane.model for lane in lanes)
        for lane in lanes:
            context = self._contexts.of_lane(tx, lane)
            most = context.policy.concurrency
            window = self._throttles[lane.model].allows(most)
            room = min(window - out[lane.model], most - out[lane.id])
            most = min(most, window)
            share = min(room, -(-most // shares[lane.model]))
            if share <= 0 or room < _worth(most):
                continue
            account = self._accounts.choose(tx, context, now)
            if account is None:
                continue
            sender = Sender(worker, account)
            claimed = claim(tx, self._contexts, context, sender, share, now)
            short = short or len(claimed) < share
            out[lane.model] += len(claimed)
            outgoing.extend(claimed)
            if claimed:
                self._last_lane = lane.id
        return outgoing, short

    def _in_turn(self, lanes: list[Lane]) -> list[Lane]:
        """Begin after the lane served last, so that a big run does not starve a small one."""
        later = [lane for lane in lanes if lane.id > self._last_lane]
        return later + [lane for lane in lanes if lane.id <= self._last_lane]

    async def _send(self, outgoing: Outgoing, deadline: datetime) -> None:
        call, context = outgoing.call, outgoing.context
        try:
            provider = self._provider_for(context.provider)
            account = outgoing.account
            if not account.key and account.options:  # a token may have to take the key's place
                account = await self._accounts.ready(account)
            sent = await provider.send(call, account)
            self._succeed(outgoing, provider, sent)
        except asyncio.CancelledError:
            why = "interrupted before the answer came"
            if self._outside.now() >= deadline:
                why = f"no answer within {context.policy.call_timeout:g} s"
            self._fail(outgoing, _lost(why))
            raise
        except BaseException as error:
            self._fail(outgoing, _failure(error))
            if not isinstance(error, Exception):
                raise
        finally:
            self._count(context, -1)
            del self._sends[call.attempt_id]
            self.returned.set()

    def _succeed(self, outgoing: Outgoing, provider: Provider, sent: Sent) -> None:
        raw = bytes(sent.raw)
        self._outside.reach("after_send")
        attempt, reply = outgoing.call.attempt_id, read(provider, raw)
        version, presumed = provider.decoder_version, outgoing.reserved
        answer = answer_of(outgoing.context, attempt, raw, reply, version, presumed)
        self._back.append(Returned(outgoing, answer, sent.rates))
        name = outgoing.context.facts.name
        self._throttles[name].answered()
        self._absent.pop(name, None)
        self._failing = 0

    def _fail(self, outgoing: Outgoing, error: ProviderError) -> None:
        name, now = outgoing.context.facts.name, self._outside.now()
        error.absent = self._is_absent(name, error, now)
        jitter = self._outside.jitter()
        failure = CallFailure(outgoing.call.attempt_id, error, jitter, outgoing.account)
        self._back.append(Returned(outgoing, failure))
        if error.remedy is Remedy.WAIT:
            self._throttles[name].pushed_back(now)
        self._failing += error.remedy in (Remedy.RETRY, Remedy.LOST)
        if self._failing >= NOTHING_WORKS and self._failing & (self._failing - 1) == 0:
            with suppress(OSError):  # whoever listened may be gone
                self.tell(f"{error}; trying again, later and later")

    def _is_absent(self, model: str, error: ProviderError, now: datetime) -> bool:
        """Whether nobody has listened at its address for so long that a person is to look."""
        if not error.absent:
            self._absent.pop(model, None)
            return False
        if now - self._absent.setdefault(model, now) < NOBODY_THERE:
            return False
        del self._absent[model]  # the person's resume begins anew
        return True


def of_run(lanes: list[Lane], only: RunId | None) -> list[Lane]:
    """The lanes of one run, or of all."""
    return [lane for lane in lanes if only in (None, lane.run_id)]


def _worth(most: int) -> int:
    """Claim in groups: a transaction for every single call would cost more than the calls."""
    return max(1, most // 4)


def _failure(error: BaseException) -> ProviderError:
    """What an error says of the call that it ended."""
    if isinstance(error, Undecodable):  # only a response can be that, and there is none
        return _lost(str(error))
    if isinstance(error, ProviderError):
        return error
    if isinstance(error, UsageError):  # nothing was sent
        return ProviderError(str(error), remedy=Remedy.FIX_ACCOUNT)
    return _lost(describe(error))


def _lost(message: str) -> ProviderError:
    return ProviderError(message, remedy=Remedy.LOST)
