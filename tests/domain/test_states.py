"""Every lifecycle can be lived through, and its page says what its table says."""

import pytest

from quire.domain.states import LIFECYCLES, TASK, TASK_ENDED, TASK_OPEN, Lifecycle, _lifecycle
from scripts.draw_states import MEANINGS, PAGE, draw

each_lifecycle = pytest.mark.parametrize("lifecycle", LIFECYCLES, ids=lambda item: item.noun)


@each_lifecycle
def test_every_state_can_be_reached_from_the_start(lifecycle: Lifecycle) -> None:
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
    lifecycle: Lifecycle,
) -> None:
    assert lifecycle.targets.keys() == lifecycle.sources.keys()
    assert set(lifecycle.targets.values()) <= set(lifecycle.states)
    assert {state for froms in lifecycle.sources.values() for state in froms} <= set(
        lifecycle.states
    )


@each_lifecycle
def test_a_move_is_allowed_from_exactly_its_sources(lifecycle: Lifecycle) -> None:
    for move, sources in lifecycle.sources.items():
        allowed = {state for state in lifecycle.states if lifecycle.allows(state, move)}

        assert allowed == set(sources)


@each_lifecycle
def test_no_state_allows_a_move_that_the_table_does_not_have(lifecycle: Lifecycle) -> None:
    assert not any(lifecycle.allows(state, "vanish") for state in lifecycle.states)


@each_lifecycle
def test_no_move_lists_a_source_twice_or_leads_back_to_where_it_starts(
    lifecycle: Lifecycle,
) -> None:
    for move, sources in lifecycle.sources.items():
        assert len(set(sources)) == len(sources)
        assert lifecycle.targets[move] not in sources


def test_a_move_that_would_lead_to_two_states_is_refused() -> None:
    with pytest.raises(ValueError, match="fly leads to both air and sea"):
        _lifecycle("kite", "ground", [("ground", "fly", "air"), ("air", "fly", "sea")])


def test_a_lifecycle_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        TASK.targets["pack"] = "done"  # type: ignore[index]


def test_a_task_is_either_still_owed_or_ended() -> None:
    assert sorted(TASK_OPEN + TASK_ENDED) == sorted(TASK.states)


def test_an_answered_task_may_be_refused_but_a_packed_one_is_not_cancelled_in_flight() -> None:
    assert TASK.allows("packed", "accept")
    assert not TASK.allows("packed", "cancel")


def test_the_page_of_lifecycles_is_what_the_tables_say() -> None:
    assert PAGE.read_text() == draw(), "run `make docs`"


@each_lifecycle
def test_the_page_explains_every_state_and_no_other(lifecycle: Lifecycle) -> None:
    assert MEANINGS[lifecycle.noun].keys() == set(lifecycle.states)
