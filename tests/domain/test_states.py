"""Every lifecycle can be lived through, and its page says what its table says."""

import ast
import re
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest

from quire.domain.states import (
    LIFECYCLES,
    TASK,
    TASK_ENDED,
    TASK_OPEN,
    Lifecycle,
    Move,
    RunState,
    TaskMove,
    TaskState,
)
from scripts.draw_states import PAGE, draw

Life = Lifecycle[Any, Any]
SOURCE = Path(__file__).parents[2] / "src" / "quire"
each_lifecycle = pytest.mark.parametrize("lifecycle", LIFECYCLES, ids=lambda item: item.noun)


@each_lifecycle
def test_every_state_can_be_reached_from_the_start(lifecycle: Life) -> None:
    reached = {lifecycle.start}
    for _ in lifecycle.states:
        reached |= {
            target
            for move, target in lifecycle.targets.items()
            if reached & set(lifecycle.sources[move])
        }

    assert reached == set(lifecycle.states)


@each_lifecycle
def test_every_move_leads_to_one_known_state_and_starts_from_known_states(
    lifecycle: Life,
) -> None:
    assert lifecycle.targets.keys() == lifecycle.sources.keys()
    assert set(lifecycle.targets.values()) <= set(lifecycle.states)
    assert {state for froms in lifecycle.sources.values() for state in froms} <= set(
        lifecycle.states
    )


@each_lifecycle
def test_a_move_is_allowed_from_exactly_its_sources(lifecycle: Life) -> None:
    for move, sources in lifecycle.sources.items():
        allowed = {state for state in lifecycle.states if lifecycle.allows(state, move)}

        assert allowed == set(sources)


@each_lifecycle
def test_no_state_allows_a_move_that_the_table_does_not_have(lifecycle: Life) -> None:
    assert not any(lifecycle.allows(state, "vanish") for state in lifecycle.states)


@each_lifecycle
def test_no_move_lists_a_source_twice_or_leads_back_to_where_it_starts(
    lifecycle: Life,
) -> None:
    for move, sources in lifecycle.sources.items():
        assert len(set(sources)) == len(sources)
        assert lifecycle.targets[move] not in sources


def test_a_move_that_would_lead_to_two_states_is_refused() -> None:
    with pytest.raises(TypeError, match="FLY"):

        class KiteMove(Move):
            FLY = "fly", (RunState.RUNNING,), RunState.FINISHED
            FLY = "fly", (RunState.RUNNING,), RunState.CANCELLED  # type: ignore[misc]  # noqa: PIE794


def test_a_lifecycle_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        TASK.targets[TaskMove.PACK] = TaskState.DONE  # type: ignore[index]


def test_a_task_is_either_still_owed_or_ended() -> None:
    assert sorted(TASK_OPEN + TASK_ENDED) == sorted(TASK.states)


def test_an_answered_task_may_be_refused_but_a_packed_one_is_not_cancelled_in_flight() -> None:
    assert TASK.allows(TaskState.PACKED, TaskMove.ACCEPT)
    assert not TASK.allows(TaskState.PACKED, TaskMove.CANCEL)


def test_the_page_of_lifecycles_is_what_the_tables_say() -> None:
    assert PAGE.read_text() == draw(), "run `make docs`"


@each_lifecycle
def test_every_state_says_what_it_means_and_no_member_is_left_out(lifecycle: Life) -> None:
    assert all(state.meaning for state in lifecycle.states)
    assert set(lifecycle.states) == set(_members(lifecycle.start))
    assert set(lifecycle.targets) == set(_members(next(iter(lifecycle.targets))))


def _members(member: StrEnum) -> type[StrEnum]:
    return type(member)


def test_no_state_is_compared_with_a_plain_string() -> None:
    names = {state for lifecycle in LIFECYCLES for state in lifecycle.states}
    quoted = re.compile("[\"'](" + "|".join(sorted(names)) + ")[\"']")
    plain = [
        f"{path.relative_to(SOURCE)}:{node.lineno} {node.value!r}"
        for path in SOURCE.rglob("*.py")
        if quoted.search(path.read_text())  # few have any, and parsing takes long
        for node in _strings_beside_states(ast.parse(path.read_text()), names)
    ]

    assert plain == []


def _strings_beside_states(tree: ast.Module, names: set[str]) -> Iterator[ast.Constant]:
    """Literals compared with what is called a state, or looked up in counts of tasks."""
    for node in ast.walk(tree):
        beside: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            beside = [node.left, *node.comparators]
            if not any(ast.unparse(side).endswith("state") for side in beside):
                continue
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("counts.get"):
            beside = node.args
        for part in (part for side in beside for part in ast.walk(side)):
            if isinstance(part, ast.Constant) and part.value in names:
                yield part
