"""The registry: gates, groupings and recipes by name, ours and those of plugin packages.

A plugin's grouping is guarded: whatever it raises or gives becomes one line that says who has to
mend what, so that only the run that asked for it waits.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.metadata import EntryPoint
from importlib.resources import files
from os import PathLike, fspath
from pathlib import Path
from typing import TypeVar

from quire.domain.data import NOTHING, JsonObject, plain_json
from quire.domain.errors import Conflict, PluginFailed
from quire.domain.gates import Gate
from quire.domain.groupings import Driver, DriverItem, Grouping, GroupingContext, Part
from quire.domain.ids import DocumentId
from quire.domain.recipes import Stage
from quire.gates.chain import GATES
from quire.planning.builtin_groupings import GROUPINGS, grouping_of
from quire.settings.entry_points import (
    CLASH_FIX,
    describe_clash,
    describe_failure,
    package_name,
    points_of_group,
)

MOST_PARTS = 10_000_000  # that one thing is expanded into; whoever gives more never ends
MOST_BYTES = 100_000  # of what a grouping says about one task
LARGEST = 2**63 - 1  # that a database keeps as a number
REPAIR_HINT = "mend or update its package"
_LONGEST = 200  # characters of what somebody else's error says


class GuardedGrouping:
    """A grouping of a package, behind a guard."""

    def __init__(self, grouping: Grouping, package: str = "") -> None:
        """Remember who it is, so that it cannot change its mind later."""
        self.name = grouping.name
        self.driver = Driver(str(grouping.driver))
        self.wants_documents = bool(grouping.wants_documents)
        self._grouping = grouping
        self._label = f"grouping {self.name}" + (f" of package {package}" if package else "")
        self._last_documents: Sequence[DocumentId] = ()  # whose numbers are in `_known`
        self._known_documents: frozenset[int] = frozenset()

    def mistakes(self, context: GroupingContext) -> Sequence[str]:
        """What it says is wrong with a stage's settings, as text."""
        with self._guard("mistakes"):
            return [str(mistake) for mistake in self._grouping.mistakes(context)]

    def count(self, driven: int, context: GroupingContext) -> int:
        """How many tasks so many things make."""
        with self._guard("count"):
            found = self._grouping.count(driven, context)
            if not _is_count(found):
                raise ValueError(f"{_quote_value(found)} is no number of tasks")
            return found

    def fan(self, driven: DriverItem, context: GroupingContext) -> Iterator[Part]:
        """The tasks about one thing, one after the other, each of them checked."""
        with self._guard("fan"):
            parts = iter(self._grouping.fan(driven, context))
        for _ in range(MOST_PARTS):
            with self._guard("fan"):
                try:
                    part = next(parts)
                except StopIteration:
                    return
                checked = self._check_part(part, driven, context)
            yield checked
        raise PluginFailed(
            f"{self._label}: fan gives more than {MOST_PARTS:,} tasks about one thing;"
            f" {REPAIR_HINT}"
        )

    @contextmanager
    def _guard(self, what: str) -> Iterator[None]:
        """Turn all that a plugin's code may raise into one line."""
        try:
            yield
        except (Exception, SystemExit) as error:
            failure = f"{what} failed: {_error_line(error)}"
            raise PluginFailed(f"{self._label}: {failure}; {REPAIR_HINT}") from error

    def _check_part(self, given: object, driven: DriverItem, context: GroupingContext) -> Part:
        if not isinstance(given, tuple) or not 1 <= len(given) <= len(Part._fields):
            raise TypeError(f"{_quote_value(given)} is no Part")
        part = Part(*given)
        if not isinstance(part.model, str) or not part.model.isprintable():
            raise TypeError(f"the model {_quote_value(part.model)} is no name")
        if not _is_count(part.sample):
            raise ValueError(f"the sample {_quote_value(part.sample)} is no number from 0 on")
        documents = self._check_documents(part.documents, driven, context)
        return Part(str(part.model), int(part.sample), _copy_part(part.part), documents)

    def _check_documents(
        self, given: Iterable[int], driven: DriverItem, context: GroupingContext
    ) -> tuple[DocumentId, ...]:
        if not isinstance(given, tuple | list):
            raise TypeError(f"the documents {_quote_value(given)} are no tuple")
        if not given:
            return ()
        if self._last_documents is not context.documents:  # the same for all things of a stage
            self._last_documents = context.documents
            self._known_documents = frozenset(context.documents)
        own = driven.key if self.driver is Driver.DOCUMENT else None
        for number in given:
            if not _is_count(number) or (number != own and number not in self._known_documents):
                raise ValueError(f"{_quote_value(number)} is no document of the stage's input")
        return tuple(DocumentId(int(number)) for number in given)


