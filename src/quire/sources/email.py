"""Letters (eml): the header lines are one block, then the text; attachments are named, not read."""

from collections.abc import Callable, Iterator
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default
from typing import BinaryIO, NamedTuple, cast

from quire.domain.data import as_object
from quire.domain.documents import AS_FOUND, BlockType, LeftOut, ReadOptions
from quire.sources import html, text
from quire.sources.source_parts import BadContent, BlockList, SourceParts

_SHOWN = ("From", "To", "Cc", "Bcc", "Reply-To", "Date", "Subject")
_DEEPEST = 50  # parts within parts


class _LetterPart(NamedTuple):
    number: str  # as in IMAP: "1.2" is the second part of the first
    message: EmailMessage


def read_file(open_source: Callable[[], BinaryIO], options: ReadOptions = AS_FOUND) -> SourceParts:
    """Cut a letter into blocks; of text in two forms the plain one is read."""
    with open_source() as file:
        letter = BytesParser(policy=default).parse(file)
    found = BlockList()
    left_out: list[LeftOut] = []
    lines = [f"{name}: {_header(letter, name)}" for name in _SHOWN if _header(letter, name)]
    if not lines:
        raise BadContent("is no letter: it has no header lines")
    found.add(BlockType.KEY_VALUE_REGION, "\n".join(lines), {"type": "mime_part", "part": "0"})
    for part in _leaves(_LetterPart("", letter)):
        reason = _reason_to_leave(part.message)
        if reason:
            left_out.append(LeftOut(f"part {part.number}", reason))
        else:
            _add_text(found, part)
    return SourceParts(_header(letter, "Subject"), tuple(found.blocks), left_out)


def _header(letter: EmailMessage, name: str) -> str:
    try:
        values = letter.get_all(name, [])
        return ", ".join(" ".join(str(value).split()) for value in values)
    except (ValueError, LookupError, AttributeError, TypeError, IndexError):
        return ""  # a header that the standard library cannot read


def _leaves(part: _LetterPart, depth: int = 0) -> Iterator[_LetterPart]:
    """Yield the parts that hold something; of alternatives only the simplest that we read."""
    if depth > _DEEPEST:
        raise BadContent("is nested too deeply to be read")
    if part.message.get_content_maintype() != "multipart":
        yield part._replace(number=part.number or "1")
        return
    prefix = f"{part.number}." if part.number else ""
    inner = [
        _LetterPart(f"{prefix}{number}", cast("EmailMessage", message))
        for number, message in enumerate(part.message.iter_parts(), 1)
    ]
    if part.message.get_content_subtype() == "alternative":
        inner = sorted(inner, key=lambda item: item.message.get_content_type() != "text/plain")
        says = [item for item in inner if _says_something(item.message)]
        inner = (says or inner)[:1]
    for item in inner:
        yield from _leaves(item, depth + 1)


def _says_something(message: EmailMessage) -> bool:
    return message.is_multipart() or bool(_payload(message).strip())


def _reason_to_leave(message: EmailMessage) -> str:
    kind = message.get_content_type()
    is_text = kind in ("text/plain", "text/html")
    if is_text and message.get_content_disposition() != "attachment":
        return ""
    name = _file_name(message)
    what = f"{name!r}, {kind}" if name else kind
    if kind == "message/rfc822":
        return f"a letter within the letter, not read: {what}"
    size = len(_payload(message))
    return f"an attachment, not read: {what}, {size:,} bytes"


def _payload(message: EmailMessage) -> bytes:
    raw = message.get_payload(decode=True)
    return raw if isinstance(raw, bytes) else b""


def _file_name(message: EmailMessage) -> str:
    try:
        return message.get_filename() or ""
    except (ValueError, LookupError, AttributeError, TypeError):
        return ""


def _add_text(found: BlockList, part: _LetterPart) -> None:
    raw = _payload(part.message)
    charset = part.message.get_content_charset("utf-8")
    try:
        content = raw.decode(charset)
    except (UnicodeError, LookupError):
        # a letter that lies about its charset is common; every byte means something in this one
        content = raw.decode("cp1252", "replace")
    reader = html if part.message.get_content_subtype() == "html" else text
    for block in reader.read_text(content).blocks:
        place = as_object(block.locator)
        found.take(block, {**place, "type": "mime_part", "part": part.number})
