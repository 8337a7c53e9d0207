"""What is left to `make soak`: repetitions of one behaviour on PostgreSQL, and nothing else."""

from tests.repetitions import Repetitions


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
