"""The courier: claims queued requests, sends them as fast as models allow, records answers."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import NamedTuple

from quire.dispatch.loop_context import LoopContext
from quire.dispatch.response_decoder import (
    build_answer,
    check_embeddings,
    decode_response,
    describe_error,
)
from quire.domain.errors import ProviderError, Remedy, Undecodable, UsageError
from quire.domain.ids import AttemptId, LaneId, RunId, WorkerId
from quire.domain.requests import CallFailure
from quire.domain.runs import DIRECT, Lane
from quire.ledger.ledger import Transaction
from quire.pipeline.calls.admit import LONGEST_REST, least_group
from quire.pipeline.calls.claim import Outgoing, ReturnedCall, Sender, claim, receive
from quire.pipeline.calls.open_lanes import open_lanes
from quire.pipeline.contexts import LaneContext, LaneRest
from quire.planning.provider_limits import (
    FIRST_WINDOW,
    FIRST_WINDOW_OF_OWN_SERVERS,
    AnswerTimes,
    Throttle,
    is_limited,
)
from quire.providers.model_facts import is_own_server
from quire.providers.protocol import Provider, RawResponse

HOLD_WHEN_ABSENT_FOR = timedelta(minutes=5)  # then a person is asked to look at the address
HOLD_WHEN_NEVER_SEEN_FOR = timedelta(minutes=1)  # the same where nobody ever answered this worker
HOLD_WHEN_NEVER_SEEN_HERE_FOR = timedelta(seconds=5)  # and on this machine
GATHER = timedelta(milliseconds=50)  # what came back waits so long for others, for one commit
NOTHING = timedelta(0)
FAILURES_BEFORE_NOTICE = 2  # calls in a row that came to nothing; then at each doubling
PUSHBACK_BEFORE_NOTICE = timedelta(seconds=30)  # of nothing else; then at each doubling


class ExchangeCounts(NamedTuple):
    """What one step of the courier did."""

    stored: int = 0  # calls that came back and are in the ledger now
    sent: int = 0
    short: bool = False  # a lane had less to send than it had room for


class Deadline(NamedTuple):
    """How long a call is waited for."""

    sent: datetime
    timeout: float  # seconds
    ends: datetime

    def has_passed(self, now: datetime) -> bool:
        """Whether it is waited for no longer."""
        return now >= self.ends


class Pushback(NamedTuple):
    """A time in which a model only asked to wait."""

    since: datetime
    untold: timedelta = PUSHBACK_BEFORE_NOTICE  # of it


class InFlight(NamedTuple):
    """A call that is out."""

    task: asyncio.Task[None]
    deadline: Deadline


class Courier:
    """Carries one worker's direct calls."""

    def __init__(self, context: LoopContext) -> None:
        """Start with nothing in flight."""
        self._contexts, self._providers, self._accounts, self._runtime, self._thread = context
        self.only: RunId | None = None  # whose calls go out; None = those of every run
        self.tell: Callable[[str], None] = lambda message: None  # where nothing works, and why
        self.sends_again = True  # false once its worker stops: others try what came to nothing
        self._throttles: dict[str, Throttle] = {}  # by model
        self._times: defaultdict[str, AnswerTimes] = defaultdict(AnswerTimes)  # by model
        self._in_flight: Counter[str | LaneId] = Counter()  # by model, and by lane
        self.most = 1  # the largest concurrency seen: what is worth a look at the queues
        self._back: list[ReturnedCall] = []
        self._back_since = datetime.min.replace(tzinfo=UTC)  # when the first of them came
        self._enough = 1  # of them are a group that is worth a commit
        self._rest = LaneRest(self._back_since)  # the limits let no group of calls go before
        self._alarm: asyncio.TimerHandle | None = None
        self._failing = 0  # calls in a row that came to nothing
        self._pushbacks: dict[str, Pushback] = {}  # that go on, by model
        self._answered: set[str] = set()  # models that gave an answer
        self._absent: dict[str, datetime] = {}  # since when nobody listens, by model
        self._last_lane = LaneId(0)
        self._sends: dict[AttemptId, InFlight] = {}
        self.returned = asyncio.Event()  # set when a call came back

    @property
    def in_flight(self) -> int:
        """Calls that are out."""
        return len(self._sends)

    def has_call(self, attempt: AttemptId) -> bool:
        """Whether a call is in flight here, or back and not stored yet."""
        back = {call.outcome.attempt_id for call in self._back}
        return attempt in self._sends or attempt in back

    @property
    def unrecorded_calls(self) -> int:
        """Calls that came back and are not in the ledger yet."""
        return len(self._back)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is out, waits to be stored, or waits for a limit."""
        return not self._sends and not self._back and not self._is_resting(self._runtime.now())

    async def step(
        self, worker: WorkerId, now: datetime, *, sending: bool = True
    ) -> ExchangeCounts:
        """Store what came back and send the next calls.

        What came back stays in memory until the ledger has it, however often that takes.
        """
        self.cancel_late(now)
        room = sending and self._has_room()
        may_claim = room and not self._is_resting(now)
        if not may_claim and not (self._back and (self._is_group(now) or not sending)):
            self._set_alarm(now)
            return ExchangeCounts()
        back = self._back[:]
        out = self._in_flight.copy()  # what comes back from here on is not stored by this exchange
        self._runtime.reach("before_record")
        outgoing, short = await self._exchange(back, worker if room else None, out, now)
        del self._back[: len(back)]
        self._back_since = now
        self._tell_notices()
        self._runtime.reach("after_claim" if outgoing else "after_record")
        for _, calls in groupby(outgoing, lambda item: item.context.lane_id):
            self._send_group(list(calls), now)
        return ExchangeCounts(len(back), len(outgoing), short)

    def _tell_notices(self) -> None:
        """Say what the ledger has by now and people should know."""
        notices, self._contexts.notices = self._contexts.notices, []
        for notice in notices:
            with suppress(OSError):  # whoever listened may be gone
                self.tell(notice)

    def _has_room(self) -> bool:
        return self.in_flight <= self.most - least_group(self.most)

    def _is_resting(self, now: datetime) -> bool:
        if self._rest.unheard and self._back and self._is_enough(now):
            return False
        return NOTHING < self._rest.until - now <= LONGEST_REST  # a clock may be set back

    def _is_group(self, now: datetime) -> bool:
        """Whether what came back is to be stored; while calls rest, that is with the next claim."""
        return not self._is_resting(now) and self._is_enough(now)

    def _is_enough(self, now: datetime) -> bool:
        """Whether what came back is worth a commit: a group, or nothing more is to be expected."""
        if len(self._back) >= self._enough:
            return True
        return not self._sends or not NOTHING <= now - self._back_since < GATHER

    def _set_alarm(self, now: datetime) -> None:
        """See to it that a step follows when the rest is over, or what came back waited enough."""
        if self._alarm is not None or not (self._back or self._is_resting(now)):
            return
        due = self._rest.until if self._is_resting(now) else self._back_since + GATHER
        if self._rest.unheard and self._back:
            due = min(due, self._back_since + GATHER)
        seconds = max(0.0, (due - now).total_seconds())
        self._alarm = asyncio.get_running_loop().call_later(seconds, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        self.returned.set()

    def _announce(self) -> None:
        """Wake whoever waits for calls, once a group came back."""
        if self.returned.is_set():
            return
        now = self._runtime.now()
        if self._is_group(now):
            self.returned.set()
        else:
            self._set_alarm(now)

    def _take_back(self, call: ReturnedCall) -> None:
        """Keep what came back until it is stored."""
        if not self._back:
            self._back_since = self._runtime.now()
        self._back.append(call)

    def _send_group(self, calls: list[Outgoing], now: datetime) -> None:
        """Send calls of one lane."""
        context = calls[0].context
        self._count(context, len(calls))
        self.most = max(self.most, context.policy.concurrency)
        timeout = self._times[context.facts.name].timeout(context.policy.call_timeout)
        deadline = Deadline(now, timeout, now + timedelta(seconds=timeout))
        create = asyncio.get_running_loop().create_task  # a group's own would cost as much again
        for call in calls:
            task = create(self._send(call, deadline))
            self._sends[call.call.attempt_id] = InFlight(task, deadline)

    def _count(self, context: LaneContext, change: int) -> None:
        self._in_flight[context.facts.name] += change
        self._in_flight[context.lane_id] += change

    def cancel_late(self, now: datetime) -> None:
        """Wait no longer for calls past their deadline: one look, instead of a timer for each."""
        late = [send.task for send in self._sends.values() if send.deadline.ends <= now]
        for task in late:
            task.cancel()

    def abandon(self) -> list[AttemptId]:
        """Wait no longer for what is in flight; returns which calls that are."""
        for send in self._sends.values():
            send.task.cancel()
        return list(self._sends)

    async def wait_until_idle(self) -> None:
        """Wait until nothing is in flight any more."""
        await asyncio.gather(*[send.task for send in self._sends.values()], return_exceptions=True)

    async def _exchange(
        self,
        back: list[ReturnedCall],
        worker: WorkerId | None,
        out: Counter[str | LaneId],
        now: datetime,
    ) -> tuple[list[Outgoing], bool]:
        """Record and claim in one transaction: the ledger syncs to disk once for both."""

        def exchange(tx: Transaction) -> tuple[list[Outgoing], bool]:
            if any(isinstance(call.outcome, CallFailure) for call in back):
                self._accounts.forget()  # a key may be to blame
            receive(tx, self._contexts, back, now)
            if worker is None or not tx.workers.is_worker_alive(worker):  # then it signs on first
                return [], False
            return self._claim(tx, worker, out, now)

        try:
            return await self._thread.transact(exchange)
        except BaseException:  # what was noted of this transaction may not be so
            self._accounts.forget()
            self._contexts.primed.clear()
            self._rest = LaneRest(now)
            raise

    def _claim(
        self, tx: Transaction, worker: WorkerId, out: Counter[str | LaneId], now: datetime
    ) -> tuple[list[Outgoing], bool]:
        """Claim lane by lane, a fair share of the room each; says whether one had less."""
        outgoing: list[Outgoing] = []
        short = False
        lanes = open_lanes(tx, self._contexts, now, self.only)
        lanes = self._rotate_lanes([lane for lane in lanes if lane.route == DIRECT])
        shares = Counter(lane.model for lane in lanes)
        rests: list[LaneRest] = []
        for lane in lanes:
            context = self._contexts.of_lane(tx, lane)
            if context.embeds and not tx.requests.count_queued_in_lane(lane.id, 1):
                continue  # where nothing is to be embedded, no key is missed
            window = self._window_of(tx, context, now)
            share = self._share_of(context, window, out, shares[lane.model])
            account = self._accounts.choose(tx, context, now) if share else None
            if account is None:
                continue
            sender = Sender(worker, account)
            claimed = claim(tx, self._contexts, context, sender, share, now)
            rests.append(self._contexts.rests[lane.id])
            short = short or (len(claimed) < share and rests[-1].until <= now)
            out[lane.model] += len(claimed)
            outgoing.extend(claimed)
            if claimed:
                self._last_lane = lane.id
        self._rest = min(rests, default=LaneRest(now))
        return outgoing, short

    def _window_of(self, tx: Transaction, context: LaneContext, now: datetime) -> int:
        """How many calls to a lane's model may be out."""
        name = context.facts.name
        throttle = self._throttles.get(name)
        if throttle is None:
            account = self._accounts.choose(tx, context, now)
            own = account is not None and is_own_server(context.provider, account.base_url)
            careful = own and not is_limited(context.facts.limits)
            throttle = Throttle(FIRST_WINDOW_OF_OWN_SERVERS if careful else FIRST_WINDOW)
            self._throttles[name] = throttle
        throttle.note_concurrency(context.policy.concurrency)
        return throttle.limit

    def _share_of(
        self, context: LaneContext, window: int, out: Counter[str | LaneId], lanes: int
    ) -> int:
        """How many calls a lane may send now, beside the other lanes of its model; 0: too few."""
        most = context.policy.concurrency
        room = min(window - out[context.facts.name], most - out[context.lane_id])
        most = min(most, window)
        self._enough = least_group(most)
        return max(0, min(room, -(-most // lanes))) if room >= self._enough else 0

    def _rotate_lanes(self, lanes: list[Lane]) -> list[Lane]:
        """Begin after the lane served last, so that a big run does not starve a small one."""
        later = [lane for lane in lanes if lane.id > self._last_lane]
        return later + [lane for lane in lanes if lane.id <= self._last_lane]

    async def _send(self, outgoing: Outgoing, deadline: Deadline) -> None:
        call, context = outgoing.call, outgoing.context
        try:
            provider = self._providers.provider(context.provider)
            account = outgoing.account
            if not account.key and account.options:  # a token may have to take the key's place
                account = await self._accounts.ready_account(account)
            sent = await provider.send(call, account)
            self._succeed(outgoing, provider, sent, deadline.sent)
        except asyncio.CancelledError:
            why = "interrupted before the answer came"
            if deadline.has_passed(self._runtime.now()):
                why = f"no answer within {deadline.timeout:g} s"
                self._times[context.facts.name].note_timeout(deadline.timeout)
            self._fail(outgoing, _lost_error(why), deadline.sent)
            raise
        except BaseException as error:
            self._fail(outgoing, _call_error(error), deadline.sent)
            if not isinstance(error, Exception):
                raise
        finally:
            self._count(context, -1)
            del self._sends[call.attempt_id]
            self._announce()

    def _succeed(
        self, outgoing: Outgoing, provider: Provider, sent: RawResponse, since: datetime
    ) -> None:
        raw = bytes(sent.raw)
        self._runtime.reach("after_send")
        attempt, reply = outgoing.call.attempt_id, decode_response(provider, raw)
        if isinstance(reply, Undecodable) and reply.odd and sent.problem:
            reply = Undecodable(sent.problem, reply.odd)
        if outgoing.context.embeds:
            reply = check_embeddings(outgoing.call, raw, reply)
        version, presumed = provider.decoder_version, outgoing.reserved
        answer = build_answer(outgoing.context, attempt, raw, reply, version, presumed)
        self._take_back(ReturnedCall(outgoing, answer, sent.rates))
        if answer.odd:
            return  # it says nothing of the model behind it
        name = outgoing.context.facts.name
        self._throttles[name].note_answer()
        self._times[name].note_answer((self._runtime.now() - since).total_seconds())
        self._absent.pop(name, None)
        self._answered.add(name)
        self._pushbacks.pop(name, None)
        self._failing = 0

    def _fail(self, outgoing: Outgoing, error: ProviderError, sent: datetime) -> None:
        name, now = outgoing.context.facts.name, self._runtime.now()
        error.absent = self._is_absent(name, error, now)
        error.url_in_name = outgoing.context.facts.has_url_in_name
        jitter = self._runtime.jitter()
        sent_with = outgoing.context.fallbacks_with(outgoing.account)
        failure = CallFailure(outgoing.call.attempt_id, error, jitter, outgoing.account, sent_with)
        self._take_back(ReturnedCall(outgoing, failure))
        if error.remedy is Remedy.WAIT and not error.of_rate:  # of that a rate is learnt instead
            self._throttles[name].note_pushback(now)
        elif error.remedy is Remedy.LOST:
            self._throttles[name].note_loss(sent, now)
        if self._is_notice_due(name, error, now) and self.sends_again:
            with suppress(OSError):  # whoever listened may be gone
                self.tell(f"{error}; trying again, later and later")

    def _is_notice_due(self, model: str, error: ProviderError, now: datetime) -> bool:
        """Whether one more failure is worth a line."""
        if error.remedy is Remedy.WAIT and model in self._answered:
            # push-back is part of the work, unless nothing else comes
            since, untold = self._pushbacks.setdefault(model, Pushback(now))
            if now - since < untold:
                return False
            self._pushbacks[model] = Pushback(since, 2 * (now - since))
            return True
        if error.remedy not in (Remedy.RETRY, Remedy.LOST, Remedy.WAIT):
            return False
        self._failing += 1
        return self._failing >= FAILURES_BEFORE_NOTICE and not self._failing & (self._failing - 1)

    def _is_absent(self, model: str, error: ProviderError, now: datetime) -> bool:
        """Whether nobody has listened at its address for so long that a person is to look."""
        if not error.absent:
            self._absent.pop(model, None)
            return False
        never = HOLD_WHEN_NEVER_SEEN_HERE_FOR if error.nearby else HOLD_WHEN_NEVER_SEEN_FOR
        patience = HOLD_WHEN_ABSENT_FOR if model in self._answered else never
        if now - self._absent.setdefault(model, now) < min(patience, HOLD_WHEN_ABSENT_FOR):
            return False
        del self._absent[model]  # the person's resume begins anew
        return True


def _call_error(error: BaseException) -> ProviderError:
    """What an error says of the call that it ended."""
    if isinstance(error, Undecodable):  # only a response can be that, and there is none
        return _lost_error(str(error))
    if isinstance(error, ProviderError):
        return error
    if isinstance(error, UsageError):  # nothing was sent
        return ProviderError(str(error), remedy=Remedy.FIX_ACCOUNT)
    return _lost_error(describe_error(error))


def _lost_error(message: str) -> ProviderError:
    return ProviderError(message, remedy=Remedy.LOST)
