"""Findings: what a check of an installation found, in a line, and how to fix it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from quire.dispatch.runtime import Runtime
from quire.domain.errors import Error, LedgerError
from quire.engine.context import EngineContext
from quire.ledger.ledger import Ledger
from quire.settings import Settings


class Severity(StrEnum):
    """How a thing stands."""

    OK = "ok"
    WARNING = "warning"  # it works, and somebody should know
    PROBLEM = "problem"  # something does not work, or soon will not


class Finding(NamedTuple):
    """How one thing stands."""

    severity: Severity
    message: str
    fix: str = ""  # what to do about it
    area: str = ""  # "": that of the check that found it
    names_fix: bool = False  # the message names the same command


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """What is examined, and how."""

    settings: Settings
    environment: Mapping[str, str]
    context: EngineContext | None = None  # None: the ledger could not be opened
    runtime: Runtime = field(default_factory=Runtime)
    offline: bool = False  # ask nobody on the network
    fix: bool = False  # write, where that mends something

    @property
    def ledger(self) -> Ledger:
        """The ledger, for those that are asked only where it could be opened."""
        if self.context is None:
            raise LedgerError("the ledger is not open")
        return self.context.ledger


def ok(said: str) -> Finding:
    """Nothing to do."""
    return Finding(Severity.OK, said)


def warning(said: str, fix: str = "") -> Finding:
    """It works, and somebody should know."""
    return Finding(Severity.WARNING, said, fix)


def problem(said: str, fix: str = "") -> Finding:
    """It does not work."""
    return Finding(Severity.PROBLEM, said, fix)


def finding_of_error(error: BaseException) -> Finding:
    """An error as a finding: what happened, and what to do, each in a line."""
    lines = str(error).splitlines() or [type(error).__name__]
    said, fix = (error.message, error.fix) if isinstance(error, Error) else (lines[0], "")
    more = f" (and {len(lines) - 1} more lines)" if len(lines) > 1 else ""
    return problem(_first_line(said) + more, _first_line(fix))


def _first_line(text: str) -> str:
    return next(iter(text.splitlines()), "")


def plural(number: int, noun: str) -> str:
    """A number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def format_bytes(count: int) -> str:
    """Bytes as people read them."""
    for power, unit in ((9, "GB"), (6, "MB"), (3, "kB")):
        if count >= 10**power:
            return f"{count / 10**power:,.1f} {unit}"
    return f"{count} bytes"
