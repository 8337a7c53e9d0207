"""Attempt rows: every sending of the calls behind a run, with prompt, answer, verdict and cost."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import orjson

from quire.domain.data import Json
from quire.domain.ids import RequestId, RunId
from quire.domain.pricing import to_usd
from quire.domain.requests import RequestKind
from quire.domain.states import AttemptState
from quire.engine.request_texts import request_text
from quire.export.flat_tables import FlatRow, FlatTable
from quire.export.table_folders import typed_columns
from quire.ledger.ledger import Transaction
from quire.ledger.tables.views import AttemptView, MemberView, RequestView
from quire.ledger.view_scripts import views
from quire.pipeline.contexts import Contexts

MESSAGES = "messages"
LEDGER_TABLES = ("runs", "run_stages")  # that messages join
MESSAGE_COLUMNS: Mapping[str, str] = {  # what each column holds
    "message_id": "text",
    "run_id": "integer",
    "stage": "text",
    "request_id": "integer",
    "kind": "text",
    "attempt_no": "integer",
    "task_id": "integer",
    "model_id": "text",
    "answering_model": "text",
    "params": "json",
    "system_prompt": "text",
    "earlier_turns": "json",
    "user_prompt": "text",
    "state": "text",
    "stop": "text",
    "output": "text",
    "reasoning": "text",
    "verdict": "text",
    "refusal_reason": "text",
    "gate_version": "text",
    "error": "text",
    "input_tokens": "integer",
    "cached_tokens": "integer",
    "written_tokens": "integer",
    "output_tokens": "integer",
    "reasoning_tokens": "integer",
    "cost_usd": "number",
    "cost_basis": "text",
    "batch_id": "integer",
    "sent_at": "moment",
    "ended_at": "moment",
}
ACCEPTED = "accept"
_STATED = ("model", "modelVersion")  # where vendors say who answered
_PRESUMED = (AttemptState.UNKNOWN, AttemptState.WRITTEN_OFF)


def message_id(attempt: int) -> str:
    """What an attempt is called in tables."""
    return f"attempt-{attempt}"


def tables_of_run(tx: Transaction, contexts: Contexts, run: RunId) -> dict[str, FlatTable]:
    """The attempts behind a run, and the runs and stages they are of; read when they are asked."""
    kinds = {view.name.removeprefix("v_"): view.columns for view in views()}
    found = {
        name: FlatTable(
            typed_columns({column.name: column.datatype for column in kinds[name]}),
            partial(_ledger_rows, tx, name, run),
        )
        for name in LEDGER_TABLES
    }
    rows = partial(attempt_rows, tx, contexts, run)
    return {**found, MESSAGES: FlatTable(typed_columns(MESSAGE_COLUMNS), rows)}


def _ledger_rows(tx: Transaction, name: str, run: RunId) -> Iterator[FlatRow]:
    for other in (*tx.views.runs_behind_run(run), run):
        yield from tx.ledger_views.rows_of_table(name, other)


def attempt_rows(tx: Transaction, contexts: Contexts, run: RunId) -> Iterator[FlatRow]:
    """Every attempt of a run's calls, and of the calls of others that it took answers from."""
    for request in tx.views.requests_behind_run(run):
        yield from _rows_of_request(tx, contexts, request)


def _rows_of_request(tx: Transaction, contexts: Contexts, request: RequestId) -> Iterator[FlatRow]:
    attempts = tx.views.attempts_of_request(request)
    view = tx.views.get_request(request) if attempts else None
    if view is None:
        return
    members = tx.views.verdicts_of_request(request)
    gates = tx.views.gate_versions_of_request(request)
    of_call = _call_columns(tx, contexts, view)
    for attempt in attempts:
        row = {
            **of_call,
            **_attempt_columns(attempt),
            **_verdict_columns(attempt, members, gates.get(attempt.id)),
        }
        yield tuple(row[name] for name in MESSAGE_COLUMNS)


def _call_columns(tx: Transaction, contexts: Contexts, view: RequestView) -> dict[str, Json]:
    """What all sendings of a call have in common; no texts once they were purged."""
    text = request_text(tx, contexts, view)
    context = contexts.any_of_stage(tx, view.run_id, view.stage_id)
    turns: list[Json] = (
        [{"role": str(turn.role), "text": turn.text} for turn in text.turns] if text else []
    )
    return {
        "run_id": view.run_id,
        "stage": context.stage.name,
        "request_id": view.id,
        "kind": view.kind,
        "system_prompt": None if view.kind == RequestKind.EMBED else context.prefix.system,
        "earlier_turns": turns or None,
        "user_prompt": text.user if text else None,
    }


def _attempt_columns(attempt: AttemptView) -> dict[str, Json]:
    presumed = attempt.state in _PRESUMED
    cost = attempt.reserved_pico if presumed else attempt.cost_pico
    return {
        "message_id": message_id(attempt.id),
        "attempt_no": attempt.no,
        "model_id": attempt.model,
        "answering_model": stated_model(attempt.raw),
        "params": attempt.params,
        "state": attempt.state,
        "stop": attempt.stop,
        "output": attempt.decoded,
        "reasoning": attempt.reasoning or None,
        "error": attempt.error,
        "input_tokens": attempt.input_tokens,
        "cached_tokens": attempt.cached_tokens,
        "written_tokens": attempt.written_tokens,
        "output_tokens": attempt.output_tokens,
        "reasoning_tokens": attempt.reasoning_tokens,
        "cost_usd": None if cost is None else to_usd(cost),
        "cost_basis": "presumed" if presumed else attempt.cost_basis,
        "batch_id": attempt.batch_id,
        "sent_at": attempt.sent_at.isoformat(),
        "ended_at": attempt.ended_at.isoformat() if attempt.ended_at else None,
    }


def _verdict_columns(
    attempt: AttemptView, members: list[MemberView], gate_version: str | None
) -> dict[str, Json]:
    """What was said of its answer: of the one that was judged, where a call has one task."""
    lone = members[0] if len(members) == 1 else None
    judged = lone if attempt.state == AttemptState.SETTLED and attempt.stop is not None else None
    refused = judged is not None and judged.verdict != ACCEPTED
    return {
        "task_id": lone.task_id if lone else None,
        "verdict": judged.verdict if judged else None,
        "refusal_reason": judged.reasons if judged and refused else None,
        "gate_version": judged.gate_version if judged and refused else gate_version,
    }


def stated_model(raw: str | None) -> str | None:
    """The name under which a provider's answer says that it was made; None where it does not."""
    try:
        found: Any = orjson.loads(raw) if raw else None
    except ValueError:
        return None
    names = [found.get(key) for key in _STATED] if isinstance(found, dict) else []
    return next((name for name in names if isinstance(name, str)), None)
