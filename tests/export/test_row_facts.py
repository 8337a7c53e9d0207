"""What every row carries besides its data: where from, what it cost, and what a person said."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from quire.domain.errors import UsageError
from quire.domain.pricing import from_usd
from quire.engine import RunHandle
from quire.simulated.fault_scripts import parse_fault_script
from tests.world import World, sentences

Worlds = Callable[..., World]


def statuses(run: RunHandle, **which: str) -> list[object]:
    return [row["status"] for row in run.rows(**which)]


def test_a_row_says_where_it_comes_from_who_answered_and_what_it_cost(world: Worlds) -> None:
    here = world()
    here.ingest(texts := sentences(5), name="letters")

    run = here.run(pack_size=3)

    rows = run.rows()
    assert [row["text"] for row in rows] == texts
    assert {(row["source"], row["title"], row["run"], row["model"]) for row in rows} == {
        ("letters.txt", "letters", run.id, "simulated/small")
    }
    assert all(row["changed_at"] for row in rows)
    assert {row["review"] for row in rows} == {"unreviewed"}


def test_the_costs_of_all_rows_are_what_was_spent_whatever_went_wrong(world: Worlds) -> None:
    here = world(faults="wrong@MARK")
    here.ingest(sentences(11, mark=4))
    here.model.script = ["", "drop=1"]

    run = here.run(pack_size=7, max_tries=2)

    now = run.progress()
    spent = now.cost_pico + now.presumed_pico
    assert now.presumed_pico > 0
    assert sum(from_usd(str(row["cost"])) for row in run.rows()) == spent


def test_what_a_person_confirmed_is_accepted_too_and_says_who_and_when(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(3))
    run = here.run()
    first, second, _ = run.rows()

    run.approve(int(str(first["task_id"])), who="Ada")
    data = {name: second[name] for name in ("word_count", "first_40_chars", "has_question")}
    run.edit(int(str(second["task_id"])), {**data, "word_count": 7}, who="Ben")

    rows = run.rows(only="accepted")
    assert [row["status"] for row in rows] == ["confirmed", "confirmed", "accepted"]
    assert [row["review"] for row in rows] == ["approved", "edited", "unreviewed"]
    assert [row["reviewer"] for row in rows] == ["Ada", "Ben", None]
    assert [row["reviewed_at"] is None for row in rows] == [False, False, True]
    assert [row["word_count"] for row in run.rows(only="confirmed")] == [first["word_count"], 7]


def test_a_rejected_row_is_pending_and_says_who_rejected_it_until_it_is_answered(
    world: Worlds,
) -> None:
    here = world()
    here.ingest(sentences(2))
    run = here.run()
    first = int(str(run.rows()[0]["task_id"]))

    run.reject(first, "Count again.", who="Ada")

    row = run.rows()[0]
    assert (row["status"], row["review"], row["reviewer"]) == ("pending", "rejected", "Ada")
    assert row["word_count"] is None
    run.wait()
    row = run.rows()[0]
    assert (row["status"], row["review"], row["reviewer"]) == ("accepted", "unreviewed", None)


def test_rows_are_chosen_by_how_they_stand_and_by_when_they_changed(world: Worlds) -> None:
    here = world(faults="wrong@MARK")
    here.ingest(sentences(4, mark=2))
    run = here.run(max_tries=1)
    here.model.faults = parse_fault_script("")

    assert statuses(run, only="failed") == ["failed"]
    assert statuses(run, only="pending") == []
    last = max(str(row["changed_at"]) for row in run.rows())
    after = datetime.fromisoformat(last) + timedelta(microseconds=1)
    assert run.rows(since=after) == []
    run.approve(int(str(run.rows()[3]["task_id"])))
    assert [row["block_index"] for row in run.rows(since=after.replace(tzinfo=None))] == [3]
    assert len(run.rows(since=(after - timedelta(days=1)).astimezone(UTC).isoformat())) == 4


def test_a_status_or_a_moment_that_is_none_is_refused(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(1))
    run = here.run()

    with pytest.raises(UsageError, match="--only takes all, accepted, confirmed, failed, pending"):
        run.rows(only="good")
    with pytest.raises(UsageError, match="--since takes a moment, not 'soon'; such as 2026-11-18"):
        run.rows(since="soon")


def test_two_paths_of_one_content_are_two_rows_of_one_task_and_one_cost(
    world: Worlds, tmp_path: Path
) -> None:
    here = world()
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text("# Same\n\nOne rule.\n")
    here.engine.ingest(tmp_path / "a.md", tmp_path / "b.md")
    run = here.run()

    rows = run.rows()
    run.export(str(tmp_path / "out.jsonl"))

    assert [Path(str(row["source"])).name for row in rows] == ["a.md", "b.md"] * 2
    assert len({row["task_id"] for row in rows}) == 2
    assert sum(float(str(row["cost"])) for row in rows) == run.progress().cost_usd
    lines = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    sources = [line["immutable"]["source_upload"]["source"] for line in lines]
    assert sources == [row["source"] for row in rows]
