"""Files and bytes become parsed sources, or one clear line that says why not."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from io import SEEK_END, BytesIO
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from quire.domain.documents import AS_FOUND, Block, LeftOut, ParsedDocument, ReadOptions
from quire.domain.errors import SourceUnreadable
from quire.domain.source_formats import SourceFormat
from quire.sources import csv_rows, jsonl
from quire.sources.html_encoding import stated_encoding
from quire.sources.source_files import FORMATS, Intake, format_of
from quire.sources.source_naming import missing_extra, naming_of
from quire.sources.source_parts import BadContent, SourceParts
from quire.sources.source_scan import BYTE_ORDER_MARK, Origin, Scan, as_utf8, scan, scan_bytes

LARGEST_TEXT = 64 << 20  # bytes of one file of text, which is read as a whole
LARGEST_FILE = 256 << 20  # bytes of other files, unless they are read as a stream


class TextReader(Protocol):
    """A module that cuts text."""

    def read_text(self, text: str, options: ReadOptions) -> SourceParts:
        """Cut it into blocks, or say what is bad about it."""


class FileReader(Protocol):
    """A module that reads a file of its own kind."""

    def read_file(self, open_source: Callable[[], BinaryIO], options: ReadOptions) -> SourceParts:
        """Cut it into blocks, or say what is bad about it; it may be opened more than once."""


def read_source(path: Path, options: ReadOptions = AS_FOUND) -> ParsedDocument:
    """Read a file of a known type; rows are still streaming when this returns.

    A bad row is raised as SourceUnreadable by the iteration over `blocks`, which can be repeated.
    """
    name = os.fsencode(path).decode(errors="replace")  # a name need not be UTF-8; ours must be
    try:
        form = format_of(path.suffix, name=name)
        if not path.is_file():
            reason = "is not a file" if path.exists() else "there is no such file"
            raise SourceUnreadable(f"{name}: {reason}")
        origin = Origin(
            name=name,
            title=os.fsencode(path.name).decode(errors="replace"),
            open=lambda: path.open("rb"),
            stamp=lambda: (path.stat().st_size, path.stat().st_mtime_ns),
        )
        return _read_origin(origin, form, options)
    except OSError as error:
        raise SourceUnreadable(f"{name}: {error.strerror or error}") from error


def read_bytes(
    data: bytes, source_type: str, name: str, options: ReadOptions = AS_FOUND
) -> ParsedDocument:
    """Read bytes that are at hand, such as standard input; the type is named by its ending."""
    origin = Origin(name=name, title=name, open=lambda: BytesIO(data), stamp=lambda: None)
    return _read_origin(origin, format_of(source_type, name=name), options)


def _read_origin(origin: Origin, form: SourceFormat, options: ReadOptions) -> ParsedDocument:
    readers = {Intake.ROWS: _read_rows, Intake.TEXT: _read_text, Intake.BYTES: _read_file}
    with _refuse_by_name(origin.name, form):
        parsed = readers[FORMATS[form].intake](origin, form, options)
    return replace(parsed, options=options)


@contextmanager
def _refuse_by_name(name: str, form: SourceFormat) -> Iterator[None]:
    """Whatever is wrong with content becomes one line that names its source."""
    try:
        yield
    except BadContent as error:
        raise SourceUnreadable(f"{name}: {error}") from error
    except (SourceUnreadable, OSError):
        raise
    except RecursionError as error:
        raise SourceUnreadable(f"{name}: is nested too deeply to be read") from error
    except MemoryError as error:
        raise SourceUnreadable(f"{name}: takes more memory to read than there may be") from error
    except Exception as error:
        reason = " ".join(f"{type(error).__name__} {error}".split())[:200]
        raise SourceUnreadable(f"{name}: is broken, or is no {form}: {reason}") from error


def _load_reader(form: SourceFormat) -> object:
    row = FORMATS[form]
    try:
        return import_module(f"quire.sources.{row.reader}")
    except ImportError as error:
        raise BadContent(missing_extra(row.extra)) from error


def _read_rows(origin: Origin, form: SourceFormat, options: ReadOptions) -> ParsedDocument:
    rows: Iterable[Block]
    found = named = ""
    origin = replace(origin, encoding=options.encoding or "")
    decoded = as_utf8(origin)
    left_out: list[LeftOut] = []
    if form is SourceFormat.JSONL:
        rows = jsonl.JsonLines(origin=decoded, options=options, left_out=left_out)
    else:
        stated = "\t" if form is SourceFormat.TSV else ","
        delimiter = options.delimiter or csv_rows.find_delimiter(decoded, stated)
        name = csv_rows.DELIMITERS.get(delimiter, delimiter)
        found = name if delimiter != stated and not options.delimiter else ""
        named = name if delimiter != "," else ""
        rows = csv_rows.CsvRows(
            origin=decoded, delimiter=delimiter, options=options, left_out=left_out
        )
    stamp = origin.stamp()
    scanned = scan(origin, naming_of(form, options, named))
    parts = SourceParts("", rows, left_out)
    _check_any_block(parts, options, "has no rows")
    left_out.clear()  # what stands before the first block is not all; reading the blocks notes it
    same = _UnchangedBlocks(origin=origin, form=form, stamp=stamp, blocks=rows)
    parsed = _make_parsed(origin, scanned, parts._replace(blocks=same))
    return replace(parsed, delimiter=found)


def _read_text(origin: Origin, form: SourceFormat, options: ReadOptions) -> ParsedDocument:
    raw = _read_all(origin, LARGEST_TEXT)
    encoding = options.encoding or (stated_encoding(raw) if form is SourceFormat.HTML else "")
    buffered = replace(origin, open=lambda: BytesIO(raw), encoding=encoding)
    scanned = scan(buffered, naming_of(form, options))
    with as_utf8(buffered).open() as file:
        content = file.read().decode().removeprefix(BYTE_ORDER_MARK)
    parts = cast("TextReader", _load_reader(form)).read_text(content, options)
    _check_any_block(parts, options, "is empty: it holds only white space")
    return _make_parsed(origin, scanned, parts)


def _read_all(origin: Origin, most: int) -> bytes:
    with origin.open() as file:
        raw = file.read(most + 1)
    if len(raw) > most:
        raise BadContent(f"is larger than {most >> 20} MiB")
    return raw


def _read_file(origin: Origin, form: SourceFormat, options: ReadOptions) -> ParsedDocument:
    with origin.open() as file:
        size = file.seek(0, SEEK_END)
    if size > LARGEST_FILE and form is not SourceFormat.PARQUET:
        raise BadContent(f"is larger than {LARGEST_FILE >> 20} MiB")
    stamp = origin.stamp()
    scanned = scan_bytes(origin, naming_of(form, options))
    parts = cast("FileReader", _load_reader(form)).read_file(origin.open, options)
    _check_any_block(parts, options, "has no text in it")
    same = _UnchangedBlocks(origin=origin, form=form, stamp=stamp, blocks=parts.blocks)
    return _make_parsed(origin, scanned, parts._replace(blocks=same))


def _check_any_block(parts: SourceParts, options: ReadOptions, otherwise: str) -> None:
    if next(iter(parts.blocks), None) is None:
        if any(item.without_text for item in parts.left_out):
            raise BadContent(f"no row has text in its column {options.text_column!r}")
        raise BadContent(otherwise)


def _make_parsed(origin: Origin, scanned: Scan, parts: SourceParts) -> ParsedDocument:
    return ParsedDocument(
        source_uid=scanned.source_uid,
        source_type=scanned.naming.source_type,
        source_filesize=scanned.filesize,
        source_total_characters=scanned.characters,
        source_locator=origin.name,
        title=parts.title or origin.title,
        conv_uid=scanned.conv_uid,
        parsing_tool=scanned.naming.parsing_tool,
        representation_type=scanned.naming.representation_type,
        blocks=parts.blocks,
        left_out=parts.left_out,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _UnchangedBlocks:
    """Streams blocks, and makes sure that they are of the bytes that were named."""

    origin: Origin
    form: SourceFormat
    stamp: object
    blocks: Iterable[Block]

    def __iter__(self) -> Iterator[Block]:
        try:
            with _refuse_by_name(self.origin.name, self.form):
                yield from self.blocks
            changed = self.origin.stamp() != self.stamp
        except OSError as error:
            raise SourceUnreadable(f"{self.origin.name}: {error.strerror or error}") from error
        if changed:
            raise SourceUnreadable(f"{self.origin.name}: was changed while it was read")
