"""The other tabs of a run: failures by cause, calls, batches, events, policy."""

from collections.abc import Mapping
from typing import Any

from quire.domain.data import Json, stored_json
from quire.domain.errors import UsageError
from quire.domain.states import TaskState
from quire.domain.task_wording import span_text
from quire.domain.tasks import Failure
from quire.engine import Engine
from quire.engine.progress_words import next_poll, plain_words, provider_counts
from quire.engine.result_pages import shown_value
from quire.web.policy_words import POLICY_WORDS
from quire.web.run_standing import RunStanding

CALLS = 50  # a page of them
EVENTS = 200  # the newest
PLACES = 5  # named of each cause


def read_failures(engine: Engine, run: RunStanding, asked: Mapping[str, str]) -> dict[str, Any]:
    """Why tasks failed, by cause, with an example each."""
    blocked = asked.get("blocked") == "1"
    groups = engine.queries.failures(run.id, blocked=blocked)
    first = [group.failures[0].task_id for group in groups]
    refused = {} if blocked else engine.queries.refused_answers(first)
    return {
        "groups": [
            {
                "group": group,
                "count": len(group.failures),
                "places": [_place(failure) for failure in group.failures[:PLACES]],
                "first": group.failures[0],
                "refused": refused.get(group.failures[0].task_id),
            }
            for group in groups
        ],
        "blocked": blocked,
        "blocked_count": run.now.counts.get(TaskState.BLOCKED, 0),
        "shown_value": shown_value,
    }


def _place(failure: Failure) -> dict[str, Any]:
    title = failure.title or failure.source or "the run"
    if failure.block_index is not None:
        where = f"{title} · {failure.block_index}"
    else:
        where = " · ".join(filter(None, [title, span_text(stored_json(failure.part))]))
    return {"task": failure.task_id, "where": where}


def read_calls(engine: Engine, run: RunStanding, asked: Mapping[str, str]) -> dict[str, Any]:
    """A page of a run's calls, in their order."""
    after = _number(asked.get("cursor", ""))
    found = engine.queries.requests(run.id, after, CALLS + 1)
    more = len(found) > CALLS
    return {
        "calls": found[:CALLS],
        "next": found[CALLS - 1].id if more else None,
        "cursor": asked.get("cursor"),
    }


def _number(text: str) -> int:
    if text and not (text.isascii() and text.isdigit() and len(text) < 19):
        raise UsageError(f"{text!r} is no cursor; leave it out to begin again")
    return int(text or 0)


def read_batches(engine: Engine, run: RunStanding, asked: Mapping[str, str]) -> dict[str, Any]:
    """What providers have of a run, and what became of it."""
    return {
        "batches": [
            {
                "batch": batch,
                "counts": provider_counts(batch.counts),
                "poll": next_poll(batch.next_at, run.workers),
                "problem": plain_words(batch.problem),
            }
            for batch in engine.batches(run.id)
        ]
    }


def read_events(engine: Engine, run: RunStanding, asked: Mapping[str, str]) -> dict[str, Any]:
    """What happened to a run, the newest first."""
    found = engine.queries.events(run.id, EVENTS)
    return {
        "events": [
            {"event": event, "words": plain_words(event.detail)} for event in reversed(found)
        ],
        "most": EVENTS,
    }


def _as_typed(value: Json) -> str:
    """A value of the policy as files and commands take it."""
    return str(value).lower() if isinstance(value, bool) else shown_value(value)


def read_policy(engine: Engine, run: RunStanding, asked: Mapping[str, str]) -> dict[str, Any]:
    """What a run was told, each value with its source."""
    rows = []
    for name, sourced in run.head.policy.items():
        pair = sourced if isinstance(sourced, Mapping) else {"value": sourced, "source": ""}
        rows.append((name, _as_typed(pair.get("value")), str(pair.get("source") or ""), ""))
    for stage, own in engine.stage_policies(run.id).items():
        rows += [(name, _as_typed(value), "recipe", stage) for name, value in own.items()]
    return {"policy": rows, "policy_words": POLICY_WORDS}
