"""Which way a run's calls take, and why: at once, in the provider's batches, or steadily."""

from typing import NamedTuple

from quire.domain.batches import BatchLookup, BatchRules
from quire.domain.models import ModelFacts
from quire.domain.policy import Policy, SourcedPolicy
from quire.domain.pricing import dollars

DIRECT, BATCH, AUTO, PACED = "direct", "batch", "auto", "paced"
LEAST_HOURS = 1.0  # before a deadline: most batches come back within an hour, none promises it

STEADY = frozenset({"openrouter"})  # has batches, but none that could be found again

_ASKED_REASONS = {DIRECT: "as asked: every call at once", PACED: "steadily, within the limits"}


class RouteChoice(NamedTuple):
    """The way that calls take."""

    route: str  # direct, batch or paced
    why: str  # in words, for whoever asks
    problem: str = ""  # why what was asked for cannot be, and what to do; "" where it can


class RouteCosts(NamedTuple):
    """What the whole job costs either way, in picodollars."""

    direct: int
    batch: int


def with_usual_route(policy: SourcedPolicy, facts: ModelFacts) -> SourcedPolicy:
    """Go steadily where nobody named a way, and the provider has no batches that we can use."""
    if "route" in policy.sources or facts.provider not in STEADY:
        return policy
    return policy.with_route(PACED)


def choose_route(
    policy: Policy,
    facts: ModelFacts,
    requests: int,
    rules: BatchRules | None,
    *,
    left: float | None = None,
    costs: RouteCosts | None = None,
) -> RouteChoice:
    """Choose the way for so many calls; `rules` are of the vendor's batches, None if it has none.

    `left` is how many seconds remain until the deadline, where the run began before. `costs`
    says what the job would cost either way; without it only the prices of tokens are looked at.
    """
    if policy.route in _ASKED_REASONS:
        return RouteChoice(policy.route, _ASKED_REASONS[policy.route])
    large = requests >= policy.min_batch_size
    if rules is None and facts.provider in STEADY and policy.route == AUTO and large:
        return RouteChoice(
            PACED, f"the batches of {facts.provider} cannot be found again once lost"
        )
    missing = _missing_for_batches(facts, rules)
    if missing or rules is None:
        problem = _batch_refusal(facts, rules, missing) if policy.route == BATCH else ""
        return RouteChoice(DIRECT, missing, problem)
    if policy.route == BATCH:
        return RouteChoice(BATCH, f"as asked; fewer than {policy.min_batch_size} calls go direct")
    if rules.lookup is BatchLookup.NONE:
        why = f"{facts.provider} cannot be asked for a batch whose order got lost"
        return RouteChoice(PACED, why)
    seconds = policy.deadline if left is None else left
    return _choose_auto(policy, facts, requests, seconds, costs)


def _choose_auto(
    policy: Policy,
    facts: ModelFacts,
    requests: int,
    seconds: float | None,
    costs: RouteCosts | None,
) -> RouteChoice:
    if requests < policy.min_batch_size:
        few = "1 call is" if requests == 1 else f"{requests:,} calls are"
        return RouteChoice(DIRECT, f"{few} fewer than the {policy.min_batch_size} of a batch")
    if seconds is not None and seconds < LEAST_HOURS * 3600:
        return RouteChoice(DIRECT, "the deadline leaves less than an hour")
    if costs is not None:
        comparison = f"{dollars(costs.batch)} in batches, {dollars(costs.direct)} direct"
        return RouteChoice(BATCH if costs.batch < costs.direct else DIRECT, comparison)
    if not _is_cheaper(facts):
        return RouteChoice(DIRECT, f"{facts.name} costs no less in batches")
    return RouteChoice(BATCH, "batches cost less, and there is time")


def _is_cheaper(facts: ModelFacts) -> bool:
    batch, price = facts.batch_price, facts.price
    if batch is None:
        return False
    return (batch.input, batch.output) != (price.input, price.output) and (
        batch.input <= price.input and batch.output <= price.output
    )


def _missing_for_batches(facts: ModelFacts, rules: BatchRules | None) -> str:
    if rules is None:
        return f"{facts.provider} has no batches"
    if facts.batch_price is None:
        return f"no price is known of {facts.name} in batches"
    return ""


def _batch_refusal(facts: ModelFacts, rules: BatchRules | None, missing: str) -> str:
    if rules is None:
        return f"{missing}; --route direct sends at once, --route paced steadily"
    return (
        f'{missing}; state it in quire.toml under [models."{facts.name}"], for example batch = 0.5,'
        " or use --route direct"
    )
