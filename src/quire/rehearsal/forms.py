"""Forms: the fields and the one file of a multipart body that lies on disk."""

from collections.abc import Iterator
from email.message import Message
from email.parser import BytesParser
from mmap import ACCESS_READ, mmap
from pathlib import Path

from quire.rehearsal.batches.files import Upload

_PIECE = 1 << 20  # bytes
_LONGEST_FIELD = 10_000  # bytes
_LONGEST_HEAD = 10_000  # bytes


def read_form(whole: Path, content_type: str, target: Path) -> Upload:
    """Read a form; its file goes to `target`. Raises ValueError where it is none."""
    fields: dict[str, str] = {}
    name, size = "", 0
    with whole.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as body:
        for head, begin, end in _parts(body, _boundary(content_type)):
            filename = head.get_filename()
            if filename is None:
                field = body[begin : min(end, begin + _LONGEST_FIELD)]
                said = head.get_param("name", "", "content-disposition")
                fields[str(said)] = field.decode("utf-8", "replace")
            else:
                name, size = filename, end - begin
                with target.open("wb") as write:
                    for at in range(begin, end, _PIECE):
                        write.write(body[at : min(end, at + _PIECE)])
    if not name:
        target.touch()
    return Upload(target, size, name, fields)


def _boundary(content_type: str) -> bytes:
    head = Message()
    head["Content-Type"] = content_type
    boundary = head.get_boundary()
    if not boundary:
        raise ValueError("a form without a boundary")
    return b"--" + boundary.encode()


def _parts(body: mmap, mark: bytes) -> Iterator[tuple[Message, int, int]]:
    """The head of each part, and where what it carries begins and ends."""
    at = body.find(mark)
    while at >= 0:
        after = at + len(mark)
        if body[after : after + 2] == b"--":
            return
        begin = body.find(b"\r\n\r\n", after, after + _LONGEST_HEAD)
        end = body.find(b"\r\n" + mark, begin)
        if begin < 0 or end < 0:
            raise ValueError("a form that breaks off")
        yield BytesParser().parsebytes(body[after + 2 : begin + 4]), begin + 4, end
        at = end + 2
    raise ValueError("a form that breaks off")
