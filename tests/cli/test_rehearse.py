"""`quire rehearse run` carries the real job out for nothing, and says what it would cost."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import SCHEMA, Quire

MODEL = "openai/gpt-5.6-luna"


def test_a_rehearsal_is_told_beside_its_forecast(ready: Quire) -> None:
    printed = ready("rehearse", "run", "--schema", "clauses", "--model", MODEL)

    lines = printed.stdout.splitlines()
    assert lines[0] == f"rehearsed 30 blocks · clauses · {MODEL}"
    assert lines[4].startswith("forecast (packed")
    assert lines[5].startswith("rehearsed ")
    assert "30 done, 0 failed" in printed.stdout
    assert "10 blocks per call" in printed.stdout
    assert "nothing leaves this machine" in printed.stderr


def test_nothing_is_left_in_the_ledger(ready: Quire) -> None:
    ready("rehearse", "run", "--schema", "clauses", "--model", MODEL, "--quiet")

    assert ready.json("runs") == []


def test_json_has_everything(ready: Quire) -> None:
    printed = ready.json(
        *("rehearse", "run", "--schema", "clauses", "--model", MODEL, "--sample", 12),
        *("--fault", "500=0.3", "--fault", "skip=0.1", "--pack-size", 2, "--seed", 3),
        *("--max-tries", 12),  # who meets which fault is a matter of order: none may run out
    )

    assert (printed["blocks"], printed["all_blocks"], printed["done"]) == (12, 30, 12)
    assert printed["tokens"]["input"] > 0
    assert printed["billed_usd"] == printed["cost_usd"] > 0
    assert printed["forecast"]["calls"] == 6
    assert printed["resent"] == printed["server"]["statuses"]["500"] > 0
    assert printed["all_blocks_usd"] == pytest.approx(printed["billed_usd"] * 30 / 12)
    assert (printed["failures"], printed["holds"], printed["exit_code"]) == ([], [], 0)


def test_faults_and_failures_are_named(ready: Quire) -> None:
    printed = ready(
        *("rehearse", "run", "--schema", "clauses", "--model", MODEL, "--max-tries", 1),
        *("--fault", "wrong@Clause", "--sample", 4),
        code=1,
    )

    assert "0 done, 4 failed" in printed.stdout
    assert "faults: wrong: " in printed.stdout
    assert "failed: 4 blocks: " in printed.stdout


def test_batches_are_told_with_their_faults_and_what_is_presumed(ready: Quire) -> None:
    printed = ready(
        *("rehearse", "run", "--schema", "clauses", "--model", MODEL, "--route", "batch"),
        *("--min-batch-size", 1, "--pack-size", 3, "--batch-latency", "0.1s"),
        *("--fault", "batch_missing@1"),
    ).stdout

    assert "\n2 batches of 13 calls in all; completed: 2\n" in printed
    assert "\nfaults: batch_missing: 1\n" in printed
    assert " + at most $0.0" in printed


def test_a_rehearsal_that_made_no_batch_says_why(ready: Quire) -> None:
    printed = ready(
        *("rehearse", "run", "--schema", "clauses", "--model", MODEL, "--route", "batch")
    ).stdout

    assert "fewer than the 30 of a batch: they went direct; --min-batch-size 1" in printed


def test_a_hold_is_told_with_its_code(ready: Quire) -> None:
    printed = ready(
        *("rehearse", "run", "--schema", "clauses", "--model", MODEL, "--fault", "key=1"), code=4
    )

    assert "the run would be held (credential)" in printed.stderr


def test_the_simulated_model_needs_no_rehearsal(ready: Quire) -> None:
    printed = ready("rehearse", "run", "--schema", "clauses", code=2)

    assert printed.stderr.startswith("quire: simulated/small is a rehearsal already")
    assert "\n" not in printed.stderr.strip()


def test_named_documents_and_a_schemas_file_will_do(
    ready: Quire, write_blocks: Callable[[str, int], Path]
) -> None:
    ready("ingest", write_blocks("more.txt", 5))

    printed = ready.json(
        *("rehearse", "run", "--schema", SCHEMA, "--model", MODEL, "--document", "more.txt")
    )

    assert (printed["blocks"], printed["done"]) == (5, 5)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--fault", "nothing=1"), "nothing"),
        (("--latency", "soon"), "latency"),
        (("--limit-profile", "apples=3"), "limit"),
        (("--document", "nobody.txt"), "there is no document"),
    ],
)
def test_a_mistake_gets_one_line(ready: Quire, args: tuple[str, ...], says: str) -> None:
    printed = ready("rehearse", "run", "--schema", "clauses", "--model", MODEL, *args, code=2)

    assert says in printed.stderr
    assert len(printed.stderr.strip().splitlines()) == 1


def test_its_help_has_an_example(quire: Quire) -> None:
    printed = " ".join(quire("rehearse", "run", "--help").stdout.split())

    assert "Example: quire rehearse run" in printed
