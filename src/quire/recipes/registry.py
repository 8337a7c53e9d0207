"""The registry: gates, groupings and recipes by name, ours and those of installed packages."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from os import PathLike, fspath, stat
from pathlib import Path
from typing import TypeVar

from quire.domain.errors import Conflict
from quire.domain.gates import Gate
from quire.domain.groupings import Grouping
from quire.domain.recipes import Stage
from quire.gates.registry import GATES
from quire.plan.grouping import GROUPINGS, grouping_of
from quire.recipes.strangers import Guarded

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
    found = {each.stem: each for each in sorted(folder.glob("*.toml"))}
    return Registry(gates=GATES, groupings=GROUPINGS, recipes=found)


def with_entry_points(registry: Registry | None = None) -> Registry:
    """Add what installed packages offer; one that is broken is a line of warning, and left out."""
    known = registry or builtin_registry()
    warnings: list[str] = []

    def added(
        own: Mapping[str, Kind], group: str, check: Callable[[object, EntryPoint], Kind]
    ) -> dict[str, Kind]:
        owners = dict.fromkeys(own, OURS)
        found = dict(own)
        for point in _points(group):
            package = _package(point)
            if owners.setdefault(point.name, package) != package or point.name in found:
                raise Conflict(
                    f"{group} has two named {point.name!r}, of {owners[point.name]} and {package};"
                    " uninstall one of them"
                )
            try:
                found[point.name] = check(point.load(), point)
            except Exception as error:  # noqa: BLE001 - a stranger's module may raise anything
                said = " ".join(str(error).split())[:200]
                warnings.append(
                    f"package {package}: {group} {point.name} cannot be used"
                    f" ({type(error).__name__}: {said}); update or uninstall it"
                )
        return found

    return replace(
        known,
        gates=added(known.gates, GATE_GROUP, _gate),
        groupings=added(known.groupings, GROUPING_GROUP, _grouping),
        recipes=added(known.recipes, RECIPE_GROUP, _recipe),
        warnings=(*known.warnings, *warnings),
    )


def _points(group: str) -> Iterator[EntryPoint]:
    """Those of one group in a fixed order; a package that is found twice counts once."""
    seen: set[tuple[str, str, str]] = set()
    offered = [each for each in _offered(_standing()) if each.group == group]
    for point in sorted(offered, key=lambda each: (each.name, each.value)):
        key = (point.name, point.value, _package(point))
        if key not in seen:
            seen.add(key)
            yield point


def _standing() -> tuple[tuple[str, int], ...]:
    """The folders of packages, and when something was last put into each or taken out."""
    found = []
    for folder in sys.path:
        with suppress(OSError):
            found.append((folder, stat(folder or ".").st_mtime_ns))
    return tuple(found)


@lru_cache(maxsize=1)
def _offered(_folders: tuple[tuple[str, int], ...]) -> tuple[EntryPoint, ...]:
    """What is installed for us: read once, because for it every package's files are looked at."""
    found = entry_points()
    groups = (GATE_GROUP, GROUPING_GROUP, RECIPE_GROUP)
    return tuple(each for group in groups for each in found.select(group=group))


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value.partition(":")[0]


def _made(value: object, name: str, parts: tuple[str, ...]) -> object:
    made = value() if isinstance(value, type) else value
    missing = [each for each in parts if not hasattr(made, each)]
    if missing:
        raise TypeError(f"it has no {', '.join(missing)}")
    if getattr(made, "name", None) != name:
        raise ValueError(f"it calls itself {getattr(made, 'name', None)!r}")
    return made


def _gate(value: object, point: EntryPoint) -> Gate:
    made = _made(value, point.name, ("name", "version", "mistakes", "judge"))
    version = getattr(made, "version", None)
    if not isinstance(version, str) or not version:
        raise ValueError("its version is no text")
    return made  # type: ignore[return-value]  # all parts of one are there


def _grouping(value: object, point: EntryPoint) -> Grouping:
    parts = ("name", "driver", "wants_documents", "mistakes", "fan", "count")
    made = _made(value, point.name, parts)
    return Guarded(made, _package(point))  # type: ignore[arg-type]  # all parts of one are there


def _recipe(value: object, point: EntryPoint) -> Path:
    if not isinstance(value, str | PathLike):
        raise TypeError("it is no path")
    path = Path(fspath(value))
    if not path.is_file():
        raise FileNotFoundError(f"{path} is no file")
    return path
