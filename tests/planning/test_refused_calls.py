"""Refused calls: about one of them, or about all."""

from collections.abc import Sequence

from quire.domain.ids import TaskId
from quire.planning.refused_calls import RefusedCalls


def tasks(*numbers: int) -> Sequence[TaskId]:
    return [TaskId(number) for number in numbers]


def test_calls_that_are_refused_between_answers_are_each_to_blame() -> None:
    calls = RefusedCalls()

    for number in range(9):
        assert calls.is_about_one(tasks(number))
        calls.note_answer()


def test_what_is_left_of_a_refused_call_says_nothing_of_the_key() -> None:
    calls = RefusedCalls()

    assert calls.is_about_one(tasks(1, 2, 3, 4))
    assert all(calls.is_about_one(left) for left in (tasks(1, 2), tasks(3, 4), tasks(1), tasks(3)))


def test_three_calls_in_a_row_that_have_nothing_in_common_are_not_to_blame() -> None:
    calls = RefusedCalls()
    calls.note_answer()

    assert calls.is_about_one(tasks(1))
    assert calls.is_about_one(tasks(2))
    assert not calls.is_about_one(tasks(3, 4))
    assert calls.is_about_one(tasks(3, 4))  # let go again by a person
