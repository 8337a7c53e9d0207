"""Describing: how a run stands, as JSON for programs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from quire.cli.printing import named
from quire.domain.runs import Progress

if TYPE_CHECKING:
    from quire.engine.looking import RunHead


def progress_json(
    head: "RunHead", now: Progress, why: Sequence[str], workers: int
) -> dict[str, object]:
    """One object with everything `quire status` says, given how many workers live."""
    from quire.engine.standing import standing

    return _recipe_json(head, now) | {
        "run": now.run_id,
        "state": now.state,
        "standing": standing(now, workers),
        "schema": None if head.recipe else head.schema,
        "model": head.model.name,
        "simulated": head.model.provider == "simulated",
        "started_at": head.started_at,
        "ended_at": head.ended_at,
        "blocks": now.total,
        "limit": now.task_limit,
        "tasks": dict(now.counts),
        "done": now.done,
        "failed": now.failed,
        "packs": now.packs,
        "mean_tasks_per_pack": mean_pack(now),
        "splits": now.splits,
        "in_flight": now.in_flight,
        "batches": now.batches,
        "next_poll_at": now.next_poll_at,
        "calls": now.calls,
        "resent": now.resent,
        "input_tokens": now.input_tokens,
        "output_tokens": now.output_tokens,
        "cached_tokens": now.cached_tokens,
        "cost_micro_dollars": now.cost,
        "presumed_micro_dollars": now.presumed,
        "cancelling": now.cancelling,
        "holds": [
            {"kind": hold.kind.value, "detail": hold.detail, "since": hold.since}
            for hold in now.holds
        ],
        "why": list(why),
    }


def _recipe_json(head: "RunHead", now: Progress) -> dict[str, object]:
    """What there is to say of a recipe besides; nothing of a schema."""
    if not head.recipe:
        return {}
    return {
        "recipe": head.recipe,
        "models": [head.model.name, *head.models],
        "stages": [
            {
                "name": each.name,
                "state": each.state,
                "tasks": dict(each.counts),
                "expanded": each.expanded,
                "critic_of": each.judges or None,
                "waits_for": each.waits_for or None,
                "stale": each.stale,
            }
            for each in now.stages
        ],
    }


def asked_models(head: "RunHead") -> str:
    """Who is asked, all of them."""
    return ", ".join(named(each) for each in (head.model.name, *head.models))


def mean_pack(now: Progress) -> float:
    """How many tasks a request carried, on average."""
    return round(now.packed_tasks / now.packs, 2) if now.packs else 0.0


def blocks_each(now: Progress) -> str:
    """The same in words."""
    mean = mean_pack(now)
    noun = "task" if now.recipe else "block"
    return f"{mean:g} {noun if mean == 1 else noun + 's'}"
