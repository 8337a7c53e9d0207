"""The audit: a random sample of a stage is marked blind, and tells how often each field is wrong.

The sample is a simple random one without replacement, drawn by a seed from all accepted results of
the stage, in the order of their keys, so that whoever has the ledger draws the same. Marks change
no result. At the full number the interval is Clopper and Pearson's. Before, somebody who looks
after each mark would stop when it pleases, so that only a confidence sequence may end an audit
early; what it has shown at any look stays shown, at the full number too. What a person is unsure of
counts against whatever is to be shown: as wrong where the tolerance would be met, as right where it
would be missed. Where every result there is was marked, nothing is estimated: the shares are what
they are.
"""

import random
from collections.abc import Mapping, Sequence
from datetime import datetime

from quire.domain.audits import (
    AuditHead,
    AuditItem,
    AuditMark,
    AuditReport,
    AuditVerdict,
    FieldRate,
)
from quire.domain.data import stored_json
from quire.domain.errors import NotFound, UsageError
from quire.ledger.ledger import Transaction
from quire.ledger.stored_values import from_micros
from quire.ledger.tables.audits import AuditRow, NewAudit
from quire.pipeline.commands.review_trail import reviewer_name
from quire.pipeline.run_spec import RunSpec
from quire.planning.confidence_sequences import bound_share_so_far
from quire.planning.share_estimates import estimate_exact_share
from quire.review.inbox import reviewed_stages
from quire.review.item_view import field_views, input_texts, must_get_row, source_text

MILLION = 1_000_000
MOST_ITEMS = 100_000
MOST_SEED = 2**62


def start_audit(
    tx: Transaction, spec: RunSpec, asked: NewAudit, who: str, now: datetime
) -> AuditHead:
    """Draw a sample, or go on with the one that was drawn for the same words."""
    _check_asked(asked)
    number = tx.audits.find_audit(asked)
    if number is None:
        population = tx.audits.audit_population(asked.stage_id)
        if not population:
            name = spec.stages[asked.stage_id].name
            raise UsageError(f"{name} of run {spec.run_id} has no accepted result to audit")
        size = min(asked.size, len(population))
        drawn = random.Random(asked.seed).sample(population, size)  # noqa: S311 - seeded, to repeat
        fitting = asked._replace(size=size)
        number = tx.audits.find_audit(fitting)
        if number is None:
            number = tx.audits.add_audit(fitting, len(population), reviewer_name(who), now)
            tx.audits.add_audit_items(number, [(task, result) for result, task in drawn])
    return audit_head(tx, number)


def find_audit(tx: Transaction, asked: NewAudit) -> AuditHead | None:
    """The sample that was drawn for the same words, if one was."""
    _check_asked(asked)
    number = tx.audits.find_audit(asked)
    if number is None:
        population = tx.audits.audit_population(asked.stage_id)
        number = tx.audits.find_audit(asked._replace(size=min(asked.size, len(population))))
    return None if number is None else audit_head(tx, number)


def _check_asked(asked: NewAudit) -> None:
    if not 1 <= asked.size <= MOST_ITEMS:
        raise UsageError(f"a sample has 1 to {MOST_ITEMS:,} results, not {asked.size:,}")
    if not 0 < asked.tolerance < MILLION:
        raise UsageError("a tolerance is a share between 0 and 1, such as 0.02")
    if not 0 <= asked.seed < MOST_SEED:
        raise UsageError("a seed is a whole number from 0 on")


def asked_audit(
    spec: RunSpec, stage: str | None, size: int, tolerance: float, seed: int
) -> NewAudit:
    """What was asked for, with the stage that is meant."""
    stages = reviewed_stages(spec, stage)
    if len(stages) > 1:
        names = ", ".join(spec.stages[number].name for number in stages)
        raise UsageError(f"an audit is about one stage: {names}", "--stage NAME")
    return NewAudit(spec.run_id, stages[0], size, round(tolerance * MILLION), seed)


def must_get_audit(tx: Transaction, audit: int) -> AuditRow:
    """An audit, or that there is none."""
    row = tx.audits.get_audit(audit)
    if row is None:
        raise NotFound(f"there is no audit {audit}; `quire audit RUN` begins one")
    return row


def audit_head(tx: Transaction, audit: int) -> AuditHead:
    """What an audit is about, and how far it is."""
    row = must_get_audit(tx, audit)
    return AuditHead(
        id=row.id,
        run_id=row.run_id,
        stage=row.stage,
        size=row.size,
        population=row.population,
        tolerance=row.tolerance / MILLION,
        seed=row.seed,
        who=row.who,
        started_at=from_micros(row.started_at),
        marked=row.marked,
        ended=row.marked >= row.size,
    )


