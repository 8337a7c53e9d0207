"""The audit: a sample that repeats, marks that change nothing, and when one may stop."""

from collections.abc import Callable

import pytest

from quire.domain.audits import AuditHead, AuditMark, AuditVerdict
from quire.domain.errors import NotFound, UsageError
from quire.engine import RunHandle
from quire.planning.confidence_sequences import bound_share
from quire.planning.share_estimates import estimate_exact_share
from tests.pipeline.taste_gate import CHECK, SUMMARY, start_run
from tests.world import World, sentences

Worlds = Callable[..., World]
RIGHT = {"word_count": "right", "first_40_chars": "right", "has_question": "right"}


def audited(here: World, count: int = 30, **asked: object) -> tuple[RunHandle, AuditHead]:
    """A run, and an audit of it."""
    here.ingest(sentences(count))
    run = here.run()
    head = here.engine.review.start_audit(run.id, **{"size": 10, "who": "Ada", **asked})  # type: ignore[arg-type]
    return run, head


def drawn(here: World, head: AuditHead) -> list[int]:
    """The tasks of an audit, in their order."""
    return [here.engine.review.audit_item(head.id, no).task_id for no in range(head.size)]


def test_the_same_words_draw_the_same_sample_and_go_on_with_it(world: Worlds) -> None:
    here = world()
    run, head = audited(here, seed=3)
    review = here.engine.review

    again = review.start_audit(run.id, size=10, seed=3)
    other = review.start_audit(run.id, size=10, seed=4)
    wider = review.start_audit(run.id, size=10, seed=3, tolerance=0.1)

    assert again == head
    assert (head.size, head.population, head.stage) == (10, 30, "extract")
    assert len({head.id, other.id, wider.id}) == 3
    assert len(set(drawn(here, head))) == 10
    assert drawn(here, wider) == drawn(here, head)  # the seed alone decides
    assert drawn(here, other) != drawn(here, head)
    assert [found.id for found in review.audits(run.id)] == [head.id, other.id, wider.id]


def test_a_sample_larger_than_what_there_is_takes_all_once(world: Worlds) -> None:
    here = world()
    run, head = audited(here, count=6, size=200)

    assert (head.size, head.population) == (6, 6)
    assert here.engine.review.start_audit(run.id, size=200) == head


def test_marks_change_no_result_and_are_counted_by_field(world: Worlds) -> None:
    here = world()
    run, head = audited(here)
    review, before = here.engine.review, run.rows()
    for no in range(10):
        item = review.next_audit_item(head.id)
        assert item is not None
        assert (item.no, item.marks) == (no, {})
        assert item.source is not None
        marks = RIGHT | ({"word_count": "wrong"} if no < 2 else {})
        marks |= {"has_question": "unsure"} if no == 9 else {}
        report = review.mark(head.id, no, marks, "Ada")

    assert review.next_audit_item(head.id) is None
    assert run.rows() == before
    assert report == review.audit_report(head.id)
    assert report.complete
    rates = {rate.field: rate for rate in report.fields}
    count = rates["word_count"]
    assert (count.right, count.wrong, count.unsure, count.rate) == (8, 2, 0, 0.2)
    exact = estimate_exact_share(2, 10)
    assert (count.low, count.high) == (2 / 30, exact.high)  # two of the thirty are wrong for sure
    assert exact.low < count.low
    assert count.sequence_low == bound_share(2, 2, 30).low  # both came first
    assert count.sequence_high == bound_share(2, 10, 30).high
    unsure = rates["has_question"]
    assert (unsure.rate, unsure.sequence_low) == (0.0, 0.0)
    assert unsure.sequence_high == bound_share(0, 9, 30).high  # before the last, unsure one
    assert review.audit_item(head.id, 9).marks["has_question"] == AuditMark.UNSURE


def test_where_everything_is_marked_nothing_is_estimated(world: Worlds) -> None:
    here = world()
    _, head = audited(here, count=8, size=8, tolerance=0.1)
    review = here.engine.review
    for no in range(8):
        marks = RIGHT | ({"word_count": "wrong"} if no == 0 else {})
        report = review.mark(head.id, no, marks | ({"has_question": "unsure"} if no else {}), "Ada")

    rates = {rate.field: rate for rate in report.fields}
    assert report.is_whole
    assert (rates["first_40_chars"].low, rates["first_40_chars"].high) == (0, 0)
    assert rates["first_40_chars"].verdict == AuditVerdict.MET
    assert (rates["word_count"].low, rates["word_count"].high) == (0.125, 0.125)
    assert rates["word_count"].verdict == AuditVerdict.MISSED
    assert (rates["has_question"].least, rates["has_question"].most) == (0, 0.875)
    assert rates["has_question"].verdict == AuditVerdict.GO_ON


