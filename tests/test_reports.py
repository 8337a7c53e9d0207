"""What is told of many tests: who failed, at once, and who took most, at the end."""

from collections.abc import Callable

import pytest

from tests.reports import CPU, SHORT, sum_up, tell_less

pytest_plugins = ["pytester"]

TESTS = """
def test_first(): assert 1 + 1 == 3, "sums"
def test_second(): pass
def test_third(): pass
"""


def test_a_failed_test_is_named_at_once_and_the_slowest_at_the_end(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeconftest("from tests.conftest import pytest_addoption, pytest_configure")
    pytester.makepyfile(test_three=TESTS)

    told = pytester.runpytest_inprocess("-q", "-p", "no:randomly", "--slowest", "1").outlines

    named = told.index("FAILED test_three.py::test_first - AssertionError: sums")
    assert named < next(n for n, line in enumerate(told) if "100%" in line)
    head = next(n for n, line in enumerate(told) if "slowest 1 tests" in line)
    assert "test_three.py::test_" in told[head + 1]
    assert "short test summary" in told[head + 2]


def test_the_parts_of_a_test_are_added_and_cpu_decides() -> None:
    def report(name: str, seconds: float, **measured: float) -> pytest.TestReport:
        return pytest.TestReport(
            name,
            ("", 0, ""),
            keywords={},
            outcome="passed",
            longrepr=None,
            when="call",
            duration=seconds,
            user_properties=[*measured.items()],
        )

    waits, works = (
        [report("waits", 9.0), report("waits", 1.0, **{CPU: 0.1})],
        report("works", 2.0, **{CPU: 1.5}),
    )

    assert sum_up([*waits, works]) == [(1.5, 2.0, "works"), (0.1, 10.0, "waits")]


class Sender:
    """Stands for what tells the process that somebody looks at."""

    def __init__(self) -> None:
        self.sent = list[object]()
        self.sendevent: Callable[..., None] = self._keep

    def _keep(self, name: str, **what: object) -> None:
        self.sent.append(what.get("data", name))


def test_of_a_quick_test_it_is_sent_how_it_ended_and_no_more(pytester: pytest.Pytester) -> None:
    config, sender = pytester.parseconfig(), Sender()
    config.workerinput = {}  # type: ignore[attr-defined]  # as a process that shares the tests has
    config.pluginmanager.register(sender)
    quick: dict[str, object] = {
        "outcome": "passed",
        "duration": 0.0,
        "sections": [],
        "when": "call",
    }
    quick["user_properties"] = [(CPU, SHORT / 2)]
    setup, teardown = quick | {"when": "setup"}, quick | {"when": "teardown"}
    failed, told = setup | {"outcome": "failed"}, teardown | {"sections": [("stdout", "what")]}
    slow, busy = setup | {"duration": SHORT}, teardown | {"user_properties": [(CPU, SHORT)]}

    tell_less(config)
    for report in (setup, quick, teardown, failed, told, slow, busy):
        sender.sendevent("testreport", data=report)
    for name in ("logstart", "logfinish", "runtest_protocol_complete"):
        sender.sendevent(name)

    assert sender.sent == [quick, failed, told, slow, busy, "runtest_protocol_complete"]
