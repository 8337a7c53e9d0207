"""Strangers: a grouping that a package brought is held to its word, and what it breaks has a name.

Whatever it raises or gives becomes one line that says who has to mend what, so that only the run
that asked for it waits.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from quire.domain.data import NOTHING, JsonObject, plain_json
from quire.domain.errors import PluginFailed
from quire.domain.groupings import Driven, Driver, Grouping, Part, Surroundings
from quire.domain.ids import DocumentId

MOST_PARTS = 10_000_000  # that one thing is expanded into; whoever gives more never ends
MOST_BYTES = 100_000  # of what a grouping says about one task
LARGEST = 2**63 - 1  # that a database keeps as a number
MEND = "mend or update its package"
_LONGEST = 200  # characters of what somebody else's error says


class Guarded:
    """A grouping of a package, behind a guard."""

    def __init__(self, grouping: Grouping, package: str = "") -> None:
        """Remember who it is, so that it cannot change its mind later."""
        self.name = grouping.name
        self.driver = Driver(str(grouping.driver))
        self.wants_documents = bool(grouping.wants_documents)
        self._grouping = grouping
        self._who = f"grouping {self.name}" + (f" of package {package}" if package else "")
        self._listed: Sequence[DocumentId] = ()  # whose numbers are in `_known`
        self._known: frozenset[int] = frozenset()

    def mistakes(self, around: Surroundings) -> Sequence[str]:
        """What it says is wrong with a stage's settings, as text."""
        with self._guarded("mistakes"):
            return [str(each) for each in self._grouping.mistakes(around)]

    def count(self, driven: int, around: Surroundings) -> int:
        """How many tasks so many things make."""
        with self._guarded("count"):
            found = self._grouping.count(driven, around)
            if not _is_number(found):
                raise ValueError(f"{_shown(found)} is no number of tasks")
            return found

    def fan(self, driven: Driven, around: Surroundings) -> Iterator[Part]:
        """The tasks about one thing, one after the other, each of them checked."""
        with self._guarded("fan"):
            parts = iter(self._grouping.fan(driven, around))
        for _ in range(MOST_PARTS):
            with self._guarded("fan"):
                try:
                    part = next(parts)
                except StopIteration:
                    return
                checked = self._checked(part, driven, around)
            yield checked
        raise PluginFailed(
            f"{self._who}: fan gives more than {MOST_PARTS:,} tasks about one thing; {MEND}"
        )

    @contextmanager
    def _guarded(self, what: str) -> Iterator[None]:
        """Turn all that a stranger's code may raise into one line."""
        try:
            yield
        except (Exception, SystemExit) as error:
            raise PluginFailed(f"{self._who}: {what} failed: {_said(error)}; {MEND}") from error

    def _checked(self, given: object, driven: Driven, around: Surroundings) -> Part:
        if not isinstance(given, tuple) or not 1 <= len(given) <= len(Part._fields):
            raise TypeError(f"{_shown(given)} is no Part")
        part = Part(*given)
        if not isinstance(part.model, str) or not part.model.isprintable():
            raise TypeError(f"the model {_shown(part.model)} is no name")
        if not _is_number(part.sample):
            raise ValueError(f"the sample {_shown(part.sample)} is no number from 0 on")
        documents = self._documents(part.documents, driven, around)
        return Part(str(part.model), int(part.sample), _plain(part.part), documents)

    def _documents(
        self, given: Iterable[int], driven: Driven, around: Surroundings
    ) -> tuple[DocumentId, ...]:
        if not isinstance(given, tuple | list):
            raise TypeError(f"the documents {_shown(given)} are no tuple")
        if not given:
            return ()
        if self._listed is not around.documents:  # the same for all things of a stage
            self._listed, self._known = around.documents, frozenset(around.documents)
        own = driven.key if self.driver is Driver.DOCUMENT else None
        for each in given:
            if not _is_number(each) or (each != own and each not in self._known):
                raise ValueError(f"{_shown(each)} is no document of the stage's input")
        return tuple(DocumentId(int(each)) for each in given)


def _plain(given: object) -> JsonObject:
    """A copy of what it said of a task, as it will be read back."""
    if not isinstance(given, Mapping):
        raise TypeError(f"the part {_shown(given)} is no JSON object")
    if not given:
        return NOTHING
    text = plain_json(dict(given))
    size = len(text.encode())
    if size > MOST_BYTES:
        raise ValueError(f"a part of {size:,} bytes is more than {MOST_BYTES:,}")
    found: JsonObject = json.loads(text)
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST


def _said(error: BaseException) -> str:
    """What an error says, in one line; even that may fail."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - a stranger's error may not even say what it is
        text = ""
    line = text.encode(errors="replace").decode()[:_LONGEST]
    return f"{type(error).__name__}: {line}" if line else type(error).__name__


def _shown(value: object) -> str:
    """A value as an error quotes it."""
    try:
        return repr(value)[:_LONGEST]
    except Exception:  # noqa: BLE001 - a stranger's value may not be fit to be shown
        return f"a {type(value).__name__}"