def test_marking_again_replaces_what_was_said(world: Worlds) -> None:
    here = world()
    _, head = audited(here)
    review = here.engine.review
    review.mark(head.id, 0, RIGHT | {"word_count": "wrong"}, "Ada")

    report = review.mark(head.id, 0, RIGHT, "Bo")

    assert report.head.marked == 1
    assert {rate.wrong for rate in report.fields} == {0}


def test_of_an_item_that_was_erased_nobody_says_right_or_wrong(world: Worlds) -> None:
    here = world()
    _, head = audited(here)
    review = here.engine.review
    here.engine.purge("doc")

    with pytest.raises(UsageError, match="was erased with its document"):
        review.mark(head.id, 0, RIGHT, "Ada")
    report = review.mark(head.id, 0, dict.fromkeys(RIGHT, "unsure"), "Ada")

    assert (report.head.marked, report.verdict) == (1, AuditVerdict.GO_ON)


def test_an_audit_may_stop_as_soon_as_the_sequence_tells(world: Worlds) -> None:
    here = world()
    _, head = audited(here, count=60, size=60, tolerance=0.3)
    review = here.engine.review
    verdicts = []
    for no in range(60):
        report = review.mark(head.id, no, RIGHT, "Ada")
        verdicts.append(report.verdict)
        if report.may_stop:
            break

    assert verdicts[:3] == [AuditVerdict.GO_ON] * 3
    assert verdicts[-1] == AuditVerdict.MET
    assert len(verdicts) < 30
    high = [bound_share(0, seen, 60).high for seen in range(1, 61)]
    assert len(verdicts) == next(place for place, bound in enumerate(high, 1) if bound <= 0.3)


def test_an_audit_says_when_a_tolerance_is_missed(world: Worlds) -> None:
    here = world()
    _, head = audited(here, count=20, size=20, tolerance=0.05)
    review = here.engine.review
    for no in range(20):
        report = review.mark(head.id, no, RIGHT | {"word_count": "wrong"}, "Ada")
        if report.may_stop:
            break

    assert report.verdict == AuditVerdict.MISSED
    assert not report.complete
    verdicts = {rate.field: rate.verdict for rate in report.fields}
    assert verdicts["word_count"] == AuditVerdict.MISSED
    assert verdicts["has_question"] == AuditVerdict.GO_ON


def test_a_tolerance_that_is_missed_stays_missed_to_the_end(world: Worlds) -> None:
    here = world()
    _, head = audited(here, count=19, size=4, tolerance=0.02)
    review = here.engine.review
    reports = [
        review.mark(head.id, no, RIGHT | ({} if no else {"word_count": "wrong"}), "Ada")
        for no in range(4)
    ]

    assert [report.verdict for report in reports] == [AuditVerdict.MISSED] * 4
    rate = next(rate for rate in reports[-1].fields if rate.field == "word_count")
    assert (rate.least, rate.low) == (1 / 19, 1 / 19)  # one of nineteen, for certain
    assert rate.high <= 1 - 3 / 19

    mended = review.mark(head.id, 0, RIGHT, "Ada")
    assert mended.verdict == AuditVerdict.GO_ON  # as if it had been said at once


def test_an_item_tells_nothing_of_who_answered_or_judged(world: Worlds) -> None:
    here = world()
    run = start_run(here, stages=(SUMMARY, CHECK), count=3)
    run.wait()
    review = here.engine.review
    (task, *_) = [line.task_id for line in review.inbox(run.id).lines]
    review.approve(task, "Bo", note="seen by Bo")
    head = review.start_audit(run.id, size=3)

    for no in range(3):
        item = review.audit_item(head.id, no)
        assert [field.name for field in item.fields] == ["text"]
        assert not {"model", "critics", "score", "decisions", "reviewer"} & set(item.__slots__)
        assert "Bo" not in repr(item)


def test_what_cannot_be_audited_says_so(world: Worlds) -> None:
    here = world()
    run, head = audited(here)
    review = here.engine.review

    with pytest.raises(UsageError, match="no mark for 'has_question'"):
        review.mark(head.id, 0, {"word_count": "right", "first_40_chars": "right"}, "Ada")
    with pytest.raises(UsageError, match="a mark is right, wrong, unsure, not 'odd'"):
        review.mark(head.id, 0, RIGHT | {"word_count": "odd"}, "Ada")
    with pytest.raises(UsageError, match="a share between 0 and 1"):
        review.start_audit(run.id, tolerance=2)
    with pytest.raises(NotFound, match="there is no audit 99"):
        review.audit_report(99)
    with pytest.raises(NotFound, match="has no item 10"):
        review.audit_item(head.id, 10)
