"""What was spent, on the command line: every view, with bars that fit, and as JSON."""

import pytest

from quire.cli.spend import BAR, bar
from quire.domain.pricing import dollars
from quire.domain.spend import SpendBy
from tests.cli.conftest import Quire

RUN = ("run", "--schema", "clauses", "--model", "simulated/small", "--new", "-q")


@pytest.fixture
def spent(ready: Quire) -> Quire:
    """The commands, with two runs in the ledger, the second among faults."""
    ready(*RUN)
    ready(*RUN, "--max-tries", "9", "--no-reuse", faults="skip=0.1,500=0.2,seed=4")
    return ready


def test_spend_is_shown_by_run_and_of_a_run_by_stage(spent: Quire) -> None:
    every, one = spent("spend").stdout, spent("spend", "2").stdout

    assert every.split()[0] == "run"
    assert one.split()[0] == "stage"
    assert "extract" in one
    assert "· simulated" in every
    assert "packing saved about $" in every


def test_every_view_comes_to_the_same_total(spent: Quire) -> None:
    views = [spent.json("spend", "--by", by) for by in SpendBy]

    assert len({str(view["total"]) for view in views}) == 1
    for view in views:
        assert sum(row["cost_pico"] for row in view["rows"]) == view["total"]["cost_pico"] > 0
    assert views[0]["simulated_usd"] == views[0]["total"]["cost_usd"]


def test_outcomes_are_told_in_words(spent: Quire) -> None:
    printed = spent("spend", "2", "--by", "outcome").stdout

    assert "split: a pack of which some were asked again" in printed
    assert "lost:" not in printed


def test_a_view_fits_eighty_columns(spent: Quire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    for by in SpendBy:
        table = spent("spend", "--by", by).stdout.partition("\n\n")[0]
        assert max(map(len, table.splitlines())) <= 80
        assert "█" * BAR in table


def test_bars_are_as_long_as_their_share_and_never_vanish() -> None:
    assert bar(8, 8) == "█" * BAR
    assert bar(4, 8) == "█" * (BAR // 2)
    assert bar(1, 10**12) == "▏"
    assert (bar(0, 8), bar(0, 0)) == ("", "")


def test_what_was_answered_before_is_shown_with_what_that_saved(ready: Quire) -> None:
    ready(*RUN)
    ready(*RUN)

    one, outcomes = ready("spend", "2").stdout, ready("spend", "--by", "outcome").stdout
    total = ready.json("spend")["total"]

    assert total["reused"] > 0
    assert f"reuse saved {dollars(total['reuse_saved_pico'])}: " in one
    assert f"{total['reused']} answers were there, and nothing was asked" in one
    assert "reused: nothing was sent: the answer was there" in outcomes


def test_without_calls_there_is_nothing_to_show(ready: Quire) -> None:
    assert ready("spend").stdout == "nothing was sent yet\n"
    assert ready.json("spend")["rows"] == []


def test_what_cannot_be_shown_is_told_in_a_line(ready: Quire) -> None:
    assert "not by 'colour'" in ready("spend", "--by", "colour", code=2).stderr
    ready("spend", "9", code=2)


def test_a_forecast_is_shown_beside_what_was_spent(
    spent: Quire, monkeypatch: pytest.MonkeyPatch
) -> None:
    printed = spent.json("spend", "1", "--forecast")
    said = spent("spend", "--forecast").stdout
    monkeypatch.setenv("COLUMNS", "80")
    narrow = spent("spend", "1", "--forecast").stdout.partition("\n\n")[0]

    (row,) = printed["rows"]
    assert row["low_pico"] < row["forecast_cost_pico"] < row["high_pico"]
    assert row["cost_pico"] == spent.json("spend", "1")["total"]["cost_pico"]
    assert "together: $" in said
    assert "; between $" in said
    assert max(map(len, narrow.splitlines())) <= 80


def test_a_run_that_may_cost_too_much_is_refused_in_a_line(ready: Quire) -> None:
    refused = ready(*RUN, "--max-cost", "0.000001", code=2)

    assert len(refused.stderr.splitlines()) == 1
    assert "this may cost up to $0.0" in refused.stderr
    assert "raise --max-cost, try a part with --limit N" in refused.stderr
    assert ready("runs").stdout.startswith("no runs yet")
    ready(*RUN, "--max-cost", "2.50")


def test_a_recipe_keeps_its_forecast_and_the_end_tells_how_far_off_it_was(notes: Quire) -> None:
    said = notes("run", "--recipe", "notes.toml", "-m", "simulated/small").stdout

    assert "(forecast $0." in said
    stages = [row["stage"] for row in notes.json("spend", "--forecast")["rows"]]
    assert stages == ["summary", "check", "points", "digest"]
