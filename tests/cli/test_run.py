"""A run is forecast, carried out, limited, gone on with, and summed up."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import SCHEMA, Quire


def test_plan_compares_one_per_call_with_packed(ready: Quire) -> None:
    text = ready("plan", "--schema", "clauses").stdout

    assert "30 blocks" in text
    assert "simulated" in text
    assert "recommended: packed, up to 10 blocks per call" in text


def test_plan_tells_programs_the_same(ready: Quire) -> None:
    printed = ready.json("plan", "--schema", "clauses", "--pack-size", "5")

    assert printed["simulated"]
    assert [item["requests"] for item in printed["variants"]] == [30, 6]
    assert printed["recommended"] == "packed"
    assert printed["saving_percent"] > 0


def test_plan_without_packing_recommends_nothing_else(ready: Quire) -> None:
    printed = ready.json("plan", "--schema", "clauses", "--no-packing")

    assert [item["requests"] for item in printed["variants"]] == [30]
    assert "what the policy" in ready("plan", "-s", "clauses", "--no-packing").stdout


def test_plan_spends_nothing(ready: Quire) -> None:
    ready("plan", "--schema", "clauses")

    assert ready.json("runs") == []


def test_a_run_in_a_pipe_prints_only_its_summary(ready: Quire) -> None:
    lines = ready("run", "--schema", "clauses").stdout.splitlines()

    assert lines[0] == "run 1 is done: 30 of 30 blocks done, 0 failed · simulated"
    assert lines[1].startswith("  3 calls · ")
    assert "(forecast $0." in lines[1]
    assert lines[2:] == ["next: quire show 1, or quire export 1 -o out.jsonl"]


def test_a_run_says_on_stderr_which_one_it_is(ready: Quire) -> None:
    result = ready("run", "--schema", "clauses")

    assert (
        result.stderr
        == "run 1: clauses over 1 document, 30 blocks with simulated/small (simulated)\n"
    )


def test_a_quiet_run_prints_nothing(ready: Quire) -> None:
    assert ready("run", "--schema", "clauses", "-q").output == ""


def test_a_run_may_be_told_a_file_for_its_schema(ready: Quire) -> None:
    assert ready.json("run", "--schema", SCHEMA)["schema"] == "clauses"


def test_a_limit_is_kept_and_the_same_command_goes_on(ready: Quire) -> None:
    limited = ready("run", "--schema", "clauses", "--limit", "20")
    rest = ready("run", "--schema", "clauses")

    assert limited.stdout.startswith("run 1 reached its limit of 20: 20 of 30 blocks done")
    assert "without --limit goes on" in limited.stdout
    assert rest.stderr.startswith("run 1 goes on, 20 done so far")
    assert rest.stdout.startswith("run 1 is done: 30 of 30")


def test_new_begins_again(ready: Quire) -> None:
    ready("run", "--schema", "clauses", "--limit", "20")

    assert ready.json("run", "--schema", "clauses", "--new")["run"] == 2


def test_a_detached_run_is_only_recorded_and_a_worker_carries_it_out(ready: Quire) -> None:
    recorded = ready.json("run", "--schema", "clauses", "--detach")
    before = ready.json("status")
    ready("work", "--until-idle")

    assert recorded == {"run": 1, "goes_on": False, "detached": True}
    assert (before["state"], before["done"]) == ("running", 0)
    assert ready.json("status")["state"] == "finished"
    again = ready("run", "--schema", "clauses", "--detach").stdout
    assert again == "run 1 has this already and is finished: nothing is asked again\n"


def test_only_the_flags_that_were_given_are_policy(ready: Quire) -> None:
    ready("run", "-s", "clauses", "--pack-size", "5", "--no-packing", "--ledger-bodies", "full")

    policy = ready.json("status", "--policy")["policy"]
    assert {name: item["value"] for name, item in policy.items() if item["source"] == "flag"} == {
        "pack_size": 5,
        "packing": False,
        "ledger": "full",
    }


def test_a_run_with_failures_ends_with_1_and_says_where_to_look(ready: Quire) -> None:
    result = ready("run", "--schema", "clauses", faults="refuse@Clause 7 ", code=1)

    assert "29 of 30 blocks done, 1 failed" in result.stdout
    assert "next: quire failures 1 says why" in result.stdout


def test_too_many_early_failures_hold_the_run_with_4(ready: Quire, folder: Path) -> None:
    (folder / "more.txt").write_text("\n\n".join(f"More {number}." for number in range(60)))
    ready("ingest", "more.txt")

    result = ready("run", "--schema", "clauses", faults="wrong=1", code=4)

    assert "run 1 is held" in result.stdout
    assert "quire: run 1 is held (failures)" in result.stderr
    assert "then `quire resume 1`" in result.stderr
    assert "next: after that, quire attach 1 goes on" in result.stdout


@pytest.mark.parametrize("fault", ["key", "garbage"])
def test_a_provider_that_cannot_go_on_holds_the_run_with_4(ready: Quire, fault: str) -> None:
    printed = ready.json("run", "--schema", "clauses", faults=f"{fault}=1", code=4)

    assert [hold["kind"] for hold in printed["holds"]] == [
        {"key": "credential", "garbage": "undecodable"}[fault]
    ]
    assert printed["why"][0].startswith("held")


def test_a_paused_run_is_not_carried_out(ready: Quire) -> None:
    ready("run", "--schema", "clauses", "--detach")
    ready("pause")

    result = ready("run", "--schema", "clauses", code=4)

    assert "held (user): paused" in result.stderr
    assert ready.json("status")["calls"] == 0


def test_a_run_tells_programs_its_exit_code_too(ready: Quire) -> None:
    printed = ready.json("run", "--schema", "clauses", faults="refuse@Clause 7 ", code=1)

    assert (printed["done"], printed["failed"], printed["exit_code"]) == (29, 1, 1)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--schema", "nothing"], "there is no schema 'nothing'; known: clauses"),
        (["--schema", "clauses", "--model", "simulated/smal"], "did you mean simulated/small or"),
        (["--schema", "clauses", "--pack-size", "26"], "from 1 to 25"),
        (["--schema", "clauses", "--limit", "0"], "see `quire run --help`"),
        ([], "give --schema NAME or --recipe NAME, one of the two"),
    ],
)
def test_a_wrong_order_is_refused_before_anything_is_spent(
    ready: Quire, args: list[str], message: str
) -> None:
    result = ready("run", *args, code=2)

    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert ready.json("runs") == []


def test_one_document_may_be_asked_about_alone(
    ready: Quire, write_blocks: Callable[[str, int], Path]
) -> None:
    ready("ingest", write_blocks("more.txt", 7))

    assert ready.json("plan", "-s", "clauses")["blocks"] == 37
    assert ready.json("plan", "-s", "clauses", "--document", "more.txt")["blocks"] == 7
    assert ready.json("run", "-s", "clauses", "--document", "more.txt")["blocks"] == 7
    printed = ready("run", "-s", "clauses", "--document", "nobody", code=2)
    assert "there is no document 'nobody'" in printed.stderr


def test_blocks_that_an_earlier_run_has_answers_to_are_named_before_they_are_asked_again(
    ready: Quire, tmp_path: Path
) -> None:
    run = ("run", "-s", "clauses", "-m", "simulated/small")
    first = ready(*run)
    same = ready(*run, "--concurrency", "2")
    other = ready(*run, "--pack-size", "3", "--temperature", "0")
    fresh = tmp_path / "fresh.txt"
    fresh.write_text("The last of all clauses stands alone.")
    ready("ingest", fresh)

    planned = ready("plan", *run[1:])
    more = ready(*run)

    assert "has answers" not in first.stderr + same.stderr
    assert "blocks already, with other settings (pack_size, temperature); a new run" in other.stderr
    assert "`quire attach 1` goes on with it" in other.stderr
    assert "has answers" not in planned.stderr + more.stderr  # they are taken, and it is said
    assert "of 31 blocks 30 are answered already: " in planned.stdout
    assert "1 call · " in more.stdout
    assert "30 answered before: $" in more.stdout
    assert "has answers" not in ready(*run, "--new").stderr


def test_answers_about_documents_that_are_taken_are_not_told_as_asked_again(
    ready: Quire, tmp_path: Path
) -> None:
    run = ("run", "-s", "clauses", "-m", "simulated/small", "--per", "document")
    ready(*run)
    fresh = tmp_path / "fresh.txt"
    fresh.write_text("The last of all clauses stands alone.")
    ready("ingest", fresh)

    planned, more = ready("plan", *run[1:]), ready(*run)
    other = ready(*run, "--temperature", "0")

    assert "has answers" not in planned.stderr + more.stderr
    assert " answered before: $" in more.stdout
    assert "run 2 has answers to this already, with other settings (temperature); a" in other.stderr
