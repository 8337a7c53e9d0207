"""Salvage: the records of an answer; strict JSON at once, or every closed one of a broken text.

An answer about ten blocks that breaks off in the tenth holds nine that were paid for. Asking again
for all ten would pay for them twice, so whatever is closed is kept, and only the rest is asked
again.

The danger is to keep too much. A record must be the model's own and whole: one that is not closed,
a number at the very end of the text (12 may be the start of 123), or a string cut off is no record
at all. A record that is closed but not sound (a key given twice, NaN, a raw control character,
nesting that would break a parser, a number too large to keep) is kept *flawed*: with its id alone,
and only where the id is certain, so that its task is asked again for a reason, and no other task is
touched. And what merely looks like records inside a record is its content: an object with an id of
its own is never searched for more, or a block that quotes JSON could answer for another.

The common case costs nothing of this: a text that strict JSON takes is used as it is. Only where
that fails does the slow reader go through the text, value by value, in one pass. It repairs
nothing: a guess at what a model meant would be an answer that nobody gave.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from quire.domain.data import Json, JsonObject, canonical_json, strict_json

DEPTH_LIMIT = 100  # far above any real schema, far below where parsers and writers give up
# jsonschema-rs lets integers of 4,300 digits pass any maximum; and a number like 1e400 is read as
# infinity, which JSON cannot carry on
HIGHEST = 10**1000
LOWEST = -HIGHEST


class Record(NamedTuple):
    """One closed item of the answer; a flawed one is kept only to say whose it was."""

    value: Json
    flaw: str = ""


class Records(NamedTuple):
    """What could be read of an answer: every closed record, in order."""

    records: tuple[Record, ...]
    complete: bool  # the answer was read to its end
    problem: str = ""  # why it was not


def flaw_of(value: Json, room: int = DEPTH_LIMIT) -> str:
    """Say what no field's schema can be asked about; empty where there is nothing."""
    if isinstance(value, dict):
        children: Iterable[Json] = value.values()
    elif isinstance(value, list):
        children = value
    else:
        children = (value,)
    for child in children:
        kind = type(child)
        if kind is str:
            continue  # most values are text: not worth a call
        if kind is dict or kind is list:
            flaw = flaw_of(child, room - 1) if room else f"is nested more than {DEPTH_LIMIT} deep"
            if flaw:
                return flaw
        elif (kind is int or kind is float) and not LOWEST < child < HIGHEST:  # type: ignore[operator]
            return "holds a number too large to keep"
    return ""


_SPACE = re.compile(r"[ \t\n\r]*")
_STRUCTURE = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}"]', re.DOTALL)
_CLOSERS = {"{": "}", "[": "]"}
_ENDED = "the text ends too early"


