"""Runs are paused, resumed, cancelled and retried."""

from quire.dispatch.runtime import Runtime
from quire.domain.version import VERSION
from quire.engine import open_engine
from tests.cli.conftest import Quire


def test_pause_holds_a_run_and_resume_lets_it_go(ready: Quire) -> None:
    ready("run", "--schema", "clauses", "--detach")

    paused = ready("pause", 1)
    held = ready("status").stdout
    resumed = ready("resume")

    assert "run 1 is paused; `quire resume 1` lets it go on" in paused.stdout
    assert "held (user)" in held
    assert "run 1 may go on" in resumed.stdout
    assert ready.json("run", "--schema", "clauses")["state"] == "finished"


def test_runs_tell_those_at_work_from_those_that_are_held_or_stopped(ready: Quire) -> None:
    for _ in range(3):
        ready("run", "--schema", "clauses", "--detach", "--new")
    ready("pause", 2)
    ready("cancel", 3)

    listed = ready.json("runs")
    shown = [line.split()[:2] for line in ready("runs").stdout.splitlines()[2:]]

    assert [item["state"] for item in listed] == ["cancelled", "running", "running"]
    assert [item["standing"] for item in listed] == ["cancelled", "held", "stopped"]
    assert shown == [["3", "cancelled"], ["2", "held"], ["1", "stopped"]]


def test_pausing_twice_and_resuming_twice_do_no_harm(ready: Quire) -> None:
    ready("run", "--schema", "clauses", "--detach")
    ready("pause")

    assert "was paused already" in ready("pause").stdout
    assert ready.json("resume") == {"run": 1, "changed": True}
    assert "was not held" in ready("resume").stdout


def test_a_cancelled_run_ends_without_a_call(ready: Quire) -> None:
    ready("run", "--schema", "clauses", "--detach")

    ready("cancel")
    ready("work", "--until-idle")

    status = ready.json("status")
    assert (status["state"], status["calls"]) == ("cancelled", 0)
    assert "was cancelled already" in ready("cancel").stdout


def test_failed_blocks_are_retried(ready: Quire) -> None:
    ready("run", "--schema", "clauses", faults="refuse@Clause 7 ", code=1)

    retried = ready("retry")
    again = ready("run", "--schema", "clauses")

    assert "run 1 owes 1 block again" in retried.stdout
    assert "30 of 30 blocks done, 0 failed" in again.stdout


def test_what_is_asked_again_of_a_run_that_somebody_paused_says_that_it_is_held(
    ready: Quire,
) -> None:
    ready("run", "--schema", "clauses", "--limit", 10, faults="refuse@Clause 7 ", code=1)
    ready("pause", 1)

    retried = ready("retry").stdout

    assert "owes 1 block again; it is held (user): `quire status 1` says" in retried
    assert "attach" not in retried


def test_a_finished_run_cannot_be_paused(ready: Quire) -> None:
    ready("run", "--schema", "clauses")

    assert "is finished; there is nothing to pause" in ready("pause", code=2).stderr


def test_retrying_a_run_without_failures_changes_nothing(ready: Quire) -> None:
    ready("run", "--schema", "clauses")

    assert ready("retry").stdout == "run 1 has no failed blocks\n"


def test_what_goes_on_asks_for_a_worker_only_where_there_is_none(ready: Quire) -> None:
    ready("run", "--schema", "clauses", "--detach")
    ready("pause", 1)
    assert "no worker is there: `quire attach 1` or `quire work`" in ready("resume", 1).stdout

    with open_engine(None) as engine, engine.ledger.transaction() as tx:
        tx.workers.add_worker("elsewhere", 1, VERSION, Runtime().now())
    ready("pause", 1)
    assert "a worker is there and goes on with it" in ready("resume", 1).stdout
