"""Model text becomes records: strict JSON at once, or every closed record of a broken answer."""

import re
from typing import NamedTuple

import jiter

from quire.domain.data import Json
from quire.gates.records import Record, Records, flaw_of
from quire.gates.salvage import salvage

# Possessive, so that a line of blanks is read once and not once for every blank in it.
_FENCE = re.compile(r"^[ \t]*+```[ \t]*+(?:json[ \t]*+)?\r?\n", re.MULTILINE | re.IGNORECASE)
_ROOT = re.compile(r"[\ufeff\s]*(?=[{\[])")
_ID_KEY = '"block_uid"'
_NOT_JSON = "answer is not JSON: "
_NO_RESULTS = 'answer has no "results" array'


class _Strict(NamedTuple):
    root: Json
    problem: str


def parse_records(text: str) -> Records:
    """Read an answer; what is not closed is not there.

    Understood besides `{"results": […]}`: a bare array, one bare record, a fence around any of
    them, and prose outside the fence or after the answer that holds no records of its own.
    """
    strict = _read_strictly(text)
    if not strict.problem:
        return _records_of(strict.root)
    fence = _FENCE.search(text)
    root = _ROOT.match(text) or (fence and _ROOT.match(text, fence.end()))
    if not root:
        return Records(records=(), complete=False, problem=_NOT_JSON + strict.problem)
    return _read_carefully(text, root.end())


def parse_strictly(text: str, count: int) -> list[Json]:
    """Read an answer of exactly the asked form with so many records; anything else gives none."""
    try:
        root = jiter.from_json(text.encode(), allow_inf_nan=False, catch_duplicate_keys=True)
    except ValueError:  # half of a surrogate pair is one too
        return []
    items = root.get("results") if type(root) is dict and len(root) == 1 else None
    return items if isinstance(items, list) and len(items) == count else []


def _read_strictly(text: str) -> _Strict:
    try:
        root = jiter.from_json(text.encode(), allow_inf_nan=False, catch_duplicate_keys=True)
    except UnicodeEncodeError:
        return _Strict(None, "half of a surrogate pair in the text")
    except ValueError as error:
        return _Strict(None, str(error))
    return _Strict(root, "")


def _records_of(root: Json) -> Records:
    items: object = root
    if isinstance(root, dict):  # with an id it is one record, whatever its fields are called
        items = [root] if "block_uid" in root else root.get("results")
    if not isinstance(items, list):
        return Records(records=(), complete=False, problem=_NO_RESULTS)
    records = tuple([Record(item, flaw_of(item)) for item in items])
    return Records(records=records, complete=True)


def _read_carefully(text: str, start: int) -> Records:
    saved = salvage(text, start)
    if saved.problem:
        return Records(records=saved.records, complete=False, problem=_NOT_JSON + saved.problem)
    if _ID_KEY in text[:start] or _ID_KEY in text[saved.end :]:
        return Records(records=(), complete=False, problem="response holds more than one answer")
    whole = _read_strictly(text[start : saved.end])
    if not whole.problem:
        return _records_of(whole.root)
    if not saved.records:
        return Records(records=(), complete=False, problem=_NO_RESULTS)
    return Records(records=saved.records, complete=True)
