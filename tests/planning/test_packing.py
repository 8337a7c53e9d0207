"""Packs keep order, budgets and caps, lose nothing, and are as few as they can be."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from quire.planning.packing import SizedTask, pack
from quire.planning.sizing import Budget

BUDGETS = st.builds(
    Budget, input=st.integers(1, 60), output=st.integers(1, 60), cap=st.integers(1, 12)
)
SIZES = st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(0, 6))
TASKS = st.lists(SIZES, max_size=40).map(
    lambda sizes: [SizedTask(key, *size) for key, size in enumerate(sizes)]
)


def fits(tasks: list[SizedTask], budget: Budget) -> bool:
    caps = [budget.cap, *(task.cap for task in tasks if task.cap)]
    return (
        len(tasks) <= min(caps)
        and sum(task.input for task in tasks) <= budget.input
        and sum(task.output for task in tasks) <= budget.output
    )


@given(TASKS, BUDGETS)
def test_order_is_kept_and_nothing_is_lost_or_doubled(
    tasks: list[SizedTask], budget: Budget
) -> None:
    packs = list(pack(iter(tasks), budget))

    assert [task for one in packs for task in one] == tasks


@given(TASKS, BUDGETS)
def test_no_pack_is_empty(tasks: list[SizedTask], budget: Budget) -> None:
    assert all(pack(tasks, budget))


@given(TASKS, BUDGETS)
def test_budgets_and_caps_are_passed_only_by_a_task_that_stands_alone(
    tasks: list[SizedTask], budget: Budget
) -> None:
    assert all(fits(one, budget) or len(one) == 1 for one in pack(tasks, budget))


@given(TASKS, BUDGETS)
def test_a_pack_closes_only_because_the_next_task_does_not_fit(
    tasks: list[SizedTask], budget: Budget
) -> None:
    packs = list(pack(tasks, budget))

    assert not any(fits([*one, following[0]], budget) for one, following in pairwise(packs))


@given(TASKS, BUDGETS)
def test_no_other_cut_in_this_order_needs_fewer_packs(
    tasks: list[SizedTask], budget: Budget
) -> None:
    fewest = [0]
    for end in range(1, len(tasks) + 1):
        starts = (s for s in range(end) if s == end - 1 or fits(tasks[s:end], budget))
        fewest.append(1 + min(fewest[start] for start in starts))

    assert len(list(pack(tasks, budget))) == fewest[-1]


def test_a_pack_obeys_the_smallest_cap_among_its_tasks() -> None:
    tasks = [SizedTask(n, 1, 1, cap) for n, cap in enumerate([0, 0, 3, 0, 0, 0])]

    packs = list(pack(tasks, Budget(input=99, output=99, cap=5)))

    assert [len(one) for one in packs] == [3, 3]


def test_a_cap_smaller_than_the_open_pack_starts_the_next_one() -> None:
    tasks = [SizedTask(n, 1, 1, cap) for n, cap in enumerate([0, 0, 1, 0])]

    packs = list(pack(tasks, Budget(input=99, output=99, cap=5)))

    assert [len(one) for one in packs] == [2, 1, 1]


def test_a_cap_above_the_budget_does_not_lift_it() -> None:
    tasks = [SizedTask(n, 1, 1, 9) for n in range(4)]

    packs = list(pack(tasks, Budget(input=99, output=99, cap=2)))

    assert [len(one) for one in packs] == [2, 2]


def test_a_task_that_fits_nowhere_gets_its_own_pack() -> None:
    tasks = [SizedTask(0, 1, 1), SizedTask(1, 500, 1), SizedTask(2, 0, 0), SizedTask(3, 1, 1)]

    packs = list(pack(tasks, Budget(input=99, output=99, cap=5)))

    assert [[task.key for task in one] for one in packs] == [[0], [1], [2, 3]]


def test_packs_come_while_the_tasks_still_stream() -> None:
    endless = (SizedTask(n, 1, 1) for n in iter(int, 1))

    assert len(next(pack(endless, Budget(input=99, output=99, cap=3)))) == 3
