"""Tables keep their numbers on narrow screens: what matters least gives way."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from quire.cli import app
from quire.cli.batches import _NARROWING as OF_BATCHES
from quire.cli.printing import Cell, Narrowing, moment, narrow_table
from quire.cli.rehearse import _NARROWING as OF_REHEARSALS
from quire.cli.runs import _RUNS_NARROWING as OF_RUNS
from quire.dispatch.runtime import Runtime
from tests.cli.conftest import SCHEMA, Quire

LONG = "anthropic/claude-haiku-4-5-20251001"


def test_nothing_gives_way_where_there_is_room() -> None:
    columns, rows = ["a", "*b"], [["1", "2026-01-01 10:00:00"]]

    assert narrow_table(columns, rows, [("b", None)], 40) == (columns, rows)


def test_the_least_important_column_is_shortened_first_and_left_out_later() -> None:
    columns, rows = [">run", "*model", ">cost"], [["1", "a/long-name", "$0.0300"]]
    steps: list[Narrowing] = [("model", lambda name: name[2:]), ("model", None)]

    assert narrow_table(columns, rows, steps, 23)[1] == [["1", "long-name", "$0.0300"]]
    assert narrow_table(columns, rows, steps, 20) == ([">run", ">cost"], [["1", "$0.0300"]])


def test_a_moment_of_today_needs_no_date() -> None:
    now, then = Runtime().now(), datetime(2020, 2, 3, 12, tzinfo=UTC)

    assert Cell.of_moment(now) == (moment(now), moment(now).split()[1])
    assert Cell.of_moment(then) == (moment(then), "2020-02-03")
    assert Cell.of_moment(None) == ("", "")


RUN = ["12", "finished", "clauses", LONG, "12,450", "12,400", "50", "$0.0312 + ≤ $0.0123"]
STARTED = Cell("2026-11-15 10:11:12", "2026-11-15")
STATE = Cell("open, cancelling", "open, cancelling")
BATCH = ["12", "3", LONG, STATE, "1,450", "1,290", "$0.031200", STARTED]
FORECAST = Cell("forecast (packed, cached, batch)", "forecast")
REHEARSED = [FORECAST, "1,450", "1,234,567", "34,567", "0", "45,678"]


@pytest.mark.parametrize(
    ("columns", "row", "steps"),
    [
        (
            (">run", "state", "schema", "model", ">blocks", ">done", ">failed", ">cost", "started"),
            [*RUN, STARTED],
            OF_RUNS,
        ),
        (
            (">batch", ">run", "*model", "state", ">calls", ">answered", ">cost", "next look"),
            BATCH,
            OF_BATCHES,
        ),
        (
            ("", ">calls", ">tokens in", ">of it cached", ">written", ">tokens out", ">cost"),
            [*REHEARSED, "$0.031234"],
            OF_REHEARSALS,
        ),
    ],
)
def test_tables_with_large_numbers_fit_80_columns(
    columns: Sequence[str], row: list[object], steps: Sequence[Narrowing]
) -> None:
    kept, [cells] = narrow_table(columns, [row], steps, 80)

    assert sum(map(len, cells)) <= 80 - 2 * (len(cells) - 1)
    assert ">cost" in kept
    assert row[columns.index(">cost")] in cells


def test_a_run_is_one_line_at_80_columns(ready: Quire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ready("run", "--schema", "clauses")

    lines = ready("runs").stdout.splitlines()

    assert lines[3:] == ["", "simulated: no money was spent"]
    assert "…" not in lines[2]
    assert lines[2].split()[:4] == ["1", "finished", "clauses", "small"]


def test_keys_of_persons_keep_their_names_at_80_columns(
    ready: Quire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for provider, whose in (("anthropic", ()), ("openai", ("--person", "ada"))):
        added = ["keys", "add", provider, "--stdin", *whose]
        assert CliRunner().invoke(app, added, input="sk-abc-123456789012345678").exit_code == 0

    heading, _, *rows = ready("keys", "list").stdout.splitlines()

    assert heading.split() == ["provider", "name", "of", "key", "from", "state", "since", "reason"]
    assert [row.split()[:2] for row in rows] == [["anthropic", "default"], ["openai", "default"]]
    assert all(len(row) <= 80 and row.count("…") == 1 for row in rows)  # of the key itself


def test_tokens_say_until_when_they_are_usable_at_80_columns(
    ready: Quire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    ready("token", "create", "ann", "--role", "reviewer", "--expires", "30d")
    ready("token", "create", f"bob {'of the north ' * 6}", "--role", "viewer")

    _, _, first, second = ready("token", "list").stdout.splitlines()

    assert re.search(r"  usable until \d{4}-\d\d-\d\d( |$)", first)
    assert re.search(r" 2  bob of the north of.*…  viewer  .*  usable( |$)", second)
    assert max(map(len, (first, second))) <= 80


def test_a_probe_fits_80_columns(ready: Quire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    printed = ready("probe", "--schema", "clauses", "--sample", "20", "--sizes", "5,10").stdout
    table, legend = printed.split("\n\n", 1)

    assert max(map(len, table.splitlines())) <= 80
    assert len(table.splitlines()) == 2 + 2 + 2  # heading, alone and again, and two sizes
    assert max(map(len, legend.splitlines()[:4])) <= 80


def test_stages_of_a_recipe_keep_names_and_counts_at_80_columns(
    quire: Quire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    lines = quire("recipe", "show", "dialectic", "--models", "3").stdout.splitlines()

    assert any(line.startswith("parenthesis      3  each_model") for line in lines)
    assert any(line.startswith("pairwise        27  pairs_by_origin") for line in lines)


def test_requests_with_stray_ids_keep_their_kind_and_cost_at_80_columns(
    ready: Quire, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    (folder / "long_recipe.toml").write_text(
        f"""[[stages]]
name = "obligations"
about = "each_block"
schema = "{SCHEMA}"
"""
    )
    ready("run", "--recipe", "long_recipe.toml", "-m", "simulated/medium", faults="stranger=1")

    lines = ready("ledger", 1).stdout.splitlines()[2:6]

    assert lines[0].split()[:4] == ["request", "stage", "model", "kind"]
    assert all("…" not in line for line in lines)
    assert lines[2].endswith("1 unknown")
