"""Document names: what people call documents: numbers, titles, paths, folders and globs."""

import os
import re
from collections.abc import Callable

from quire.domain.documents import Document
from quire.domain.errors import NotFound, UsageError
from quire.domain.ids import DocumentId
from quire.domain.sources import Source
from quire.ledger.ledger import Transaction

_MAGIC = re.compile(r"[*?[]")
_GLOB_PART = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^]]*\]|.", re.DOTALL)
_GLOB_WORDS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}

PlaceOf = Callable[[str], str]  # where a path really is


def match_documents(tx: Transaction, name: str, place_of: PlaceOf) -> list[DocumentId]:
    """The documents that a name means: one, or all in a folder or of a glob; none is a mistake."""
    is_pattern = name.endswith(("/", os.sep)) or bool(_MAGIC.search(name))
    found = tx.documents.match_documents(name)
    if found and not (is_pattern and len(found) > 1):
        return [choose_document(found, name).id]
    matched = _match_paths(tx, name, place_of)
    if not matched:
        raise NotFound(f"there is no document {name!r}; `quire documents` lists them")
    return matched


def choose_document(found: list[Document], name: str) -> Document:
    """The one document that a name means, or what is wrong with the name."""
    if not found:
        raise NotFound(f"there is no document {name!r}; `quire documents` lists them")
    if len(found) > 1 and str(found[0].id) != name:  # a number is never another one's name
        titles = ", ".join(f"{document.id} ({document.title})" for document in found)
        raise UsageError(f"{name!r} means several documents: {titles}; give the number")
    return found[0]


def _match_paths(tx: Transaction, name: str, place_of: PlaceOf) -> list[DocumentId]:
    """Documents that are at a path of the glob, or in the folder; those that made way are not."""
    takes = _path_matcher(name, place_of)
    live = (source for source in tx.sources.list_sources() if source.retired_at is None)
    return list(dict.fromkeys(source.document_id for source in live if takes(source)))


def _path_matcher(name: str, place_of: PlaceOf) -> Callable[[Source], bool]:
    """A glob means the end of a path, as a file's name does; one from the root means all of it."""
    plain = os.path.normpath(name)
    if not os.path.isabs(plain):
        end = _compile_glob(plain, "(?:.*/)?")
        return lambda source: end.fullmatch(os.path.normpath(source.path)) is not None
    if place_of(plain) == os.curdir:  # the folder of the ledger itself
        return lambda source: not os.path.isabs(source.place)
    whole = _compile_glob(place_of(plain), "")
    return lambda source: whole.fullmatch(source.place) is not None


def _compile_glob(glob: str, before: str) -> re.Pattern[str]:
    words = "".join(map(_glob_word, _GLOB_PART.findall(glob)))
    try:
        return re.compile(f"{before}{words}(?:/.*)?", re.DOTALL)  # of a folder: all that is in it
    except re.error:
        raise UsageError(f"{glob!r} is no glob: its [ ] cannot be read") from None


def _glob_word(part: str) -> str:
    if part in _GLOB_WORDS:
        return _GLOB_WORDS[part]
    if len(part) > 2 and part.startswith("["):
        inner = part[1:-1].replace("\\", r"\\").replace("[", r"\[")
        return f"[{'^' + inner[1:] if inner.startswith('!') else inner}]"
    return re.escape(part)
