"""Standing reasons: why a run does not move, as a page says it, each with the buttons that help."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from quire.domain.data import Json
from quire.domain.quantities import quantity
from quire.domain.reasons import HoldCause, HoldKind
from quire.domain.runs import Hold, Progress, Stall, StallKind
from quire.domain.wording import enough_money, hold_text, needs_text
from quire.engine.progress_words import plain_words

SEE_FAILURES = (HoldKind.FAILURES, HoldKind.REFUSED, HoldKind.UNDECODABLE)


class StandingAct(NamedTuple):
    """A button that helps: a call of the API, or a place to go to."""

    name: str
    command: str  # that does the same
    href: str = ""
    post: str = ""
    body: Mapping[str, Json] = {}
    cost: int | None = None  # picodollars, about
    asks_budget: bool = False  # an amount is typed beside it


class StandingReason(NamedTuple):
    """One reason, in words."""

    words: str
    acts: tuple[StandingAct, ...] = ()
    needs: bool = False  # somebody has to act


def standing_reasons(
    now: Progress, stalls: Sequence[Stall], task_cost: int | None, stale_cost: int | None
) -> Iterator[StandingReason]:
    """Why a run does not move; `task_cost`: picodollars that a task took so far, on average.

    `stale_cost`: what making its stale results again will cost.
    """
    yield from (_hold_reason(now, hold) for hold in now.holds if hold.kind is not HoldKind.USER)
    kinds = {stall.kind for stall in stalls}
    if StallKind.TASK_LIMIT in kinds:
        yield _limit_reason(now, task_cost)
    if StallKind.NO_WORKER in kinds:
        words = "No worker is running: nothing is sent until one is."
        yield StandingReason(words, (StandingAct("", f"quire attach {now.run_id}"),))
    if StallKind.STALE in kinds:
        yield _stale_reason(now, stale_cost)
    others = (StallKind.HELD, StallKind.TASK_LIMIT, StallKind.NO_WORKER, StallKind.STALE)
    yield from (StandingReason(plain_words(str(one))) for one in stalls if one.kind not in others)


def is_paused(now: Progress) -> bool:
    """Whether a person holds it, and nothing else."""
    return now.held and all(hold.kind is HoldKind.USER for hold in now.holds)


def hold_words(run: int, hold: Hold) -> str:
    """What holds a run; the button that lets it go on stands beside it."""
    if hold.cause is HoldCause.BUDGET_SPENT:
        return f"its budget needs {needs_text(hold.fields)}"
    if hold.cause is HoldCause.WALLET_EMPTY:
        return f"wallet {hold.fields['wallet']} needs {needs_text(hold.fields)}"
    if hold.cause is None:
        return hold.detail
    return hold_text(hold.cause, {**hold.fields, "run": run}, "Resume")


def hold_acts(run: int, hold: Hold) -> Iterator[StandingAct]:
    """What helps against a hold, besides going on."""
    if hold.cause is HoldCause.BUDGET_SPENT:
        command = f"quire resume {run} --budget {enough_money(hold.fields)}"
        post = f"/v1/runs/{run}/resume"
        yield StandingAct("Raise its budget", command, post=post, asks_budget=True)
    if hold.cause is HoldCause.WALLET_EMPTY:
        command = f"quire wallet credit {hold.fields['wallet']} {enough_money(hold.fields)}"
        yield StandingAct("Credit the wallet", command, "/spend#wallets")
    if hold.kind is HoldKind.CREDENTIAL:
        yield StandingAct("Add a key", "quire keys add PROVIDER", "/settings#keys-title-section")
    if hold.kind in SEE_FAILURES:
        yield StandingAct("See failures", f"quire failures {run}", f"/runs/{run}/failures")


def _hold_reason(now: Progress, hold: Hold) -> StandingReason:
    acts = tuple(hold_acts(now.run_id, hold))
    return StandingReason(hold_words(now.run_id, hold), acts, needs=True)


def _limit_reason(now: Progress, task_cost: int | None) -> StandingReason:
    limit, left = now.task_limit or 0, max(0, now.total - now.expanded)
    act = StandingAct(
        f"Go on with the other {left:,}" if left else "Go on",
        f"quire resume {now.run_id} --no-limit",
        post=f"/v1/runs/{now.run_id}/resume",
        body={"no_limit": True},
        cost=None if task_cost is None else task_cost * left,
    )
    words = f"It was limited to {quantity(limit, now.noun)}, and stopped there."
    return StandingReason(words, (act,))


def _stale_reason(now: Progress, cost: int | None) -> StandingReason:
    stages = [stage for stage in now.stages if stage.stale]
    count = sum(stage.stale for stage in stages)
    which = ", ".join(f"{stage.stale:,} of {stage.name}" for stage in stages)
    act = StandingAct(
        f"Make {count:,} again",
        f"quire retry {now.run_id} --stale",
        post=f"/v1/runs/{now.run_id}/retry",
        body={"stale": True},
        cost=cost,
    )
    were = "was" if count == 1 else "were"
    words = f"{quantity(count, 'result')} {were} made from what has changed since: {which}."
    return StandingReason(words, (act,))
