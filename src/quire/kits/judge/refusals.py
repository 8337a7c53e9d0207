"""Refusals: how often answers could not be read, by stage and model.

A refused answer is drawn again, so that what is counted elsewhere is of answers that were read. If
models are refused more often where they would have said something else, their rates are off.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from quire.kits.judge.experiment import FAILED, VIEWS, ExperimentRows, TaskRow
from quire.kits.judge.intervals import SHARE, Estimate, Totals, estimate_mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusals:
    """The answers of one model in one stage."""

    stage: str
    model: str
    rate: Estimate  # refused answers, of those that were judged
    refused: int
    tasks: int
    failed: int  # tasks that were given up


def measure_refusals(rows: ExperimentRows) -> tuple[Refusals, ...]:
    """Every stage and model that was asked."""
    groups: dict[tuple[str, str], list[TaskRow]] = {}
    for task in rows.tasks:
        groups.setdefault((task.stage, task.model), []).append(task)
    return tuple(
        Refusals(
            stage=stage,
            model=model,
            rate=estimate_mean(list(_clusters(tasks)), SHARE),
            refused=sum(task.refused for task in tasks),
            tasks=len(tasks),
            failed=sum(task.state == FAILED for task in tasks),
        )
        for (stage, model), tasks in groups.items()
    )


def _clusters(tasks: Sequence[TaskRow]) -> Iterator[Totals]:
    """Refused and judged answers, by sample; views, which are of no sample, task by task."""
    totals: dict[int, tuple[float, float]] = {}
    for task in tasks:
        key = task.task_id if task.stage in VIEWS else task.sample
        refused, judged = totals.get(key, (0.0, 0.0))
        totals[key] = (refused + task.refused, judged + task.attempts)
    return iter(totals.values())
