"""Mended answers: what was answered in broken HTTP, written anew so that it can be read.

A parser gives up an answer of which anything is wrong that came in the same piece: bytes after the
body, a length that is too small, a header that is none. But the model has answered, and it is paid
for. So where what came begins as an answer does, its status, its readable headers and its body are
kept. The body is what HTTP says; or, if that cannot be read, all that came after the head.
"""

import re
from typing import NamedTuple

from quire.providers.wire import parse

HEADER_LINE = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([!-~](?:[\t -~]*[!-~])?)?[ \t]*")

_END = b"\r\n\r\n"
_BEGINS = re.compile(rb"HTTP/[0-9]")
_INTERIM = re.compile(rb"HTTP/1\.[0-9] 1[0-9]{2}(?!\d)")  # an answer is still to come
_FINAL = re.compile(rb"HTTP/1\.[0-9] ([2-5][0-9]{2})(?!\d)")
_LENGTH = re.compile(rb"[0-9]{1,9}")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r\n")
_LONGEST_LINE = 2**13
_ABOUT_THE_WAY = (b"connection", b"keep-alive", b"trailer", b"transfer-encoding", b"upgrade")


class _Framing(NamedTuple):
    """What a head says of where its body ends."""

    length: int | None
    chunked: bool


def begins_as_http(came: bytes) -> bool:
    """Whether whoever said so speaks HTTP, however badly it goes on."""
    return _BEGINS.match(came) is not None


def mend_answer(came: bytes) -> bytes | None:
    """The answer that these bytes began to be, written anew; None where its head did not end."""
    while _INTERIM.match(came):
        came = came.partition(_END)[2]
    head, end, rest = came.partition(_END)
    found = _FINAL.match(head)
    if found is None or not end:
        return None
    headers, framing = _read_head(head)
    body = _choose_body(rest, framing)
    expected = len(body) or framing.length or 0  # where nothing of it came, that is told
    lines = [b"HTTP/1.1 %s" % found[1], *headers, b"Content-Length: %d" % expected]
    return b"\r\n".join((*lines, b"Connection: close")) + _END + body


def _read_head(head: bytes) -> tuple[list[bytes], _Framing]:
    kept, lengths, chunked = list[bytes](), set[bytes](), False
    for line in head.split(b"\r\n")[1:]:
        found = HEADER_LINE.fullmatch(line) if len(line) <= _LONGEST_LINE else None
        if found is None:
            continue
        name, value = found[1].lower(), found[2] or b""
        if name == b"content-length":
            lengths.add(value)
        elif name not in _ABOUT_THE_WAY:
            kept.append(line)
        chunked |= name == b"transfer-encoding" and b"chunked" in value.lower()
    only = lengths.pop() if len(lengths) == 1 and not chunked else b""
    return kept, _Framing(int(only) if _LENGTH.fullmatch(only) else None, chunked)


def _choose_body(rest: bytes, framing: _Framing) -> bytes:
    """What the head says is the body, if that can be read, or all of it."""
    body = _join_chunks(rest) if framing.chunked else rest[: framing.length]
    return body if body is not None and _is_readable(body) else rest


def _is_readable(body: bytes) -> bool:
    """Whether it is JSON, or ends with a line that is."""
    last_line = body.rstrip().rpartition(b"\n")[2]
    return parse(body) is not None or isinstance(parse(last_line), dict)


def _join_chunks(rest: bytes) -> bytes | None:
    """What chunks hold, up to the last; None where they are none."""
    parts, at = list[bytes](), 0
    while (found := _CHUNK.match(rest, at)) is not None:
        begin, size = found.end(), int(found[1], 16)
        if not size:
            return b"".join(parts)
        parts.append(rest[begin : begin + size])
        at = begin + size + len(b"\r\n")
    return None
