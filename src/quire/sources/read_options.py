"""The options of reading as a person gives them: names become what readers use, or are refused."""

import codecs
from collections.abc import Mapping
from types import MappingProxyType

from quire.domain.data import Json
from quire.domain.documents import ReadChoices, ReadOptions
from quire.domain.errors import UsageError
from quire.sources.csv_rows import DELIMITERS

NOTHING_CHOSEN: Mapping[str, Json] = MappingProxyType({})
_BY_NAME = {name: delimiter for delimiter, name in DELIMITERS.items()}


def make_read_options(
    choices: ReadChoices, before: Mapping[str, Json] = NOTHING_CHOSEN
) -> ReadOptions:
    """Options of arguments; an encoding or delimiter that there is not is the caller's mistake.

    What is not said stays as it was `before`, in the same names; an empty text says that there is
    none any more.
    """
    said = {name: value for name, value in choices.items() if value not in (None, False)}
    given = {**before, **said}
    if encoding := said.get("encoding"):
        given["encoding"] = _encoding_name(str(encoding))
    if delimiter := said.get("delimiter"):
        given["delimiter"] = _delimiter(str(delimiter))
    chosen = {name: value for name, value in given.items() if value != ""}
    return ReadOptions(**chosen)  # type: ignore[arg-type]  # as stored, or as arguments


def _encoding_name(encoding: str) -> str:
    try:
        found = codecs.lookup(encoding)
        "".encode(found.name)  # there are codecs that are none of text, such as hex
    except LookupError:
        raise UsageError(
            f"there is no encoding {encoding!r}; usual ones are utf-8, utf-16, cp1252, latin-1"
        ) from None
    return found.name


def _delimiter(text: str) -> str:
    delimiter = _BY_NAME.get(text, "\t" if text == "\\t" else text)
    if len(delimiter) != 1 or delimiter in '"\r\n' or not delimiter.isascii():
        raise UsageError(
            f"a delimiter is one character, or {', '.join(_BY_NAME)}; {text!r} is neither"
        )
    return delimiter
