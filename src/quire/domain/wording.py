"""Wording: reasons in words, for screen, log and JSON alike; nothing decides by what it says."""

from collections.abc import Callable

from quire.domain.reasons import EventKind, Fields, ResumeCause, StageWait, WaitKind


def wait_text(wait: StageWait | None) -> str:
    """What a stage waits for; empty where it waits for nothing."""
    match wait:
        case None:
            return ""
        case StageWait(WaitKind.UPSTREAM, stage):
            return f"waits for {stage}"
        case StageWait(WaitKind.STOP_AFTER, stage):
            return f"the run stops after {stage}"
        case _:
            return wait.problem


def event_text(kind: EventKind, fields: Fields) -> str:
    """What happened, as a run's history tells it."""
    words = _EVENT_TEXTS[kind]
    return words.format_map(fields) if isinstance(words, str) else words(fields)


def _started_text(fields: Fields) -> str:
    sample = f", a sample of {fields['sample']}" if fields["sample"] else ""
    return f"{fields['recipe']} with {fields['model']}{sample}"


def _retried_text(fields: Fields) -> str:
    words = "stale tasks are asked again" if fields["stale"] else "tasks go again"
    return f"{fields['tasks']} {words}"


def _regated_text(fields: Fields) -> str:
    counts = ", ".join(f"{count} {kind}" for kind, count in fields.items() if kind != "stage")
    return f"{fields['stage']}: {counts}"


def _deadline_text(fields: Fields) -> str:
    """What a deadline changes: how many calls go direct, how many batches are late."""
    calls, late = fields["calls"], fields["late"]
    if not calls:
        return "the deadline passed: what is still to be asked goes direct"
    going = f"{calls:,} {'call goes' if calls == 1 else 'calls go'} direct now"
    if not late:
        return f"the deadline passed: {going}"
    out = "1 batch is" if late == 1 else f"{late:,} batches are"
    end = f"{'it is' if late == 1 else 'they are'} asked to end when all is answered"
    return f"the deadline passed: {going}; {out} still out, and {end}"


def _ended_text(fields: Fields) -> str:
    problem = f": {fields['problem']}" if fields["problem"] else ""
    return f"batch {fields['batch']} {fields['end']}{problem}"


def _cancel_text(fields: Fields) -> str:
    if "batch" in fields:
        return f"batch {fields['batch']}, by hand"
    count = fields["batches"]
    batches = "1 batch" if count == 1 else f"{count:,} batches"
    return f"{batches}, which nobody waits for"


_RESUME_TEXTS = {
    ResumeCause.BY_HAND: "by hand",
    ResumeCause.NONE_FAILED: "no failed task is left",
    ResumeCause.ALL_WAIVED: "every failed task is waived",
    ResumeCause.SAME_ORDER: "the same order was given again",
}
_CALLS_TEXT = "batch {batch}: {calls} calls"
_DECISION_TEXT = "task {task} of {stage}, by {who}"
_ENDED_RUN_TEXT = "{done} done, {failed} failed"
_EVENT_TEXTS: dict[EventKind, str | Callable[[Fields], str]] = {
    EventKind.RUN_STARTED: _started_text,
    EventKind.RUN_FINISHED: _ENDED_RUN_TEXT,
    EventKind.RUN_CANCELLED: _ENDED_RUN_TEXT,
    EventKind.STAGE_STARTED: "{stage}",
    EventKind.HELD: "{detail}",
    EventKind.PAUSED: "by hand",
    EventKind.RESUMED: lambda fields: _RESUME_TEXTS[ResumeCause(str(fields["cause"]))],
    EventKind.CANCEL_ASKED: "by hand",
    EventKind.STOP_AFTER_ASKED: lambda fields: (
        f"after {fields['stage']}" if fields["stage"] else "no longer"
    ),
    EventKind.RETRIED: _retried_text,
    EventKind.RERUN: "from {stage}: {tasks} tasks are asked again",
    EventKind.REGATED: _regated_text,
    EventKind.WAIVED: "the run goes on without {tasks}",
    EventKind.APPROVED: _DECISION_TEXT,
    EventKind.EDITED: _DECISION_TEXT,
    EventKind.REJECTED: _DECISION_TEXT,
    EventKind.KEY_REFUSED: "{credential}: {problem}",
    EventKind.DEADLINE_PASSED: _deadline_text,
    EventKind.BATCH_SUBMITTED: _CALLS_TEXT,
    EventKind.BATCH_UNKNOWN: "batch {batch}: {problem}",
    EventKind.BATCH_ABSENT: "batch {batch} was never made",
    EventKind.BATCH_MADE_TWICE: (
        "batch {batch} was made a second time, as {ref}; that one is cancelled"
    ),
    EventKind.BATCH_ENDED: _ended_text,
    EventKind.BATCH_COLLECTED: _CALLS_TEXT,
    EventKind.BATCH_ABANDONED: "batch {batch}: {problem}",
    EventKind.BATCH_CANCEL_ASKED: _cancel_text,
    EventKind.RECOUNTED: "the tallies were corrected: {differences}",
    EventKind.EXAMINED: "taken back at once",
}
