"""Runs: one recipe version over one set of inputs, how it stands, and why it does not go on."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from quire.domain.data import JsonObject
from quire.domain.errors import Error
from quire.domain.ids import LaneId, RunId, StageId
from quire.domain.pricing import dollars, to_usd
from quire.domain.quantities import quantity
from quire.domain.reasons import Fields, HoldCause, HoldKind, HoldRemedy, StageWait
from quire.domain.states import RunState, StageState, TaskState
from quire.domain.wallets import RunMoney
from quire.domain.wording import hold_text, wait_text


class Hold(NamedTuple):
    """A reason why a run does not go on."""

    kind: HoldKind
    detail: str  # in words, as it was written down
    since: datetime
    cause: HoldCause | None = None  # None: an older version wrote it, and in other words
    fields: Fields = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run as the ledger keeps it; recipe, model and policy are what it was told at the start."""

    id: RunId
    recipe: JsonObject
    model: JsonObject
    policy: JsonObject
    state: RunState
    task_limit: int | None
    cancel_asked_at: datetime | None
    early_judged_at: datetime | None
    created_at: datetime
    ended_at: datetime | None
    funded: bool  # a wallet or a budget bounds what it spends
    started_by: str = ""  # a person, whose own keys it uses first; empty: nobody said who


class Wishes(NamedTuple):
    """What people want of a running run, read often."""

    run_id: RunId
    task_limit: int | None
    cancelling: bool
    deadline: datetime | None = None  # what batches then still owe goes direct
    stop_after: str | None = None  # only this stage and what it needs is carried out
    funded: bool = False  # a wallet or a budget bounds what it spends


class RunStage(NamedTuple):
    """A stage of a run, and how far it has been expanded."""

    id: StageId
    run_id: RunId
    name: str
    state: StageState
    cursor_document: int
    cursor_block: int
    expanded: int


ASKED_HOLDS = (HoldKind.USER, HoldKind.STOP_AFTER)  # somebody wished it so: nothing to mend
DIRECT, BATCH = "direct", "batch"  # how the requests of a lane travel


class Lane(NamedTuple):
    """A queue of requests that travel alike."""

    id: LaneId
    run_id: RunId
    stage_id: StageId
    model: str
    route: str = DIRECT
    serves: int = 1  # whether new packs go here, not to the stage's other lane
    stop_after: str | None = None  # the run's wish, where lanes that may send are listed
    funded: int = 0  # there too: whether a wallet or a budget bounds what its run spends


class Event(NamedTuple):
    """A line of history worth telling a person."""

    at: datetime
    kind: str  # an EventKind, or what another version calls it
    detail: str  # in words, as it was written down
    fields: Fields = MappingProxyType({})  # by name; none of one that an older version wrote
    id: int = 0  # its number: later ones are larger


class StallKind(StrEnum):
    """Why nothing moves in a run, or in one of its stages."""

    HELD = "held"
    CANCELLING = "cancelling"
    TASK_LIMIT = "task_limit"
    NO_WORKER = "no_worker"
    BACKOFF = "backoff"  # the provider asked to wait
    RATE_LIMIT = "rate_limit"  # we wait, to keep within its limits
    FUNDS = "funds"  # calls wait for money that others, which are out, have reserved
    BATCH = "batch"
    EARLY_CHECK = "early_check"  # the rest waits for the first tasks
    STAGE_WAITS = "stage_waits"
    PROPOSED = "proposed"  # results wait for their critics
    BLOCKED = "blocked"
    STALE = "stale"


class Stall(NamedTuple):
    """One reason why nothing moves."""

    kind: StallKind
    message: str
    more: str = ""  # where that is known: what it waits for, or what lets it go on

    def __str__(self) -> str:
        """Show as one line."""
        return f"{self.message}: {self.more}" if self.more else self.message