def _copy_part(given: object) -> JsonObject:
    """A copy of what it said of a task, as it will be read back."""
    if not isinstance(given, Mapping):
        raise TypeError(f"the part {_quote_value(given)} is no JSON object")
    if not given:
        return NOTHING
    text = plain_json(dict(given))
    size = len(text.encode())
    if size > MOST_BYTES:
        raise ValueError(f"a part of {size:,} bytes is more than {MOST_BYTES:,}")
    found: JsonObject = json.loads(text)
    return found


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST


def _error_line(error: BaseException) -> str:
    """What an error says, in one line; even that may fail."""
    try:
        text = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - a plugin's error may not even say what it is
        text = ""
    line = text.encode(errors="replace").decode()[:_LONGEST]
    return f"{type(error).__name__}: {line}" if line else type(error).__name__


def _quote_value(value: object) -> str:
    """A value as an error quotes it."""
    try:
        return repr(value)[:_LONGEST]
    except Exception:  # noqa: BLE001 - a plugin's value may not be fit to be shown
        return f"a {type(value).__name__}"


GATE_GROUP, GROUPING_GROUP, RECIPE_GROUP = "quire.gates", "quire.groupings", "quire.recipes"
OURS = "quire"
Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """What recipes may name."""

    gates: Mapping[str, Gate]
    groupings: Mapping[str, Grouping]
    recipes: Mapping[str, Path] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()  # packages that could not be used, a line each

    def grouping(self, stage: Stage) -> Grouping | None:
        """The grouping of a stage; None where nobody knows its name."""
        return grouping_of(stage.about, stage.of, self.groupings)


def builtin_registry() -> Registry:
    """What comes with Quire."""
    folder = Path(str(files("quire.recipes"))) / "builtin"
    found = {path.stem: path for path in sorted(folder.glob("*.toml"))}
    return Registry(gates=GATES, groupings=GROUPINGS, recipes=found)


def with_entry_points(registry: Registry | None = None) -> Registry:
    """Add what installed packages offer; one that is broken is a line of warning, and left out."""
    known = registry or builtin_registry()
    warnings: list[str] = []

    def add_points(
        own: Mapping[str, Kind], group: str, check: Callable[[object, EntryPoint], Kind]
    ) -> dict[str, Kind]:
        owners = dict.fromkeys(own, OURS)
        found = dict(own)
        for point in points_of_group(group):
            package = package_name(point)
            if owners.setdefault(point.name, package) != package or point.name in found:
                raise Conflict(describe_clash(point, owners[point.name]), CLASH_FIX)
            try:
                found[point.name] = check(point.load(), point)
            except Exception as error:  # noqa: BLE001 - a plugin's module may raise anything
                warnings.append(describe_failure(point, error))
        return found

    return replace(
        known,
        gates=add_points(known.gates, GATE_GROUP, _load_gate),
        groupings=add_points(known.groupings, GROUPING_GROUP, _load_grouping),
        recipes=add_points(known.recipes, RECIPE_GROUP, _load_recipe_path),
        warnings=(*known.warnings, *warnings),
    )


def _instantiate(value: object, name: str, parts: tuple[str, ...]) -> object:
    made = value() if isinstance(value, type) else value
    missing = [part for part in parts if not hasattr(made, part)]
    if missing:
        raise TypeError(f"it has no {', '.join(missing)}")
    if getattr(made, "name", None) != name:
        raise ValueError(f"it calls itself {getattr(made, 'name', None)!r}")
    return made


def _load_gate(value: object, point: EntryPoint) -> Gate:
    made = _instantiate(value, point.name, ("name", "version", "mistakes", "judge"))
    version = getattr(made, "version", None)
    if not isinstance(version, str) or not version:
        raise ValueError("its version is no text")
    return made  # type: ignore[return-value]  # all parts of one are there


def _load_grouping(value: object, point: EntryPoint) -> Grouping:
    parts = ("name", "driver", "wants_documents", "mistakes", "fan", "count")
    made = _instantiate(value, point.name, parts)
    return GuardedGrouping(made, package_name(point))  # type: ignore[arg-type]  # all parts of one are there


def _load_recipe_path(value: object, point: EntryPoint) -> Path:
    if not isinstance(value, str | PathLike):
        raise TypeError("it is no path")
    path = Path(fspath(value))
    if not path.is_file():
        raise FileNotFoundError(f"{path} is no file")
    return path
