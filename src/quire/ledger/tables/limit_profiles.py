"""Limit profiles: what people say that models allow, in versions, and which a run began with."""

from dataclasses import asdict
from datetime import datetime
from typing import NamedTuple

from quire.domain.ids import RunId
from quire.domain.models import Limits
from quire.ledger.connection import Row
from quire.ledger.stored_values import from_micros, to_micros
from quire.ledger.tables.table import Table


class ProfileVersion(NamedTuple):
    """What one version of a profile says of one model."""

    profile: str
    model: str
    version: int
    limits: Limits
    set_at: datetime


class RunLimits(NamedTuple):
    """The version of a profile that a run began with."""

    profile: str
    model: str
    version: int
    run_id: RunId


class LimitProfiles(Table):
    """The profiles of this workspace."""

    def newest_limit_profiles(self) -> list[ProfileVersion]:
        """What is kept to now."""
        return [_profile_version(row) for row in self._run("newest_limit_profiles")]

    def list_limit_profiles(self) -> list[ProfileVersion]:
        """Every version, the oldest first."""
        return [_profile_version(row) for row in self._run("list_limit_profiles")]

    def add_limit_profile(
        self, profile: str, model: str, version: int, limits: Limits, now: datetime
    ) -> None:
        """Keep to these limits from now on."""
        key = {"profile": profile, "model": model, "version": version}
        self._change("add_limit_profile", **key, **asdict(limits), at=to_micros(now))

    def add_run_limits(self, run: RunId, began: ProfileVersion) -> None:
        """Remember what a run began with."""
        key = {"profile": began.profile, "model": began.model, "version": began.version}
        self._connection.change("add_run_limits", run=run, **key)

    def list_run_limits(self) -> list[RunLimits]:
        """What every run began with."""
        return self._list(RunLimits, "list_run_limits")


def _profile_version(row: Row) -> ProfileVersion:
    profile, model, version, requests, input_, output, total, enqueued, jobs, at = row
    limits = Limits(
        requests=requests, input=input_, output=output, total=total, enqueued=enqueued, jobs=jobs
    )
    return ProfileVersion(profile, model, version, limits, from_micros(at))
