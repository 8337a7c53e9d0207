"""Limit profiles: which limits a run's calls keep to now, and which it began with.

What the newest version of the run's profile names takes the place of what `[models]` in quire.toml
said when the run began, also while it runs: a person who sets a limit means the account, not the
next run. Workers look every few seconds, so that no claim has to.
"""

from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime, timedelta

from quire.domain.errors import NotFound
from quire.domain.ids import RunId
from quire.domain.models import Limits, ModelFacts
from quire.domain.policy import Policy
from quire.ledger.ledger import Transaction
from quire.ledger.tables.limit_profiles import ProfileVersion
from quire.pipeline.contexts import Contexts, LaneContext

READ_PROFILES_AFTER = timedelta(seconds=5)


def lane_limits(tx: Transaction, contexts: Contexts, context: LaneContext, now: datetime) -> Limits:
    """What a lane's calls keep to."""
    memo = contexts.limit_profiles
    if memo is None or not timedelta(0) <= now - memo[0] < READ_PROFILES_AFTER:
        memo = contexts.limit_profiles = (now, read_profiles(tx))
    name, facts = context.spec.policy.policy.limits, context.facts
    return overlay_limits(facts.limits, memo[1].get((name, facts.name)))


def read_profiles(tx: Transaction) -> dict[tuple[str, str], Limits]:
    """The newest version of every profile, by its name and model."""
    return {
        (item.profile, item.model): item.limits
        for item in tx.limit_profiles.newest_limit_profiles()
    }


def overlay_limits(configured: Limits, said: Limits | None) -> Limits:
    """What a profile says, and where it says nothing what the run was told."""
    if said is None:
        return configured
    named = {kind: size for kind, size in asdict(said).items() if size is not None}
    return Limits(**{**asdict(configured), **named})


def model_limits(tx: Transaction, facts: ModelFacts, policy: Policy) -> Limits:
    """What a model's calls in a run with this policy keep to, read anew."""
    return overlay_limits(facts.limits, read_profiles(tx).get((policy.limits, facts.name)))


def find_profile(tx: Transaction, policy: Policy) -> list[ProfileVersion]:
    """The newest version of a policy's profile for each model; one that nobody made is refused."""
    newest = tx.limit_profiles.newest_limit_profiles()
    versions = [item for item in newest if item.profile == policy.limits]
    if not versions and policy.limits != Policy().limits:
        raise NotFound(
            f"there is no limit profile {policy.limits}",
            f"`quire limits set MODEL --requests N --profile {policy.limits}` makes it",
        )
    return versions


def keep_run_limits(
    tx: Transaction, run: RunId, policy: Policy, models: Iterable[ModelFacts]
) -> None:
    """Write down which version a run begins with; a profile that nobody made is refused."""
    versions = find_profile(tx, policy)
    names = {model.name for model in models}
    for version in versions:
        if version.model in names:
            tx.limit_profiles.add_run_limits(run, version)
