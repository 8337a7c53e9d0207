"""The grid: pages from anywhere, filters that read no more than a page may, and records whole."""

from collections.abc import Callable

import pytest

from quire.domain.errors import NotFound, UsageError
from quire.engine.result_pages import MOST_LOOKED_AT, ResultFilter
from tests.pipeline.recipe_stages import record_stage
from tests.pipeline.taste_gate import SUMMARY, start_run
from tests.review.test_inbox import JUDGE
from tests.world import World, sentences, until_rest

Worlds = Callable[..., World]


def test_pages_follow_each_other_and_come_to_what_an_export_has(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(45))
    run = here.run(pack_size=9)
    pages, found, cursor = here.engine.result_pages, [], None

    for _ in range(5):
        page = pages.page(run.id, after=cursor, limit=10)
        found += page.rows
        cursor = page.next

    assert cursor is None
    assert page.fields == ("word_count", "first_40_chars", "has_question")
    rows = run.rows()
    assert [row.task_id for row in found] == [row["task_id"] for row in rows]
    assert [row.data["word_count"] for row in found] == [row["word_count"] for row in rows]
    assert {row.status for row in found} == {"accepted"}


def test_a_filter_takes_what_fits_by_field_text_and_state(world: Worlds) -> None:
    here = world(faults="wrong=0.2")
    here.ingest([*sentences(30), "Is this the needle?"])
    run = here.run(pack_size=8, max_tries=1)
    pages = here.engine.result_pages

    asking = pages.page(run.id, chosen=ResultFilter(fields={"has_question": "yes"}))
    needle = pages.page(run.id, chosen=ResultFilter(text="NEEDLE"))
    failed = pages.page(run.id, chosen=ResultFilter(only="failed"), limit=2)

    assert [row.text for row in needle.rows] == ["Is this the needle?"]
    assert all(row.data["has_question"] is True for row in asking.rows)
    assert run.progress().failed > 2
    assert [row.status for row in failed.rows] == ["failed", "failed"]
    assert all(row.error for row in failed.rows)
    rest = pages.page(run.id, chosen=ResultFilter(only="failed"), after=failed.next)
    assert len(rest.rows) == run.progress().failed - 2


def test_what_is_rare_is_looked_for_a_little_at_a_time(world: Worlds) -> None:
    here = world()
    here.ingest([f"row {number}" for number in range(MOST_LOOKED_AT + 300)] + ["the needle"])
    run = here.run(pack_size=25)
    pages = here.engine.result_pages

    first = pages.page(run.id, chosen=ResultFilter(text="needle"))
    second = pages.page(run.id, chosen=ResultFilter(text="needle"), after=first.next)

    assert (first.rows, first.looked_at) == ([], MOST_LOOKED_AT)
    assert [row.text for row in second.rows] == ["the needle"]
    assert second.next is None


def test_a_record_is_shown_whole_and_only_with_its_own_run(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(3))
    run, other = here.run(pack_size=3), here.run(pack_size=1)
    task = run.rows()[0]["task_id"]
    assert isinstance(task, int)

    record = here.engine.result_pages.record(run.id, task)

    assert record.text == sentences(3)[0]
    assert (record.title, record.part) == ("doc", "0")
    with pytest.raises(NotFound, match=f"run {other.id} has no task {task}"):
        here.engine.result_pages.record(other.id, task)


def test_a_cursor_or_state_that_is_none_is_told_so(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(3))
    run = here.run(pack_size=3)

    with pytest.raises(UsageError, match="no cursor"):
        here.engine.result_pages.page(run.id, after="%%%\x00")
    with pytest.raises(UsageError, match="results are filtered by"):
        here.engine.result_pages.page(run.id, chosen=ResultFilter(only="nice"))


def test_results_are_filtered_by_the_score_that_a_critic_gave(world: Worlds) -> None:
    here = world()
    judge = record_stage(
        "judge", "each_result", "Judge: {{ judged.answer }}", JUDGE, of="summary", critic="record"
    )
    run = start_run(here, stages=(SUMMARY, judge), count=3)
    until_rest(run)
    pages = here.engine.result_pages

    everything = pages.page(run.id, "summary").rows
    scores = [row.score for row in everything if row.score is not None]
    good = pages.page(run.id, "summary", ResultFilter(score_min=min(scores))).rows
    none = pages.page(run.id, "summary", ResultFilter(score_min=1.1)).rows

    assert len(scores) == len(everything) == len(good) > 0
    assert all(0 <= score <= 1 for score in scores)
    assert none == []
