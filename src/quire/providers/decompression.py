"""Answers that come packed, unpacked piece by piece; one whose end is missing is told apart."""

import zlib
from collections.abc import AsyncGenerator, AsyncIterable, Iterator

import aiohttp

PLAIN = ("", "identity")
_GZIP = ("gzip", "x-gzip")
PACKED = (*_GZIP, "deflate")
_GZIP_START = b"\x1f\x8b"
_DECOMPRESSED_PIECE = 2**18  # bytes that a few packed ones may become at a time


async def decompress(pieces: AsyncIterable[bytes], encoding: str) -> AsyncGenerator[bytes]:
    """What the pieces of an answer hold; raise ClientPayloadError where their end is missing.

    Its length does not tell: somebody on the way may have packed, or passed on, half of it.
    """
    if encoding not in (*PLAIN, *PACKED):
        raise aiohttp.ClientPayloadError("packed in a way that nobody asked for")
    decompressor = Decompressor(encoding)
    async for piece in pieces:
        for part in (piece,) if encoding in PLAIN else decompressor.add(piece):
            yield part
    if not decompressor.is_whole:
        raise aiohttp.ClientPayloadError("its end is missing")


class Decompressor:
    """What was unpacked of an answer so far: one stream, or several, one after the other."""

    def __init__(self, encoding: str) -> None:
        """Begin before the first stream."""
        self._gzip = encoding in _GZIP
        self._stream: zlib._Decompress | None = None
        self._after: bytes | None = None  # the last whole gzip stream, what began so far

    @property
    def is_whole(self) -> bool:
        """Whether every stream that began has ended."""
        return self._stream is None

    def add(self, piece: bytes) -> Iterator[bytes]:
        """Take what came, and give what was in it; what follows the last stream is nothing."""
        piece = self._skip_tail(piece)
        more = bool(piece)
        while more:
            stream = self._stream = self._stream or zlib.decompressobj(self._window_bits(piece))
            try:
                part = stream.decompress(piece, _DECOMPRESSED_PIECE)
            except zlib.error:
                raise aiohttp.ClientPayloadError("it cannot be unpacked") from None
            if part:
                yield part
            if stream.eof:
                self._stream, self._after = None, b"" if self._gzip else None
                piece = self._skip_tail(stream.unused_data)
                more = bool(piece)
            else:  # a stream may keep back what would have been too much
                piece = stream.unconsumed_tail
                more = bool(piece) or len(part) == _DECOMPRESSED_PIECE

    def _skip_tail(self, piece: bytes) -> bytes:
        """What of a piece is to be unpacked: after a whole gzip stream only another one."""
        if self._after is None:
            return piece
        begun = self._after + piece
        if begun.startswith(_GZIP_START):
            self._after = None
            return begun
        self._after = begun[: len(_GZIP_START)]
        return b""

    def _window_bits(self, piece: bytes) -> int:
        if self._gzip:
            return 16 + zlib.MAX_WBITS
        return zlib.MAX_WBITS if piece[0] & 0xF == 8 else -zlib.MAX_WBITS  # some leave the head out
