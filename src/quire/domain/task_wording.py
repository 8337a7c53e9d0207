"""Task wording: what is said of a task and of its answer, made of kinds and fields."""

from collections.abc import Mapping, Sequence

from quire.domain.continuation import Gap, Trigger
from quire.domain.data import Json, as_object
from quire.domain.gates import NoteKind, ReadingNote
from quire.domain.reasons import OBJECTIONS, TaskError, TaskErrorKind

_GAP_TEXTS = {
    Trigger.LENGTH: "answer was cut off",
    Trigger.UNFINISHED: "its JSON is not closed",
    Trigger.DECLARED: "it says itself that it is not complete",
    Trigger.MISSING: "{keys} missing",
}


def gap_text(gap: Gap) -> str:
    """Why an answer is not whole."""
    return _GAP_TEXTS[gap.trigger].format(keys=", ".join(gap.keys))


def ended_text(gap: Gap, calls: int, *, capped: bool) -> str:
    """Why an answer is not whole, and why nobody goes on with it any more."""
    asked = "one call" if calls == 1 else f"{calls:,} calls"
    why = (
        "more max_tokens or max_continuations help" if capped else "no further call fits the window"
    )
    return f"{gap_text(gap)}; it is not whole after {asked}: {why}"


def limit_text(tokens: int) -> str:
    """Why an answer was cut off, where a call may not write more."""
    return f"answer was cut off at {tokens:,} tokens, the most that a call may write here"


def note_text(note: ReadingNote) -> str:
    """What was done so that an answer could be read, or asked for."""
    if note.kind == NoteKind.COMPRESSED:
        before, after = int(note.written), int(note.read)
        return f"{note.path}: was compressed from about {before:,} tokens to {after:,}"
    if note.kind == NoteKind.RANKED_BY_WORDS:
        return f"{note.path}: its passages were ranked by shared words, for want of embeddings"
    if note.kind == NoteKind.QUOTED:
        return f'{note.path}: shown by "{note.written}"'
    if note.kind == NoteKind.DROPPED:
        return f"{note.path}: is dropped, nobody asked for it"
    if note.kind == NoteKind.INCOMPLETE:
        return f"incomplete: {_GAP_TEXTS[Trigger(note.written)].format(keys=note.read)}"
    return f"{note.path}: {note.written} is read as {note.read}"


LONGEST_CRITIQUE = 2000  # characters of a critique that a task remembers


_TASK_ERROR_TEXTS = {
    TaskErrorKind.NO_ANSWER: "the call brought no answer {times}",
    TaskErrorKind.ODD_ANSWER: "{text} (asked {times})",
    TaskErrorKind.BATCH_FAILED: "{text} (sent {times}, in batches, without an answer)",
    TaskErrorKind.CALL_FAILED: "{text} (sent {times}, while other calls were answered)",
    TaskErrorKind.CRITIC_OBJECTED: "{stage}: {text}",
    TaskErrorKind.CRITIC_UNDECIDABLE: (
        "{stage}: its answer cannot be decided by accepts = {text!r}"
    ),
    TaskErrorKind.CRITIC_FAILED: "critic_failed: {text}",
    TaskErrorKind.REGATED: "regate: {text}",
    TaskErrorKind.BLOCKED: "task {task} of {stage}, which it reads, came to nothing",
    TaskErrorKind.UNREAD: "there is nothing for it to read",
    TaskErrorKind.TOO_LARGE: (
        "its prompt of about {tokens:,} tokens does not fit: {text} has room for {room:,},"
        " {over:,} fewer; {tried}; it was not sent; a model with a larger window helps, or less to"
        " read"
    ),
    TaskErrorKind.UNKNOWN_MODEL: "its grouping asks {text!r}, which the run was not told of",
}


def task_error_text(error: TaskError) -> str:
    """What stands against a task, as people and repair prompts read it."""
    words = _TASK_ERROR_TEXTS.get(error.kind, "{text}")
    if error.kind is TaskErrorKind.BLOCKED and error.text:  # it was so when the task was made
        words = "task {task}, which it reads, is {text}"
    times = "once" if error.times == 1 else f"{error.times} times"
    over = error.tokens - error.room
    made = {"times": times, "over": over, "tried": _tried_text(error)}
    said = words.format_map(error._asdict() | made)
    return said[:LONGEST_CRITIQUE] if error.kind in OBJECTIONS else said


def _tried_text(error: TaskError) -> str:
    """What was done to make a prompt fit."""
    if not error.compressed:
        return "nothing in it can be compressed"
    texts = "one text was" if error.compressed == 1 else f"{error.compressed} texts were"
    return f"{texts} compressed, from a prompt of about {error.tokens_before:,}"


def shared_cause(kind: str | None, stage: str | None, error: str) -> str:
    """A task's error as a cause that it shares with others: without what was said of it alone."""
    if kind == TaskErrorKind.TOO_LARGE:
        return "the prompt does not fit the model's window, and was not sent"
    return f"{stage} objected" if kind in OBJECTIONS else error


def span_text(part: Json) -> str:
    """Which section or page of its document a task is about; "": it is about no such part."""
    found = as_object(part) if isinstance(part, Mapping) else {}
    page, headings = found.get("page"), found.get("headings")
    if isinstance(page, int):
        return f"page {page}"
    return " › ".join(map(str, headings)) if isinstance(headings, Sequence) else ""
