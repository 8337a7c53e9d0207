"""What is left to `make soak`: repetitions of one behaviour on PostgreSQL, and nothing else."""

from pathlib import Path

from quire.ledger.statements import load
from tests import repetitions as rules
from tests.repetitions import ABOUT_DEATHS, ABOVE_LEDGER, ONLY_USES, Repetitions

TESTS = Path(rules.__file__).parent


def test_a_test_runs_with_its_first_value_on_postgresql_and_with_all_on_sqlite() -> None:
    repetitions = Repetitions()
    values = [
        {"ledger_url": database, "mode": mode}
        for database in ("sqlite", "postgres")
        for mode in ("exact", "throughput", "best_effort")
    ]

    found = [repetitions.is_repetition("tests/crash/test_a.py::test_b[x]", v) for v in values]

    assert found == [False, False, False, False, True, True]


def test_every_test_runs_on_postgresql() -> None:
    repetitions, on_postgres = Repetitions(), {"ledger_url": "postgres"}

    for name in (
        "tests/a/test_a.py::test_b",
        "tests/a/test_a.py::test_c",
        "tests/a/test_b.py::test_b",
    ):
        assert not repetitions.is_repetition(name, on_postgres)


def test_every_point_of_death_is_a_test_of_its_own() -> None:
    repetitions = Repetitions()
    deaths = [("openai", "before"), ("openai", "after"), ("anthropic", "before")]

    found = [
        repetitions.is_repetition(
            "tests/crash/test_a.py::test_b[x]",
            {"ledger_url": "postgres", "here": vendor, "point": point},
        )
        for vendor, point in deaths
    ]

    assert found == [False, False, True]


def test_where_the_database_is_tested_nothing_is_a_repetition() -> None:
    repetitions, values = Repetitions(), {"ledger_url": "postgres", "kind": "task"}

    for _ in range(2):
        assert not repetitions.is_repetition("tests/ledger/test_a.py::test_b[x]", values)


def test_of_a_file_above_the_ledger_what_no_other_test_shows_runs_on_postgresql() -> None:
    repetitions, file = Repetitions(), ABOVE_LEDGER[0]
    names = ("test_a", "test_b", ONLY_USES["ancestors"], ABOUT_DEATHS[0])

    found = [
        repetitions.is_repetition(f"{file}::{name}[postgres]", {"ledger_url": "postgres"})
        for name in names
    ]

    assert found == [True, True, False, False]
    for name in names:
        assert not repetitions.is_repetition(f"{file}::{name}[sqlite]", {"ledger_url": "sqlite"})


def test_what_is_left_out_and_what_is_not_is_there() -> None:
    files = [TESTS.parent / file for file in ABOVE_LEDGER]
    text = "".join(file.read_text() for file in files)

    names = (*ONLY_USES.values(), *ABOUT_DEATHS)
    assert [name for name in names if f"def {name}(" not in text] == []
    assert ONLY_USES.keys() <= load("postgres").keys()
