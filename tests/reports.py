"""What `make test` tells: a test that failed at once, and at the end which tests took most."""

import time
from collections.abc import Generator, Iterable
from typing import NamedTuple

import pytest

CPU = "cpu"  # what a report calls the seconds of CPU that its test took


class Took(NamedTuple):
    """What one test took, set-up and clean-up included."""

    cpu: float  # seconds that its process computed, in all of its threads
    seconds: float  # that passed meanwhile, which depend on what else the machine does
    name: str


class Stopwatch:
    """Measures one test after the other, in the process that carries them out."""

    def __init__(self) -> None:
        """Begin anywhere."""
        self._began = 0.0

    def pytest_runtest_logstart(self) -> None:
        """A test begins."""
        self._began = time.process_time()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Put on the last report of a test what it took: reports travel to whoever tells."""
        report = yield
        if report.when == "teardown":
            report.user_properties.append((CPU, time.process_time() - self._began))
        return report


class Teller:
    """Tells, in the process that somebody looks at."""

    def __init__(self, terminal: pytest.TerminalReporter, most: int) -> None:
        """Tell of so many slow tests."""
        self._terminal, self._most = terminal, most

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Name a test that failed as it fails: there may be minutes of others to come."""
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            why = crash.message.splitlines()[0] if crash and crash.message else report.when
            self._terminal.write_line(f"\nFAILED {report.nodeid} - {why}", red=True)

    def pytest_terminal_summary(self) -> None:
        """Name the slowest tests, above the summary of the failed ones."""
        stats = self._terminal.stats.values()
        reports = [item for items in stats for item in items if isinstance(item, pytest.TestReport)]
        self._terminal.section(f"slowest {self._most} tests: seconds of CPU, and in all")
        for took in sum_up(reports)[: self._most]:
            self._terminal.write_line(f"{took.cpu:8.2f} {took.seconds:8.2f}  {took.name}")


def sum_up(reports: Iterable[pytest.TestReport]) -> list[Took]:
    """What each test took, from the reports of its parts; the slowest first."""
    cpu, seconds = dict[str, float](), dict[str, float]()
    for report in reports:
        seconds[report.nodeid] = seconds.get(report.nodeid, 0.0) + report.duration
        for name, value in report.user_properties:
            if name == CPU and isinstance(value, float):
                cpu[report.nodeid] = value
    return sorted((Took(cpu.get(name, 0.0), seconds[name], name) for name in seconds), reverse=True)
