"""Installations for the doctor: with other settings, later moments, and what is said of them."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from quire.dispatch.runtime import Runtime
from quire.engine import Engine
from quire.engine.context import make_context
from quire.engine.doctor.checkup import examine
from quire.engine.doctor.findings import Finding, Installation
from tests.world import World


class Later(Runtime):
    """The real world, so much later."""

    def __init__(self, **ahead: float) -> None:
        """Say how much."""
        self._ahead = timedelta(**ahead)

    def now(self) -> datetime:
        """The present moment, moved."""
        return super().now() + self._ahead


def examine_engine(
    engine: Engine,
    environment: Mapping[str, str] | None = None,
    *,
    offline: bool = False,
    fix: bool = False,
    runtime: Runtime | None = None,
) -> list[Finding]:
    """Examine an installation whose ledger is open."""
    return examine(
        Installation(
            settings=engine.settings,
            environment=engine.environment if environment is None else environment,
            context=engine.context,
            runtime=runtime or Runtime(),
            offline=offline,
            fix=fix,
        )
    )


def findings_of(here: World, area: str, **how: object) -> list[Finding]:
    """What is said about one thing."""
    environment = how.pop("environment", {})
    all_of_it = examine_engine(here.engine, environment, **{"offline": True, **how})  # type: ignore[arg-type]
    return [problem for problem in all_of_it if problem.area == area]


def severities(findings: list[Finding]) -> list[str]:
    """How each thing stands."""
    return [finding.severity.value for finding in findings]


def with_settings(here: World, **changes: object) -> World:
    """The same world, told other settings."""
    settings = replace(here.engine.settings, **changes)  # type: ignore[arg-type]
    here.engine = Engine(make_context(settings, here.engine.ledger, here.runtime))
    return here
