"""The careful path: reads a broken or cut answer item by item, and keeps only closed items."""

import json
import re
from typing import NamedTuple

from quire.domain.data import Json, canonical_json
from quire.gates.records import Record, flaw_of

_SPACE = re.compile(r"[ \t\n\r]*")
_STRUCTURE = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}"]', re.DOTALL)
_CLOSERS = {"{": "}", "[": "]"}
_ENDED = "the text ends too early"


class Salvaged(NamedTuple):
    """The closed items, where the reading ended, and why it ended before the root closed."""

    records: tuple[Record, ...]
    end: int
    problem: str


class _Stop(NamedTuple):
    end: int
    problem: str = ""


class _Root:
    """What was found of an object that holds records, or is one itself."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.is_record = False  # it has an id: what it calls results are its own fields


class _Item(NamedTuple):
    value: Json
    flaw: str
    end: int
    problem: str = ""  # malformed or not closed: there is no item


class _Decoder:
    """Reads one JSON value and notes what a strict reader must refuse, instead of giving up."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._flaws: list[str] = []
        self._uids: list[Json] = []  # of the outermost object: its hook is called last
        self._strict = self._decoder(strict=True)
        self._lenient = self._decoder(strict=False)

    def read(self, at: int) -> _Item:
        """Read the value that starts here."""
        try:
            return self._read(self._strict, at, ())
        except RecursionError:
            return self._skip_nested(at)
        except json.JSONDecodeError as error:
            strict_problem = error
        try:
            # only a raw control character makes the two decoders differ
            return self._read(self._lenient, at, ("has a raw control character in a string",))
        except RecursionError:
            return self._skip_nested(at)
        except json.JSONDecodeError:
            problem = f"{strict_problem.msg} at character {strict_problem.pos}"
            return _Item(None, "", at, problem)

    def _decoder(self, *, strict: bool) -> json.JSONDecoder:
        return json.JSONDecoder(
            object_pairs_hook=self._note_pairs,
            parse_constant=self._note_constant,
            parse_int=self._note_integer,
            strict=strict,
        )

    def _read(self, decoder: json.JSONDecoder, at: int, known: tuple[str, ...]) -> _Item:
        self._flaws[:] = known
        value, end = decoder.raw_decode(self.text, at)
        if end == len(self.text) and self.text[end - 1] not in '}]"':
            return _Item(None, "", at, _ENDED)  # 12 may be the start of 123
        flaw = self._flaws[0] if self._flaws else flaw_of(value) or _flaw_of_text(value)
        if flaw and isinstance(value, dict):
            certain = bool(self._uids) and all(uid == self._uids[0] for uid in self._uids)
            value = {"block_uid": self._uids[0]} if certain else {}
        return _Item(value, flaw, end)

    def _skip_nested(self, at: int) -> _Item:
        end = _closing(self.text, at)
        if not end:
            return _Item(None, "", at, _ENDED)
        return _Item(None, "is nested too deeply", end)

    def _note_pairs(self, pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        value = dict(pairs)
        self._uids = [each for key, each in pairs if key == "block_uid"]
        if len(value) != len(pairs):
            self._flaws.append("has the same key twice")
        return value

    def _note_constant(self, name: str) -> None:
        self._flaws.append(f"holds {name}, which is not JSON")

    def _note_integer(self, digits: str) -> int:
        try:
            return int(digits)
        except ValueError:  # Python's own limit on digits
            self._flaws.append("holds a number too large to keep")
            return 0


def salvage(text: str, at: int) -> Salvaged:
    """Read the answer whose root opens here; stop at the first thing that is not JSON."""
    records: list[Record] = []
    decoder = _Decoder(text)
    if text[at] == "[":
        stop = _read_items(decoder, at + 1, records)
    else:
        root = _Root()
        stop = _read_root(decoder, at + 1, root)
        records = [] if root.is_record else root.records
    return Salvaged(tuple(records), stop.end, stop.problem)


def _read_items(decoder: _Decoder, at: int, into: list[Record]) -> _Stop:
    text = decoder.text
    at = _skip_space(text, at)
    if text[at : at + 1] == "]":
        return _Stop(at + 1)
    while True:
        item = decoder.read(at)
        if item.problem:
            return _Stop(at, item.problem)
        into.append(Record(item.value, item.flaw))
        at = _skip_space(text, item.end)
        if text[at : at + 1] == "]":
            return _Stop(at + 1)
        if text[at : at + 1] != ",":
            return _unexpected(text, at)
        at = _skip_space(text, at + 1)


def _read_root(decoder: _Decoder, at: int, into: _Root) -> _Stop:
    text = decoder.text
    at = _skip_space(text, at)
    while text[at : at + 1] == '"':
        key = decoder.read(at)
        colon = _skip_space(text, key.end)
        if key.problem or text[colon : colon + 1] != ":":
            return _unexpected(text, colon)
        at = _skip_space(text, colon + 1)
        into.is_record = into.is_record or key.value == "block_uid"
        if key.value == "results" and text[at : at + 1] == "[":
            stop = _read_items(decoder, at + 1, into.records)
        else:
            stop = _Stop(*decoder.read(at)[2:])
        if stop.problem:
            return stop
        at = _skip_space(text, stop.end)
        if text[at : at + 1] != ",":
            break
        at = _skip_space(text, at + 1)
    return _Stop(at + 1) if text[at : at + 1] == "}" else _unexpected(text, at)


def _closing(text: str, at: int) -> int:
    """Find where the bracket that opens here is closed, without recursion; 0 if it is not."""
    awaited: list[str] = []
    for found in _STRUCTURE.finditer(text, at):
        mark = found.group()
        if mark in _CLOSERS:
            awaited.append(_CLOSERS[mark])
        elif mark == '"':
            return 0  # a string that never ends
        elif mark[0] != '"' and awaited.pop() != mark:
            return 0
        if not awaited:
            return found.end()
    return 0


def _skip_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None  # it matches the empty string too
    return found.end()


def _unexpected(text: str, at: int) -> _Stop:
    mark = text[at : at + 1]
    return _Stop(at, f"unexpected {mark!r} at character {at}" if mark else _ENDED)


def _flaw_of_text(value: Json) -> str:
    try:
        canonical_json(value).encode()
    except UnicodeEncodeError:
        return "has half of a surrogate pair in a string"
    return ""
