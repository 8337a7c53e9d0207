"""Groupings say beforehand how many tasks they make, and make exactly those."""

from dataclasses import replace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.groupings import Driver, DriverItem, GroupingContext
from quire.domain.ids import DocumentId
from quire.domain.recipes import SAME
from quire.planning.builtin_groupings import (
    ALL,
    BY_GROUP,
    BY_LINEAGE,
    EACH_BLOCK,
    EACH_DOCUMENT,
    EACH_RESULT,
    GROUPINGS,
    ONE_FOR_EACH_MODEL,
    PAIRS_BY_ORIGIN,
    SAMPLES_OF_RESULT,
    SAMPLES_OF_RUN,
    SimpleGrouping,
    grouping_of,
)

EVERY = [EACH_BLOCK, EACH_DOCUMENT, EACH_RESULT, ALL, SAMPLES_OF_RUN, SAMPLES_OF_RESULT]
EVERY += [PAIRS_BY_ORIGIN, BY_LINEAGE, BY_GROUP]
AROUND = GroupingContext(parameters={}, settings={}, samples=1, models=("a/b",))
DRIVEN = st.builds(
    DriverItem,
    key=st.integers(0, 10**9),
    model=st.sampled_from(["x/1", "x/2"]),
    sample=st.integers(0, 100),
    part=st.dictionaries(st.text(max_size=3), st.integers()),
)
CONTEXTS = st.builds(
    GroupingContext,
    parameters=st.just({}),
    settings=st.sampled_from([{}, {"documents": True}]),
    samples=st.integers(1, 30),
    models=st.lists(st.sampled_from(["a/1", "b/2", "c/3", SAME]), unique=True).map(tuple),
    documents=st.lists(st.integers(1, 99).map(DocumentId)),
)


@pytest.mark.parametrize("grouping", EVERY, ids=lambda item: f"{item.name} {item.driver}")
@given(driven=st.lists(DRIVEN, max_size=8, unique_by=lambda item: item.key), around=CONTEXTS)
def test_the_stated_count_is_the_number_of_tasks(
    grouping: SimpleGrouping, driven: list[DriverItem], around: GroupingContext
) -> None:
    tasks = [(item.key, part) for item in driven for part in grouping.fan(item, around)]

    assert grouping.count(len(driven), around) == len(tasks)
    assert tasks == [(item.key, part) for item in driven for part in grouping.fan(item, around)]


@pytest.mark.parametrize(
    ("grouping", "things", "models", "samples", "tasks"),
    [
        (EACH_BLOCK, 1_000_000, 1, 1, 1_000_000),
        (EACH_DOCUMENT, 20, 3, 2, 120),
        (EACH_RESULT, 30, 1, 1, 30),
        (SAMPLES_OF_RUN, 1, 3, 30, 90),
        (SAMPLES_OF_RESULT, 90, 1, 5, 450),
        (ALL, 1, 2, 1, 2),
        (PAIRS_BY_ORIGIN, 9, 3, 1, 27),
        (BY_LINEAGE, 3, 3, 1, 9),
        (BY_GROUP, 3, 1, 2, 6),
        (ONE_FOR_EACH_MODEL, 1, 3, 1, 3),
    ],
)
def test_things_times_models_times_samples(
    grouping: SimpleGrouping, things: int, models: int, samples: int, tasks: int
) -> None:
    around = AROUND._replace(
        samples=samples, models=tuple(f"m/{number}" for number in range(models))
    )

    assert grouping.count(things, around) == tasks


def test_every_model_answers_every_sample() -> None:
    around = AROUND._replace(samples=2, models=("a/1", "b/2"))

    parts = [(part.model, part.sample) for part in SAMPLES_OF_RUN.fan(DriverItem(0), around)]

    assert parts == [("a/1", 0), ("a/1", 1), ("b/2", 0), ("b/2", 1)]


def test_without_a_model_the_runs_own_is_asked() -> None:
    (part,) = EACH_BLOCK.fan(DriverItem(7), AROUND._replace(models=()))

    assert part.model == ""


def test_the_same_model_answers_that_gave_the_result() -> None:
    result = DriverItem(7, model="x/1", sample=4, part={"seed": 9})

    (part,) = EACH_RESULT.fan(result, AROUND._replace(models=(SAME,)))

    assert (part.model, part.sample, part.part) == ("x/1", 4, {"seed": 9})


def test_draws_of_a_result_are_numbered_from_nought() -> None:
    result = DriverItem(7, model="x/1", sample=4)

    parts = SAMPLES_OF_RESULT.fan(result, AROUND._replace(samples=3, models=(SAME,)))

    assert [part.sample for part in parts] == [0, 1, 2]


@pytest.mark.parametrize(("told", "shown"), [({}, ()), ({"documents": True}, (1, 2))])
def test_all_to_one_shows_the_documents_if_it_is_told_so(
    told: dict[str, bool], shown: tuple[int, ...]
) -> None:
    documents = cast("list[DocumentId]", [1, 2])

    (part,) = ALL.fan(DriverItem(0), AROUND._replace(settings=told, documents=documents))

    assert part.documents == shown


@pytest.mark.parametrize(
    ("grouping", "around", "said"),
    [
        (EACH_BLOCK, AROUND._replace(settings={"x": 1}), "each_block has no setting 'x'"),
        (ALL, AROUND._replace(settings={"documents": 1}), "must be true or false"),
        (ALL, AROUND._replace(settings={"document": True}), "it knows documents"),
        (EACH_BLOCK, AROUND._replace(samples=0), "at least 1"),
        (EACH_RESULT, AROUND._replace(samples=2), 'about = "samples"'),
        (EACH_DOCUMENT, AROUND._replace(models=(SAME,)), "needs a result"),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    grouping: SimpleGrouping, around: GroupingContext, said: str
) -> None:
    (mistake,) = grouping.mistakes(around)

    assert said in mistake


@pytest.mark.parametrize("grouping", EVERY)
def test_what_makes_sense_is_not_refused(grouping: SimpleGrouping) -> None:
    assert grouping.mistakes(AROUND) == []
    assert hash(grouping) == hash(replace(grouping))


def test_samples_are_of_each_result_where_a_stage_says_of_which() -> None:
    assert grouping_of("samples", "", GROUPINGS) is SAMPLES_OF_RUN
    assert grouping_of("samples", "rubric", GROUPINGS) is SAMPLES_OF_RESULT
    assert grouping_of("each_block", "", GROUPINGS) is EACH_BLOCK
    assert grouping_of("nonsense", "", GROUPINGS) is None
    assert {name: grouping.driver for name, grouping in GROUPINGS.items()} == {
        "each_block": Driver.BLOCK,
        "each_document": Driver.DOCUMENT,
        "each_result": Driver.RESULT,
        "samples": Driver.ONCE,
        "all_to_one": Driver.ONCE,
        "each_model": Driver.ONCE,
        "each_section": Driver.DOCUMENT,
        "each_page": Driver.DOCUMENT,
        "pairs_by_origin": Driver.PAIR,
        "by_lineage": Driver.LINEAGE,
        "by_group": Driver.GROUP,
    }
