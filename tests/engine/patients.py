"""Patients for the doctor: worlds with other settings, later moments, and what is said of them."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from quire.dispatch.outside import Outside
from quire.engine import Engine
from quire.engine.doctor import examine
from quire.engine.examining.findings import Finding, Patient
from tests.world import World


class Later(Outside):
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
    mending: bool = False,
    outside: Outside | None = None,
) -> list[Finding]:
    """Examine an installation whose ledger is open."""
    return examine(
        Patient(
            settings=engine.settings,
            environment=engine.environment if environment is None else environment,
            engine=engine,
            outside=outside or Outside(),
            offline=offline,
            mending=mending,
        )
    )


def found(here: World, area: str, **how: object) -> list[Finding]:
    """What is said about one thing."""
    environment = how.pop("environment", {})
    all_of_it = examine_engine(here.engine, environment, **{"offline": True, **how})  # type: ignore[arg-type]
    return [each for each in all_of_it if each.area == area]


def standings(findings: list[Finding]) -> list[str]:
    """How each thing stands."""
    return [each.standing.value for each in findings]


def believing(here: World, **changes: object) -> World:
    """The same world, told other settings."""
    settings = replace(here.engine.settings, **changes)  # type: ignore[arg-type]
    here.engine = Engine(settings, here.engine.ledger, here.outside)
    return here
