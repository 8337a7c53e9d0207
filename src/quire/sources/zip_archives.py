"""Office files are zip archives: what an archive claims is checked before a library unpacks it."""

import re
from typing import BinaryIO, NamedTuple
from zipfile import BadZipFile, ZipFile, ZipInfo, is_zipfile

from quire.sources.source_parts import BadContent

LARGEST_UNPACKED = 1 << 30  # bytes of all parts together
LARGEST_XML = 256 << 20  # bytes of one part that is parsed
MOST_PARTS = 20_000
_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # old Office files; new ones with a password
_DECLARATION = re.compile(rb"<\x00?!\x00?(D\x00?O\x00?C\x00?T\x00?Y\x00?P\x00?E|E\x00?N\x00?T)")
_PROLOGUE = 1 << 16  # bytes; a declaration stands before the first element


class ArchiveFormat(NamedTuple):
    """How archives of a format are told from others."""

    name: str  # docx
    main_folder: str  # word/
    older: str  # doc


DOCX = ArchiveFormat("docx", "word/", "doc")
XLSX = ArchiveFormat("xlsx", "xl/", "xls")
PPTX = ArchiveFormat("pptx", "ppt/", "ppt")
_KNOWN = (DOCX, XLSX, PPTX)


def check_archive(file: BinaryIO, form: ArchiveFormat) -> None:
    """Refuse what is another kind of file, unpacks to too much, or declares entities."""
    head = file.read(8)
    file.seek(0)
    if head == _COMPOUND:
        raise BadContent(
            f"has a password or is an old {form.older}: save it as {form.name}, without a password"
        )
    if not is_zipfile(file):
        seems = "; it is a pdf" if head.startswith(b"%PDF") else ""
        raise BadContent(f"is no {form.name}: it is not a zip archive{seems}")
    file.seek(0)
    try:
        with ZipFile(file) as archive:
            _check_parts(archive, form)
    except (BadZipFile, NotImplementedError, RuntimeError) as error:
        raise BadContent(f"is broken: {error}") from error
    file.seek(0)


def _check_parts(archive: ZipFile, form: ArchiveFormat) -> None:
    parts = archive.infolist()
    _check_sizes(parts)
    names = [part.filename for part in parts]
    if not any(name.startswith(form.main_folder) for name in names):
        folders = {name.partition("/")[0] + "/" for name in names}
        other = [known.name for known in _KNOWN if known.main_folder in folders]
        seems = f"it is a {other[0]}" if other else "it is another kind of archive"
        raise BadContent(f"is no {form.name}: {seems}")
    for part in parts:
        if part.filename.endswith((".xml", ".rels")):
            with archive.open(part) as content:
                if _DECLARATION.search(content.read(_PROLOGUE)):
                    raise BadContent(
                        f"declares entities in {part.filename}, as no {form.name} does"
                    )


def _check_sizes(parts: list[ZipInfo]) -> None:
    if len(parts) > MOST_PARTS:
        raise BadContent(f"has {len(parts):,} parts, more than {MOST_PARTS:,}")
    total = sum(part.file_size for part in parts)
    largest = max((part.file_size for part in parts if part.filename.endswith(".xml")), default=0)
    if total > LARGEST_UNPACKED or largest > LARGEST_XML:
        size = max(total, largest) >> 20
        raise BadContent(f"unpacks to {size:,} MiB, more than it may: a zip bomb?")
    if any(part.flag_bits & 1 for part in parts):
        raise BadContent("has a password: save it without")
