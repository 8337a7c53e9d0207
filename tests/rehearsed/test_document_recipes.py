"""Documents over HTTP, at three vendors at once, direct and in batches: cut or not, the same."""

from typing import Any

import pytest

from tests.recipes.document_recipes import (
    CUT,
    REPORT_COUNTS,
    Written,
    assert_dialectic_is_whole,
    order_dialectic,
    order_report,
    stage_counts,
    stage_texts,
)
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.rehearsed import OPENAI, VENDORS, QuickClock, Rehearsed
from tests.time_limits import at_most

BATCHED: dict[str, Any] = {"route": "batch", "min_batch_size": 1}


@pytest.fixture
def uncut(rehearse: Rehearse, tmp_path: Any) -> Rehearsed:
    """A server that cuts nothing."""
    return rehearse(url=str(tmp_path / "uncut.db"))


@pytest.fixture
def cutting(uncut: Rehearsed, rehearse: Rehearse) -> Any:
    """A server that cuts everything, once the other is done with."""
    return lambda: rehearse(clock=QuickClock(60), batch_latency="20s", faults=CUT)


def dialectic(here: Rehearsed, **policy: Any) -> Written:
    """What three vendors write."""
    run = order_dialectic(here.engine, *VENDORS, **policy)
    run.wait(at_most())
    return stage_texts(here.engine, run.id)


def report(here: Rehearsed, **policy: Any) -> Written:
    """What one of them writes."""
    run = order_report(here.engine, OPENAI, **policy)
    run.wait(at_most())
    return stage_texts(here.engine, run.id)


@pytest.mark.parametrize("policy", [pytest.param({}, marks=pytest.mark.soak), BATCHED])
def test_a_dialectic_of_three_vendors_writes_what_it_writes_uncut(
    uncut: Rehearsed, cutting: Any, policy: dict[str, Any]
) -> None:
    expected = dialectic(uncut)
    here = cutting()

    written = dialectic(here, **policy)

    assert_dialectic_is_whole(written, *VENDORS)
    assert written == expected
    ways = {entry.route for entry in here.server.entries() if entry.usage}
    assert ways == ({"batch"} if policy else {"direct"})


@pytest.mark.parametrize("policy", [{}, BATCHED], ids=["direct", "batches"])
def test_a_report_over_http_is_the_same_cut_or_not(
    uncut: Rehearsed, cutting: Any, policy: dict[str, Any]
) -> None:
    expected = report(uncut)

    written = report(cutting(), **policy)

    assert stage_counts(written) == REPORT_COUNTS
    assert written == expected
