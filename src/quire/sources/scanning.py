"""The first pass over a source: its names, its size and whether it is text at all."""

import codecs
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import BinaryIO, NamedTuple

from quire.domain.errors import SourceUnreadable

BYTE_ORDER_MARK = "\ufeff"
_CHUNK = 1 << 20


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
    """Read everything once in constant memory; refuse what is empty, binary or not UTF-8."""
    source = sha256(f"{naming.source_type}\n".encode())
    conversion = sha256(f"{naming.parsing_tool}\n{naming.representation_type}\n".encode())
    decoder = codecs.getincrementaldecoder("utf-8")()
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
        # NUL bytes tell a picture or an archive better than the first odd byte does
        if b"\0" in chunk:
            raise SourceUnreadable(f"{name}: is binary, not text (it has NUL bytes)") from error
        offset = before - len(waiting) + error.start
        raise SourceUnreadable(f"{name}: is not UTF-8 at byte {offset}") from error
