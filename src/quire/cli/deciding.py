"""Commands by which a person decides about single results: approve, reject, edit."""

import getpass
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quire.cli.opening import opened, tell
from quire.cli.options import AsJson
from quire.cli.printing import counted, note
from quire.domain.data import Json
from quire.domain.errors import UsageError
from quire.domain.ids import TaskId

if TYPE_CHECKING:
    from quire.pipeline.decide import Decision

Task = Annotated[
    int, typer.Argument(metavar="TASK", help="A task's number, as `quire export` writes it.")
]


def approve(
    context: typer.Context,
    tasks: Annotated[
        list[int],
        typer.Argument(metavar="TASK...", help="Tasks' numbers, as `quire export` writes them."),
    ],
    as_json: AsJson = False,
) -> None:
    """Confirm results: nothing replaces them any more, and no critic is waited for."""
    refused: list[UsageError] = []
    for task in dict.fromkeys(tasks):
        try:
            with opened(context) as engine:
                decision = engine.approve(TaskId(task), _who())
        except UsageError as error:
            if len(tasks) == 1:
                raise
            refused.append(error)
            note(str(error))
            continue
        _tell(context, as_json, task, decision, "is approved")
    if refused:
        raise typer.Exit(1)


def reject(
    context: typer.Context,
    task: Task,
    why: Annotated[
        str, typer.Option("--note", metavar="TEXT", help="What is wrong; the model is told so.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Refuse a result: it is asked again with the note, and paid again."""
    if not why.strip():
        raise UsageError("say what is wrong with it: --note TEXT")
    with opened(context) as engine:
        decision = engine.reject(TaskId(task), why, _who())
    said = f"is rejected and asked again; `quire attach {decision.run_id}` goes on with its run"
    _tell(context, as_json, task, decision, said)


def edit(
    context: typer.Context,
    task: Task,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FIELD=VALUE",
            help="One field's new value: text where text is now, else JSON.",
            show_default=False,
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="FILE",
            help="All of the new data, as JSON; - reads it from a pipe.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Put your own data in the place of a result; it must pass the gates of its stage."""
    if (source is None) is (not changes):
        raise UsageError(
            "give the new data with --set FIELD=VALUE …, or all of it with --data FILE"
        )
    with opened(context) as engine:
        data = _read(source) if source else _changed(engine.editable(TaskId(task)), changes or [])
        decision = engine.edit(TaskId(task), data, _who())
    _tell(context, as_json, task, decision, "is edited")


def _changed(data: Json, changes: Sequence[str]) -> Json:
    """The data with some of its fields set."""
    fields: dict[str, Json] = dict(data) if isinstance(data, dict) else {}
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals or not name:
            raise UsageError(f"--set wants FIELD=VALUE, not {change!r}")
        fields[name] = value if isinstance(fields.get(name), str) else _meant(value)
    return fields


def _meant(value: str) -> Json:
    try:
        found: Json = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return found


def _read(source: str) -> Json:
    """All of the new data from a file or a pipe."""
    called = "standard input" if source == "-" else source
    try:
        raw = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
        data: Json = json.loads(raw.decode("utf-8-sig"))
    except OSError as error:
        raise UsageError(f"cannot read {called}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{called} is not JSON: {error}") from error
    return data


def _who() -> str:
    """The name of whoever types, as the machine knows it."""
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container's user may have no name
        return ""


def _tell(
    context: typer.Context, as_json: bool, task: int, decision: "Decision", said: str
) -> None:
    lines = [f"task {task} of {decision.stage} {said}"]
    if decision.stale:
        lines.append(
            f"{counted(decision.stale, 'task')} of later stages used what was there before:"
            f" `quire retry {decision.run_id} --stale` asks them again"
        )
    tell(context, as_json, {"task": task, **decision._asdict()}, *lines)
