"""JSON views of runs: how one stands, why its tasks failed, and what judging again changes."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from quire.domain.ids import TaskId
from quire.domain.pricing import to_usd
from quire.domain.runs import Progress
from quire.domain.tasks import Failure

if TYPE_CHECKING:
    from quire.domain.regating import RegateReport
    from quire.engine.queries import FailureGroup, RefusedAnswer, RunHead


def progress_json(
    head: "RunHead", now: Progress, why: Sequence[str], workers: int
) -> dict[str, object]:
    """One object with everything `quire status` says, given how many workers live."""
    from quire.pipeline.answers.progress import is_at_rest

    return _recipe_json(head, now) | {
        "run": now.run_id,
        "state": now.state,
        "standing": now.standing,
        "at_rest": is_at_rest(now),
        "workers": workers,
        "schema": None if now.is_staged else head.name,
        "model": head.model.name,
        "simulated": head.is_simulated,
        "started_at": head.started_at,
        "started_by": head.started_by,
        "ended_at": head.ended_at,
        "per": None if now.is_staged else now.noun,
        "blocks": now.total,
        "limit": now.task_limit,
        "tasks": dict(now.counts),
        "done": now.done,
        "failed": now.failed,
        "packs": now.packs,
        "mean_tasks_per_pack": mean_pack(now),
        "splits": now.splits,
        "in_flight": now.in_flight,
        "cut_off": now.cut_off,
        "batches": now.batches,
        "next_poll_at": now.next_poll_at,
        "calls": now.calls,
        "resent": now.resent,
        **_spent_json(now),
        "cancelling": now.cancelling,
        "holds": _holds_json(now),
        "why": list(why),
    }


def _spent_json(now: Progress) -> dict[str, object]:
    """What a run used, cost and saved."""
    return {
        "input_tokens": now.input_tokens,
        "output_tokens": now.output_tokens,
        "cached_tokens": now.cached_tokens,
        "cost_usd": now.cost_usd,
        "presumed_usd": now.presumed_usd,
        "reused": now.reused,
        "saved_usd": now.saved_usd,
        "money": _money_json(now),
    }


def _money_json(now: Progress) -> dict[str, object] | None:
    """What bounds a run's spending, and how that stands; null where nothing does."""
    if now.money is None:
        return None
    wallet, budget, spent, reserved, left = now.money
    return {
        "wallet": wallet,
        "budget_usd": None if budget is None else to_usd(budget),
        "spent_usd": to_usd(spent),
        "reserved_usd": to_usd(reserved),
        "left_usd": to_usd(left),
    }


def _holds_json(now: Progress) -> list[dict[str, object]]:
    return [
        {"kind": hold.kind.value, "detail": hold.detail, "since": hold.since} for hold in now.holds
    ]


def _recipe_json(head: "RunHead", now: Progress) -> dict[str, object]:
    """What there is to say of a recipe besides; nothing of a schema."""
    if not now.is_staged:
        return {}
    return {
        "recipe": head.name,
        "models": [head.model.name, *head.models],
        "stages": [
            {
                "name": stage.name,
                "state": stage.state,
                "tasks": dict(stage.counts),
                "expanded": stage.expanded,
                "critic_of": stage.judges or None,
                "waits_for": stage.waits_for or None,
                "stale": stage.stale,
            }
            for stage in now.stages
        ],
    }


def mean_pack(now: Progress) -> float:
    """How many tasks a request carried, on average."""
    return round(now.packed_tasks / now.packs, 2) if now.packs else 0.0


def failure_group_json(
    group: "FailureGroup", refused: "Mapping[TaskId, RefusedAnswer]", *, staged: bool
) -> dict[str, object]:
    from quire.engine.request_texts import subject

    summary: dict[str, object] = {"cause": group.cause, "count": len(group.failures)}
    if not staged:
        own = ("task_id", "block_uid", "title", "source", "block_index", "tries", "error", "part")
        plain = (*own, "refused", "critique")
        listed = [failure._asdict() | _answer(failure, refused) for failure in group.failures]
        return summary | {"failures": [{name: record[name] for name in plain} for record in listed]}
    failed = [
        failure._asdict()
        | _answer(failure, refused)
        | {
            "block_uid": failure.block_uid or None,
            "about": subject(failure.block_uid, failure.title, failure.reads),
        }
        for failure in group.failures
    ]
    return {"stage": group.stage} | summary | {"failures": failed}


def _answer(failure: Failure, refused: "Mapping[TaskId, RefusedAnswer]") -> dict[str, object]:
    found = refused.get(failure.task_id)
    if found is None:
        return {"refused": None, "critique": None}
    critique = {"stage": found.critic, "data": found.critique} if found.critic else None
    return {"refused": found.record, "critique": critique}


def regate_json(found: "RegateReport") -> dict[str, object]:
    examples = [example._asdict() for example in found.examples]
    return asdict(found) | {"examples": examples}
