"""What `make test` tells: a test that failed at once, and at the end which tests took most."""

import time
from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import Any, NamedTuple

import pytest

CPU = "cpu"  # what a report calls the seconds of CPU that its test took
SHORT = 0.05  # seconds: no test that took less is among the slowest


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


def tell_less(config: pytest.Config) -> None:
    """Where several processes share the tests, send only what makes a difference.

    To send, to read and to pass on six messages about each of so many tests took longer than most
    tests: that one began and ended, was set up and cleaned up is known from how it ended.
    """
    for _, sender in config.pluginmanager.list_name_plugin():
        if hasattr(config, "workerinput") and hasattr(sender, "sendevent"):
            sender.sendevent = partial(_send, sender.sendevent)


def _send(send: Callable[..., None], name: str, **what: Any) -> None:
    """Send it, if anybody would miss it."""
    if name in ("logstart", "logfinish") or (name == "testreport" and _says_nothing(what["data"])):
        return
    send(name, **what)


def _says_nothing(report: dict[str, Any]) -> bool:
    """Whether it only says that a quick test could be set up or cleaned up."""
    took = (
        report["duration"],
        *(value for name, value in report["user_properties"] if name == CPU),
    )
    return (
        report["when"] != "call"
        and report["outcome"] == "passed"
        and not report["sections"]
        and max(took) < SHORT
    )


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
