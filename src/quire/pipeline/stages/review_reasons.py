"""Review reasons: what in the making of a result calls for a person, kept with it as it is made.

Whoever opens an inbox of a million results must not read a million rows to order them. So every
result carries its reasons, and the rank of the first, from the moment it is accepted; what critics
say later, what other models say of the same, and what becomes of its inputs changes them there and
then. A result that critics are still to judge has no rank: it is in nobody's inbox.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter

from quire.domain.data import Json, stored_json
from quire.domain.gates import NoteKind, ReadingNote
from quire.domain.ids import StageId, TaskId
from quire.domain.reviews import LOW_SCORE_BELOW, ReviewReason, rank_from_bits
from quire.ledger.ledger import Transaction
from quire.pipeline.run_spec import RunSpec
from quire.planning.critic_standing import critic_standing

REPAIRS = frozenset((NoteKind.CONVERTED, NoteKind.DROPPED, NoteKind.INCOMPLETE))
THOUSAND = 1000
_REPAIRED, _STRAY = ReviewReason.REPAIRED.bit, ReviewReason.STRAY_IDS.bit


def acceptance_bits(tries: int, notes: Iterable[ReadingNote], *, strayed: bool = False) -> int:
    """Why an answer wants a person that is accepted now, as bits."""
    bits = _STRAY if strayed else 0
    if tries or (notes and any(note.kind in REPAIRS for note in notes)):
        bits |= _REPAIRED
    return bits


def inbox_rank(spec: RunSpec, stage: StageId, bits: int) -> int | None:
    """Where a new result stands in the order of need; None: critics, or what they judge first."""
    recipe_stage = spec.stages[stage]
    if recipe_stage.critic or spec.critics_of(recipe_stage):
        return None
    return rank_from_bits(bits)


def rank_criticised(
    tx: Transaction,
    spec: RunSpec,
    words: Iterable[tuple[StageId, TaskId, Json]],
    judged: Sequence[TaskId],
) -> None:
    """Let results into the inbox that their critics have judged, with what these said."""
    wanted, objected, scores = set(judged), set[TaskId](), defaultdict[TaskId, list[float]](list)
    for critic, task, data in words:
        if task not in wanted:
            continue
        standing = critic_standing(spec.stages[critic], data)
        if standing.objects:
            objected.add(task)
        if standing.score is not None:
            scores[task].append(standing.score)
    rows = []
    for task in judged:
        lowest = min(scores[task]) if scores[task] else None
        bits = ReviewReason.OBJECTED.bit if task in objected else 0
        if lowest is not None and lowest < LOW_SCORE_BELOW:
            bits |= ReviewReason.LOW_SCORE.bit
        rows.append((task, bits, None if lowest is None else round(lowest * THOUSAND)))
    tx.inbox.rank_criticised(rows)


def flag_unjudged(tx: Transaction, tasks: Sequence[TaskId]) -> None:
    """The same of results whose critic came to nothing."""
    tx.inbox.rank_criticised([(task, ReviewReason.OBJECTED.bit, None) for task in tasks])


def flag_disagreements(
    tx: Transaction, spec: RunSpec, stage: StageId, tasks: Sequence[TaskId]
) -> None:
    """Where models or samples answer the same thing, mark answers that differ, or no longer do."""
    recipe_stage = spec.stages[stage]
    if recipe_stage.schema is None or recipe_stage.critic or not tasks:
        return
    if not (recipe_stage.is_sampled or len(spec.models_of(recipe_stage)) > 1):
        return
    subjects: dict[tuple[object, ...], TaskId] = {}
    for task, *subject in tx.inbox.subject_keys(tasks):
        subjects.setdefault(tuple(subject), task)
    answers = tx.inbox.answers_about_same(list(subjects.values()))
    for _, group in groupby(answers, key=attrgetter("asked")):
        same = list(group)
        if len(same) > 1:
            differ = len({_canonical(answer.data) for answer in same}) > 1
            bit = ReviewReason.DISAGREEMENT.bit if differ else 0
            tx.inbox.flag_disagreement([answer.result_id for answer in same], bit)


def _canonical(data: str) -> str:
    value: Mapping[str, Json] = stored_json(data)
    return json.dumps(value, sort_keys=True)
