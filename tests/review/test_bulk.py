"""Bulk: one decision about all that a filter takes, after a look at some of them."""

from collections.abc import Callable
from datetime import datetime

import pytest

from quire.domain.errors import IllegalMove, NotFound, UsageError
from quire.domain.reviews import InboxFilter
from quire.domain.states import ReviewMove
from quire.review.bulk import BulkOrder, decide_bulk
from tests.world import NOW, World, sentences

Worlds = Callable[..., World]
ALL = InboxFilter()


def test_a_preview_counts_and_shows_five_at_random(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(30))
    run, review = here.run(pack_size=10), here.engine.review

    preview = review.preview_bulk(run.id, ALL, seed=7)

    assert preview.count == 30
    assert len({line.task_id for line in preview.sample}) == 5
    assert preview == review.preview_bulk(run.id, ALL, seed=7)
    assert preview.sample != review.preview_bulk(run.id, ALL, seed=8).sample
    assert preview.reject_cost.cost_pico is not None
    assert preview.reject_cost.cost_pico > run.progress().cost_pico  # each goes alone
    assert review.preview_bulk(run.id, InboxFilter.parse("reason=stale")).count == 0


def test_all_that_a_filter_takes_are_approved_once_in_groups(
    world: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quire.review.bulk.GROUP", 4)
    here = world()
    here.ingest(sentences(10))
    run, review = here.run(), here.engine.review
    (held,) = review.take(run.id, "Bo")

    result = review.decide_bulk(run.id, "approve", ALL, "Ada", note="seen", command="b1")

    assert (result.decided, result.skipped, result.changed) == (9, 1, True)
    assert [line.task_id for line in review.inbox(run.id).lines] == [held.task_id]
    again = review.decide_bulk(run.id, "approve", ALL, "Ada", command="b1")
    assert (again.decided, again.changed) == (0, False)
    decisions = review.decisions(run.id).decisions
    assert len(decisions) == 9
    assert {(it.who, it.note) for it in decisions} == {("Ada", "seen")}


def test_a_bulk_that_was_cut_off_goes_on_with_the_same_command(
    world: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quire.review.bulk.GROUP", 4)
    here = world()
    here.ingest(sentences(10))
    run, review = here.run(), here.engine.review
    now, calls = here.engine.context.runtime.now, [0]

    def dying() -> object:
        calls[0] += 1
        if calls[0] == 3:
            raise KeyboardInterrupt
        return now()

    monkeypatch.setattr(here.engine.context.runtime, "now", dying)
    with pytest.raises(KeyboardInterrupt):
        review.decide_bulk(run.id, "reject", ALL, "Ada", note="No.", command="b1")
    monkeypatch.setattr(here.engine.context.runtime, "now", now)
    first = len(review.decisions(run.id).decisions)
    assert 0 < first < 10
    run.wait()  # those are answered again, and in the inbox again

    result = review.decide_bulk(run.id, "reject", ALL, "Ada", note="No.", command="b1")

    assert result.decided == 10 - first
    rejected = [it.task_id for it in review.decisions(run.id).decisions]
    assert len(rejected) == len(set(rejected)) == 10  # each of them once


def test_a_rejection_of_all_says_why(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(2))
    run = here.run()

    with pytest.raises(UsageError, match="say what is wrong with them"):
        here.engine.review.decide_bulk(run.id, "reject", ALL, "Ada")
    with pytest.raises(UsageError, match="can be approved or rejected, not edit"):
        here.engine.review.decide_bulk(run.id, "edit", ALL, "Ada")


def test_what_a_bulk_leaves_to_others_can_be_decided_under_its_command_later(
    world: Worlds,
) -> None:
    here = world()
    here.ingest(sentences(3))
    run, review = here.run(), here.engine.review
    first = review.take(run.id, "Bo")[0].task_id

    decided = review.decide_bulk(run.id, "approve", ALL, "Ada", command="all")
    review.give_back("Bo")
    later = review.approve(first, "Ada", command=f"all/{first}")

    assert decided.skipped == 1
    assert later.changed


@pytest.mark.parametrize(("first", "second"), [("approve", "reject"), ("reject", "approve")])
def test_what_another_decided_since_it_was_chosen_is_skipped(
    world: Worlds, first: str, second: str
) -> None:
    here = world()
    here.ingest(sentences(3))
    run, review = here.run(), here.engine.review
    others = [line.task_id for line in review.inbox(run.id).lines][:2]

    def decide_and_look() -> datetime:  # the clock is looked at when all are chosen
        while others:
            task = others.pop()
            review.approve(task, "Ann") if first == "approve" else review.reject(task, "No.", "Ann")
        return NOW

    order = BulkOrder(ReviewMove(second), ALL, "Cyd", "No.", None)
    done = decide_bulk(
        here.engine.ledger, lambda tx: review._spec(tx, run.id), order, decide_and_look
    )

    assert (done.decided, done.skipped) == (1, 2)
    whose = [(it.who, it.move) for it in review.decisions(run.id).decisions]
    assert sorted(whose) == [("Ann", first), ("Ann", first), ("Cyd", second)]


def test_what_was_rejected_and_has_come_again_is_left_out_unless_it_is_asked_for(
    world: Worlds,
) -> None:
    here = world()
    here.ingest(sentences(4))
    run, review = here.run(), here.engine.review
    first, second, *_ = [line.task_id for line in review.inbox(run.id).lines]
    review.reject(first, "No.", "Ada")
    review.reject(second, "No.", "Ada")
    run.wait()
    review.undo(second, "Ada")  # as if it had never been rejected

    preview = review.preview_bulk(run.id, ALL)
    only = review.inbox(run.id, InboxFilter.parse("again=yes")).lines
    done = review.decide_bulk(run.id, "approve", ALL, "Bo")
    asked = review.decide_bulk(run.id, "approve", InboxFilter.parse("again=any"), "Bo")

    assert (preview.count, preview.again) == (3, 1)
    assert [line.task_id for line in only] == [first]
    assert (done.decided, asked.decided) == (3, 1)


@pytest.mark.parametrize("command", [None, "b1"])
@pytest.mark.parametrize("move", ["approve", "reject"])
def test_what_was_decided_at_once_is_taken_back_at_once(
    world: Worlds, monkeypatch: pytest.MonkeyPatch, move: str, command: str | None
) -> None:
    monkeypatch.setattr("quire.review.bulk.GROUP", 4)
    monkeypatch.setattr("quire.review.bulk_undo.GROUP", 3)
    here = world()
    here.ingest(sentences(10))
    run, review = here.run(), here.engine.review
    tasks = [line.task_id for line in review.inbox(run.id).lines]
    review.approve(tasks[9], "Bo")
    decided = review.decide_bulk(run.id, move, ALL, "Ada", note="so", command=command)
    review.undo(tasks[0], "Bo")  # taken back alone
    review.hold(tasks[2], "Cy")

    undone = review.undo_bulk(decided.decision or 0, "Di", run=run.id)

    assert (decided.decided, undone.changed, undone.skipped) == (9, True, 1)
    assert undone.decided == 7
    left = [line.task_id for line in review.inbox(run.id).lines]
    assert left == [task for task in tasks if task not in (tasks[2], tasks[9])]
    assert review.item(tasks[9]).review_state == "approved"  # not of the bulk
    bulks = {it.bulk for it in review.decisions(run.id).decisions if it.who == "Ada"}
    assert bulks == {decided.decision}
    review.give_back("Cy")
    assert review.undo_bulk(decided.decision or 0, "Di").decided == 1
    with pytest.raises(IllegalMove, match="was undone before"):
        review.undo_bulk(decided.decision or 0, "Di")


def test_what_was_decided_anew_since_a_bulk_is_left_to_whoever_did(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(3))
    run, review = here.run(), here.engine.review
    decided = review.decide_bulk(run.id, "approve", ALL, "Ada")
    task = review.decisions(run.id).decisions[0].task_id
    review.reject(task, "no", "Bo")

    undone = review.undo_bulk(decided.decision or 0, "Ada", command="u1")
    again = review.undo_bulk(decided.decision or 0, "Ada", command="u1")

    assert (undone.decided, undone.skipped) == (2, 1)
    assert (again.decided, again.changed) == (0, False)
    assert review.item(task).review_state is None  # it is still to be asked again
    review.undo(task, "Bo")
    later = review.undo(task, "Ada", command=f"u1/{task}")  # was refused, so it may be given
    assert later.changed


def test_a_decision_that_was_made_alone_is_no_bulk(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(2))
    run, review = here.run(), here.engine.review
    alone = review.approve(review.inbox(run.id).lines[0].task_id, "Ada").decision or 0

    with pytest.raises(IllegalMove, match="not made together with others"):
        review.undo_bulk(alone, "Ada")
    with pytest.raises(NotFound, match="there is no decision 99"):
        review.undo_bulk(99, "Ada")
    with pytest.raises(NotFound, match=f"run {run.id + 1} has no decision"):
        review.undo_bulk(alone, "Ada", run=run.id + 1)
