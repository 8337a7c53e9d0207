"""The inbox: what wants a person comes first, a page at a time, whatever the filter."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from quire.domain.data import Json
from quire.domain.errors import UsageError
from quire.domain.ids import TaskId
from quire.domain.reviews import InboxFilter, ReviewReason
from quire.engine import RunHandle
from quire.simulated.fault_scripts import NO_FAULTS
from tests.ledger.raw import Raw
from tests.pipeline.recipe_stages import SMALL, recipe, record_stage
from tests.pipeline.taste_gate import CHECK, POINTS, SUMMARY, start_run, tasks_of
from tests.world import World, sentences

Worlds = Callable[..., World]
JUDGE: dict[str, Json] = {
    "title": "judge",
    "type": "object",
    "additionalProperties": False,
    "properties": {"score": {"type": "number", "minimum": 0, "maximum": 10}},
    "required": ["score"],
}


def tasks(here: World, run: RunHandle, words: str = "", **more: object) -> list[int]:
    """The tasks of an inbox, in its order."""
    found, after = list[int](), None
    while True:
        page = here.engine.review.inbox(run.id, InboxFilter.parse(words), after=after, **more)  # type: ignore[arg-type]
        found += [line.task_id for line in page.lines]
        after = page.next
        if after is None:
            return found


def set_reasons(here: World, bits: dict[TaskId, int]) -> None:
    """Give results reasons to be looked at."""
    with here.engine.ledger.transaction() as tx:
        tx.inbox.rank_criticised([(task, number, None) for task, number in bits.items()])


def test_what_was_accepted_after_a_refusal_comes_before_the_rest(world: Worlds) -> None:
    here = world(faults="wrong@MARK")
    here.ingest(sentences(8, mark=5))
    run = here.start(pack_size=4, max_tries=5)
    here.model.hold = lambda number: number > 2 and here.model.faults != NO_FAULTS

    def mend() -> bool:
        if here.model.calls > 2:  # it is asked again, and waits
            here.model.faults = NO_FAULTS
        return run.progress().state == "finished"

    here.engine.work(mend)

    page = here.engine.review.inbox(run.id)

    assert [line.reasons for line in page.lines] == [(ReviewReason.REPAIRED,), *[()] * 7]
    assert page.lines[0].block_index == 5
    assert page.lines[0].title == "doc"
    assert page.next is None
    counts = here.engine.review.counts(run.id)
    assert (counts.by_reason["repaired"], counts.by_reason["none"]) == (1, 7)
    assert (counts.left, counts.decided, counts.capped) == (8, 0, False)


@pytest.mark.parametrize("limit", [50, 3, 1])
def test_results_come_in_the_order_that_is_asked_for(world: Worlds, limit: int) -> None:
    here = world()
    here.ingest(sentences(4), "one")
    here.ingest([f"{text} Again." for text in sentences(3)], "two")
    run = here.run(pack_size=3)
    whole = tasks(here, run)
    scores = {whole[5]: 100, whole[1]: 900, whole[2]: 100}
    with here.engine.ledger.transaction() as tx:
        tx.inbox.rank_criticised([(TaskId(task), 0, score) for task, score in scores.items()])
    set_reasons(here, {TaskId(whole[6]): 1})
    left = [task for task in whole if task not in scores]

    assert tasks(here, run, "order=need", limit=limit)[0] == whole[6]
    assert tasks(here, run, "order=oldest", limit=limit) == whole
    assert tasks(here, run, "order=newest", limit=limit) == whole[::-1]
    by_score = [whole[2], whole[5], whole[1], *left]
    assert tasks(here, run, "order=score", limit=limit) == by_score
    assert tasks(here, run, "order=document", limit=limit) == sorted(whole)
    run.approve(whole[3], who="Ada")
    assert tasks(here, run, "order=document", limit=limit) == sorted({*whole} - {whole[3]})
    assert tasks(here, run, "order=newest text=Again", limit=limit) == whole[:3:-1]
    assert set(tasks(here, run, "order=document review=any", limit=limit)) == set(whole)


def test_an_order_is_part_of_the_words_of_a_filter() -> None:
    chosen = InboxFilter.parse("order=newest reason=repaired")

    assert InboxFilter.parse(chosen.as_text()) == chosen
    assert "order" not in InboxFilter.parse("order=need").as_text()
    with pytest.raises(UsageError, match="order is one of need, oldest, newest, score, document"):
        InboxFilter.parse("order=colour")


def test_pages_go_on_where_the_last_one_ended(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(12))
    run = here.run()
    whole = tasks(here, run)
    set_reasons(here, {TaskId(whole[7]): 1, TaskId(whole[3]): 2})
    order = [whole[7], whole[3], *(task for task in whole if task not in (whole[7], whole[3]))]

    assert tasks(here, run) == order
    assert tasks(here, run, limit=5) == order
    assert tasks(here, run, limit=1) == order
    with pytest.raises(UsageError, match="no place in an inbox"):
        here.engine.review.inbox(run.id, after="elsewhere")


def test_a_decision_takes_an_item_out_and_it_stays_findable(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(4))
    run = here.run()
    first, second, third, _ = tasks(here, run)
    here.engine.review.approve(first, "Ada")
    data = here.engine.review.item(second).data
    here.engine.review.edit(second, data, "Ada")
    here.engine.review.reject(third, "No.", "Ada")

    assert len(tasks(here, run)) == 1
    assert tasks(here, run, "review=approved") == [first]
    assert tasks(here, run, "review=edited") == [second]
    assert len(tasks(here, run, "review=any")) == 3
    assert here.engine.review.counts(run.id).decided == 2
    decisions = here.engine.review.decisions(run.id)
    assert [it.move for it in decisions.decisions] == ["reject", "edit", "approve"]
    page = here.engine.review.decisions(run.id, limit=2)
    assert page.next is not None
    rest = here.engine.review.decisions(run.id, after=page.next, limit=2)
    assert [it.move for it in rest.decisions] == ["approve"]

    run.wait()
    again = here.engine.review.inbox(run.id, InboxFilter.parse("reason=repaired"))
    assert [line.task_id for line in again.lines] == [third]  # it was asked again for a person


def test_filters_find_by_reason_field_text_document_and_state(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(5), name="one")
    here.ingest(["A walrus sits here."], name="two")
    run = here.run()
    whole = tasks(here, run)
    set_reasons(here, {TaskId(whole[0]): 1, TaskId(whole[1]): 3})
    line = here.engine.review.inbox(run.id).lines[-1]

    assert tasks(here, run, "reason=objected") == [whole[0], whole[1]]
    assert tasks(here, run, "reason=low_score") == [whole[1]]
    assert tasks(here, run, "reason=objected without=low_score") == [whole[0]]
    assert len(tasks(here, run, "without=objected")) == 4
    assert tasks(here, run, "text=WALRUS") == tasks(here, run, "walrus") == [line.task_id]
    assert tasks(here, run, "state=failed") == []
    assert len(tasks(here, run, "document=1")) == 5
    assert tasks(here, run, "document=2") == [line.task_id]
    (name, value), *_ = dict(line.data).items()  # type: ignore[arg-type]
    assert line.task_id in tasks(here, run, f'"field.{name}={value}"')
    assert tasks(here, run, f"field.{name}=nothing-like-it") == []
    with pytest.raises(UsageError, match="there is no field 'nosuch'"):
        tasks(here, run, "field.nosuch=1")
    with pytest.raises(UsageError, match="there is no field 'nosuch'"):
        here.engine.review.preview_bulk(run.id, InboxFilter.parse("field.nosuch=1"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("reason=odd", "reason is one of objected"),
        ("colour=red", "a filter knows no 'colour'"),
        ("score>=much", "needs a number"),
        ("score>>0.9", "knows no 'score>>0.9'"),
        ("score<0.5", "knows no 'score<0.5'"),
        ("review=rejected", "review is one of"),
        ("amount>0.5", "knows no 'amount>0.5'"),
        ("field.amount>=0.5", "knows no 'field.amount>=0.5'"),
        ("field.amount<3", "knows no 'field.amount<3'"),
    ],
)
def test_a_filter_that_nobody_understands_is_refused(words: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        InboxFilter.parse(words)


def test_a_filter_is_the_same_after_being_written_and_read() -> None:
    words = (
        'reason=stale without=repaired stage=a review=any score>=0.5 score<=1 "field.a b=x y"'
        ' field.n=7 field.t="7" document=3 "text=two words"'
    )
    chosen = InboxFilter.parse(words)

    assert InboxFilter.parse(chosen.as_text()) == chosen
    assert chosen.fields == {"a b": "x y", "n": 7, "t": 7}
    assert chosen.text == "two words"


def test_a_page_looks_at_a_bounded_number_of_results(
    world: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quire.review.inbox.SCAN", 6)
    monkeypatch.setattr("quire.review.inbox.CHUNK", 3)
    here = world()
    here.ingest([*sentences(15), "A walrus sits here."])
    run = here.run()

    page = here.engine.review.inbox(run.id, InboxFilter.parse("walrus"))

    assert (page.lines, page.looked_at) == ((), 6)
    assert page.next is not None
    assert len(tasks(here, run, "walrus")) == 1


def test_critics_let_results_in_and_their_objections_come_first(world: Worlds) -> None:
    here = world()
    judge = record_stage(
        "judge", "each_result", "Judge: {{ judged.answer }}", JUDGE, of="summary", critic="record"
    )
    run = start_run(here, stages=(SUMMARY, judge), count=3)
    here.model.hold = lambda number: number > 3
    seen: list[int] = []

    def look() -> bool:
        if not seen and here.model.calls > 3:
            seen.append(len(here.engine.review.inbox(run.id).lines))
            here.model.hold = lambda number: False
        return run.progress().state == "finished"

    here.engine.work(look)

    assert seen == [0]  # nobody is asked before the critics have spoken
    lines = here.engine.review.inbox(run.id).lines
    assert len(lines) == 3
    assert all(line.score is not None and 0 <= line.score <= 1 for line in lines)
    assert all((ReviewReason.LOW_SCORE in line.reasons) == (line.score < 0.5) for line in lines)  # type: ignore[operator]
    low = tasks(here, run, "score<=0.499")
    assert low == [line.task_id for line in lines if line.score < 0.5]  # type: ignore[operator]


def test_a_veto_that_stands_is_an_objection(world: Worlds) -> None:
    here = world()
    strict = replace(CHECK, critic="gate", accepts="answer.word_count < 0")
    run = start_run(here, stages=(SUMMARY, strict), count=1, max_tries=2)
    run.wait()

    (vetoed,) = here.engine.review.inbox(run.id).lines

    assert (vetoed.reasons[0], vetoed.state) == (ReviewReason.OBJECTED, "failed")
    item = here.engine.review.item(vetoed.task_id)
    assert [word.objects for word in item.critics] == [True]


def test_a_result_whose_critic_failed_is_in_the_inbox_too(world: Worlds) -> None:
    here = world(faults="refuse@Well?")
    run = start_run(here, stages=(SUMMARY, CHECK), count=1, max_tries=1)
    run.wait()

    (failed,) = here.engine.review.inbox(run.id).lines

    assert (failed.reasons, failed.state) == ((ReviewReason.OBJECTED,), "failed")


def test_what_was_made_from_something_else_is_stale_until_it_is_asked_again(
    world: Worlds,
) -> None:
    here = world()
    run = start_run(here, stages=(SUMMARY, POINTS), count=1)
    run.wait()
    (summary,) = tasks_of(here, run, "summary")
    run.edit(summary, {"text": "Mended."}, who="Ada")

    assert len(tasks(here, run, "reason=stale stage=points")) == 2
    assert here.engine.review.counts(run.id).by_reason["stale"] == 2

    run.retry(stale=True)
    run.wait()
    assert tasks(here, run, "reason=stale") == []
    assert here.engine.review.counts(run.id).by_reason["none"] == 2


def test_samples_that_differ_disagree(world: Worlds) -> None:
    here = world()
    here.ingest(["One thing."])
    drawn = record_stage("drawn", "each_block", "Look: {{ block.text }}", samples=3)
    run = here.engine.run(recipe=recipe(drawn), model=SMALL)
    run.wait()
    same = here.engine.review.inbox(run.id).lines
    agree = len({str(line.data) for line in same}) == 1
    assert all((ReviewReason.DISAGREEMENT in line.reasons) is not agree for line in same)

    raw = Raw(here.url)
    text = "UPDATE results SET data = :data WHERE task_id = :task"
    raw.rows(text, data='{"word_count":99}', task=same[0].task_id)
    raw.close()
    here.engine.review.reject(same[2].task_id, "Again.", "Ada")
    run.wait()

    lines = here.engine.review.inbox(run.id, InboxFilter.parse("reason=disagreement")).lines
    assert len(lines) == 3


def test_results_of_a_call_with_strange_ids_are_marked(world: Worlds) -> None:
    here = world(faults="stranger=1")
    here.ingest(sentences(6))
    run = here.run(pack_size=6)

    lines = here.engine.review.inbox(run.id, InboxFilter.parse("reason=stray_ids")).lines

    raw = Raw(here.url)
    strayed = raw.rows("SELECT count(*) FROM requests WHERE stray_ids IS NOT NULL")
    raw.close()
    assert strayed == [(1,)]
    assert len(lines) == 6


def test_an_item_has_all_that_a_page_shows(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(6))
    run = here.run(pack_size=3)
    task = tasks(here, run)[2]
    review = here.engine.review
    review.edit(task, review.item(task).data, "Ada", note="as it was")

    item = review.item(task)

    assert item.source is not None
    assert (item.source.title, item.source.block_index) == ("doc", 2)
    assert [block.block_index for block in item.source.before] == [0, 1]
    assert [block.block_index for block in item.source.after] == [3, 4]
    assert {field.name for field in item.fields} == set(item.data)  # type: ignore[arg-type]
    assert all(field.type and field.schema for field in item.fields)
    assert [version.origin for version in item.versions] == ["person", "model"]
    assert [(it.move, it.who, it.note) for it in item.decisions] == [("edit", "Ada", "as it was")]
    assert item.decisions[0].before == item.decisions[0].after == item.data
    assert item.undoable == item.decisions[0].id
    assert (item.model, item.state, item.review_state) == (SMALL, "done", "edited")


def test_a_rejection_is_priced_by_the_last_call_but_alone(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(6))
    run = here.run(pack_size=3)
    task = tasks(here, run)[0]

    cost = here.engine.review.reject_cost(task)

    assert cost.basis == "calls"
    assert cost.cost_pico is not None
    assert run.progress().cost_pico // 6 < cost.cost_pico < run.progress().cost_pico
    assert here.engine.review.item(task).reject_cost == cost
