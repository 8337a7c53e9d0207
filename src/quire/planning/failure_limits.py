"""Failure limits: from which share of failures, or cost over forecast, a run is held.

A stage is watched over a window of its newest answers: what its sums say now, less what they said
where the window began. Four things hold the run, each as soon as it is certain that the window will
show it: its first calls all came to nothing; too many tasks failed; too many answers did not do;
or they cost far more than was forecast of what was asked. A task lost in company is asked again
several times before it fails, and each of those answers is paid: hence answers are counted as well
as tasks, and calls while nothing has succeeded yet.

Whoever goes on after a hold has seen how bad it is: a new window begins, and the run is held again
only if that gets worse.
"""

from collections.abc import Mapping
from typing import NamedTuple

from quire.domain.policy import Policy
from quire.domain.reasons import HoldCause
from quire.domain.states import TaskState

WINDOW = 50  # tasks that ended, or answers about tasks; fewer prove nothing
FIRST_CALLS = 5  # answered, and nothing of any of them was accepted
FEW_TASKS = 10  # still owed: holding a run for so few saves nothing
REFUSED_PERCENT = 50  # of answers about tasks
NEVER = 100  # percent: whatever fails, the run goes on
WORSE = 10  # percent more than what a person has accepted

# names of tallies, beside those of tasks by state
FAILED_CALLS, REFUSED, COST, EXPECTED = "failed_calls", "refused_answers", "cost", "expected_cost"
REUSED, SAVED = "reused", "saved"  # answers taken from elsewhere, and what those had cost
_STATES = (TaskState.DONE, TaskState.PROPOSED, TaskState.FAILED)
_OWED = (TaskState.READY, TaskState.PACKED, TaskState.PROPOSED)  # a critic may send one back
_WATCHED = (*_STATES, REFUSED, COST, EXPECTED, FAILED_CALLS)


class Shares(NamedTuple):
    """What went wrong in a window, in percent; or how much of it is allowed."""

    failed: int  # of the tasks that ended
    refused: int  # of the answers about tasks
    cost: int  # of what was forecast


class LimitExcess(NamedTuple):
    """What is more than the limits allow."""

    cause: HoldCause
    number: int
    of: int

    @property
    def percent(self) -> int:
        """How much that is."""
        return _percent(self.number, self.of)


class StageWindow(NamedTuple):
    """A stage's newest answers, and what is allowed of them."""

    accepted: int  # answers about tasks
    judged_well: int  # tasks that are done, or wait for a critic since
    failed: int  # tasks
    refused: int  # answers about tasks
    cost: int
    expected: int  # that the tasks asked for the first time were forecast to cost
    vain_calls: int  # as long as nothing of the stage was ever accepted, else 0
    owed: int  # tasks
    overtaken: bool  # work was done over: the sums are below where it began
    allowed: Shares  # by a person who went on; 0 where nobody was asked

    @property
    def outcomes(self) -> int:
        """Tasks that came to an end."""
        return self.judged_well + self.failed

    @property
    def answers(self) -> int:
        """Answers about single tasks."""
        return self.accepted + self.refused

    @property
    def is_full(self) -> bool:
        """Whether another is to begin: in this one what comes next would hardly show."""
        return self.overtaken or max(self.outcomes, self.answers) >= 2 * WINDOW

    @property
    def shares(self) -> Shares:
        """What went wrong in it."""
        return Shares(
            _percent(self.failed, self.outcomes),
            _percent(self.refused, self.answers),
            _percent(self.cost, self.expected),
        )


def read_window(sums: Mapping[str, int]) -> StageWindow:
    """A stage's window by the sums of its tallies.

    Fewer tasks may wait for a critic than when it began, without anything done over: those that
    the critic passed are done, those that it vetoed are asked again or failed.
    """
    since = {name: sums.get(name, 0) - sums.get(f"window_{name}", 0) for name in _WATCHED}
    done, proposed, failed = (since[state] for state in _STATES)
    return StageWindow(
        accepted=max(0, done + proposed),
        judged_well=max(0, done) + max(0, proposed),
        failed=max(0, failed),
        refused=since[REFUSED],
        cost=since[COST],
        expected=since[EXPECTED],
        overtaken=min(since[name] for name in _WATCHED if name != TaskState.PROPOSED) < 0,
        vain_calls=0 if _accepted_of(sums) > sums.get(REUSED, 0) else since[FAILED_CALLS],
        owed=sum(sums.get(state, 0) for state in _OWED),
        allowed=Shares(*(sums.get(f"allowed_{name}", 0) for name in Shares._fields)),
    )


def new_window(sums: Mapping[str, int], allowed: Shares | None = None) -> dict[str, int]:
    """The tallies that let a window begin where the sums stand, with what is allowed in it."""
    begun = {name: sums.get(name, 0) for name in _WATCHED} | {EXPECTED: _expected_of_ended(sums)}
    wanted = {f"window_{name}": value for name, value in begun.items()}
    if allowed is not None:
        wanted |= {f"allowed_{name}": value for name, value in allowed._asdict().items()}
    return {name: value - sums.get(name, 0) for name, value in wanted.items()}


def _expected_of_ended(sums: Mapping[str, int]) -> int:
    """What the tasks that ended were forecast to cost.

    A forecast is counted when a task is packed, its cost when the answer is there: whatever is out
    when a window begins costs in that window, so its forecast belongs there too.
    """
    expected, out = sums.get(EXPECTED, 0), sums.get(TaskState.PACKED, 0)
    ended = _accepted_of(sums) + sums.get(TaskState.FAILED, 0)
    return expected * ended // (ended + out) if out else expected


def accepted_shares(window: StageWindow) -> Shares:
    """What is allowed once a person, who has seen this window, goes on."""
    return Shares(
        *(
            max(before, seen + WORSE)
            for before, seen in zip(window.allowed, window.shares, strict=True)
        )
    )


def find_excess(window: StageWindow, policy: Policy) -> LimitExcess | None:
    """What holds the run, if anything does."""
    if window.owed <= FEW_TASKS:
        return None
    failed, refused, cost = window.allowed
    first_calls_failed = window.vain_calls >= FIRST_CALLS and not any(window.allowed)
    if first_calls_failed and policy.hold_failed_percent < NEVER:
        return LimitExcess(HoldCause.FIRST_CALLS_FAILED, window.vain_calls, window.vain_calls)
    most = max(failed, policy.hold_failed_percent)
    if window.failed * 100 > max(WINDOW, window.outcomes) * most:
        return LimitExcess(HoldCause.TASKS_FAILING, window.failed, window.outcomes)
    most = max(refused, REFUSED_PERCENT, policy.hold_failed_percent)
    if window.refused * 100 > max(WINDOW, window.answers) * most:
        return LimitExcess(HoldCause.ANSWERS_FAILING, window.refused, window.answers)
    most = max(cost, policy.hold_cost_percent)
    if window.answers >= WINDOW and window.cost * 100 > window.expected * most > 0:
        return LimitExcess(HoldCause.COST_OVER_FORECAST, window.cost, window.expected)
    return None


def _accepted_of(sums: Mapping[str, int]) -> int:
    return sums.get(TaskState.DONE, 0) + sums.get(TaskState.PROPOSED, 0)


def _percent(number: int, of: int) -> int:
    return -(-number * 100 // of) if of else 0
