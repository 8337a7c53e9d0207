"""The same script against a ledger here and one behind a server gives the same."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas
import pytest

import quire
from quire.client.remote_run import RemoteProgress, RemoteRun
from quire.client.remote_workbench import RemotePlan, RemoteWorkbench
from quire.domain.errors import IllegalMove, LedgerError, NotFound, UsageError
from quire.domain.runs import Progress
from quire.domain.workbench import (
    LISTING,
    RunProgress,
    Workbench,
    WorkbenchPlan,
    WorkbenchRun,
)
from quire.engine import Engine, Plan, RunHandle
from tests.server.served import serve
from tests.server.sites import SCHEMA, TEXT


@contextmanager
def open_workbench(kind: str, place: str) -> Iterator[Workbench]:
    if kind == "here":
        with quire.open(place, environment={}) as engine:
            yield engine
    else:
        with serve(place) as address:
            yield quire.connect(address)


def wait_without_a_key(workbench: Workbench, documents: Any) -> object:
    """How a run stands that nobody can send, wherever it is asked."""
    keyless = workbench.run(schema=SCHEMA, model="anthropic/claude-haiku-5-5", over=documents)
    with pytest.raises(quire.HeldError, match=f"run {keyless.id} is held: .*anthropic") as held:
        keyless.wait()
    assert repr(keyless).startswith(f"<quire run {keyless.id}: held, 0 of ")
    now = keyless.progress()
    assert repr(held.value.progress) == repr(keyless) == repr(now)
    return str(now.state), now.standing, now.why


def review_some(run: WorkbenchRun, tasks: list[int]) -> list[object]:
    """What a person is shown, decides, takes back and finds afterwards."""
    first, second = tasks
    listed = run.inbox(limit=3)
    run.approve(first, who="bo")
    undone = run.undo(first, who="bo")
    left = [line.task_id for line in run.inbox("review=unreviewed")]
    assert first in left
    assert second in left
    assert [item.who for item in run.decisions(first)] == ["bo", "bo"]
    lines = [(line.task_id, line.title, line.reasons, line.state, line.data) for line in listed]
    return [lines, (undone.task_id, undone.changed), [str(item.move) for item in run.decisions()]]


def assert_same_frame(here: Any, there: Any) -> None:
    """Of the same kind and with the same columns, types and values, but for moments and keys."""
    assert type(here) is type(there)
    if isinstance(here, pandas.DataFrame):
        assert list(here.dtypes.items()) == list(there.dtypes.items())
        assert here["amount"].tolist() == there["amount"].tolist()
    else:
        schema = "features" if hasattr(here, "features") else "schema"
        assert getattr(here, schema) == getattr(there, schema)


PROTOCOLS = [
    (Workbench, Engine, RemoteWorkbench),
    (WorkbenchRun, RunHandle, RemoteRun),
    (RunProgress, Progress, RemoteProgress),
    (WorkbenchPlan, Plan, RemotePlan),
]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda kinds: kinds[0].__name__)
def test_all_that_the_protocol_lists_is_there_on_both_sides(protocol: tuple[type, ...]) -> None:
    wanted, *sides = protocol
    names = {name for name in vars(wanted) if not name.startswith("_")}

    for side in sides:  # that they take and give the same is checked with the types
        missing = names - {"id"} - set(dir(side))
        assert not missing, side


def ask_for_odd_runs(workbench: Workbench) -> None:
    """What is no run is refused in one line."""
    with pytest.raises(NotFound):
        workbench.get(10**6)
    for odd in ("runs", 0, -1, 2.5, True, None):
        with pytest.raises(UsageError, match="is no run's number"):
            workbench.get(odd)  # type: ignore[arg-type]


def carry_out(workbench: Workbench, folder: Path) -> dict[str, object]:
    """A script that does not care where the ledger is."""
    (folder / "lease.md").write_text(TEXT)
    documents = workbench.ingest(folder / "lease.md")
    plan = workbench.plan(schema=SCHEMA, model="simulated/small", over=documents, pack_size=4)
    run = workbench.run(schema=SCHEMA, model="simulated/small", over=documents, pack_size=4)
    ended = run.wait()
    rows = run.rows()
    run.approve(int(str(rows[0]["task_id"])), who="ann")
    run.edit(int(str(rows[1]["task_id"])), {"party": "me", "amount": 3}, who="ann")
    written = run.export(str(folder / "out.csv"), "confirmed")
    with pytest.raises(IllegalMove):
        run.pause()
    ask_for_odd_runs(workbench)
    assert f"<quire run {run.id}: finished, {ended.done} of {ended.done} blocks done" in repr(run)
    workbench.add_schema(SCHEMA)
    return {
        "held": wait_without_a_key(workbench, documents),
        "runs": [
            (item.id, str(item.state), item.standing, item.why, item.name, item.model, item.done)
            for item in workbench.runs()
        ],
        "documents": [
            (item.id, item.title, item.conv_total_blocks) for item in workbench.documents()
        ],
        "schemas": [(item.ref, item.version, item.uid) for item in workbench.schemas()],
        "planned": plan.cost_usd,
        "ended": (str(ended.state), ended.done, ended.failed, ended.cost_usd),
        "rows": [(row["party"], row["amount"], row["status"]) for row in run.rows()],
        "again": workbench.get(run.id).progress().done,
        "reviewed": review_some(run, [int(str(row["task_id"])) for row in rows[2:4]]),
        "frames": [
            make(only="accepted")
            for make in (run.to_pandas, run.to_polars, run.to_arrow, run.to_hf)
        ],
        "written": written,
        "lines": len((folder / "out.csv").read_text().splitlines()),
    }


def test_the_same_script_gives_the_same_here_and_at_a_server(tmp_path: Path) -> None:
    found = {}
    for kind in ("here", "there"):
        folder = tmp_path / kind
        folder.mkdir()
        with open_workbench(kind, str(folder / "quire.db")) as workbench:
            found[kind] = carry_out(workbench, folder)

    for here, there in zip(found["here"].pop("frames"), found["there"].pop("frames"), strict=True):  # type: ignore[call-overload]
        assert_same_frame(here, there)
    assert found["here"] == found["there"]
    assert found["here"]["reviewed"][-1] == ["undo", "approve", "edit", "approve"]  # type: ignore[index]
    assert found["here"]["written"] == 2
    assert found["here"]["lines"] == 3
    state, standing, why = found["here"]["held"]  # type: ignore[misc]
    assert (state, standing, len(why)) == ("running", "held", 1)  # type: ignore[has-type]
    held, finished = found["here"]["runs"]  # type: ignore[misc]
    assert held[:4] == (2, "running", "held", why)  # type: ignore[has-type]
    assert finished[:4] == (1, "finished", "finished", ())  # type: ignore[has-type]
    assert found["here"]["documents"] == [(1, "lease.md", found["here"]["ended"][1])]  # type: ignore[index]
    assert found["here"]["schemas"]


def test_a_list_goes_on_beyond_a_page(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text(f"Text {number}.")
    with serve(str(tmp_path / "quire.db")) as address:
        there = quire.connect(address)
        there.ingest(*(tmp_path / f"{number}.txt" for number in range(3)))

        whole = there.documents()
        pages = list(there._session.list("/v1/documents", 100, page=2))
        assert repr(there) == f"<quire server at {address}, workspace local; {LISTING}>"

    assert [item.title for item in whole] == ["0.txt", "1.txt", "2.txt"]
    assert len(pages) == 3


def test_an_open_engine_says_what_it_is(tmp_path: Path) -> None:
    with quire.open(str(tmp_path / "quire.db"), environment={}) as engine:
        said = repr(engine)

    assert said == f"<quire engine on {tmp_path / 'quire.db'}; {LISTING}>"


def test_nobody_there_is_told_in_one_line() -> None:
    with pytest.raises(LedgerError, match="quire serve"):
        quire.connect("http://127.0.0.1:9")
    with pytest.raises(UsageError):
        quire.connect("ftp://x")
    with pytest.raises(UsageError, match=r"http://127.0.0.1:9$"):
        quire.connect("http://127.0.0.1:9/runs/2")
    with pytest.raises(UsageError, match="no server's address"):
        quire.connect("http://127.0.0.1:port")
    with pytest.raises(LedgerError, match="quire serve"):  # its line's end is no part of a token
        quire.connect("http://127.0.0.1:9", "qt_secret\n")
    with pytest.raises(UsageError, match=r"^that is no token: [a-z ]+$"):
        quire.connect("http://127.0.0.1:9", "qt_\nsecret")
