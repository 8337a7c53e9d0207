"""The doctor: looks at every part of an installation, and never fails itself."""

import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from quire.domain.errors import Error
from quire.engine.examining import batches, installation, keys, ledgers, reaching, work
from quire.engine.examining.findings import Finding, Patient, Standing, of_error
from quire.engine.mistakes import further_mistakes
from quire.engine.opening import POLICY_NAMES, open_engine
from quire.settings import DEFAULT_LEDGER, Settings, read_settings

Check = Callable[[Patient], Iterable[Finding]]

ALWAYS: tuple[tuple[str, Check], ...] = (
    ("versions", installation.versions),
    ("extras", installation.extras),
    ("settings", installation.settings),
    ("model", installation.model),
    ("disk", installation.disk),
)
WITH_LEDGER: tuple[tuple[str, Check], ...] = (
    ("ledger", ledgers.ledger),
    ("ledger", ledgers.soundness),
    ("clock", ledgers.database_clock),
    ("keys", keys.keys),
    ("keys", keys.secret_key),
    ("reach", reaching.reachability),
    ("limits", work.limits),
    ("workers", work.workers),
    ("runs", work.runs),
    ("batches", batches.batches),
    ("tallies", ledgers.tallies),
)


def examine(patient: Patient) -> list[Finding]:
    """Look at everything that can be looked at; a check that fails is a finding itself."""
    checks = ALWAYS + (WITH_LEDGER if patient.engine is not None else ())
    return [finding for area, check in checks for finding in _guarded(area, check, patient)]


def examine_here(
    url: str | None = None, *, offline: bool = False, mending: bool = False
) -> list[Finding]:
    """Examine the installation of this folder, whatever can be opened of it."""
    findings: list[Finding] = []
    settings = _settings(url, findings)
    patient = Patient(settings=settings, environment=os.environ, offline=offline, mending=mending)
    with ExitStack() as stack:
        if not findings:
            try:
                engine = stack.enter_context(open_engine(url, must_exist=True))
                patient = replace(patient, engine=engine, settings=engine.settings)
            except Exception as error:  # noqa: BLE001 - whatever is wrong is what was asked for
                findings.append(of_error("ledger", error))
        return [*findings, *examine(patient)]


def is_well(findings: Iterable[Finding]) -> bool:
    """Whether there is no problem; warnings are none."""
    return all(each.standing is not Standing.PROBLEM for each in findings)


def _settings(url: str | None, findings: list[Finding]) -> Settings:
    """The settings of this folder; where they cannot be read, the usual ones."""
    try:
        settings = read_settings(Path.cwd(), os.environ, POLICY_NAMES, further_mistakes)
    except Error as error:
        findings.append(of_error("settings", error))
        settings = Settings(ledger=DEFAULT_LEDGER, folder=Path.cwd())
    return replace(settings, ledger=url or settings.ledger)


def _guarded(area: str, check: Check, patient: Patient) -> list[Finding]:
    found: list[Finding] = []
    try:
        found.extend(check(patient))
    except Exception as error:  # noqa: BLE001 - a check that fails must not hide the others
        found.append(of_error(area, error))
    return found
