"""Result selection: which stage of a run is exported, in which shape, and which of its rows."""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import NamedTuple

from quire.domain.errors import UsageError
from quire.domain.ids import RunId, StageId
from quire.domain.recipes import Recipe, Stage
from quire.domain.runs import Run
from quire.domain.states import ReviewState, TaskState
from quire.ledger.ledger import Transaction
from quire.recipes.policy_layers import policy_from_json
from quire.recipes.recipe_snapshots import recipe_from_json

ALL = "all"
ACCEPTED, CONFIRMED, PENDING = "accepted", "confirmed", "pending"
UNREVIEWED = "unreviewed"  # accepted, in a run whose results a person is to confirm
WITH_DATA = (ACCEPTED, CONFIRMED)  # statuses of rows that have data
STATUSES = {  # of a task; what is not here is pending
    TaskState.DONE: ACCEPTED,
    TaskState.FAILED: "failed",
    TaskState.PROPOSED: "proposed",
    TaskState.BLOCKED: "blocked",
    TaskState.CANCELLED: "cancelled",
}
ONLY = (
    *(ALL, ACCEPTED, CONFIRMED, "failed", PENDING, "proposed", "blocked", "cancelled"),
    UNREVIEWED,
)
_CONFIRMING = (ReviewState.APPROVED, ReviewState.EDITED)


@cache
def task_status(state: TaskState | None, review: ReviewState | None = None) -> str:
    """How a block or task stands, in a word; what a person confirmed is accepted, and more."""
    if state is None or review == ReviewState.REJECTED:
        return PENDING
    status = STATUSES.get(state, PENDING)
    return CONFIRMED if status == ACCEPTED and review in _CONFIRMING else status


class RowFilter(NamedTuple):
    """Which rows are wanted."""

    only: str = ALL  # one of ONLY; accepted: confirmed ones too
    since: datetime | None = None  # only what has changed since

    def check(self) -> "RowFilter":
        """Refuse what is no choice of results."""
        if self.only not in ONLY:
            raise UsageError(f"--only takes {', '.join(ONLY)}, not {self.only!r}")
        return self

    def takes(self, status: str) -> bool:
        """Whether rows that stand so are wanted."""
        return self.only in (ALL, status) or (self.only == ACCEPTED and status == CONFIRMED)


EVERY_ROW, ACCEPTED_ROWS = RowFilter(), RowFilter(ACCEPTED)


def row_filter(only: str = ALL, since: str | datetime | None = None) -> RowFilter:
    """A choice of rows as people state it; a moment without a zone is in UTC."""
    if isinstance(since, str):
        try:
            since = datetime.fromisoformat(since)
        except ValueError:
            raise UsageError(
                f"--since takes a moment, not {since!r}", "such as 2026-11-18 or 2026-11-18T09:30"
            ) from None
    if since is not None and since.tzinfo is None:
        since = since.replace(tzinfo=UTC)
    try:
        since = None if since is None else since.astimezone(UTC)
    except OverflowError:
        raise UsageError(f"--since: {since} is before or after all years") from None
    return RowFilter(only, since).check()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultSource:
    """A run that results are taken from."""

    run: Run
    recipe: Recipe
    stage_ids: dict[str, StageId]
    models: tuple[str, ...]  # by number


def is_review_required(run: Run) -> bool:
    """Whether only what a person confirmed is exported as data."""
    return policy_from_json(run.policy).policy.review == "required"


def find_result_source(tx: Transaction, run: RunId) -> ResultSource:
    """Find a run, with all that telling its results needs."""
    found = tx.runs.must_get_run(run)
    return ResultSource(
        run=found,
        recipe=recipe_from_json(found.recipe),
        stage_ids={stage.name: stage.id for stage in tx.runs.stages_of_run(run)},
        models=tuple(model.name for model in tx.runs.models_of_run(found)),
    )


def sink_stages(recipe: Recipe) -> list[Stage]:
    """The stages whose results no other one reads, critics aside: what a recipe is for."""
    read = {name for stage in recipe.stages if not stage.critic for name in stage.upstream}
    return [stage for stage in recipe.stages if not stage.critic and stage.name not in read]


def choose_stage(recipe: Recipe, stage: str | None, remedy: str = "--stage NAME") -> Stage:
    """The stage that is meant: by its name, or the one that the recipe is for.

    `remedy` is how its name is given where that is not clear.
    """
    names = [item.name for item in recipe.stages]
    if stage is not None:
        found = next((item for item in recipe.stages if item.name == stage), None)
        if found is None:
            raise UsageError(f"{recipe.name} has no stage {stage!r}; stages: {', '.join(names)}")
        return found
    last = sink_stages(recipe)
    if len(last) != 1:
        last_names = ", ".join(item.name for item in last)
        raise UsageError(f"{recipe.name} has several last stages: {last_names}; {remedy} takes one")
    return last[0]


def is_block_by_block(stage: Stage) -> bool:
    """Whether it owes one record about every block: then its results are told block by block."""
    return (
        stage.about == "each_block"
        and stage.schema is not None
        and stage.samples == 1
        and len(stage.models) <= 1
        and not stage.over
    )
