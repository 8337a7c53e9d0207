"""Run reports: what installed packages tell of the runs that are theirs, for pages to show."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Protocol

from quire.domain.ids import RunId
from quire.domain.runs import Run
from quire.settings.entry_points import describe_failure, points_of_group

if TYPE_CHECKING:
    from quire.engine.engine import Engine

REPORT_GROUP = "quire.reports"  # of entry points
_LOG = logging.getLogger(__name__)


class ReportPicture(NamedTuple):
    """One picture, not yet drawn."""

    name: str  # of its address
    title: str
    note: str  # how to read it
    width: int  # pixels
    height: int
    draw: Callable[[bool], bytes]  # SVG, for a dark page or a light one
    files: Callable[[], Mapping[str, bytes]]  # by ending: pictures on white, the numbers behind
    endings: tuple[str, ...]  # of these


class ReportSection(NamedTuple):
    """Tables and pictures that answer one question."""

    name: str
    title: str
    html: str  # what others wrote is escaped in it; pages allow neither styles nor scripts
    pictures: tuple[ReportPicture, ...]


class RunReport(NamedTuple):
    """What is told of a run."""

    notices: tuple[str, ...]  # HTML: what must be known before any figure is read
    sections: tuple[ReportSection, ...]

    def picture(self, name: str) -> ReportPicture | None:
        """One of its pictures."""
        known = (picture for section in self.sections for picture in section.pictures)
        return next((picture for picture in known if picture.name == name), None)


class RunReporter(Protocol):
    """What a package offers: it knows its own runs, and tells of them."""

    def title(self, run: Run) -> str | None:
        """What the run is called; None where it is not one of its own."""

    def command(self, run: RunId) -> str:
        """What is typed for the same report."""

    def make(self, engine: "Engine", run: RunId) -> RunReport:
        """Compute the report of a run as it is now; this may take seconds."""

    def run_example(self, engine: "Engine") -> None:
        """Carry out a small example with the simulated model; once more changes nothing."""


class ReportedRun(NamedTuple):
    """A run that somebody can tell of."""

    run: Run
    title: str
    reporter: RunReporter


def find_reporters() -> list[RunReporter]:
    """Those of installed packages; one that cannot be used is told in the log, and left out."""
    found = []
    for point in points_of_group(REPORT_GROUP):
        try:
            found.append(point.load()())
        except Exception as error:  # noqa: BLE001 - a plugin's module may raise anything
            _LOG.warning("%s", describe_failure(point, error))
    return found


def run_examples(engine: "Engine") -> None:
    """Carry out the example of every installed package that tells of runs."""
    for reporter in find_reporters():
        reporter.run_example(engine)


def find_reported(engine: "Engine", run: int) -> ReportedRun | None:
    """A run with who tells of it; None where nobody does."""
    return next(iter(reported_among([engine.queries.must_get(run)])), None)


def reported_among(runs: Iterable[Run]) -> Iterator[ReportedRun]:
    """Those of some runs that somebody tells of."""
    reporters = find_reporters()
    for run in runs:
        titles = ((reporter, reporter.title(run)) for reporter in reporters)
        known = (ReportedRun(run, title, reporter) for reporter, title in titles if title)
        yield from islice(known, 1)
