"""Sent sources: the files and the schemas that a script names, as a server takes them."""

import glob
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from quire.domain.class_schemas import class_body
from quire.domain.data import Json
from quire.domain.errors import Mistake, SchemaInvalid, UsageError
from quire.domain.ids import slug
from quire.domain.source_formats import known_format


class NamedFiles(NamedTuple):
    """The files that paths, folders and globs name, and a line for each that names none."""

    files: tuple[Path, ...]
    refused: tuple[str, ...]


def find_files(named: Sequence[str | Path]) -> NamedFiles:
    """Find what is meant as a ledger here does: folders in depth, without hidden and odd files."""
    found: dict[Path, Path] = {}
    refused = []
    for item in named:
        name, path = os.fspath(item), Path(item)
        files = [path]
        if not path.is_file():
            files = [file for file in _files_of(name) if known_format(file.name)]
            if not files:
                refused.append(f"{name}: {_why_none(name)}")
        elif not known_format(name):
            refused.append(f"{name}: unknown type of file")
            continue
        found.update({file.resolve(): file for file in files if file.resolve() not in found})
    return NamedFiles(tuple(found.values()), tuple(refused))


def _files_of(name: str) -> Iterator[Path]:
    if Path(name).is_dir():
        yield from _files_inside(name)
        return
    for found in sorted(glob.glob(name, recursive=True)) if glob.has_magic(name) else ():
        if Path(found).is_file():
            yield Path(found)
        elif "**" not in name:  # that already names every folder's files one by one
            yield from _files_inside(found)


def _files_inside(folder: str) -> Iterator[Path]:
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(parent, name) for name in sorted(files) if not name.startswith("."))


def _why_none(name: str) -> str:
    if Path(name).is_dir():
        return "has no file of a known type"
    if glob.has_magic(name):
        return "matches no file of a known type"
    return "there is no such file or folder"


class SentSchema(NamedTuple):
    """A schema's body, and what it is called where it does not say so itself."""

    body: Mapping[str, Json]
    name: str | None = None
    from_file: bool = False


def read_schema_source(source: Any) -> SentSchema:
    """Read a schema from a file, a mapping or a class."""
    if isinstance(source, Mapping):
        return SentSchema(source)
    if isinstance(source, type):
        return SentSchema(class_body(source))
    if not isinstance(source, str | Path):
        raise UsageError(f"{source!r} is no schema: give a file, a mapping or a class")
    name = os.fspath(source)
    try:
        body = json.loads(Path(source).read_bytes())
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror}") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise SchemaInvalid(name, [Mistake("", f"not JSON: {error.msg} at {where}")]) from None
    except (ValueError, RecursionError) as error:
        raise SchemaInvalid(name, [Mistake("", f"not usable JSON: {error}")]) from None
    if not isinstance(body, dict):
        raise SchemaInvalid(name, [Mistake("", "a schema must be a JSON object")])
    named = isinstance(body.get("$id"), str) or isinstance(body.get("title"), str)
    return SentSchema(body, None if named else slug(Path(name).stem) or None, from_file=True)


def is_kept_name(source: Any) -> bool:
    """Whether a schema is meant that the ledger knows by this name."""
    return isinstance(source, str) and not Path(source).is_file()
