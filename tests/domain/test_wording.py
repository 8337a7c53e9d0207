"""Every reason that is written down has the fields that its words need."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import quire
from quire.domain.ids import TaskId
from quire.domain.reasons import (
    EventKind,
    HoldCause,
    HoldRemedy,
    ResumeCause,
    StopCause,
    TaskError,
    TaskErrorKind,
)
from quire.domain.task_wording import task_error_text
from quire.domain.wording import event_text, hold_text

SOURCE = Path(quire.__file__).parent


def _calls(*functions: str) -> Iterator[ast.Call]:
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text("utf-8")
        if not any(function in text for function in functions):
            continue  # every process collects these tests, and parsing takes long
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
                if name in functions:
                    yield node


def _written_events() -> Iterator[tuple[EventKind, tuple[str, ...]]]:
    """Kinds of events with the names of their fields, where both stand in the call."""
    for call in _calls("add_event"):
        kind = call.args[1]
        names = tuple(keyword.arg or "" for keyword in call.keywords)
        if isinstance(kind, ast.Attribute) and all(names):
            yield EventKind[kind.attr], names


@pytest.mark.parametrize(("kind", "names"), sorted(set(_written_events())))
def test_an_event_has_the_fields_that_its_words_need(
    kind: EventKind, names: tuple[str, ...]
) -> None:
    fields: dict[str, str | int] = dict.fromkeys(names, 7)
    if kind is EventKind.RESUMED:
        fields = {"cause": ResumeCause.BY_HAND}
    if kind is EventKind.STOPPED:
        fields["cause"] = StopCause.INTERRUPT

    assert event_text(kind, fields)


def _written_holds() -> Iterator[tuple[HoldCause, tuple[str, ...]]]:
    for call in _calls("hold_run", "add_hold"):
        cause = next((arg for arg in call.args if _is_cause(arg)), None)
        if isinstance(cause, ast.Attribute) and all(keyword.arg for keyword in call.keywords):
            yield HoldCause[cause.attr], tuple(str(keyword.arg) for keyword in call.keywords)


def _is_cause(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "HoldCause"


@pytest.mark.parametrize(("cause", "names"), sorted(set(_written_holds())))
def test_a_hold_has_the_fields_that_its_words_need(
    cause: HoldCause, names: tuple[str, ...]
) -> None:
    fields = {"run": 12} | dict.fromkeys(names, 7)

    assert "{" not in hold_text(cause, fields)
    assert event_text(EventKind.HELD, {"cause": cause, **fields}) == hold_text(cause, fields)


@pytest.mark.parametrize("cause", HoldCause)
def test_a_hold_names_the_command_that_its_remedy_is(cause: HoldCause) -> None:
    fields = defaultdict[str, str | int](lambda: 7, run=12)
    text = hold_text(cause, fields)

    match cause.remedy:
        case HoldRemedy.SAME_COMMAND:
            assert "the same command" in text
        case HoldRemedy.RESUME:
            assert "quire resume 12" in text or "quire retry 12" in text
        case HoldRemedy.ADOPT:
            assert "quire batches adopt 7" in text
        case HoldRemedy.PAY:
            assert "quire wallet credit 7" in text or "quire resume 12 --budget" in text


def test_most_events_are_looked_at() -> None:
    assert len({kind for kind, _ in _written_events()}) > len(EventKind) * 3 / 5


@pytest.mark.parametrize(
    ("kind", "fields", "text"),
    [
        (EventKind.BATCH_CANCEL_ASKED, {"batches": 1}, "1 batch, which nobody waits for"),
        (EventKind.BATCH_CANCEL_ASKED, {"batches": 2}, "2 batches, which nobody waits for"),
        (
            EventKind.BATCH_ENDED,
            {"batch": 3, "end": "failed", "problem": "no"},
            "batch 3 failed: no",
        ),
        (EventKind.BATCH_ENDED, {"batch": 3, "end": "expired", "problem": ""}, "batch 3 expired"),
        (EventKind.RETRIED, {"tasks": 2, "stale": 0}, "2 tasks go again"),
        (EventKind.RETRIED, {"tasks": 2, "stale": 1}, "2 stale tasks are asked again"),
        (EventKind.REGATED, {"stage": "a", "changed": 1, "refused": 0}, "a: 1 changed, 0 refused"),
        (EventKind.RUN_STARTED, {"recipe": "r", "model": "m", "sample": 0}, "r with m"),
        (
            EventKind.RUN_STARTED,
            {"recipe": "r", "model": "m", "sample": 5},
            "r with m, a sample of 5",
        ),
        (EventKind.LIMIT_CHANGED, {"before": 3, "limit": 20}, "from the first 3 to the first 20"),
        (EventKind.LIMIT_CHANGED, {"before": 3, "limit": 0}, "from the first 3 to all"),
        (EventKind.LIMIT_CHANGED, {"before": 0, "limit": 3}, "from all to the first 3"),
        (EventKind.KEY_REFUSED, {"credential": "a/b", "problem": "{no}"}, "a/b: {no}"),
    ],
)
def test_events_read_as_they_always_did(
    kind: EventKind, fields: dict[str, str | int], text: str
) -> None:
    assert event_text(kind, fields) == text


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (TaskError(TaskErrorKind.GATES, "{no}"), "{no}"),
        (TaskError(TaskErrorKind.ODD_ANSWER, "empty", times=2), "empty (asked 2 times)"),
        (TaskError(TaskErrorKind.NO_ANSWER, times=1), "the call brought no answer once"),
        (TaskError(TaskErrorKind.NO_ANSWER, times=3), "the call brought no answer 3 times"),
        (
            TaskError(TaskErrorKind.BATCH_FAILED, "500", times=3),
            "500 (sent 3 times, in batches, without an answer)",
        ),
        (TaskError(TaskErrorKind.CRITIC_OBJECTED, "bad", "taste"), "taste: bad"),
        (TaskError(TaskErrorKind.CRITIC_OBJECTED, "x" * 3000, "c"), "c: " + "x" * 1997),
        (
            TaskError(TaskErrorKind.CRITIC_UNDECIDABLE, "ok", "taste"),
            "taste: its answer cannot be decided by accepts = 'ok'",
        ),
        (TaskError(TaskErrorKind.CRITIC_FAILED, "no", "taste"), "critic_failed: no"),
        (TaskError(TaskErrorKind.REGATED, "no"), "regate: no"),
        (
            TaskError(TaskErrorKind.BLOCKED, stage="facts", task=TaskId(7)),
            "task 7 of facts, which it reads, came to nothing",
        ),
        (
            TaskError(TaskErrorKind.BLOCKED, "failed", task=TaskId(7)),
            "task 7, which it reads, is failed",
        ),
    ],
)
def test_errors_of_tasks_read_as_they_always_did(error: TaskError, text: str) -> None:
    assert task_error_text(error) == text


@pytest.mark.parametrize(("number", "words"), [(14, "all of the last 14"), (3, "3 of the last 14")])
def test_all_of_the_last_ones_are_called_so(number: int, words: str) -> None:
    fields: dict[str, str | int] = {"run": 1, "number": number, "of": 14, "stage": "extract"}

    assert hold_text(HoldCause.TASKS_FAILING, fields).startswith(f"{words} tasks of extract failed")


def test_a_script_is_told_what_a_script_can_do() -> None:
    fields: dict[str, str | int] = {"run": 1, "problem": "no"}

    text = hold_text(HoldCause.CALL_REFUSED, fields, "`run.resume()`")

    assert text == "no; mend that; then `run.resume()`"


@pytest.mark.parametrize(
    "cause",
    [
        HoldCause.NOT_LISTENING,
        HoldCause.ADDRESS_WRONG,
        HoldCause.MODEL_UNKNOWN,
        HoldCause.FORM_REFUSED,
    ],
)
def test_no_setting_is_advised_where_the_models_name_says_where_it_is(cause: HoldCause) -> None:
    fields: dict[str, str | int] = {"run": 1, "problem": "no", "provider": "compatible"}

    said = hold_text(cause, {**fields, "url_in_name": 1})

    assert "base_url" in hold_text(cause, fields)
    assert "base_url" not in said
    assert "makes another run" in said
    assert "`quire resume 1`" in said