class SalvagedRecords(NamedTuple):
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
        problem = ""
        # only a raw control character makes the two decoders differ
        control = ("has a raw control character in a string",)
        for decoder, known in ((self._strict, ()), (self._lenient, control)):
            try:
                return self._read(decoder, at, known)
            except RecursionError:
                return self._skip_nested(at)
            except json.JSONDecodeError as error:
                said = error.msg.removesuffix(" at")  # it expects the place
                problem = problem or f"{said} at character {error.pos}"
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
        end = _find_closing(self.text, at)
        return _Item(None, "is nested too deeply", end) if end else _Item(None, "", at, _ENDED)

    def _note_pairs(self, pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        value = dict(pairs)
        self._uids = [pair for key, pair in pairs if key == "block_uid"]
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


def salvage_records(text: str, at: int) -> SalvagedRecords:
    """Read the answer whose root opens here; stop at the first thing that is not JSON."""
    records: list[Record] = []
    decoder = _Decoder(text)
    if text[at] == "[":
        stop = _read_items(decoder, at + 1, records)
    else:
        root = _Root()
        stop = _read_root(decoder, at + 1, root)
        records = [] if root.is_record else root.records
    return SalvagedRecords(tuple(records), stop.end, stop.problem)


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
            return _stop_at_unexpected(text, at)
        at = _skip_space(text, at + 1)


def _read_root(decoder: _Decoder, at: int, into: _Root) -> _Stop:
    text = decoder.text
    at = _skip_space(text, at)
    while text[at : at + 1] == '"':
        key = decoder.read(at)
        colon = _skip_space(text, key.end)
        if key.problem or text[colon : colon + 1] != ":":
            return _stop_at_unexpected(text, colon)
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
    return _Stop(at + 1) if text[at : at + 1] == "}" else _stop_at_unexpected(text, at)


def _find_closing(text: str, at: int) -> int:
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


def _stop_at_unexpected(text: str, at: int) -> _Stop:
    mark = text[at : at + 1]
    return _Stop(at, f"unexpected {mark!r} at character {at}" if mark else _ENDED)


def _flaw_of_text(value: Json) -> str:
    try:
        canonical_json(value).encode()
    except UnicodeEncodeError:
        return "has half of a surrogate pair in a string"
    return ""


# Where an answer begins: at the start of the text whatever follows, else where it looks like JSON.
# Possessive, so that a line of blanks is read once and not once for every blank in it.
_ROOT = re.compile(r'\A[\ufeff\s]*+(?=[{\[])|(?=\{\s*+["}])|(?=\[\s*+[{\]])')
_ID_KEY = '"block_uid"'
_CLAIM = re.compile(r'"block_uid"\s*+:\s*+("(?:[^"\\]|\\.)*+")', re.DOTALL)
_NOT_JSON = "answer is not JSON: "
_SAYS_NOTHING = re.compile(r"\s*(```\w*\s*)?")  # an empty line, or a fence
_NO_RESULTS = 'answer has no "results" array'
MORE_THAN_ONE = "response holds more than one answer"


class _Strict(NamedTuple):
    root: Json
    problem: str


class AnswerRoot(NamedTuple):
    """Where in a text something stands that is JSON, or begins like it."""

    start: int
    end: int  # of the text, where it is not closed: nobody knows where it was to end
    problem: str


def find_roots(text: str) -> list[AnswerRoot]:
    """Find all JSON objects and arrays that stand in the words of a text."""
    roots: list[AnswerRoot] = []
    at = 0
    while found := _ROOT.search(text, at):
        saved = salvage_records(text, found.end())
        if saved.problem:
            return [*roots, AnswerRoot(found.end(), len(text), saved.problem)]
        roots.append(AnswerRoot(found.end(), saved.end, ""))
        at = saved.end
    return roots


def parse_records(text: str, expected: Sequence[str] = ()) -> Records:
    """Read an answer; what is not closed is not there.

    Understood besides `{"results": […]}`: a bare array, one bare record, another key, records by
    the ids that were expected, any of them written as a JSON string, words around it that hold no
    records of their own, and records line by line, each about another block that was expected.
    """
    strict = _read_strictly(text)
    if not strict.problem:
        return _records_of(strict.root, expected)
    roots = find_roots(text)
    own = [root for root in roots if _ID_KEY in text[root.start : root.end]] or roots
    if not own:
        return Records(records=(), complete=False, problem=_NOT_JSON + strict.problem)
    if len(own) > 1:
        return _read_lines(text, expected) or Records(
            records=(), complete=False, problem=MORE_THAN_ONE
        )
    return _read_carefully(text, own[0].start, expected)


def _read_lines(text: str, expected: Sequence[str]) -> Records | None:
    """Records that are a line each, and nothing else; None where that is not the only reading."""
    # at \n alone: a string may hold whatever else ends lines
    texts = [line for line in text.split("\n") if not _SAYS_NOTHING.fullmatch(line)]
    lines = [_read_strictly(line) for line in texts]
    items = [line.root for line in lines if _has_id(line.root)]
    uids = [item["block_uid"] for item in items if isinstance(item, dict)]
    known = [uid for uid in expected if uid in uids]
    if len(known) != len(uids) or len(items) != len(lines):
        return None
    return Records(tuple([Record(item, flaw_of(item)) for item in items]), complete=True)


def parse_strictly(text: str, count: int) -> list[Json]:
    """Read an answer of exactly the asked form with so many records; anything else gives none."""
    try:
        root = strict_json(text.encode())
    except ValueError:  # half of a surrogate pair is one too
        return []
    items = root.get("results") if type(root) is dict and len(root) == 1 else None
    return items if isinstance(items, list) and len(items) == count else []


def _read_strictly(text: str) -> _Strict:
    try:
        root = strict_json(text.encode())
    except UnicodeEncodeError:
        return _Strict(None, "half of a surrogate pair in the text")
    except ValueError as error:
        return _Strict(None, str(error))
    return _Strict(root, "")


def _records_of(root: Json, expected: Sequence[str]) -> Records:
    items = _find_items(unquote_json(root), expected)
    if items is None:
        return Records(records=(), complete=False, problem=_NO_RESULTS)
    records = tuple([Record(item, flaw_of(item)) for item in items])
    return Records(records=records, complete=True)


def unquote_json(value: Json) -> Json:
    """Read JSON that was written as a string once more; any other string stays what it is."""
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        inner = _read_strictly(value)
        return value if inner.problem else inner.root
    return value


def _find_items(root: Json, expected: Sequence[str]) -> Sequence[Json] | None:
    """Find the one list of records in an answer; None where there is none, or more than one."""
    if not isinstance(root, dict):
        return root if isinstance(root, list) else None
    if "block_uid" in root:  # with an id it is one record, whatever its fields are called
        return [root]
    if "results" in root:
        results = unquote_json(root["results"])
        return results if isinstance(results, list) else _records_by_id(results, expected)
    by_id = _records_by_id(root, expected)
    return _records_under_any_key(root, expected) if by_id is None else by_id


def _records_under_any_key(root: JsonObject, expected: Sequence[str]) -> Sequence[Json] | None:
    """Records under a key that nobody asked for; without any, all of it may be a lone record."""
    lists = [
        value
        for value in map(unquote_json, root.values())
        if isinstance(value, list) and any(map(_has_id, value))
    ]
    if not lists:
        return [root] if len(expected) == 1 else None
    return lists[0] if len(lists) == 1 else None


def _has_id(item: Json) -> bool:
    return isinstance(item, dict) and "block_uid" in item


def _records_by_id(root: Json, expected: Sequence[str]) -> list[Json] | None:
    """Records that stand under their ids; an id inside one that is another makes it nobody's."""
    if not isinstance(root, dict) or not any(uid in root for uid in expected):
        return None
    records: list[Json] = []
    for uid, value in root.items():
        if not isinstance(value, dict):
            return None
        own = value.get("block_uid", uid) == uid
        records.append({"block_uid": uid, **value} if own else {})
    return records


def _read_carefully(text: str, start: int, expected: Sequence[str]) -> Records:
    saved = salvage_records(text, start)
    if _ID_KEY in text[:start] or (not saved.problem and _ID_KEY in text[saved.end :]):
        return Records(records=(), complete=False, problem=MORE_THAN_ONE)
    if saved.problem:
        kept = _flaw_what_comes_again(saved.records, text, saved.end)
        return Records(records=kept, complete=False, problem=_NOT_JSON + saved.problem)
    whole = _read_strictly(text[start : saved.end])
    if not whole.problem:
        return _records_of(whole.root, expected)
    if not saved.records:
        return Records(records=(), complete=False, problem=_NO_RESULTS)
    return Records(records=saved.records, complete=True)


def _flaw_what_comes_again(records: Sequence[Record], text: str, after: int) -> tuple[Record, ...]:
    """Of records that what cannot be read speaks of again, nobody knows which are meant."""
    again = {_unquote_id(claim[1]) for claim in _CLAIM.finditer(text, after)}
    return tuple(
        Record({"block_uid": record.value["block_uid"]}, "is given again where nobody can read it")
        if isinstance(record.value, dict) and record.value.get("block_uid") in again
        else record
        for record in records
    )


def _unquote_id(quoted: str) -> Json:
    found = _read_strictly(quoted)
    return quoted if found.problem else found.root
