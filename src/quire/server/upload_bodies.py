"""Upload bodies: the files of a form, written to a folder piece by piece while they come in."""

import re
import unicodedata
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from quire.domain.errors import UsageError

MOST_FILES = 500  # in one request
LONGEST_NAME = 200  # bytes; file systems take 255
_ODD = re.compile(r'[\\/:*?"<>|]')


def file_name(given: str) -> str:
    """The name of an upload: what a person may see of it, without any folder."""
    bare = PurePosixPath(given.replace("\\", "/")).name
    shown = "".join(name for name in bare if unicodedata.category(name)[0] != "C")
    shown = _ODD.sub("_", shown).strip(" .")
    if not shown:
        raise UsageError("a file has no name", "give each file a name, such as notes.md")
    stem, dot, ending = shown.rpartition(".")
    kept = LONGEST_NAME - len(ending.encode()) - 1
    if dot and kept > 0:
        return f"{_first_bytes(stem, kept)}{dot}{ending}"
    return _first_bytes(shown, LONGEST_NAME)


def _first_bytes(text: str, count: int) -> str:
    return text.encode()[:count].decode(errors="ignore")


class _Part:
    """One part of a form: a file that is being written, or something that is left out."""

    def __init__(self, folder: Path, number: int) -> None:
        self._folder, self._number = folder, number
        self._header = b""
        self._value = b""
        self.path: Path | None = None
        self.name = ""
        self._file: BinaryIO | None = None

    def header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def header_end(self) -> None:
        header, value = self._header, self._value
        self._header = self._value = b""
        if header.lower() != b"content-disposition":
            return
        options = parse_options_header(value)[1]
        given = options.get(b"filename")
        if given is None:
            return
        if self._file is not None:
            raise UsageError("a file of the form has two names", "give each file one")
        self.name = file_name(given.decode("utf-8", "replace"))
        self.path = self._folder / f"{self._number}" / self.name
        self.path.parent.mkdir()
        self._file = self.path.open("wb")

    def data(self, data: bytes, start: int, end: int) -> None:
        if self._file is not None:
            self._file.write(data[start:end])

    def end(self) -> None:
        if self._file is not None:
            self._file.close()


class FormFiles:
    """Reads one request's form; holds a piece at a time."""

    def __init__(self, folder: Path) -> None:
        """Write files below a folder."""
        self._folder = folder
        self._parts: list[_Part] = []
        self._whole = False  # its closing boundary has come

    async def read(self, request: Request) -> dict[Path, str]:
        """The files that came, each with its name."""
        kind, options = parse_options_header(request.headers.get("content-type", ""))
        boundary = options.get(b"boundary")
        if kind != b"multipart/form-data" or not boundary:
            raise UsageError("send files as a form: multipart/form-data, each as `files`")
        try:
            parser = MultipartParser(boundary, self._callbacks())
            async for piece in request.stream():
                await run_in_threadpool(parser.write, piece)
            parser.finalize()
            if not self._whole:
                raise UsageError("the form is cut off: its last boundary is missing")
        except FormParserError as error:
            raise UsageError(f"this is no form with files: {error}") from None
        finally:
            for part in self._parts:
                part.end()
        found = {part.path: part.name for part in self._parts if part.path is not None}
        if not found:
            raise UsageError("no files came", "send each as a part of the form, with its name")
        return found

    def _callbacks(self) -> Any:
        return {
            "on_part_begin": self._begin,
            "on_header_field": lambda *data: self._parts[-1].header_field(*data),
            "on_header_value": lambda *data: self._parts[-1].header_value(*data),
            "on_header_end": lambda: self._parts[-1].header_end(),
            "on_part_data": lambda *data: self._parts[-1].data(*data),
            "on_part_end": lambda: self._parts[-1].end(),
            "on_end": self._end,
        }

    def _end(self) -> None:
        self._whole = True

    def _begin(self) -> None:
        if len(self._parts) >= MOST_FILES:
            raise UsageError(f"one request brings at most {MOST_FILES} files; send several")
        self._parts.append(_Part(self._folder, len(self._parts)))
