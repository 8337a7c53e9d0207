"""Unpacking answers as they come, in little memory, and noticing those that broke off."""

import zlib
from collections.abc import AsyncGenerator, AsyncIterable, Iterator

import aiohttp

ACCEPTED = "gzip, deflate"  # what we ask for

_PIECE = 2**18  # bytes that a few packed ones may become at a time
_PLAIN = ("", "identity")
_GZIP = ("gzip", "x-gzip")


async def unpacked(pieces: AsyncIterable[bytes], packing: str) -> AsyncGenerator[bytes]:
    """What the pieces of an answer hold; raise ClientPayloadError where their end is missing.

    Its length does not tell: somebody on the way may have packed, or passed on, half of it.
    """
    packing = packing.strip().lower()
    if packing not in (*_PLAIN, *_GZIP, "deflate"):
        raise aiohttp.ClientPayloadError("packed in a way that nobody asked for")
    opening = Opening(packing)
    async for piece in pieces:
        for part in (piece,) if packing in _PLAIN else opening.add(piece):
            yield part
    if not opening.is_whole:
        raise aiohttp.ClientPayloadError("its end is missing")


class Opening:
    """What was unpacked of an answer so far: one stream, or several, one after the other."""

    def __init__(self, packing: str) -> None:
        """Begin before the first stream."""
        self._gzip = packing in _GZIP
        self._stream: zlib._Decompress | None = None

    @property
    def is_whole(self) -> bool:
        """Whether every stream that began has ended."""
        return self._stream is None

    def add(self, piece: bytes) -> Iterator[bytes]:
        """Take what came, and give what was in it."""
        more = bool(piece)
        while more:
            stream = self._stream = self._stream or zlib.decompressobj(self._form(piece))
            try:
                part = stream.decompress(piece, _PIECE)
            except zlib.error:
                raise aiohttp.ClientPayloadError("it cannot be unpacked") from None
            if part:
                yield part
            if stream.eof:
                piece, self._stream = stream.unused_data, None
                more = bool(piece)
            else:  # a stream may keep back what would have been too much
                piece = stream.unconsumed_tail
                more = bool(piece) or len(part) == _PIECE

    def _form(self, piece: bytes) -> int:
        if self._gzip:
            return 16 + zlib.MAX_WBITS
        return zlib.MAX_WBITS if piece[0] & 0xF == 8 else -zlib.MAX_WBITS  # some leave the head out
