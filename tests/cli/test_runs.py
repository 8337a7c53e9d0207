"""Runs are looked at: how they stand, what failed, what was asked, what came out."""

import json
import re
from pathlib import Path

import pytest

from quire.cli.printing import short_model_name
from quire.dispatch.runtime import Runtime
from quire.domain.ids import RunId
from quire.domain.version import VERSION
from quire.engine import open_engine
from tests.cli.conftest import Quire
from tests.ledger.raw import Raw


@pytest.fixture
def ran(ready: Quire) -> Quire:
    """The commands, with a run in which one block of thirty failed."""
    ready("run", "--schema", "clauses", faults="refuse@Clause 7 ", code=1)
    return ready


def test_a_model_of_ones_own_server_is_called_by_its_name_and_machine() -> None:
    names = {
        "openai/gpt-5-mini": "gpt-5-mini",
        "openrouter/acme/small": "small",
        "vertex/claude@20250101": "claude@20250101",
        "compatible/my-model@http://127.0.0.1:8911/v1": "my-model@127.0.0.1:8911",
        "compatible/a/b@https://here/v1/chat/completions": "b@here",
    }

    assert {name: short_model_name(name) for name in names} == names


def test_runs_are_listed_the_newest_first(ran: Quire) -> None:
    ran("run", "--schema", "clauses", "--new")

    lines = ran("runs").stdout.splitlines()

    assert [line.split()[0] for line in lines[2:4]] == ["2", "1"]
    assert lines[4:] == ["", "simulated: no money was spent"]
    assert lines[2].split()[1:7] == ["finished", "clauses", "simulated/small", "30", "30", "0"]


def test_status_sums_a_run_up(ran: Quire) -> None:
    text = ran("status").stdout

    assert "run 1    finished" in text
    assert "30: 29 done, 1 failed" in text
    assert "blocks each on average" in text
    assert re.search(r"^cost +\$0\.\d+ · simulated$", text, re.MULTILINE)


def test_status_says_why_nothing_moves(ready: Quire) -> None:
    ready("run", "--schema", "clauses", "--detach")

    assert "no worker is running" in ready("status").stdout


def test_status_offers_no_way_on_that_would_begin_another_run(ready: Quire) -> None:
    ready("run", "--schema", "clauses", "--detach", "--new")

    way = "no worker is running: `quire attach 1` or `quire work` goes on with it"
    assert way in " ".join(ready("status").stdout.split())


def test_a_run_whose_neighbour_alone_is_worked_on_is_stopped(ready: Quire) -> None:
    ready("run", "--schema", "clauses", "--detach")
    ready("run", "--schema", "clauses", "--detach", "--new")
    with open_engine(None) as engine, engine.ledger.transaction() as tx:
        tx.workers.add_worker("elsewhere", 1, VERSION, Runtime().now(), RunId(2))

    lines = ready("runs").stdout.splitlines()

    assert [line.split()[1] for line in lines[2:]] == ["running", "stopped"]
    assert [item["standing"] for item in ready.json("runs")] == ["running", "stopped"]
    assert ready("status", 1).stdout.splitlines()[0].split() == ["run", "1", "stopped"]
    assert "no worker is running" in ready("status", 1).stdout
    assert "no worker" not in ready("status", 2).stdout


def test_status_shows_each_policy_value_with_its_source(ran: Quire) -> None:
    assert "max_tries 3 built-in" in " ".join(ran("status", "--policy").stdout.split())


def test_status_of_an_older_run_is_asked_for_by_number(ran: Quire) -> None:
    ran("run", "--schema", "clauses", "--new")

    assert ran.json("status")["run"] == 2
    assert ran.json("status", 1)["run"] == 1


def test_failures_are_grouped_by_cause(ran: Quire) -> None:
    groups = ran.json("failures")

    assert [group["count"] for group in groups] == [1]
    assert "refused" in groups[0]["cause"]
    said = ran("failures").stdout
    assert "quire retry 1" in said
    (failure,) = groups[0]["failures"]
    assert f"{failure['task_id']}: notes.txt, block {failure['block_index']}" in " ".join(
        said.split()
    )
    assert failure["source"].endswith("notes.txt")
    assert failure["refused"] == "I cannot help with this request."
    assert "refused  I cannot help with this request." in said


