"""The route of a run follows what was asked, the deadline, the size and the price."""

from dataclasses import replace
from typing import Any

import pytest

from quire.domain.batches import BatchLookup, BatchRules, PollCadence
from quire.domain.models import ModelFacts
from quire.domain.policy import Policy, SourcedPolicy
from quire.planning.routing import RouteCosts, choose_route, with_usual_route
from quire.providers.catalog import CATALOG

RULES = BatchRules(
    calls=50_000, size=200_000_000, lookup=BatchLookup.TAG, cadence=PollCadence(30, 120, 600)
)
BATCHED = CATALOG["openai/gpt-6-luna"]
UNPRICED = replace(BATCHED, batch_price=None, batch_tiers=())
HOUR = 3600.0


def lane(route: str, *, requests: int = 100, **policy: Any) -> str:
    return choose_route(Policy(route=route, **policy), BATCHED, requests, RULES).route


@pytest.mark.parametrize("route", ["direct", "paced", "batch"])
def test_what_was_asked_for_is_done(route: str) -> None:
    assert lane(route) == route


def test_auto_takes_batches_where_all_speaks_for_them() -> None:
    assert lane("auto") == "batch"
    assert lane("auto", requests=30) == "batch"
    assert lane("auto", deadline=HOUR) == "batch"


@pytest.mark.parametrize(
    ("policy", "requests", "said"),
    [
        (Policy(route="auto"), 29, "29 calls are fewer than the 30 of a batch"),
        (Policy(route="auto", min_batch_size=500), 499, "fewer than the 500"),
        (Policy(route="auto", deadline=HOUR - 1), 100, "less than an hour"),
    ],
)
def test_auto_goes_direct_and_says_why(policy: Policy, requests: int, said: str) -> None:
    found = choose_route(policy, BATCHED, requests, RULES)

    assert (found.route, found.problem) == ("direct", "")
    assert said in found.why


def test_a_run_that_goes_on_has_only_the_time_that_is_left() -> None:
    policy = Policy(route="auto", deadline=5 * HOUR)

    assert choose_route(policy, BATCHED, 100, RULES, left=2 * HOUR).route == "batch"
    assert choose_route(policy, BATCHED, 100, RULES, left=0.5 * HOUR).route == "direct"


def test_auto_compares_the_whole_job_where_its_cost_is_known() -> None:
    # With a long prefix that direct calls read from a cache, batches may be the dearer way.
    dear = choose_route(
        Policy(route="auto"), BATCHED, 100, RULES, costs=RouteCosts(10**12, 12 * 10**11)
    )
    cheap = choose_route(
        Policy(route="auto"), BATCHED, 100, RULES, costs=RouteCosts(10**12, 7 * 10**11)
    )

    assert (dear.route, cheap.route) == ("direct", "batch")
    assert cheap.why == "$0.7000 in batches, $1.0000 direct"


def test_auto_takes_no_batch_that_costs_the_same() -> None:
    same = replace(BATCHED, batch_price=BATCHED.price)

    assert choose_route(Policy(route="auto"), same, 100, RULES).route == "direct"


@pytest.mark.parametrize(
    ("facts", "rules", "said"),
    [
        (BATCHED, None, "openai has no batches; --route direct"),
        (UNPRICED, RULES, 'under [models."openai/gpt-6-luna"], for example batch = 0.5'),
    ],
)
def test_a_batch_that_cannot_be_is_refused_in_words(
    facts: ModelFacts, rules: BatchRules | None, said: str
) -> None:
    asked = choose_route(Policy(route="batch"), facts, 100, rules)
    auto = choose_route(Policy(route="auto"), facts, 100, rules)

    assert said in asked.problem
    assert (auto.route, auto.problem) == ("direct", "")


def test_auto_is_steady_where_a_lost_order_could_never_be_found() -> None:
    blind = replace(RULES, lookup=BatchLookup.NONE)

    assert choose_route(Policy(route="auto"), BATCHED, 100, blind).route == "paced"
    assert choose_route(Policy(route="batch"), BATCHED, 100, blind).route == "batch"


def test_a_way_that_nobody_named_is_steady_only_where_batches_cannot_be_used() -> None:
    router = replace(BATCHED, name="openrouter/openai/gpt-6-luna")
    asked = SourcedPolicy(policy=Policy(), sources={"route": "flag"})

    assert with_usual_route(SourcedPolicy(policy=Policy()), router).policy.route == "paced"
    assert with_usual_route(SourcedPolicy(policy=Policy()), BATCHED).policy.route == "direct"
    assert with_usual_route(asked, router).policy.route == "direct"


def test_a_single_call_is_told_as_one() -> None:
    found = choose_route(Policy(route="auto"), BATCHED, 1, RULES)

    assert found.why == "1 call is fewer than the 30 of a batch"
