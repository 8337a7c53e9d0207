"""The engine as a script uses it: files in, rows out, one clear line for every mistake."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

import quire
from quire.domain.errors import (
    LedgerError,
    NotFound,
    SchemaInvalid,
    UnknownModel,
    UsageError,
)
from quire.domain.ids import DocumentId, RunId
from quire.domain.runs import Progress
from quire.domain.workbench import LISTING
from tests.world import METADATA, sentences


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("# Title\n\nFirst paragraph. Really?\n\n- one\n- two\n")
    (folder / "b.txt").write_text("Only one.\n\nAnd another.\n")
    (folder / "rows.csv").write_text("id,text\n1,hello\n2,bye\n")
    (folder / "notes.jsonl").write_text('{"id": 1, "text": "hi"}\n')
    (tmp_path / "metadata.json").write_text(json.dumps(METADATA))
    return folder


def test_five_lines_of_python_turn_a_folder_into_rows(docs: Path, tmp_path: Path) -> None:
    q = quire.open(str(tmp_path / "work.db"))

    run = q.run(over=q.ingest(docs), schema=tmp_path / "metadata.json", model="simulated/small")
    run.wait()
    rows = run.rows()

    assert [row["status"] for row in rows] == ["accepted"] * 9
    assert [row["has_question"] for row in rows if row["title"] == "Title"][1] is True
    q.close()


def test_a_ledger_that_is_made_on_opening_is_told_and_may_be_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    quire.open(tmp_path / "work.db").close()
    quire.open(tmp_path / "work.db").close()  # there already: nothing to say
    slip = tmp_path / "wrok.db"

    with pytest.raises(LedgerError, match=r"there is no ledger at .*did you mean .*work.db"):
        quire.open(slip, must_exist=True)
    refused = slip.exists()
    quire.open(slip).close()

    assert not refused
    made, meant = caplog.messages
    assert made.startswith(f"a new, empty ledger was made: {tmp_path / 'work.db'}; open it with")
    assert f"was made: {slip}; did you mean {tmp_path / 'work.db'}?" in meant


def test_ledgers_and_exports_may_be_paths(docs: Path, tmp_path: Path) -> None:
    with quire.open(tmp_path / "paths.db") as q:
        q.ingest(docs)
        run = q.run(schema=METADATA, model="simulated/small")
        run.wait()

        written = run.export(tmp_path / "out.csv")

        assert written == len(quire.read_export(tmp_path / "out.csv")) == len(run.rows())


def test_an_engine_may_be_told_an_environment_of_its_own(
    docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a quire.toml above would win over any environment
    told = {"QUIRE_LEDGER": str(tmp_path / "told.db"), "QUIRE_MODEL": "simulated/small"}

    with quire.open(environment=told) as q:
        planned = q.plan(over=q.ingest(docs), schema=tmp_path / "metadata.json")
        assert q.environment == told

    assert planned.order.facts.name == "simulated/small"
    assert (tmp_path / "told.db").exists()


def test_waiting_for_a_run_says_whether_it_is_held_and_why(docs: Path, tmp_path: Path) -> None:
    with quire.open(str(tmp_path / "work.db")) as q:
        q.ingest(docs)
        run = q.run(schema=tmp_path / "metadata.json", model="simulated/small")
        run.pause()
        paused = run.wait()
        run.resume()
        end = run.wait()

    assert (paused.held, [hold.kind.value for hold in paused.holds]) == (True, ["user"])
    assert (end.held, end.holds, end.done) == (False, (), 9)


def test_a_run_that_nobody_works_for_says_so_in_all_that_shows_it(
    docs: Path, tmp_path: Path
) -> None:
    seen = set[str]()

    def interrupt(now: Progress) -> None:
        if not seen:
            os.kill(os.getpid(), signal.SIGINT)
        seen.add(now.standing)

    (docs / "many.txt").write_text("\n\n".join(sentences(300)))
    with quire.open(str(tmp_path / "work.db"), faults="latency=0.05") as q:
        q.ingest(docs)
        run = q.run(schema=METADATA, model="simulated/small", pack_size=1, concurrency=2)
        new = (run.progress().standing, repr(run) == repr(run.progress()))
        with pytest.raises(KeyboardInterrupt, match="all answers are kept"):
            run.wait(interrupt)
        now = run.progress()

        assert (new, seen) == (("stopped", True), {"running"})
        assert (now.standing, now.state, q.runs()[0].standing) == ("stopped", "running", "stopped")
        assert repr(run) == repr(now)
        assert repr(now).startswith("<quire run 1: stopped, ")


def test_documents_that_are_not_there_are_named_and_a_path_is_no_document(
    docs: Path, tmp_path: Path
) -> None:
    with quire.open(str(tmp_path / "work.db")) as q:
        q.ingest(docs)
        small = "simulated/small"
        with pytest.raises(NotFound, match="there is no document 99"):
            q.run(over=[DocumentId(1), DocumentId(99)], schema=METADATA, model=small)
        with pytest.raises(UsageError, match=r"is a name, not documents; give `ingest\("):
            q.run(over=str(docs), schema=METADATA, model=small)  # type: ignore[arg-type]
        assert q.runs() == []
    assert {"open", "HeldError"} <= set(dir(quire))


def test_waiting_for_a_run_that_nobody_can_send_says_what_to_do(docs: Path, tmp_path: Path) -> None:
    with quire.open(str(tmp_path / "work.db"), environment={}) as q:
        q.ingest(docs)
        run = q.run(schema=METADATA, model="openai/gpt-5.6-luna")
        with pytest.raises(quire.HeldError, match=r"run 1 is held: .*OPENAI_API_KEY") as held:
            run.wait()

    assert [hold.kind.value for hold in held.value.progress.holds] == ["credential"]
    assert str(held.value).endswith("; then `run.resume()` and `run.wait()`")
    assert "quire resume" not in str(held.value)


def test_a_variable_that_names_no_address_is_told_as_that(docs: Path, tmp_path: Path) -> None:
    environment = {"OPENAI_API_KEY": "sk-x", "OPENAI_BASE_URL": "not an address"}
    with quire.open(str(tmp_path / "work.db"), environment=environment) as q:
        q.ingest(docs)
        run = q.run(schema=METADATA, model="openai/gpt-5.6-luna")
        with pytest.raises(quire.HeldError, match="OPENAI_BASE_URL must be an address") as held:
            run.wait()

    assert [hold.kind.value for hold in held.value.progress.holds] == ["address"]


def test_an_engine_and_a_plan_say_what_they_are(docs: Path, tmp_path: Path) -> None:
    with quire.open(str(tmp_path / "work.db")) as q:
        q.ingest(docs)
        plan = q.plan(schema=METADATA, model="simulated/small")

        assert repr(q) == f"<quire engine on {tmp_path / 'work.db'}; {LISTING}>"
        assert re.fullmatch(
            r"<quire plan: 9 tasks in \d+ calls?, about \$0\.\d+, simulated>", repr(plan)
        )


def test_a_bad_file_gets_one_line_and_the_rest_go_in(docs: Path, tmp_path: Path) -> None:
    (docs / "binary.md").write_bytes(b"a\x00b")
    (docs / "empty.txt").write_bytes(b"")
    with quire.open(str(tmp_path / "work.db")) as q:
        told = q.ingest(docs, tmp_path / "missing.md")

    assert len(told.documents) == 4
    assert len(told.refused) == 3
    assert all("\n" not in line for line in told.refused)


def test_ingesting_again_is_a_no_op(docs: Path, tmp_path: Path) -> None:
    with quire.open(str(tmp_path / "work.db")) as q:
        q.ingest(docs)
        again = q.ingest(docs)

        assert [document.new for document in again.documents] == [False] * 4
        assert len(q.documents()) == 4


def test_a_row_that_breaks_off_leaves_nothing_of_its_file(tmp_path: Path) -> None:
    broken = tmp_path / "rows.jsonl"
    broken.write_text('{"a": 1}\n' * 3000 + "not json\n")
    with quire.open(str(tmp_path / "work.db")) as q:
        told = q.ingest(broken)

        assert "3001" in told.refused[0]
        assert q.documents() == []


@pytest.mark.parametrize(
    ("what", "error", "says"),
    [
        ({"schema": "nobody"}, NotFound, "there is no schema 'nobody'"),
        ({"schema": {"type": "array"}}, SchemaInvalid, "mistakes"),
        ({"schema": METADATA, "model": "simulated/smal"}, UnknownModel, "simulated/small"),
        ({"schema": METADATA, "pack_size": 0}, UsageError, "pack_size"),
        ({"schema": METADATA, "pak_size": 3}, UsageError, "pack_size"),
        ({"schema": METADATA, "over": []}, UsageError, "ingest"),
    ],
)
def test_a_mistake_is_found_before_anything_is_spent(
    docs: Path, tmp_path: Path, what: dict[str, object], error: type[Exception], says: str
) -> None:
    with quire.open(str(tmp_path / "work.db")) as q:
        q.ingest(docs)

        with pytest.raises(error, match=says):
            q.run(**{"model": "simulated/small", **what})  # type: ignore[arg-type]
        assert q.runs() == []


def test_a_ledger_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is a text file, and quite a long one at that" * 30)

    for path, says in [
        (tmp_path / "no" / "folder.db", "there is no folder"),
        (tmp_path / "text.db", "not a Quire ledger"),
        (tmp_path / "a\0b.db", "names no file"),
    ]:
        with pytest.raises(LedgerError, match=says):
            quire.open(str(path))


def test_working_for_a_run_that_is_not_there_says_so_and_leaves_nothing_behind(
    tmp_path: Path,
) -> None:
    with quire.open(str(tmp_path / "quire.db")) as q:
        for act in (q.get, q.drive, lambda run: q.work(only=run)):
            with pytest.raises(NotFound, match=r"^there is no run 999; `quire runs` lists them$"):
                act(RunId(999))
        with q.ledger.snapshot() as tx:
            assert tx.workers.live_workers(datetime.min.replace(tzinfo=UTC)) == []


def test_wait_works_inside_a_running_loop(docs: Path, tmp_path: Path) -> None:
    with quire.open(str(tmp_path / "work.db")) as q:
        q.ingest(docs)
        run = q.run(schema=METADATA, model="simulated/small")

        async def notebook() -> int:
            return run.wait().done

        assert asyncio.run(notebook()) == 9


def test_ctrl_c_is_heard_at_once_in_a_script_that_has_a_loop_of_its_own(
    docs: Path, tmp_path: Path
) -> None:
    pressed = list[int]()

    def press(now: Progress) -> None:
        if now.done and not pressed:
            pressed.append(now.done)
            os.kill(os.getpid(), signal.SIGINT)

    (docs / "many.txt").write_text("\n\n".join(sentences(300)))
    with quire.open(str(tmp_path / "work.db"), faults="latency=0.05") as q:
        q.ingest(docs)
        run = q.run(schema=METADATA, model="simulated/small", pack_size=1, concurrency=2)

        async def script() -> None:
            run.wait(press)

        with pytest.raises(KeyboardInterrupt):
            asyncio.run(script())
        assert pressed
        assert run.progress().done < 300
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_file_that_was_read_before_in_another_way_is_told_in_python_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "rows.csv").write_text("id,text\n1,hello\n")
    with quire.open(str(tmp_path / "work.db")) as q:
        caplog.clear()  # that the ledger is new
        q.ingest(tmp_path / "rows.csv")
        assert caplog.messages == []
        q.ingest(tmp_path / "rows.csv", text_column="text")

    assert "is read in another way (--text-column" in caplog.messages[0]


def test_a_plan_agrees_with_the_run_on_requests(docs: Path, tmp_path: Path) -> None:
    with quire.open(str(tmp_path / "work.db")) as q:
        q.ingest(docs)
        planned = q.plan(schema=METADATA, model="simulated/small", pack_size=4).forecast
        run = q.run(schema=METADATA, model="simulated/small", pack_size=4)

        assert run.wait().calls == planned.packed.requests


def test_importing_quire_loads_no_database(tmp_path: Path) -> None:
    code = "import sys, quire; print(sorted(m for m in ('sqlite3', 'psycopg') if m in sys.modules))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert said.stdout.strip() == "[]"


def test_settings_of_the_folder_are_used_and_flags_win(
    docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "quire.toml").write_text(
        'ledger = "here.db"\nmodel = "simulated/large"\n[policy]\npack_size = 2\n'
    )
    monkeypatch.chdir(docs)
    monkeypatch.setenv("QUIRE_PACK_SIZE", "3")
    monkeypatch.setenv("QUIRE_MAX_TRIES", "5")
    with quire.open() as q:
        q.ingest(docs)
        order = q.plan(schema=METADATA, concurrency=7).order

        assert q.settings.ledger == str(tmp_path / "here.db")
        assert order.facts.name == "simulated/large"
        assert (order.policy.policy.pack_size, order.policy.sources["pack_size"]) == (
            2,
            "quire.toml",
        )
        assert (order.policy.policy.max_tries, order.policy.sources["max_tries"]) == (
            5,
            "environment",
        )
        assert (order.policy.policy.concurrency, order.policy.sources["concurrency"]) == (7, "flag")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ledgr = 'x'", "did you mean ledger"),
        ("ledger = 3", "ledger must be a text"),
        ("not toml", "quire.toml"),
        ("[worker]\nlease = -1", "lease must be a positive"),
    ],
)
def test_a_mistake_in_quire_toml_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, says: str
) -> None:
    (tmp_path / "quire.toml").write_text(text)
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UsageError, match=says):
        quire.open()


def test_all_mistakes_of_quire_toml_are_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "quire.toml").write_text(
        """
        [policy]
        pack_size = 99
        pakcing = true
        [providers.openai]
        api = "grpc"
        [aliases]
        cheap = "luna"
        [models."azure/first"]
        like = "openai/gpt-nobody"
        [models."azure/second"]
        window = 1000
        [models."azure/third"]
        like = "azure/second"
        """
    )
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UsageError) as caught:
        quire.open()

    at = f"{tmp_path / 'quire.toml'}: "
    lines = [line.removeprefix(at) for line in str(caught.value).splitlines()]
    assert [line.partition(" must")[0].partition(";")[0] for line in lines[:4]] == [
        "aliases.cheap",
        "providers.openai.api",
        "policy: pack_size",
        "policy: pakcing is not known",
    ]
    assert [line.partition("]")[0] for line in lines[4:]] == [
        '[models."azure/first"',
        '[models."azure/second"',
    ]


def test_a_model_that_cannot_be_used_is_in_the_way_of_runs_only(
    docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "quire.toml").write_text(
        '[models."azure/a"]\nlike = "openai/no"\n[models."azure/b"]\nwindow = 5\n'
    )
    monkeypatch.chdir(tmp_path)

    with quire.open() as q:
        assert q.runs() == []
        q.ingest(docs)
        with pytest.raises(UsageError) as caught:
            q.run(schema=tmp_path / "metadata.json", model="simulated/small")

    assert [line.partition("]")[0] for line in str(caught.value).splitlines()] == [
        '[models."azure/a"',
        '[models."azure/b"',
    ]
