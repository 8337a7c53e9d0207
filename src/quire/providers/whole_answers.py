"""Answers that come whole, head and body in one piece, read past aiohttp's parser.

Servers on one's own machine or network answer so, and a parser, two queues and a stream for each
such answer cost more than all else about the call. What is not as plain as can be (another status,
another encoding, anything after the body, a header nobody should write) goes to aiohttp's parser as
it came, byte for byte: only there is it decided what is wrong with an answer. What that parser
gives up although it began as an answer is mended, and given to it again (`mended_answers.py`).
"""

import asyncio
import re
from functools import lru_cache
from typing import Any, NamedTuple

import aiohttp
from aiohttp import http
from aiohttp.client_proto import ResponseHandler

from quire.providers.mended_answers import HEADER_LINE, begins_as_http, mend_answer

LONGEST_LINE = 2**16  # of a head, in bytes

_BEGIN = b"HTTP/1.1 200 "
_END = b"\r\n\r\n"
_LONGEST_HEAD = 4096  # bytes; heads that are read here are short, and so are their kept lines
_STATUS_LINE = re.compile(rb"HTTP/1\.1 200 [ !-~]*")
_LENGTH = re.compile(r"[0-9]{1,9}")
_NOT_PLAIN = ("transfer-encoding", "content-encoding", "upgrade", "trailer")
_KEEP_ALIVE = "keep-alive"

HeaderLine = tuple[str, str]


class PlainAnswer(NamedTuple):
    """An answer with its body."""

    status: int
    headers: dict[str, str]  # by names in small letters
    body: bytes


class BrokenAnswer(aiohttp.ClientPayloadError):
    """Whoever speaks HTTP said something that is none."""


class AnswerHandler(ResponseHandler):
    """A connection as aiohttp has it, which hands over an answer that came whole at once."""

    _answer: asyncio.Future[PlainAnswer | None] | None = None
    _began: bytes | None = None  # of an answer whose head is still read
    _speaks_http = False  # whoever is at the other end

    def expect_answer(self) -> asyncio.Future[PlainAnswer | None]:
        """What is waited for once a call was written: None is, as aiohttp reads it."""
        self._answer = waiter = self._loop.create_future()
        return waiter

    def data_received(self, data: bytes) -> None:
        """Take what came."""
        waiter = self._answer
        if waiter is None:
            if self._parser is None and self._speaks_http and self.transport is not None:
                self.transport.close()  # nothing was asked: it must not begin the next answer
            self._parse(data)
            return
        self._answer = None
        answer = read_plain_answer(data)
        if answer is None:
            self._begin_parsing()
            self._parse(data)
        self._speaks_http = self._speaks_http or answer is not None
        if not waiter.done():
            waiter.set_result(answer)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Let whoever waits hear it as aiohttp tells it."""
        waiter, self._answer = self._answer, None
        if waiter is not None:
            self._begin_parsing()
        super().connection_lost(exc)
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def set_response_params(self, **params: Any) -> None:
        """Have aiohttp read the next answer."""
        self._began = b""
        super().set_response_params(**params)

    def set_exception(self, exc: BaseException, *cause: BaseException) -> None:
        """Fail, unless it is only aiohttp that cannot read what was answered."""
        began, self._began = self._began, None
        if isinstance(exc, http.HttpProcessingError):
            if (mended := mend_answer(began or b"")) is not None:
                self._begin_parsing()
                self._began = None  # once is enough
                super().data_received(mended)
                return
            if self._speaks_http:
                exc = BrokenAnswer()
        super().set_exception(exc, *cause)

    def _parse(self, data: bytes) -> None:
        """Have aiohttp read it, and remember it until that has read the head of an answer."""
        if self._began is not None:
            self._began += data
            self._speaks_http = self._speaks_http or begins_as_http(self._began)
        super().data_received(data)
        if self._buffer:
            self._began = None

    def _begin_parsing(self) -> None:
        self.set_response_params(
            read_until_eof=True,
            auto_decompress=False,
            max_line_size=LONGEST_LINE,
            max_field_size=LONGEST_LINE,
        )


def read_plain_answer(data: bytes) -> PlainAnswer | None:
    """The answer that these bytes are, all of it and nothing else; None where that is not plain."""
    end = data.find(_END, 0, _LONGEST_HEAD)
    if end < 0 or not data.startswith(_BEGIN):
        return None
    status, *lines = data[:end].split(b"\r\n")
    found = list(map(_read_line, lines))
    if None in found or _STATUS_LINE.fullmatch(status) is None:
        return None
    headers: dict[str, str] = dict(found)  # type: ignore[arg-type]  # none is None
    length = headers.get("content-length", "")
    if len(headers) < len(found) or not _is_plain(headers) or _LENGTH.fullmatch(length) is None:
        return None
    body = data[end + len(_END) :]
    return PlainAnswer(200, headers, body) if len(body) == int(length) else None


def _is_plain(headers: dict[str, str]) -> bool:
    """Whether the body is just what follows the head, and the connection stays open after it."""
    if not headers.keys().isdisjoint(_NOT_PLAIN):
        return False
    return headers.get("connection", _KEEP_ALIVE).lower() == _KEEP_ALIVE


@lru_cache(maxsize=1024)  # most lines are the same in every answer
def _read_line(line: bytes) -> HeaderLine | None:
    found = HEADER_LINE.fullmatch(line)
    if found is None:
        return None
    name, value = found.groups(b"")
    return name.decode().lower(), value.decode()