def audit_item(tx: Transaction, spec: RunSpec, audit: int, no: int) -> AuditItem:
    """One item, with nothing about who answered, who judged, or what was decided."""
    found = tx.audits.audit_item(audit, no)
    if found is None:
        raise NotFound(f"audit {audit} has no item {no}; they are numbered from 0")
    task, _, text = found
    row, data = must_get_row(tx, task), stored_json(text)
    return AuditItem(
        audit_id=audit,
        no=no,
        task_id=task,
        data=data,
        fields=tuple(field_views(spec.stages[row.stage_id], data)),
        source=source_text(tx, row),
        inputs=input_texts(tx, task),
        marks=tx.audits.marks_of_item(audit, no),
    )


def mark_item(
    tx: Transaction,
    spec: RunSpec,
    place: tuple[int, int],
    marks: Mapping[str, AuditMark | str],
    request: tuple[str, datetime],
) -> AuditReport:
    """Keep what a person says of every field of an item; what was said before makes way."""
    audit, no = place
    who, now = request
    item = audit_item(tx, spec, audit, no)
    names = [view.name for view in item.fields]
    unknown = [name for name in marks if name not in names]
    missing = [name for name in names if name not in marks]
    if unknown or missing:
        problem = f"no field {unknown[0]!r}" if unknown else f"no mark for {missing[0]!r}"
        raise UsageError(f"there is {problem}: every field is marked", ", ".join(names))
    read = {name: _read_mark(mark) for name, mark in marks.items()}
    if item.data is None and set(read.values()) - {AuditMark.UNSURE}:
        raise UsageError(
            f"item {no} was erased with its document: nobody sees what it said",
            "mark every field unsure",
        )
    tx.audits.forget_marks(audit, no)
    tx.audits.add_marks(place, read, reviewer_name(who), now)
    tx.audits.note_audit_item(audit, no, now)
    return audit_report(tx, spec, audit)


def _read_mark(mark: AuditMark | str) -> AuditMark:
    try:
        return AuditMark(mark)
    except ValueError:
        raise UsageError(f"a mark is {', '.join(AuditMark)}, not {mark!r}") from None


def audit_report(tx: Transaction, spec: RunSpec, audit: int) -> AuditReport:
    """How often each field is wrong, as far as was marked, and whether one may stop."""
    row, head = must_get_audit(tx, audit), audit_head(tx, audit)
    counts, stage = tx.audits.count_marks(audit), spec.stages[row.stage_id]
    strikes = tx.audits.audit_strikes(audit)
    known = list(stage.schema.properties) if stage.schema else []
    names = dict.fromkeys((*known, *(field for field, _ in counts)))
    fields = tuple(
        field_rate(
            name,
            {mark: counts.get((name, mark), 0) for mark in AuditMark},
            [(mark, place) for field, mark, place in strikes if field == name],
            head,
        )
        for name in names
    )
    verdicts = {rate.verdict for rate in fields}
    if AuditVerdict.MISSED in verdicts:
        verdict = AuditVerdict.MISSED
    else:
        verdict = AuditVerdict.MET if verdicts == {AuditVerdict.MET} else AuditVerdict.GO_ON
    return AuditReport(head=head, fields=fields, verdict=verdict, complete=head.ended)


def field_rate(
    name: str,
    marks: Mapping[AuditMark, int],
    strikes: Sequence[tuple[AuditMark, int]],
    head: AuditHead,
) -> FieldRate:
    """How often one field is wrong, with both intervals and what they say of the tolerance.

    `strikes` tells at which of the field's marks, counted from 1, something was not right.
    """
    right, wrong, unsure = (marks[mark] for mark in AuditMark)
    total, exact = right + wrong + unsure, estimate_exact_share(wrong, right + wrong)
    surely = [place for mark, place in strikes if mark == AuditMark.WRONG]
    low, high = bound_share_so_far(surely, [place for _, place in strikes], total, head.population)
    counted = wrong / head.population, 1 - right / head.population  # beyond these it cannot be
    interval = max(exact.low, counted[0]), min(exact.high, counted[1])
    least, most = low, high
    if head.ended and head.size >= head.population:
        least, most = wrong / max(1, total), (wrong + unsure) / max(1, total)
        interval = least, most
    elif head.ended:
        first = max(low, estimate_exact_share(wrong, total).low)
        last = min(high, estimate_exact_share(wrong + unsure, total).high)
        if first <= last:  # else the sequence spoke first
            least, most = first, last
    return FieldRate(
        field=name,
        right=right,
        wrong=wrong,
        unsure=unsure,
        rate=exact.share if exact.of else None,
        low=interval[0],
        high=interval[1],
        sequence_low=low,
        sequence_high=high,
        least=least,
        most=most,
        verdict=_verdict(least, most, head.tolerance),
    )


def _verdict(least: float, most: float, tolerance: float) -> AuditVerdict:
    if most <= tolerance:
        return AuditVerdict.MET
    return AuditVerdict.MISSED if least > tolerance else AuditVerdict.GO_ON
