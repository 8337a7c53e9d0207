"""Needs: what waits for a person, each in one line with what to do about it."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from quire.domain.audits import AuditVerdict
from quire.domain.quantities import quantity
from quire.domain.reasons import HoldRemedy
from quire.domain.reviews import InboxCounts
from quire.domain.runs import Hold
from quire.domain.states import BatchState
from quire.engine import Engine
from quire.web.page_words import percent
from quire.web.run_lines import RunLine
from quire.web.standing_reasons import hold_acts, hold_words

NO_REASON = "none"  # nothing speaks against it: nobody has looked

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

    kind: str  # held, review, audit or unknown
    run: int
    words: str
    acts: tuple[NeedAct, ...]


def find_needs(engine: Engine, lines: Sequence[RunLine]) -> tuple[list[PersonNeed], int]:
    """What waits for a person, of these runs: holds, results, batches that nobody knows of.

    And how many results nobody has looked at that nothing speaks against.
    """
    held = [need for line in lines for need in _hold_needs(line)]
    counts = {line.head.id: engine.review.counts(line.head.id) for line in lines if line.now.done}
    reviews = [need for run, count in counts.items() for need in _review_needs(run, count)]
    unreviewed = sum(count.by_reason.get(NO_REASON, 0) for count in counts.values())
    audits = [need for line in lines if line.now.done for need in _audit_needs(engine, line)]
    return [*held, *reviews, *audits, *_batch_needs(engine, lines)], unreviewed


def _hold_needs(line: RunLine) -> Iterator[PersonNeed]:
    run = line.head.id
    for hold in line.now.unasked_holds if line.is_running else ():
        acts = tuple(_hold_acts(run, hold))
        yield PersonNeed("held", run, f"run {run} is held: {hold_words(run, hold)}", acts)


def _hold_acts(run: int, hold: Hold) -> Iterator[NeedAct]:
    for act in hold_acts(run, hold):
        yield NeedAct(act.name, act.href or f"/runs/{run}", command=act.command)
    if hold.cause is None or hold.cause.remedy is not HoldRemedy.PAY:
        yield NeedAct("Resume", post=f"/v1/runs/{run}/resume", command=f"quire resume {run}")


def _review_needs(run: int, counts: InboxCounts) -> Iterator[PersonNeed]:
    """Results that want a person for a reason; that nobody has looked at the rest is no reason."""
    reasons = {name: count for name, count in counts.by_reason.items() if count}
    rest = reasons.pop(NO_REASON, 0)
    if not reasons:
        return
    total = sum(reasons.values())
    shares = ", ".join(f"{count:,} {REASONS.get(name, name)}" for name, count in reasons.items())
    wants = "wants" if total == 1 else "want"
    words = f"{quantity(total, 'result')} of run {run} {wants} a person: {shares}"
    if rest:
        against = "it" if rest == 1 else "them"
        words += f"; nobody has looked at {rest:,} more, nothing speaks against {against}"
    act = NeedAct("Review", f"/runs/{run}/review", command=f"quire review {run}")
    yield PersonNeed("review", run, words, (act,))


def _audit_needs(engine: Engine, line: RunLine) -> Iterator[PersonNeed]:
    """Stages whose newest audit with a verdict missed its tolerance."""
    run, stages = line.head.id, set[str]()
    for head in reversed(engine.review.audits(run)):
        if not head.marked or head.stage in stages:
            continue
        report = engine.review.audit_report(head.id)
        if report.verdict is AuditVerdict.GO_ON:
            continue
        stages.add(head.stage)
        missed = [rate for rate in report.fields if rate.verdict is AuditVerdict.MISSED]
        if missed:
            fields = ", ".join(f"{rate.field} (at least {percent(rate.least)})" for rate in missed)
            words = (
                f"audit {head.id} of run {run} missed its tolerance of {percent(head.tolerance)}:"
                f" {head.stage} is wrong too often in {fields}"
            )
            look = NeedAct("Look", f"/audits/{head.id}", command=f"quire audit {run} --report")
            yield PersonNeed("audit", run, words, (look,))


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
                look = NeedAct("Look", f"/runs/{run}/batches", command=f"quire batches {run}")
                yield PersonNeed("unknown", run, words, (look,))
