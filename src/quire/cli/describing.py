"""Describing: how a run stands, as JSON for programs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from quire.domain.runs import Progress

if TYPE_CHECKING:
    from quire.engine.looking import RunHead


def progress_json(
    head: "RunHead", now: Progress, why: Sequence[str], workers: int
) -> dict[str, object]:
    """One object with everything `quire status` says, given how many workers live."""
    from quire.engine.standing import standing

    return {
        "run": now.run_id,
        "state": now.state,
        "standing": standing(now, workers),
        "schema": head.schema,
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


def mean_pack(now: Progress) -> float:
    """How many tasks a request carried, on average."""
    return round(now.packed_tasks / now.packs, 2) if now.packs else 0.0


def blocks_each(now: Progress) -> str:
    """The same in words."""
    mean = mean_pack(now)
    return f"{mean:g} {'block' if mean == 1 else 'blocks'}"
