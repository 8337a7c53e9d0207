"""Row counts: how many rows of each standing the stages of a run have, from sums that are kept."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from quire.domain.ids import StageId
from quire.domain.recipes import Stage
from quire.domain.states import ReviewState, TaskState
from quire.export.result_selection import (
    ACCEPTED,
    ALL,
    CONFIRMED,
    ONLY,
    PENDING,
    UNREVIEWED,
    ResultSource,
    is_block_by_block,
    is_review_required,
    task_status,
)
from quire.ledger.ledger import Transaction

COUNTED = 10_000  # confirmed results, which nobody sums: beyond, there are more
CONFIRMING = (ReviewState.APPROVED, ReviewState.EDITED)


class RowCount(NamedTuple):
    """How many rows there are."""

    rows: int
    exact: bool = True  # else at least so many


def count_statuses(tally: Mapping[str, int]) -> Counter[str]:
    """How many tasks of a stage stand how, by its tally; what was confirmed is accepted."""
    rows: Counter[str] = Counter()
    for state in TaskState:
        rows[task_status(state)] += tally.get(state, 0)
    return rows


def count_exported(
    tx: Transaction, source: ResultSource, stage: Stage, tally: Mapping[str, int]
) -> dict[str, RowCount]:
    """How many rows an export of a stage has, by what it is limited to."""
    rows = count_statuses(tally)
    if is_block_by_block(stage):  # a block that nobody asked about yet has its row too
        missing = tx.runs.count_run_inputs(source.run.id)[1] - sum(rows.values())
        rows[PENDING] += max(0, missing)
    counts = {only: RowCount(rows[only]) for only in ONLY}
    counts[ALL] = RowCount(sum(rows.values()))
    counts[CONFIRMED] = confirmed = count_confirmed(tx, source.stage_ids[stage.name])
    if is_review_required(source.run):
        waiting = RowCount(max(0, rows[ACCEPTED] - confirmed.rows), confirmed.exact)
        counts |= {ACCEPTED: confirmed, UNREVIEWED: waiting}
    return counts


def count_confirmed(tx: Transaction, stage: StageId, most: int = COUNTED) -> RowCount:
    """How many results of a stage a person has confirmed, counted up to a bound."""
    found = [tx.inbox.count_decided(stage, review, most) for review in CONFIRMING]
    return RowCount(sum(found), max(found) < most)