@dataclass(frozen=True, slots=True, kw_only=True)
class StageProgress:
    """How far one stage of a run is, from its tallies."""

    name: str
    state: StageState
    counts: Mapping[str, int]  # tasks by state
    judges: str = ""  # of a critic: the stage whose results it judges
    wait: StageWait | None = None  # why it has not begun, or is kept back
    stale: int = 0  # tasks whose results used what is no longer current

    @property
    def waits_for(self) -> str:
        """Why it has not begun, or is kept back, for a person."""
        return wait_text(self.wait)

    @property
    def critic(self) -> bool:
        """Whether it judges the results of another stage."""
        return bool(self.judges)

    @property
    def expanded(self) -> int:
        """Tasks made so far."""
        return sum(self.counts.values())

    @property
    def growing(self) -> bool:
        """Whether more tasks may come."""
        return self.state in (StageState.WAITING, StageState.EXPANDING)

    def count(self, *states: TaskState) -> int:
        """How many tasks are in one of these states."""
        return sum(self.counts.get(state, 0) for state in states)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Progress:
    """How far a run is, from its tallies."""

    run_id: RunId
    state: RunState
    total: int  # blocks in the run's inputs; of a recipe the tasks that are known so far
    expanded: int  # tasks made of them so far
    counts: Mapping[str, int]  # tasks by state
    packs: int = 0  # requests prepared
    packed_tasks: int = 0  # tasks in them
    splits: int = 0
    calls: int = 0  # answered
    resent: int = 0  # calls that had to be sent again
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_pico: int = 0  # picodollars, from usage
    presumed_pico: int = 0  # picodollars, of calls whose outcome or usage is unknown
    reused: int = 0  # tasks whose answers were there before
    saved_pico: int = 0  # picodollars that those answers had cost
    in_flight: int = 0  # direct calls that are out
    cut_off: int = 0  # direct calls that were out when their worker went, and were not sent again
    batches: int = 0  # at the provider, or on the way there
    next_poll_at: datetime | None = None  # when the next of them is looked at
    holds: tuple[Hold, ...] = ()
    task_limit: int | None = None
    cancelling: bool = False
    stages: tuple[StageProgress, ...] = ()
    noun: str = "block"  # what is counted: what a schema is asked of, or a recipe's tasks
    spent: bool = False  # its limit allows nothing more, and nothing is owed
    money: RunMoney | None = None  # where a wallet or a budget bounds what it spends
    workers: int | None = None  # that serve it; None: nobody looked
    is_simulated: bool = False  # all its answers are made up, and its dollars are no money

    def __repr__(self) -> str:
        """Say how the run stands, and why it does not go on."""
        return f"<quire run {self.run_id}: {self.standing}, {self.in_words}>"

    @property
    def in_words(self) -> str:
        """How far it is, what it cost, and why it does not go on."""
        counts = f"{self.done:,} of {quantity(self.total, self.noun)} done, {self.failed:,} failed"
        cost = dollars(self.cost_pico) + ", simulated" * self.is_simulated
        return "; ".join([f"{counts}, {cost}", *self.why])

    @property
    def standing(self) -> str:
        """How it stands in a word: its state, or cancelling, held or stopped.

        Stopped is what nobody holds and nothing moves: at its limit, or without a worker.
        """
        if self.cancelling:
            return "cancelling"
        if self.held:
            return "held"
        idle = self.spent or self.workers == 0
        return "stopped" if self.state == RunState.RUNNING and idle else self.state.value

    @property
    def why(self) -> tuple[str, ...]:
        """What holds it, a sentence each; none of a run that goes on or has ended."""
        return tuple(hold.detail for hold in self.holds) if self.held else ()

    @property
    def cost_usd(self) -> float:
        """Dollars that the provider's own counts come to."""
        return to_usd(self.cost_pico)

    @property
    def presumed_usd(self) -> float:
        """Dollars that may come on top: of calls whose outcome or usage nobody knows."""
        return to_usd(self.presumed_pico)

    @property
    def saved_usd(self) -> float:
        """Dollars that the answers had cost which were there before."""
        return to_usd(self.saved_pico)

    @property
    def held(self) -> bool:
        """Whether it does not go on until somebody acts; `holds` says why."""
        return self.state == RunState.RUNNING and bool(self.holds) and not self.cancelling

    @property
    def unasked_holds(self) -> tuple[Hold, ...]:
        """What holds it besides a pause or a stop that somebody asked for."""
        return tuple(hold for hold in self.holds if hold.kind not in ASKED_HOLDS)

    @property
    def is_staged(self) -> bool:
        """Whether it is more than a schema: then its stages are told one by one."""
        return self.noun == "task"

    @property
    def done(self) -> int:
        """Tasks with an accepted answer."""
        return self.counts.get(TaskState.DONE, 0)

    @property
    def failed(self) -> int:
        """Tasks that were given up."""
        return self.counts.get(TaskState.FAILED, 0)

    @property
    def out(self) -> int:
        """Tasks packed into a request that is queued or in flight."""
        return self.counts.get(TaskState.PACKED, 0)


class HeldError(Error):
    """The run does not go on until somebody acts; what it has so far is kept."""

    def __init__(
        self,
        progress: Progress,
        again: str = "",
        partial: object = None,
    ) -> None:
        """Say what holds it, each with what helps.

        `again` is what goes on then, where that is not the run's handle; `partial` is what its
        caller would have got.
        """
        self.progress, self.partial = progress, partial
        run = progress.run_id
        reasons = "; ".join(_hold_words(hold, run, again) for hold in progress.unasked_holds)
        super().__init__(f"run {run} is held: {reasons}")


def _hold_words(hold: Hold, run: RunId, again: str) -> str:
    """What holds a run, and what a script does about it."""
    if hold.cause is None or hold.cause.remedy is HoldRemedy.ADOPT:
        return f"{hold.detail}; then {again or '`run.wait()`'}"
    resume = again or "`run.resume()` and `run.wait()`"
    return hold_text(hold.cause, {**hold.fields, "run": run}, resume)
