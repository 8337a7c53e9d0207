"""From which share on a run is held, by counts alone."""

import pytest

from quire.domain.policy import Policy
from quire.domain.reasons import HoldCause
from quire.planning.failure_limits import (
    Shares,
    accepted_shares,
    find_excess,
    new_window,
    read_window,
)

OWED = {"ready": 100}


def cause_of(sums: dict[str, int], **policy: int) -> HoldCause | None:
    found = find_excess(read_window({**OWED, **sums}), Policy(**policy))  # type: ignore[arg-type]
    return found.cause if found else None


@pytest.mark.parametrize(
    ("sums", "cause"),
    [
        ({"done": 40, "failed": 10}, None),
        ({"done": 39, "failed": 11}, HoldCause.TASKS_FAILING),
        ({"done": 1, "failed": 11}, HoldCause.TASKS_FAILING),  # of 50, it will be more than a fifth
        ({"done": 1, "refused_answers": 25}, None),
        ({"done": 1, "refused_answers": 26}, HoldCause.ANSWERS_FAILING),
        ({"failed_calls": 4, "refused_answers": 4}, None),
        ({"failed_calls": 5, "refused_answers": 5}, HoldCause.FIRST_CALLS_FAILED),
        ({"done": 1, "failed_calls": 5, "refused_answers": 5}, None),
        ({"done": 50, "cost": 300, "expected_cost": 100}, None),
        ({"done": 50, "cost": 301, "expected_cost": 100}, HoldCause.COST_OVER_FORECAST),
        ({"done": 49, "cost": 301, "expected_cost": 100}, None),
        ({"done": 1, "failed": 49, "ready": 10}, None),  # nothing much is left to save
    ],
)
def test_what_holds_a_run(sums: dict[str, int], cause: HoldCause | None) -> None:
    assert cause_of(sums) is cause


def test_the_limits_are_settable() -> None:
    assert cause_of({"done": 10, "failed": 40}, hold_failed_percent=80) is None
    assert cause_of({"done": 50, "cost": 900, "expected_cost": 100}, hold_cost_percent=900) is None


def test_a_window_forgets_what_was_before_it() -> None:
    healthy = {**OWED, "done": 100_000, "cost": 5, "expected_cost": 5}
    begun = {**healthy, **new_window(healthy)}

    failing = read_window({**begun, "failed": 11})

    assert read_window(healthy).is_full
    assert not read_window(begun).is_full
    assert (failing.accepted, failing.failed) == (0, 11)
    assert find_excess(failing, Policy()) is not None
    assert cause_of({**healthy, "failed": 11}) is None


def test_what_is_out_when_a_window_begins_brings_its_forecast_along() -> None:
    before = {"done": 100, "packed": 60, "cost": 100, "expected_cost": 160}
    sums = {**before, **new_window(before)}

    later = {**sums, "done": 160, "packed": 0, "cost": 160}

    assert cause_of(later) is None
    assert cause_of({**later, "cost": 100 + 181}) is HoldCause.COST_OVER_FORECAST


def test_whoever_goes_on_has_accepted_what_was_seen() -> None:
    sums = {**OWED, "done": 30, "failed": 15}
    allowed = accepted_shares(read_window(sums))
    going_on = {**sums, **new_window(sums, allowed)}

    assert allowed == Shares(failed=34 + 10, refused=10, cost=10)
    assert cause_of({**going_on, "done": 60, "failed": 37}) is None
    assert cause_of({**going_on, "done": 60, "failed": 40}) is HoldCause.TASKS_FAILING


def test_work_done_over_makes_a_window_begin_again() -> None:
    sums = {**OWED, "done": 30, "failed": 15}
    begun = {**sums, **new_window(sums)}

    assert read_window({**begun, "failed": 0}).is_full


def test_copied_answers_that_a_critic_vetoes_hold_the_run_as_fresh_ones_do() -> None:
    copied = {"proposed": 160}
    begun = {**copied, **new_window(copied)}

    fine = {**begun, "proposed": 100, "done": 45, "failed": 10, "ready": 5}
    failing = {**begun, "proposed": 100, "done": 40, "failed": 15, "ready": 5}

    assert not read_window(fine).is_full  # nothing was done over: answers left for the better
    assert find_excess(read_window(fine), Policy()) is None
    found = find_excess(read_window(failing), Policy())
    assert found is not None
    assert (found.cause, found.number, found.of) == (HoldCause.TASKS_FAILING, 15, 55)


def test_answers_that_wait_for_a_critic_are_no_failures() -> None:
    assert cause_of({"proposed": 500, "failed": 20}) is None
