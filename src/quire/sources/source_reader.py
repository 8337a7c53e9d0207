"""Files and bytes become parsed sources, or one clear line that says why not."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

from quire.domain.documents import AS_FOUND, Block, ParsedDocument, ReadOptions
from quire.domain.errors import SourceUnreadable
from quire.sources import csv_rows, jsonl, markdown, text
from quire.sources.source_files import SourceFormat, format_of
from quire.sources.source_scan import BYTE_ORDER_MARK, Naming, Origin, Scan, as_utf8, scan

LARGEST_TEXT = 64 << 20  # bytes of one md or txt file, which is read as a whole


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
    whole = form in (SourceFormat.MARKDOWN, SourceFormat.TEXT)
    parsed = _read_whole(origin, form) if whole else _read_rows(origin, form, options)
    return replace(parsed, options=options)


def _read_rows(origin: Origin, form: SourceFormat, options: ReadOptions) -> ParsedDocument:
    text_column, key_column = options.text_column, options.key_column
    rows: Iterable[Block]
    found = ""
    decoded = as_utf8(origin)
    if form is SourceFormat.JSONL:
        tool, kind = jsonl.TOOL, jsonl.REPRESENTATION
        rows = jsonl.JsonLines(origin=decoded, text_column=text_column, key_column=key_column)
    else:
        stated = "\t" if form is SourceFormat.TSV else ","
        delimiter = csv_rows.find_delimiter(decoded, stated)
        found = csv_rows.DELIMITERS[delimiter] if delimiter != stated else ""
        named = f";delimiter={csv_rows.DELIMITERS[delimiter]}" if delimiter != "," else ""
        tool = csv_rows.TOOL + named
        kind = csv_rows.REPRESENTATION
        rows = csv_rows.CsvRows(
            origin=decoded, delimiter=delimiter, text_column=text_column, key_column=key_column
        )
    # other columns make other blocks, which need other names
    tool += f";text={text_column}" if text_column is not None else ""
    tool += f";key={key_column}" if key_column is not None else ""
    stamp = origin.stamp()
    scanned = scan(origin, Naming(form.source_type, tool, kind))
    if next(iter(rows), None) is None:
        raise SourceUnreadable(f"{origin.name}: has no rows")
    same = _UnchangedBlocks(origin=origin, stamp=stamp, blocks=rows)
    return replace(_make_parsed(origin, scanned, origin.title, same), delimiter=found)


def _read_whole(origin: Origin, form: SourceFormat) -> ParsedDocument:
    with origin.open() as file:
        raw = file.read(LARGEST_TEXT + 1)
    if len(raw) > LARGEST_TEXT:
        raise SourceUnreadable(f"{origin.name}: is larger than {LARGEST_TEXT >> 20} MiB")
    buffered = replace(origin, open=lambda: BytesIO(raw))
    reader = markdown if form is SourceFormat.MARKDOWN else text
    scanned = scan(buffered, Naming(form.source_type, reader.TOOL, reader.REPRESENTATION))
    with as_utf8(buffered).open() as file:
        content = file.read().decode().removeprefix(BYTE_ORDER_MARK)
    title = ""
    if form is SourceFormat.MARKDOWN:
        title, blocks = markdown.markdown_parts(content)
    else:
        blocks = tuple(text.text_blocks(content))
    if not blocks:
        raise SourceUnreadable(f"{origin.name}: is empty: it holds only white space")
    return _make_parsed(origin, scanned, title or origin.title, blocks)


def _make_parsed(
    origin: Origin, scanned: Scan, title: str, blocks: Iterable[Block]
) -> ParsedDocument:
    return ParsedDocument(
        source_uid=scanned.source_uid,
        source_type=scanned.naming.source_type,
        source_filesize=scanned.filesize,
        source_total_characters=scanned.characters,
        source_locator=origin.name,
        title=title,
        conv_uid=scanned.conv_uid,
        parsing_tool=scanned.naming.parsing_tool,
        representation_type=scanned.naming.representation_type,
        blocks=blocks,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _UnchangedBlocks:
    """Streams blocks, and makes sure that they are of the bytes that were named."""

    origin: Origin
    stamp: object
    blocks: Iterable[Block]

    def __iter__(self) -> Iterator[Block]:
        try:
            yield from self.blocks
            changed = self.origin.stamp() != self.stamp
        except OSError as error:
            raise SourceUnreadable(f"{self.origin.name}: {error.strerror or error}") from error
        if changed:
            raise SourceUnreadable(f"{self.origin.name}: was changed while it was read")
