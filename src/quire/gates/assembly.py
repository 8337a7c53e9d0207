"""Assembly: the pieces of one answer become one answer, each word of it once.

A model that is asked to go on rarely does just that. It says that it will, repeats the last lines,
puts what follows into a code fence, or begins again. Here the seam is found: preambles and fences
are dropped, what stands at the end of the one and the beginning of the other is joined once, and a
piece that begins again takes the place of what it says again.

The danger is to take for a repetition what was meant to stand twice. So an overlap must be long, or
begin a line, or finish a word; and where the text repeats itself anyway (a table, a refrain, a list
of equal items) nothing is joined. Of JSON, fragments are put together as text first; only whole
records are merged: strings are joined, lists extended, objects merged field by field; and where
fields were missing, only what is not there yet is taken.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from quire.domain.continuation import COMPLETE_FIELD, CONTINUE_FIELD, AnswerPiece, Gap, Trigger
from quire.domain.data import Json, JsonObject, plain_json, strict_json
from quire.domain.requests import Stop
from quire.gates.records import find_roots
from quire.gates.text_seams import (
    CLAIM,
    CLOSING,
    FENCE,
    LONG_OVERLAP,
    begins_again,
    join_texts,
    shared_length,
    without_preamble,
)
from quire.gates.thoughts import split_thoughts


class Assembly(NamedTuple):
    """All pieces as one."""

    text: str
    added: int  # characters, blanks apart, that the last of them brought


class _Segment(NamedTuple):
    """A record of an answer in JSON, or the part of one that is there."""

    text: str
    fills: bool = False  # it was asked for the fields that were missing, and brings nothing else


def assemble(pieces: Sequence[str], gaps: Sequence[Gap] = (), *, json: bool) -> Assembly:
    """Put pieces together, in order; `gaps` are what each but the last left open."""
    text = _fragment(pieces[0]) if json else pieces[0]
    segments, added = [_Segment(text)], _weight(text)
    for piece, gap in zip_longest(pieces[1:], gaps[: len(pieces) - 1]):
        before, known = text, list(segments)
        if json:
            fills = gap is not None and gap.trigger is Trigger.MISSING
            segments = _add_fragment(segments, piece, fills=fills)
            text = _merge_segments(segments)
        else:
            text = join_texts(text, piece)
        added = _progress(before, text) if not json or segments != known else 0
    return Assembly(text, added)


def assemble_chain(
    chain: Sequence[AnswerPiece], last: str | None = None, *, json: bool
) -> Assembly:
    """A chain, and the answer that goes on with it, without what was thought before each piece."""
    texts = [*[piece.text for piece in chain], *([] if last is None else [last])]
    said = [split_thoughts(text).text for text in texts]
    return assemble(said, [piece.gap for piece in chain], json=json)


def assemble_pieces(chain: Sequence[AnswerPiece], last: str | None = None, *, json: bool) -> str:
    """The text of a chain, and of the answer that goes on with it."""
    return assemble_chain(chain, last, json=json).text


def _weight(text: str) -> int:
    return len("".join(text.split()))


def _progress(before: str, after: str) -> int:
    """What came to it; a merged record may be shorter than the pieces of it were."""
    grown = _weight(after) - _weight(before)
    return grown if grown > 0 or before == after else _weight(after)


def _add_fragment(segments: list[_Segment], piece: str, *, fills: bool) -> list[_Segment]:
    """The records so far with another piece: a record of its own, or the rest of the last."""
    piece = _fragment(piece)
    if CLAIM.fullmatch(piece):
        return segments
    *before, (last, own) = segments
    if parse_whole(last) is not None:
        follows = piece.lstrip()[:1] in ("{", "[")
        return [*segments, _Segment(piece, fills)] if follows else segments
    if begins_again(last, piece) or _is_whole_of(last, piece):
        grown = parse_whole(piece) is not None or len(piece) > len(last)
        return [*before, _Segment(piece, own)] if grown else segments
    return [*before, _Segment(last + piece[_shared_json(last, piece) :], own)]


def _fragment(piece: str) -> str:
    """JSON without what was said before it, and out of the fence around it."""
    bare = without_preamble(piece)
    found = FENCE.match(bare)
    return bare if found is None else CLOSING.sub("", bare[found.end() :])


def _is_in_string(text: str) -> bool:
    """Whether JSON breaks off inside a string."""
    return len(re.findall(r'(?<!\\)(?:\\\\)*"', text)) % 2 == 1


def _shared_json(so_far: str, piece: str) -> int:
    """What of a fragment is there already; where both readings are JSON, only what is long."""
    shared = shared_length(so_far, piece)
    in_string = _is_in_string(so_far) and '"' not in piece[:shared]
    if not shared or shared >= LONG_OVERLAP or in_string:
        return shared
    return 0 if _may_become_json(so_far + piece) else shared


def _is_whole_of(begun: str, piece: str) -> bool:
    """Whether a piece is a whole record, and the one that was begun.

    Where it may just as well stand inside the one that was begun, both must say the same.
    """
    whole = _parse_alone(piece)
    if whole is None or piece.startswith(begun):
        return whole is not None
    part = _parse_partly(begun)
    if not isinstance(whole, dict) or not isinstance(part, dict):
        return False
    if not part or next(iter(whole), None) != next(iter(part)):
        return False
    return not _may_become_json(begun + piece) or _says_again(part, whole)


def _says_again(part: JsonObject, whole: JsonObject) -> bool:
    """Whether a record holds what is there of another, whose last field may be cut."""
    *closed, last = part
    return last in whole and all(whole.get(name) == part[name] for name in closed)


def _parse_alone(text: str) -> Json:
    """The object or list that a text is, or holds among words; None if more of JSON is there."""
    value, around = _read_whole(text)
    return None if re.search(r"[{}\[\]]", around) else value


def parse_whole(text: str) -> Json:
    """The object or list that a text is, or holds among words; None where there is none."""
    return _read_whole(text)[0]


def _read_whole(text: str) -> tuple[Json, str]:
    """What JSON a text holds, and the words around it."""
    around = ""
    try:
        value = strict_json(text.encode(errors="replace"))
    except ValueError:
        roots = find_roots(text)
        if len(roots) != 1 or roots[0].problem:
            return None, text
        start, end, _ = roots[0]
        around = text[:start] + text[end:]
        try:
            value = strict_json(text[start:end].encode(errors="replace"))
        except ValueError:
            return None, text
    return (value if isinstance(value, dict | list) else None), around


def _parse_partly(text: str) -> Json:
    """What is there of JSON that breaks off; None where it could not become any."""
    import jiter  # not for --help

    begins = re.search(r"[{\[]", text)
    if begins is None:
        return None
    try:
        value: Json = jiter.from_json(
            text[begins.start() :].encode(errors="replace"),
            partial_mode="trailing-strings",
            catch_duplicate_keys=True,
        )
    except ValueError:
        return None
    return value


def _may_become_json(text: str) -> bool:
    return _parse_partly(text) is not None


def _merge_segments(segments: Sequence[_Segment]) -> str:
    """All whole records as one, and behind it what is not closed yet."""
    if len(segments) == 1:
        return segments[0].text
    read = [(parse_whole(segment.text), segment) for segment in segments]
    whole = [(value, segment) for value, segment in read if value is not None]
    merged: Json = whole[0][0]
    for value, segment in whole[1:]:
        join = fill if segment.fills else merge
        merged = join(merged, _in_form_of(merged, value))
    rest = [segment.text for value, segment in read if value is None]
    return "\n".join([plain_json(merged), *rest])


def _in_form_of(first: Json, value: Json) -> Json:
    """A record in the wrapping that the first one came in, where it came without."""
    if not isinstance(first, dict) or not isinstance(value, dict) or "results" in value:
        return value
    records = first.get("results")
    if isinstance(records, list) and len(records) == 1 and isinstance(records[0], dict):
        return {"results": [{**_name_of(records[0]), **value}]}
    return value


def _name_of(record: JsonObject) -> JsonObject:
    return {"block_uid": record["block_uid"]} if "block_uid" in record else {}


def merge(first: Json, second: Json) -> Json:
    """Two parts of one value: strings joined, lists extended, objects merged; else the later."""
    if isinstance(first, dict) and isinstance(second, dict):
        return {
            **first,
            **{
                name: merge(first[name], value) if name in first else value
                for name, value in second.items()
            },
        }
    if isinstance(first, list) and isinstance(second, list):
        return _merge_lists(first, second)
    if isinstance(first, str) and isinstance(second, str):
        return first if first == second else join_texts(first, second)
    return first if second is None else second


def fill(first: Json, second: Json) -> Json:
    """A value with what another has and it lacks; what is there stays, however it is said again."""
    if isinstance(first, dict) and isinstance(second, dict):
        both = {name: fill(first[name], second[name]) for name in first if name in second}
        return {**second, **first, **both}
    if isinstance(first, list) and isinstance(second, list):
        are_records = len(first) == len(second) == 1 and isinstance(first[0], dict)
        return [fill(first[0], second[0])] if are_records else first
    return second if first is None else first


def _merge_lists(first: list[Json], second: list[Json]) -> list[Json]:
    """A list with further items; records about the same block are one."""
    known = {_uid(item): at for at, item in enumerate(first) if _uid(item)}
    if known and any(_uid(item) in known for item in second):
        merged = list(first)
        for item in second:
            at = known.get(_uid(item))
            if at is None:
                merged.append(item)
            else:
                merged[at] = merge(merged[at], item)
        return merged
    if second[: len(first)] == first:
        return second
    return [*first, *second]


def _uid(item: Json) -> str:
    uid = item.get("block_uid") if isinstance(item, dict) else None
    return uid if isinstance(uid, str) else ""


def find_gap(text: str, stop: Stop, record_schema: JsonObject | None, *, json: bool) -> Gap | None:
    """What an answer leaves open; None where it is whole, or only wrong."""
    if stop is Stop.REFUSAL or not text.strip():
        return None
    if not json:
        return Gap(Trigger.LENGTH) if stop is Stop.LENGTH else None
    value = parse_whole(text)
    if value is None:
        begun = _parse_partly(text)
        if not begun:  # nothing of it is there, or it could become nothing
            return None
        return Gap(Trigger.LENGTH if stop is Stop.LENGTH else Trigger.UNFINISHED)
    return _gap_in_record(_lone_record(value), record_schema or {})


def _gap_in_record(record: JsonObject | None, schema: JsonObject) -> Gap | None:
    fields = schema.get("properties")
    known = fields if isinstance(fields, Mapping) else {}
    if record is None or not known.keys() & record.keys():
        return None
    required = schema.get("required")
    names = required if isinstance(required, Sequence) and not isinstance(required, str) else ()
    missing = tuple(str(name) for name in names if name not in record)
    if missing:
        return Gap(Trigger.MISSING, missing)
    open_ended = (
        COMPLETE_FIELD in known and record.get(COMPLETE_FIELD) is False,
        CONTINUE_FIELD in known and record.get(CONTINUE_FIELD) is True,
    )
    return Gap(Trigger.DECLARED) if any(open_ended) else None


def _lone_record(value: Json) -> JsonObject | None:
    """The one record that an answer holds, out of its wrappings."""
    if isinstance(value, dict) and isinstance(value.get("results"), list):
        value = value["results"]
    if isinstance(value, list):
        value = value[0] if len(value) == 1 else None
    if not isinstance(value, dict):
        return None
    inner = value.get("data")
    return inner if isinstance(inner, dict) and set(value) <= {"block_uid", "data"} else value
