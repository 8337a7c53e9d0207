"""Limits of an installation: profiles that people set, in versions, and what refusals taught."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import NamedTuple

from quire.domain.errors import UsageError
from quire.domain.ids import RunId
from quire.domain.models import Limits
from quire.domain.policy import Policy
from quire.engine.context import EngineContext, own_models
from quire.ledger.stored_values import to_micros
from quire.ledger.tables.limit_profiles import ProfileVersion
from quire.pipeline.calls.learn_rates import parse_rate
from quire.planning.learnt_rates import a_minute
from quire.providers.catalog import find_model

DEFAULT = Policy().limits
__all__ = ["LearntPool", "LimitAdmin", "PastVersion", "ProfileVersion"]


class LearntPool(NamedTuple):
    """What the refusals of a provider taught of one model and key."""

    model: str
    requests: int  # a minute, about


class PastVersion(NamedTuple):
    """A version of a profile, and the runs that began with it."""

    version: ProfileVersion
    runs: list[RunId]


class LimitAdmin:
    """Sets limit profiles, and shows what holds and what held."""

    def __init__(self, context: EngineContext) -> None:
        """Keep them in the context's ledger."""
        self._context = context

    def set(
        self, model: str, sizes: Mapping[str, int | None], profile: str = DEFAULT
    ) -> tuple[ProfileVersion, bool]:
        """Make a new version; what is not named stays, 0 takes a limit away. True if it is new."""
        settings = self._context.settings
        name = find_model(model, own_models(settings.models), settings.aliases).name
        profile = profile.strip()
        if not 0 < len(profile) <= 60:
            raise UsageError("a profile has a name of 1 to 60 characters", "give another")
        named = {kind: size for kind, size in sizes.items() if size is not None}
        if not named:
            raise UsageError("nothing is to be set", "give a limit, such as --requests 500")
        now = self._context.runtime.now()
        with self._context.ledger.transaction() as tx:
            newest = {
                (item.profile, item.model): item
                for item in tx.limit_profiles.newest_limit_profiles()
            }
            before = newest.get((profile, name))
            known = asdict(before.limits) if before else {}
            limits = Limits(**{kind: size or None for kind, size in {**known, **named}.items()})
            if before is not None and before.limits == limits:
                return before, False
            number = before.version + 1 if before else 1
            tx.limit_profiles.add_limit_profile(profile, name, number, limits, now)
            tx.notify()
        return ProfileVersion(profile, name, number, limits, now), True

    def newest(self) -> list[ProfileVersion]:
        """The newest version of every profile: what is kept to."""
        with self._context.ledger.snapshot() as tx:
            return tx.limit_profiles.newest_limit_profiles()

    def history(self) -> list[PastVersion]:
        """Every version, the oldest first, with the runs that began with it."""
        with self._context.ledger.snapshot() as tx:
            began = tx.limit_profiles.list_run_limits()
            return [
                PastVersion(item, [run.run_id for run in began if run[:3] == item[:3]])
                for item in tx.limit_profiles.list_limit_profiles()
            ]

    def learnt(self) -> list[LearntPool]:
        """What was learnt from refusals, and has not lapsed."""
        at = to_micros(self._context.runtime.now())
        with self._context.ledger.snapshot() as tx:
            rates = [(pool, parse_rate(kept, at)) for pool, kept in tx.levels.list_learnt_rates()]
        return [LearntPool(pool.model, a_minute(rate)) for pool, rate in rates if rate]
