"""The checkup: runs every check of an installation, and never fails itself."""

import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from quire.domain.errors import Error
from quire.engine.context import POLICY_NAMES, EngineContext, find_mistakes, open_context
from quire.engine.doctor import ledger_checks, provider_checks, setup_checks, work_checks
from quire.engine.doctor.findings import Finding, Installation, Severity, finding_of_error
from quire.settings import DEFAULT_LEDGER, Settings, read_settings

Check = Callable[[Installation], Iterable[Finding]]

ALWAYS: tuple[tuple[str, Check], ...] = (
    ("versions", setup_checks.check_versions),
    ("extras", setup_checks.check_extras),
    ("settings", setup_checks.check_settings),
    ("model", setup_checks.check_model),
    ("disk", setup_checks.check_disk),
)
WITH_LEDGER: tuple[tuple[str, Check], ...] = (
    ("ledger", ledger_checks.check_ledger),
    ("ledger", ledger_checks.check_soundness),
    ("clock", ledger_checks.check_clock),
    ("keys", provider_checks.check_key_choice),
    ("keys", provider_checks.check_secret_key),
    ("reach", provider_checks.check_reachability),
    ("limits", work_checks.check_limits),
    ("workers", work_checks.check_workers),
    ("runs", work_checks.check_runs),
    ("batches", work_checks.check_batches),
    ("webhooks", work_checks.check_webhooks),
    ("tallies", ledger_checks.check_tallies),
    ("spend", ledger_checks.check_spend),
    ("wallets", ledger_checks.check_wallets),
)


class Doctor:
    """Looks an installation over."""

    def __init__(self, context: EngineContext) -> None:
        """Examine what the context was opened on."""
        self._context = context

    def examine(self, *, offline: bool = False, fix: bool = False) -> list[Finding]:
        """Look at everything; `offline` asks nobody on the network, `fix` mends what it can."""
        return examine(
            Installation(
                settings=self._context.settings,
                environment=self._context.environment,
                context=self._context,
                runtime=self._context.runtime,
                offline=offline,
                fix=fix,
            )
        )


def examine(installation: Installation) -> list[Finding]:
    """Look at everything that can be looked at; a check that fails is a finding itself."""
    checks = ALWAYS + (WITH_LEDGER if installation.context is not None else ())
    return [finding for area, check in checks for finding in _run_check(area, check, installation)]


def examine_folder(
    url: str | None = None, *, offline: bool = False, fix: bool = False
) -> list[Finding]:
    """Examine the installation of this folder, whatever can be opened of it."""
    findings: list[Finding] = []
    settings = _settings_or_default(url, findings)
    installation = Installation(settings=settings, environment=os.environ, offline=offline, fix=fix)
    with ExitStack() as stack:
        if not findings:
            try:
                context = open_context(url, must_exist=True)
                stack.callback(context.ledger.close)
                installation = replace(installation, context=context, settings=context.settings)
            except Exception as error:  # noqa: BLE001 - whatever is wrong is what was asked for
                findings.append(finding_of_error(error)._replace(area="ledger"))
        return [*findings, *examine(installation)]


def is_well(findings: Iterable[Finding]) -> bool:
    """Whether there is no problem; warnings are none."""
    return all(finding.severity is not Severity.PROBLEM for finding in findings)


def _settings_or_default(url: str | None, findings: list[Finding]) -> Settings:
    """The settings of this folder; where they cannot be read, the usual ones."""
    try:
        settings = read_settings(Path.cwd(), os.environ, POLICY_NAMES, find_mistakes)
    except Error as error:
        findings.append(finding_of_error(error)._replace(area="settings"))
        settings = Settings(ledger=DEFAULT_LEDGER, folder=Path.cwd())
    return replace(settings, ledger=url or settings.ledger)


def _run_check(area: str, check: Check, installation: Installation) -> list[Finding]:
    found: list[Finding] = []
    try:
        found.extend(check(installation))
    except Exception as error:  # noqa: BLE001 - a check that fails must not hide the others
        found.append(finding_of_error(error))
    return [finding._replace(area=finding.area or area) for finding in found]
