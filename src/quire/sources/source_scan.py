"""The first pass over a source: its names, its size and whether it is text at all."""

import codecs
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from io import BufferedReader, RawIOBase
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from quire.domain.errors import SourceUnreadable
from quire.sources.source_naming import Naming

if TYPE_CHECKING:
    from hashlib import _Hash

    from _typeshed import WriteableBuffer

BYTE_ORDER_MARK = "\ufeff"
_CHUNK = 1 << 20
_UTF_8 = "utf-8"
_TELLING = 8  # bytes, from which on a pattern in them is none by chance
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
    encoding: str = ""  # that somebody states; empty: UTF-8, or what a byte order mark says


class Scan(NamedTuple):
    """What one pass over the bytes tells; names equal those of `domain.ids`, without the memory."""

    source_uid: str
    conv_uid: str
    naming: Naming
    filesize: int
    characters: int | None  # a byte order mark is not one; None where it is not text


def scan_bytes(origin: Origin, naming: Naming) -> Scan:
    """Read everything once in constant memory, whatever it is; refuse what is empty."""
    source, conversion = _begin_hashes(naming)
    size = 0
    with origin.open() as file:
        while chunk := file.read(_CHUNK):
            source.update(chunk)
            conversion.update(chunk)
            size += len(chunk)
    if not size:
        raise SourceUnreadable(f"{origin.name}: is empty")
    return Scan(source.hexdigest(), conversion.hexdigest(), naming, size, None)


def _begin_hashes(naming: Naming) -> "tuple[_Hash, _Hash]":
    source = sha256(f"{naming.source_type}\n".encode())
    return source, sha256(f"{naming.parsing_tool}\n{naming.representation_type}\n".encode())


def scan(origin: Origin, naming: Naming) -> Scan:
    """Read text once in constant memory; refuse what is empty, binary or in another encoding."""
    source, conversion = _begin_hashes(naming)
    decoder = codecs.getincrementaldecoder(_encoding(origin))()
    size = characters = 0
    first = ""
    with origin.open() as file:
        while chunk := file.read(_CHUNK):
            text = _decode(origin, decoder, chunk, size)
            if "\0" in text:
                raise SourceUnreadable(f"{origin.name}: {_binary_reason(chunk)}")
            source.update(chunk)
            conversion.update(chunk)
            first = first or text[:1]
            size += len(chunk)
            characters += len(text)
    _decode(origin, decoder, b"", size, final=True)
    if not size:
        raise SourceUnreadable(f"{origin.name}: is empty")
    characters -= first == BYTE_ORDER_MARK
    return Scan(source.hexdigest(), conversion.hexdigest(), naming, size, characters)


def _decode(
    origin: Origin,
    decoder: codecs.IncrementalDecoder,
    chunk: bytes,
    before: int,
    final: bool = False,
) -> str:
    waiting = decoder.getstate()[0]
    try:
        return decoder.decode(chunk, final)
    except UnicodeError as error:
        start = error.start if isinstance(error, UnicodeDecodeError) else 0
        offset = before - len(waiting) + start
        reason = f"is not {origin.encoding} at byte {offset}"
        if not origin.encoding:
            reason = _other_encoding(error, chunk, offset)
        raise SourceUnreadable(f"{origin.name}: {reason}") from error


def _other_encoding(error: UnicodeError, chunk: bytes, offset: int) -> str:
    """Why text is not in the encoding that we found, and what to say if it is in another."""
    encoding = error.encoding if isinstance(error, UnicodeDecodeError) else _UTF_8
    if encoding != _UTF_8:
        return f"begins as {encoding[:6].upper()} and is not at byte {offset}"
    # NUL bytes tell a picture or an archive better than the first odd byte does
    if b"\0" in chunk:
        return _binary_reason(chunk)
    return f"is not UTF-8 at byte {offset}; if it is in latin-1, say --encoding latin-1"


def _binary_reason(chunk: bytes) -> str:
    for first, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        every_second, others = chunk[first::2], chunk[1 - first :: 2]
        halved = every_second.count(0) > len(every_second) / 3 > others.count(0)
        if len(chunk) >= _TELLING and halved:
            return f"is {encoding} without its mark, it seems; then say --encoding {encoding}"
    return "is binary, not text (it has NUL bytes)"


def as_utf8(origin: Origin) -> Origin:
    """The same text in UTF-8, whatever encoding is stated, or its byte order mark says."""
    encoding = _encoding(origin)
    if encoding == _UTF_8:
        return origin
    return replace(
        origin, open=lambda: BufferedReader(_Utf8Stream(origin.open(), encoding), _CHUNK)
    )


def _encoding(origin: Origin) -> str:
    if origin.encoding:
        return origin.encoding
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
