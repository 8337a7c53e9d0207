"""Rows as they end: each once, in the order they came, and whoever stops reading stops the work."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

import quire
from tests.engine.test_extract import MODEL, Ticket
from tests.world import World

Worlds = Callable[..., World]
TEXTS = [f"Ticket {number} is about something." for number in range(12)]
SLOWLY: dict[str, Any] = {"pack_size": 3, "concurrency": 1}


def stream(here: World, data: Any, **said: Any) -> Any:
    return here.engine.stream(data, Ticket, model=MODEL, **said)


def test_rows_come_while_others_are_still_asked_for(world: Worlds) -> None:
    here = world(faults="wrong@number")
    here.model.hold = lambda number: number > 2
    frame = pd.DataFrame({"text": [None, *TEXTS, "wrong number"]})

    rows = stream(here, frame, text="text", **SLOWLY)
    first = [next(rows) for _ in range(7)]
    asked = here.model.calls
    here.model.hold = lambda number: False
    rest = list(rows)

    assert first[0]["status"] == "skipped"
    assert [row.position for row in first[1:]] == [1, 2, 3, 4, 5, 6]
    assert {row["status"] for row in first[1:]} == {"accepted"}
    assert asked <= 3
    assert sorted(row.position for row in [*first, *rest]) == list(range(14))
    assert next(row for row in rest if row.position == 13)["status"] == "failed"


def test_whoever_stops_reading_stops_the_work_and_goes_on_later(world: Worlds) -> None:
    here = world()
    here.model.hold = lambda number: number > 2 and not here.engine._stops
    rows = stream(here, TEXTS, **SLOWLY)
    next(rows)

    rows.close()
    sent = here.model.calls
    later = list(stream(here, TEXTS, **SLOWLY))

    assert sent < 4
    assert [row["status"] for row in later] == ["accepted"] * 12
    assert sum(here.model.packs) == 12


def test_a_run_that_is_over_is_streamed_from_the_ledger(world: Worlds) -> None:
    here = world()
    found = here.engine.extract(TEXTS, Ticket, model=MODEL)

    rows = list(stream(here, TEXTS))

    assert rows == list(found)
    assert list(stream(here, [""])) == [
        {**dict.fromkeys(rows[0]), "text": "", "status": "skipped"}
        | {"error": "there is no text in this row", "cost_usd": 0.0}
    ]


def test_a_run_that_is_held_says_so_after_its_rows(world: Worlds) -> None:
    here = world()
    here.model.script = ["", "key=1"]
    found: list[Any] = []

    with pytest.raises(quire.HeldError, match="then the same call"):
        found.extend(stream(here, TEXTS, **SLOWLY))
    again = list(stream(here, TEXTS, **SLOWLY))

    assert [row.position for row in found] == [0, 1, 2]
    assert [row.position for row in again] == list(range(12))


def test_files_are_streamed_too(world: Worlds, tmp_path: Any) -> None:
    (tmp_path / "a.txt").write_text("One thing.\n\nAnother thing.")
    (tmp_path / "b.txt").write_text("A third.")
    (tmp_path / "c.txt").write_text("A third.")

    files = [tmp_path / "a.txt", tmp_path / "b.txt", tmp_path / "c.txt"]
    rows = list(stream(world(), files, per="block"))

    assert [(row.position, row["title"], row["text"]) for row in rows] == [
        (0, "a.txt", "One thing."),
        (1, "a.txt", "Another thing."),
        (2, "b.txt", "A third."),
        (3, "c.txt", "A third."),
    ]
    assert rows[2]["cost_usd"] > rows[3]["cost_usd"] == 0
