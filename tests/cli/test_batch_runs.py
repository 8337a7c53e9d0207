"""Runs whose calls travel in batches say where they are, from the first line to the last."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from quire.cli.run_summary import print_end
from quire.dispatch.runtime import Runtime
from quire.domain.reasons import HoldCause, HoldKind
from quire.domain.runs import Hold, Progress
from quire.domain.states import RunMove
from quire.engine import open_engine
from quire.providers.catalog import CATALOG
from quire.rehearsal.server import rehearsal_server
from tests.cli.conftest import Quire
from tests.cli.test_batches import make_batch

NOW = Runtime().now()
RUN = ("run", "-s", "clauses", "-m", "openai/gpt-5.6-luna", "--route", "batch")
FEW = "3 calls are fewer than the 30 of a batch: they went direct; --min-batch-size 1 changes that"


@pytest.fixture
def served(ready: Quire, monkeypatch: pytest.MonkeyPatch) -> Iterator[Quire]:
    """The commands, before a provider on this machine."""
    with rehearsal_server(models=CATALOG, batch_latency="1s") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "rehearsal-0000-0000")
        monkeypatch.setenv("QUIRE_POLL", "0.1")
        yield ready


def test_a_run_of_too_few_calls_says_that_they_went_direct(served: Quire) -> None:
    ended = served(*RUN).stdout

    assert f"  {FEW}\n" in ended
    assert served("batches", 1).stdout == f"run 1 has no batches; {FEW}\n"
    assert served("batches").stdout == f"no batches yet; run 1: {FEW}\n"


def test_a_run_in_a_batch_does_not_say_so(served: Quire) -> None:
    ended = served(*RUN, "--min-batch-size", 1).stdout

    assert "went direct" not in ended
    assert "collected" in served("batches").stdout


def test_a_deadline_that_passes_is_told_as_it_passes_at_the_end_and_afterwards(
    ready: Quire, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = "the deadline passed: 3 calls go direct now; 1 batch is still out, and it is asked"
    with rehearsal_server(models=CATALOG, batch_latency="1h") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "rehearsal-0000-0000")
        monkeypatch.setenv("QUIRE_POLL", "0.1")
        done = ready(*RUN, "--min-batch-size", 1, "--deadline", "8s")

    assert f"run 1: {passed}" in done.stderr
    assert f"\n  {passed}" in done.stdout
    assert "deadline_passed" in ready("events", 1).stdout


def test_a_run_says_that_it_goes_steadily_without_being_asked_to(
    ready: Quire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = "openrouter/openai/gpt-5.4-mini"
    (tmp_path / "quire.toml").write_text(f'[models."{model}"]\nlike = "openai/gpt-5.4-mini"\n')
    said = "calls to openrouter go steadily (paced), at most four at a time, unless told otherwise"
    with rehearsal_server(models=CATALOG) as server:
        monkeypatch.setenv("OPENROUTER_BASE_URL", f"{server.url}/api/v1")
        monkeypatch.setenv("OPENROUTER_API_KEY", "rehearsal-0000-0000")
        steady = ready("run", "-s", "clauses", "-m", model)
        at_once = ready("run", "-s", "clauses", "-m", model, "--route", "direct", "--new")

    assert f"with {model}; {said}" in steady.stderr
    assert said not in at_once.stderr


def stop_lines(now: Progress, capsys: pytest.CaptureFixture[str], *, new: bool) -> list[str]:
    """What is said after Ctrl-C, below the sums."""
    with open_engine() as engine:
        print_end(engine, now, 130, forecast=None, quiet=False, new=new)
    return capsys.readouterr().out.splitlines()[2:]


@pytest.mark.parametrize(
    ("batches", "said"),
    [
        (1, "1 batch stays with the provider; `quire attach 1` comes back to it"),
        (2, "2 batches stay with the provider; `quire attach 1` comes back to them"),
    ],
)
def test_who_stops_a_run_is_told_how_it_goes_on(
    ready: Quire, capsys: pytest.CaptureFixture[str], batches: int, said: str
) -> None:
    ready("run", "-s", "clauses", "--detach")
    with open_engine() as engine:
        now = replace(engine.get(1).progress(), batches=batches)

    assert stop_lines(now, capsys, new=False) == [
        said,
        "next: the same command goes on, or quire attach 1",
    ]
    assert stop_lines(now, capsys, new=True)[1].startswith("next: quire attach 1 goes on; ")


def test_a_limit_is_not_said_to_go_on_with_new(ready: Quire) -> None:
    ended = ready("run", "-s", "clauses", "--limit", 20, "--new").stdout

    assert "next: the same command without --limit and --new goes on" in ended


def test_a_run_that_ended_says_that_a_batch_is_still_out(served: Quire) -> None:
    served(*RUN, "--detach")
    with open_engine() as engine:
        make_batch(engine, 1, look_in=timedelta(seconds=1))
    served("cancel", 1)
    served("work", "--until-idle")

    said = "1 batch is being cancelled; what it answered is recorded when a worker looks:"
    assert f"{said} quire attach 1" in " ".join(served("status", 1).stdout.split())
    with open_engine() as engine:
        assert engine.get(1).progress().batches == 1


def test_attaching_to_a_run_that_ended_waits_for_its_batches(served: Quire) -> None:
    served(*RUN, "--min-batch-size", 1, "--detach")
    with open_engine() as engine:
        run = engine.get(1)
        engine.work(lambda: run.progress().batches > 0 and bool(engine.batches(1)[0].ref))
        with engine.ledger.transaction() as tx:
            tx.runs.move_run(RunMove.CANCEL, run.id, NOW)  # as if all else had been answered
        assert run.progress().batches == 1

    printed = served("attach", 1, code=1)

    assert served.json("batches", 1)[0]["state"] == "collected"
    assert printed.stderr.startswith("1 batch is being cancelled; what it answered is recorded")
    assert "batch" not in printed.stdout


def test_a_hold_that_names_its_cure_is_not_given_another(
    ready: Quire, capsys: pytest.CaptureFixture[str]
) -> None:
    ready("run", "-s", "clauses", "--detach")
    with open_engine() as engine:
        start = engine.get(1).progress()
        text = "the key is gone; put it back; then `quire resume 1`"
        gone = Hold(HoldKind.CREDENTIAL, text, NOW, HoldCause.CALL_REFUSED)
        print_end(engine, replace(start, holds=(gone,)), 4, forecast=None, quiet=False)

    said = capsys.readouterr()
    assert "put it back; then `quire resume 1`" in said.err
    assert said.out.splitlines()[2:] == ["next: after that, quire attach 1 goes on"]


def test_a_log_tells_when_a_batch_goes_out_and_comes_home(served: Quire) -> None:
    lines = [line[9:] for line in served(*RUN, "--min-batch-size", 1).stderr.splitlines()[1:]]

    assert "run 1: batch 1 is with the provider: 3 calls" in lines
    assert "run 1: batch 1 completed" in lines
    assert served(*RUN, "--min-batch-size", 1, "--new", "--quiet").stderr == ""


def test_a_worker_tells_what_becomes_of_batches_and_runs(served: Quire) -> None:
    served(*RUN, "--min-batch-size", 1)
    served(*RUN, "--min-batch-size", 1, "--new", "--no-reuse", "--detach")

    lines = [line[9:] for line in served("work", "--until-idle").stderr.splitlines()[1:]]

    assert "run 2: batch 2 is with the provider: 3 calls" in lines
    assert "run 2: batch 2 completed" in lines
    assert lines[-1] == "run 2: finished: 30 done, 0 failed"
    assert not any("run 1" in line for line in lines)


def test_a_quiet_worker_tells_nothing(ready: Quire) -> None:
    ready("run", "-s", "clauses", "--detach")

    assert ready("work", "--until-idle", "--quiet").output == ""
