"""The options of reading as a person gives them: names become what readers use, or are refused."""

import codecs

from quire.domain.documents import ReadChoices, ReadOptions
from quire.domain.errors import UsageError
from quire.sources.csv_rows import DELIMITERS

_BY_NAME = {name: delimiter for delimiter, name in DELIMITERS.items()}


def make_read_options(choices: ReadChoices) -> ReadOptions:
    """Options of arguments; an encoding or delimiter that there is not is the caller's mistake."""
    given = choices.copy()
    if encoding := given.get("encoding"):
        given["encoding"] = _encoding_name(encoding)
    if delimiter := given.get("delimiter"):
        given["delimiter"] = _delimiter(delimiter)
    return ReadOptions(**given)


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
