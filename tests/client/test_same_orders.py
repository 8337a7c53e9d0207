"""All that a script may say of files, schemas and runs means the same here and at a server."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from quire.domain.errors import Error
from quire.domain.workbench import Workbench
from tests.client.test_workbench import open_workbench
from tests.server.sites import SCHEMA, TEXT

MODEL = "simulated/small"
KINDS = ("here", "there")


class Party(BaseModel):
    """Who pays."""

    party: str


def fill(folder: Path) -> Path:
    """Files to bring in: a folder with two, of which one is hidden and one of an unknown type."""
    files = folder / "files"
    (files / "inner").mkdir(parents=True)
    (files / "lease.md").write_text(TEXT)
    (files / "inner" / "note.txt").write_text("A note about party 7.")
    (files / ".hidden.md").write_text("Nobody reads this.")
    (files / "picture.raw").write_bytes(b"\x00")
    body = {name: value for name, value in SCHEMA.items() if name != "title"}
    (folder / "untitled.json").write_text(json.dumps(body))
    return files


def refusal(act: Any) -> tuple[str, tuple[str, ...]]:
    """By which error something is refused, and with which mistakes."""
    try:
        done = act()
    except Error as refused:
        mistakes = getattr(refused, "mistakes", ())
        return type(refused).__name__, tuple(str(mistake) for mistake in mistakes)
    pytest.fail(f"not refused: {done}")


def bring_in(workbench: Workbench, folder: Path) -> list[object]:
    files = fill(folder)
    found = workbench.ingest(files, files / "none.md", str(folder / "*.md"))
    again = workbench.ingest(str(files / "inn*" / "*.txt"))
    titles = sorted(item.title for item in workbench.documents())
    nothing = refusal(
        lambda: workbench.run(schema=SCHEMA, model=MODEL, over=workbench.ingest(files / "none.md"))
    )
    said = [line.replace(str(folder), "") for line in (*found.refused, *again.refused)]
    return [titles, sorted(said), nothing]


def keep_schemas(workbench: Workbench, folder: Path) -> list[object]:
    file = folder / "untitled.json"
    kept = [workbench.add_schema(source) for source in (Party, file, str(file), SCHEMA)]
    (folder / "changed" / "untitled.json").parent.mkdir()
    other = folder / "changed" / "untitled.json"
    other.write_text('{"type": "object", "properties": {"a": {"type": "string"}}}')
    (folder / "broken.json").write_text("{")
    (folder / "list.json").write_text("[]")
    wrong = {"type": "object", "properties": {"a": {"type": "odd"}}}
    refused = [
        refusal(lambda source=source: workbench.add_schema(source))
        for source in (wrong, other, folder / "broken.json", folder / "list.json", "none.json", 7)
    ]
    return [[(item.ref, item.version, item.uid) for item in kept], refused]


def order_runs(workbench: Workbench, folder: Path) -> list[object]:
    over = workbench.ingest(folder / "files" / "lease.md")

    def plan(**said: Any) -> float:
        return workbench.plan(model=MODEL, over=over, **said).cost_usd

    planned = [
        plan(schema="clause"),
        plan(schema="clause", per="document"),
        plan(schema=Party),
        plan(schema=folder / "untitled.json"),
    ]
    runs = [
        workbench.run(schema=source, model=MODEL, over=over, budget_usd=2, max_cost_usd=1)
        for source in ("clause", Party, folder / "untitled.json")
    ]
    alone = workbench.run(schema="clause", model=MODEL, over=over, per="document", reuse=False)
    ended = [run.wait().done for run in (*runs, alone)]
    refused = [
        refusal(lambda said=said: workbench.run(**{"model": MODEL, "over": over, **said}))
        for said in (
            {"schema": "clause", "new": True, "reuse": False, "max_cost_usd": 0.0},
            {"schema": "clause", "model": "nobody/none"},
            {"schema": "clause", "wallet": "none", "new": True},
            {"schema": "none"},
            {"recipe": "none"},
            {"schema": "clause", "budget_usd": "0,5"},
        )
    ]
    return [planned, ended, [run.id for run in runs], refused]


def steer(workbench: Workbench, folder: Path) -> list[object]:
    over = workbench.ingest(folder / "files" / "lease.md")
    run = workbench.run(recipe="summarise", model=MODEL, over=over, stop_after="summary", new=True)
    before = run.wait()
    resumed = run.resume(budget_usd="$3.00")
    released = run.stop_after(None)
    after = run.wait()
    again = run.rerun("digest") if after.state == "finished" else 0
    run.wait()
    judged = [
        (found.stage, found.applied, found.counts, found.difference_count) for found in run.regate()
    ]
    refused = [
        refusal(lambda: run.rerun("none")),
        refusal(lambda: run.waive(10**6)),
        refusal(lambda: run.resume(budget_usd="much")),
    ]
    return [before.standing, before.done, resumed, released, after.done, again, judged, refused]


def test_files_schemas_and_runs_are_told_alike(tmp_path: Path) -> None:
    found: dict[str, Any] = {}
    for kind in KINDS:
        folder = tmp_path / kind
        folder.mkdir()
        with open_workbench(kind, str(folder / "quire.db")) as workbench:
            found[kind] = [
                bring_in(workbench, folder),
                keep_schemas(workbench, folder),
                order_runs(workbench, folder),
                steer(workbench, folder),
            ]

    for here, there in zip(found["here"], found["there"], strict=True):
        assert here == there
    (titles, refused, nothing), (kept, _), (planned, ended, _, _), steered = found["there"]
    assert titles == ["lease.md", "note.txt"]
    assert [line.rpartition(": ")[2] for line in refused] == [
        "matches no file of a known type",
        "there is no such file or folder",
    ]
    assert nothing[0] == "UsageError"
    assert [ref for ref, _, _ in kept] == ["party", "untitled", "untitled", "clause"]
    assert min(planned) > 0
    assert ended == [12, 12, 12, 1]
    assert steered[:5] == ["held", 1, True, False, 2]