def test_task_numbers_are_in_every_view_of_results(ran: Quire) -> None:
    shown = ran.json("show", "--limit", 1)[0]["task_id"]
    ran("export", "-o", "out.jsonl")
    line = json.loads(Path("out.jsonl").read_text().splitlines()[0])

    assert line["user_defined"]["task_id"] == shown
    assert ran.json("prompt", shown)["task"]["id"] == shown


def test_a_prompt_that_does_not_fit_says_by_how_much_and_what_helps(
    ready: Quire, folder: Path
) -> None:
    (folder / "long.txt").write_text("word " * 40_000)
    ready("ingest", "long.txt")
    ready("run", "--schema", "clauses", "--document", "long.txt", code=1)

    said = " ".join(ready("failures").stdout.split())

    assert "why its prompt of about 50," in said
    assert "simulated/small has room for 31,488, " in said
    assert "a model with a larger window helps, or less to read" in said


def test_a_run_without_failures_says_so(ready: Quire) -> None:
    ready("run", "--schema", "clauses")

    assert ready("failures").stdout == "run 1 has no failed blocks\n"


def test_prompt_shows_exactly_what_was_sent(ran: Quire) -> None:
    printed = ran.json("prompt", 3)
    text = ran("prompt", 3).stdout

    assert printed["system"] in text
    assert printed["user"] in text
    assert "Clause 2 of notes.txt." in printed["user"]
    assert "(simulated)" in text


def test_ledger_lists_a_runs_requests_page_by_page(ran: Quire) -> None:
    first = ran.json("ledger", "--limit", 2)
    more = ran.json("ledger", "--limit", 2, "--after", first[-1]["id"])

    assert [item["id"] for item in first] == [1, 2]
    assert more[0]["id"] == 3
    assert "more: quire ledger 1 --after 2" in ran("ledger", "--limit", 2).stdout


def test_ledger_says_of_which_calls_the_cost_is_presumed(ready: Quire) -> None:
    ready("run", "--schema", "clauses", "--pack-size", 1, faults="drop=0.3,seed=2")

    listed = ready.json("ledger", "--all")
    shown = ready("ledger", "--all").stdout.splitlines()

    presumed = {item["id"] for item in listed if item["presumed"]}
    marked = {int(line.split()[0]) for line in shown if "≤ $" in line}
    assert presumed == marked
    assert 0 < len(presumed) < len(listed)


def test_ledger_shows_one_request_with_attempt_response_and_tasks(ran: Quire) -> None:
    printed = ran.json("ledger", "--request", 2)
    text = ran("ledger", "--request", 2).stdout

    assert len(json.loads(printed["attempts"][0]["decoded"])["results"]) == 10
    assert json.loads(printed["attempts"][0]["raw"])["simulated"]
    assert len(printed["members"]) == printed["request"]["tasks"]
    assert "attempt 1  settled" in text
    assert "simulated/small (simulated)" in text


def test_a_request_of_another_run_is_not_shown(ran: Quire) -> None:
    ran("run", "--schema", "clauses", "--new")

    assert "belongs to run 1" in ran("ledger", 2, "--request", 1, code=2).stderr


def test_events_tell_a_runs_history(ran: Quire) -> None:
    assert ran.json("events")[0]["kind"] == "run_started"
    assert "extract with simulated/small" in ran("events").stdout


def test_show_prints_the_first_rows_with_their_fields(ran: Quire) -> None:
    lines = ran("show", "--limit", 3).stdout.splitlines()

    assert lines[0] == "notes.txt"
    assert lines[5].startswith("   1  Clause 0 of note")
    assert lines[-1] == "the first 3 of 30 blocks of run 1 · simulated"
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (("--limit", 40), "all 30 blocks of run 1"),
        (("--only", "confirmed"), "none confirmed, of 30 blocks of run 1"),
        (("--only", "failed"), "1 failed, of 30 blocks of run 1"),
        (("--only", "accepted", "--limit", 2), "the first 2 accepted, of 30 blocks"),
    ],
)
def test_show_says_how_much_of_a_run_it_shows(
    ran: Quire, said: tuple[str | int, ...], words: str
) -> None:
    assert words in ran("show", *said).stdout.splitlines()[-1]


