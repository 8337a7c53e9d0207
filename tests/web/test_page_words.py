"""How pages show moments, bars, addresses and lines with commands in them."""

from datetime import UTC, datetime, timedelta

import pytest

from quire.web.page_words import ago, cents, code, shares, show_controls, with_query

NOW = datetime(2026, 11, 18, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "now"), (59, "59 s ago"), (61, "1 min ago"), (90_000, "1 d ago"), (-7200, "in 2 h")],
)
def test_a_moment_is_told_by_how_long_ago_it_was(seconds: int, words: str) -> None:
    assert ago(NOW - timedelta(seconds=seconds), NOW) == words


def test_a_bar_is_never_longer_than_itself_and_shows_the_least() -> None:
    parts = shares([("done", 999_999), ("failed", 1), ("flight", 0)], 1_000_000)

    assert [part.kind for part in parts] == ["done", "failed"]
    assert parts[1].width > 0
    assert sum(part.width for part in parts) <= 100.001
    assert shares([("done", 1)], 0) == []


def test_a_part_of_an_address_is_changed_and_the_rest_stays() -> None:
    assert with_query("/runs?state=held&cursor=a", cursor="b&c") == "/runs?state=held&cursor=b%26c"
    assert with_query("/runs?cursor=a", cursor=None) == "/runs"


def test_commands_in_a_line_are_code_and_all_of_it_is_escaped() -> None:
    assert code("try `quire <b>`; or") == "try <code>quire &lt;b&gt;</code>; or"
    assert code("one ` alone <i>") == "one ` alone &lt;i&gt;"


@pytest.mark.parametrize(
    ("pico", "shown"),
    [(0, "$0"), (352_000_000_000, "$0.35"), (5_000_000_000, "$0.0050"), (10**15, "$1,000.00")],
)
def test_money_on_a_button_is_short(pico: int, shown: str) -> None:
    assert cents(pico) == shown


def test_marks_that_turn_the_direction_are_visible_and_others_stay() -> None:
    text = "invoice\u202efdp.exe \u2066x\u2069 \x1b[31m עברית\u200f"

    shown = show_controls(text)

    assert shown == "invoice⟨U+202E⟩fdp.exe ⟨U+2066⟩x⟨U+2069⟩ ␛[31m עברית\u200f"
