"""Needs: what waits for a person, each in one line with what to do about it."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from quire.domain.quantities import quantity
from quire.domain.reasons import HoldKind, HoldRemedy
from quire.domain.runs import Hold
from quire.domain.states import BatchState
from quire.engine import Engine
from quire.web.run_lines import RunLine

REASONS = {  # of the inbox, as they are told here
    "objected": "objected to",
    "low_score": "with a low score",
    "disagreement": "that models disagree about",
    "stray_ids": "of packs with stray ids",
}


class NeedAct(NamedTuple):
    """What can be done about it: a link, or a call of the API."""

    name: str
    href: str = ""
    post: str = ""
    command: str = ""


class PersonNeed(NamedTuple):
    """One thing that waits for a person."""

    kind: str  # held, review or unknown
    run: int
    words: str
    acts: tuple[NeedAct, ...]


def find_needs(engine: Engine, lines: Sequence[RunLine]) -> list[PersonNeed]:
    """What waits for a person, of these runs: holds, results, batches that nobody knows of."""
    held = [need for line in lines for need in _hold_needs(line)]
    reviews = [need for line in lines for need in _review_needs(engine, line)]
    return [*held, *reviews, *_batch_needs(engine, lines)]


def _hold_needs(line: RunLine) -> Iterator[PersonNeed]:
    run = line.head.id
    for hold in line.now.unasked_holds if line.is_running else ():
        acts = tuple(_hold_acts(run, line, hold))
        yield PersonNeed("held", run, f"run {run} is held: {hold.detail}", acts)


def _hold_acts(run: int, line: RunLine, hold: Hold) -> Iterator[NeedAct]:
    if hold.cause is not None and hold.cause.remedy is HoldRemedy.PAY:
        wallet = line.now.money.wallet if line.now.money else None
        command = f"quire wallet credit {wallet} AMOUNT" if wallet else f"quire resume {run}"
        yield NeedAct("credit" if wallet else "raise its budget", f"/runs/{run}", command=command)
    if hold.kind is HoldKind.CREDENTIAL:
        yield NeedAct("add a key", "/settings#keys", command="quire keys add")
    if hold.kind in (HoldKind.FAILURES, HoldKind.REFUSED, HoldKind.UNDECODABLE):
        yield NeedAct("see failures", f"/runs/{run}?tab=failures", command=f"quire failures {run}")
    yield NeedAct("resume", post=f"/v1/runs/{run}/resume", command=f"quire resume {run}")


def _review_needs(engine: Engine, line: RunLine) -> Iterator[PersonNeed]:
    """Results that want a person for a reason; that nobody has looked at the rest is no reason."""
    run = line.head.id
    if not line.now.done:
        return
    counts = engine.review.counts(run)
    reasons = {name: count for name, count in counts.by_reason.items() if name != "none" and count}
    if not reasons:
        return
    total = sum(reasons.values())
    shares = ", ".join(f"{count:,} {REASONS.get(name, name)}" for name, count in reasons.items())
    wants = "wants" if total == 1 else "want"
    words = f"{quantity(total, 'result')} of run {run} {wants} a person: {shares}"
    act = NeedAct("review", f"/runs/{run}/review", command=f"quire review {run}")
    yield PersonNeed("review", run, words, (act,))


def _batch_needs(engine: Engine, lines: Sequence[RunLine]) -> Iterator[PersonNeed]:
    for line in lines:
        if not line.now.batches:
            continue
        run = line.head.id
        for batch in engine.batches(run):
            if batch.state == BatchState.UNKNOWN:
                provider = batch.model.partition("/")[0]
                words = (
                    f"batch {batch.id} ({provider}) of run {run}: nobody knows whether it was made;"
                    " it is looked for again by itself"
                )
                look = NeedAct("look", f"/runs/{run}?tab=batches", command=f"quire batches {run}")
                yield PersonNeed("unknown", run, words, (look,))