def test_show_gives_programs_block_and_data(ran: Quire) -> None:
    row = ran.json("show", "--only", "failed")[0]

    assert row["block_content"] == "Clause 7 of notes.txt."
    assert (row["status"], row["data"]) == ("failed", None)
    assert "refused" in row["error"]


def test_export_writes_every_block_in_order(ran: Quire, folder: Path) -> None:
    result = ran("export", 1, "-o", "out.jsonl")

    rows = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    assert [row["immutable"]["block"]["block_index"] for row in rows] == list(range(30))
    assert result.stdout == "run 1: 30 lines in out.jsonl · simulated\n"


def test_export_to_stdout_keeps_its_remark_apart(ran: Quire) -> None:
    result = ran("export", "--only", "failed", "--output", "-")

    assert json.loads(result.stdout)["user_defined"]["status"] == "failed"
    assert result.stderr == "run 1: 1 line · simulated\n"


def test_export_tells_programs_what_it_wrote(ran: Quire) -> None:
    assert ran.json("export", "-o", "out.jsonl", "--only", "accepted") == {
        "run": 1,
        "lines": 29,
        "path": "out.jsonl",
        "format": "jsonl",
        "unchanged": False,
        "simulated": True,
    }


def test_an_export_in_the_middle_says_how_much_is_pending(ready: Quire) -> None:
    ready("run", "--schema", "clauses", "--limit", 20)

    assert ready("export", "-o", "out.jsonl").stdout == (
        "run 1: 30 lines in out.jsonl, 10 of them pending: run 1 has not ended · simulated\n"
    )
    assert ready.json("export", "-o", "out.jsonl")["pending"] == 10
    assert "pending" not in ready("export", "-o", "out.jsonl", "--only", "accepted").stdout


def test_one_block_each_is_one_block(ready: Quire) -> None:
    ready("run", "--schema", "clauses", "--no-packing")

    assert "1 block each on average" in ready("status").stdout


@pytest.mark.parametrize(
    "args",
    [
        ["export", "--format", "xml", "-o", "x"],
        ["export", "--only", "some", "-o", "x"],
        ["export", "-o", "no/such/folder/x"],
        ["export", "--json"],
        ["status", "99"],
        ["status", "newest"],
        ["prompt", "999"],
        ["ledger", "--request", "999"],
    ],
)
def test_what_is_not_there_is_a_usage_error_of_one_line(ran: Quire, args: list[str]) -> None:
    result = ran(*args, code=2)

    assert len(result.stderr.splitlines()) == 1
    assert result.stderr.startswith("quire: ")
    assert result.stdout == ""


def test_a_list_that_is_cut_says_so_also_to_programs(ready: Quire) -> None:
    ready("run", "-s", "clauses", "--no-packing")
    ready("run", "-s", "clauses", "--new", "--detach")

    for command, limit in (("runs", 1), ("events", 1), ("ledger", 5)):
        run = () if command == "runs" else ("1",)
        cut = ready(command, *run, "--limit", str(limit), "--json")
        whole = ready(command, *run, "--all", "--json")

        assert f"truncated at {limit}" in cut.stderr
        assert len(json.loads(cut.stdout)) == limit < len(json.loads(whole.stdout))
        assert whole.stderr == ""


@pytest.mark.parametrize(
    "command", [("export", "-o", "out.jsonl"), ("show",), ("show", "--json")], ids=" ".join
)
def test_a_damaged_result_is_named_and_not_written(
    ran: Quire, folder: Path, command: tuple[str, ...]
) -> None:
    raw = Raw(str(folder / "quire.db"))
    raw.rows("UPDATE results SET data = '{broken' WHERE task_id = 3")
    raw.close()

    result = ran(*command, code=3)

    assert "task 3: its result in the ledger is damaged" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (folder / "out.jsonl").exists()
