"""Entry points: what installed packages offer to Quire, by group and name."""

import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import Distribution, EntryPoint, entry_points
from os import stat

CLASH_FIX = "uninstall one of them"
_PREFIX = "quire."  # of every group that is meant for us
_OURS = "quire"  # nobody takes the name of what comes with us


def points_of_group(group: str) -> Iterator[EntryPoint]:
    """Those of one group in a fixed order, our own first; what is found twice counts once."""
    offered = (point for point in _installed_points(_package_folders()) if point.group == group)
    unique = {
        (package_name(point) != _OURS, point.name, point.value, package_name(point)): point
        for point in offered
    }
    yield from (unique[key] for key in sorted(unique))


def package_name(point: EntryPoint) -> str:
    """The package that offers it."""
    return _name_of(point.dist) if point.dist is not None else point.value.partition(":")[0]


def describe_clash(point: EntryPoint, owner: str) -> str:
    """What is wrong where two packages offer the same name."""
    return f"{point.group} has two named {point.name!r}, of {owner} and {package_name(point)}"


def describe_failure(point: EntryPoint, error: BaseException) -> str:
    """What is wrong with a package that cannot be used, in one line."""
    message = " ".join(str(error).split())[:200]
    return (
        f"package {package_name(point)}: {point.group} {point.name} cannot be used"
        f" ({type(error).__name__}: {message}); update or uninstall it"
    )


def _package_folders() -> tuple[tuple[str, int], ...]:
    """The folders of packages, and when something was last put into each or taken out."""
    found = []
    for folder in sys.path:
        with suppress(OSError):
            found.append((folder, stat(folder or ".").st_mtime_ns))
    return tuple(found)


@lru_cache(maxsize=64)
def _name_of(package: Distribution) -> str:
    """Its name: read once, because all that it says of itself is read for it, page by page."""
    return package.name


@lru_cache(maxsize=1)
def _installed_points(_folders: tuple[tuple[str, int], ...]) -> tuple[EntryPoint, ...]:
    """What is installed for us: read once, because for it every package's files are looked at."""
    found = entry_points()
    ours = [group for group in found.groups if group.startswith(_PREFIX)]
    return tuple(point for group in ours for point in found.select(group=group))
