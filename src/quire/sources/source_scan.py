"""The first pass over a source: its names, its size and whether it is text at all."""

import codecs
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from io import BufferedReader, RawIOBase
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from quire.domain.errors import SourceUnreadable

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

BYTE_ORDER_MARK = "\ufeff"
_CHUNK = 1 << 20
_UTF_8 = "utf-8"
_MARKS = {  # the longer ones first: they begin like the shorter
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where bytes come from, so that they can be read more than once."""

    name: str  # what people are told, and the document's locator
    title: str
    open: Callable[[], BinaryIO]
    stamp: Callable[[], object]  # differs once the bytes may have changed


class Naming(NamedTuple):
    """What a source's names are made from besides its bytes."""

    source_type: str
    parsing_tool: str
    representation_type: str


class Scan(NamedTuple):
    """What one pass over the bytes tells; names equal those of `domain.ids`, without the memory."""

    source_uid: str
    conv_uid: str
    naming: Naming
    filesize: int
    characters: int  # a byte order mark is not one


def scan(origin: Origin, naming: Naming) -> Scan:
    """Read everything once in constant memory; refuse what is empty, binary or not Unicode."""
    source = sha256(f"{naming.source_type}\n".encode())
    conversion = sha256(f"{naming.parsing_tool}\n{naming.representation_type}\n".encode())
    decoder = codecs.getincrementaldecoder(_encoding(origin))()
    size = characters = 0
    first = ""
    with origin.open() as file:
        while chunk := file.read(_CHUNK):
            text = _decode(origin.name, decoder, chunk, size)
            if "\0" in text:
                raise SourceUnreadable(f"{origin.name}: is binary, not text (it has NUL bytes)")
            source.update(chunk)
            conversion.update(chunk)
            first = first or text[:1]
            size += len(chunk)
            characters += len(text)
    _decode(origin.name, decoder, b"", size, final=True)
    if not size:
        raise SourceUnreadable(f"{origin.name}: is empty")
    characters -= first == BYTE_ORDER_MARK
    return Scan(source.hexdigest(), conversion.hexdigest(), naming, size, characters)


def _decode(
    name: str, decoder: codecs.IncrementalDecoder, chunk: bytes, before: int, final: bool = False
) -> str:
    waiting = decoder.getstate()[0]
    try:
        return decoder.decode(chunk, final)
    except UnicodeDecodeError as error:
        plain = error.encoding == _UTF_8
        # NUL bytes tell a picture or an archive better than the first odd byte does
        if plain and b"\0" in chunk:
            raise SourceUnreadable(f"{name}: is binary, not text (it has NUL bytes)") from error
        offset = before - len(waiting) + error.start
        problem = "is not UTF-8" if plain else f"begins as {error.encoding[:6].upper()} and is not"
        raise SourceUnreadable(f"{name}: {problem} at byte {offset}") from error


def as_utf8(origin: Origin) -> Origin:
    """The same text in UTF-8, whatever Unicode its byte order mark says that it is in."""
    encoding = _encoding(origin)
    if encoding == _UTF_8:
        return origin
    return replace(
        origin, open=lambda: BufferedReader(_Utf8Stream(origin.open(), encoding), _CHUNK)
    )


def _encoding(origin: Origin) -> str:
    with origin.open() as file:
        head = file.read(4)
    return next((name for mark, name in _MARKS.items() if head.startswith(mark)), _UTF_8)


class _Utf8Stream(RawIOBase):
    """Bytes in UTF-8 made of those in another encoding, a piece at a time."""

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        chunk = b"more"
        while not self._rest and chunk:
            chunk = self._file.read(_CHUNK)
            self._rest = memoryview(self._decoder.decode(chunk, final=not chunk).encode())
        target = memoryview(buffer).cast("B")
        count = min(len(target), len(self._rest))
        target[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count

    def close(self) -> None:
        self._file.close()
        super().close()
