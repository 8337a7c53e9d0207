"""Assembly: the pieces of one answer become one answer, each word of it once.

A model that is asked to go on rarely does just that. It says that it will, repeats the last lines,
puts what follows into a code fence, or begins again. Here the seam is found: preambles and fences
are dropped, what stands at the end of the one and the beginning of the other is joined once, and a
piece that begins again takes the place of what it says again.

The danger is to take for a repetition what was meant to stand twice. So an overlap must be long, or
begin a line, or finish a word; and where the text repeats itself anyway (a table, a list of equal
items) nothing is joined. Of JSON, fragments are put together as text first; only whole records are
merged: strings are joined, lists extended, objects merged field by field.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from quire.domain.continuation import COMPLETE_FIELD, CONTINUE_FIELD, AnswerPiece, Gap, Trigger
from quire.domain.data import Json, JsonObject, plain_json, strict_json
from quire.domain.requests import Stop
from quire.gates.records import find_roots
from quire.gates.thoughts import split_thoughts

MOST_OVERLAP = 4000  # characters
_LEAST_OVERLAP = 20  # from the beginning of a word
_LONG_OVERLAP = 60  # from anywhere; and of JSON, whose lists may well hold equal items
_LEAST_LINE, _LEAST_WORD = 8, 4  # of a repeated line, or a word that was cut
_LEAST_BEGINNING = 8  # characters of an answer that is said again from the beginning
_BEGINNING = 80
_REPEATED = 40  # characters that stand there already, wherever: then nothing is new

_PREAMBLE = re.compile(
    r"\s*[\[(*_]*(?:(?:sure|certainly|of course|ok|okay|understood)\b[^\n]{0,40}?)?"
    r"(?:(?:(?:continuing|continued|resuming|picking up)\b[^\n]{0,80}?"
    r"\b(?:left off|stopped|ended|broke off|cut off|previous|above|last part|last line)\b"
    r"|(?:here(?:'s| is)|below is)[^\n]{0,40}?\b(?:continuation|continued|rest|remain\w+)\b"
    r"|(?:i(?:'ll| will)|let me) (?:continue|resume|pick up|go on)\b)[^\n:.…]{0,80}"
    r"|continuing|continued|continuation)"
    r"[:.…]{1,3}[\])*_]*[ \t]*(?:\n(?:[ \t]*\n)?|\Z)",
    re.IGNORECASE,
)
_CLAIM = re.compile(
    r"\W*(?:(?:the|my|this) (?:\w+ ){0,3}?(?:answer|response|reply|output|text|document|json)\b"
    r"[^\n]{0,20}\b(?:is|are)(?: now| already)? (?:complete|finished|done)\b"
    r"|i have (?:already )?(?:finished|completed)\b"
    r"|(?:there is )?nothing (?:more |else |further )?(?:is |remains )?(?:missing|left|to add)\b)"
    r"[^\n]{0,100}\s*",
    re.IGNORECASE,
)
_FENCE = re.compile(r"\s*(?:```|~~~)[ \t]*(\w*)[ \t]*\n")
_CLOSING = re.compile(r"\n(?:```|~~~)[ \t]*\s*\Z")
_FENCES = re.compile(r"^[ \t]*(?:```|~~~)", re.MULTILINE)
_WRAPPINGS = ("markdown", "md", "text", "txt", "plain")


class Assembly(NamedTuple):
    """All pieces as one."""

    text: str
    added: int  # characters, blanks apart, that the last of them brought


def assemble(pieces: Sequence[str], *, json: bool) -> Assembly:
    """Put pieces together, in order; what the model thought before each is no part of them."""
    text = _fragment(pieces[0]) if json else pieces[0]
    segments, added = [text], _weight(text)
    for piece in pieces[1:]:
        before, known = text, list(segments)
        if json:
            segments = _add_fragment(segments, piece)
            text = _merge_segments(segments)
        else:
            text = join_texts(text, piece)
        added = _progress(before, text) if not json or segments != known else 0
    return Assembly(text, added)


def assemble_pieces(chain: Sequence[AnswerPiece], last: str | None = None, *, json: bool) -> str:
    """The text of a chain, and of the answer that goes on with it, without what was thought."""
    texts = [*[piece.text for piece in chain], *([] if last is None else [last])]
    return assemble([split_thoughts(text).text for text in texts], json=json).text


def _weight(text: str) -> int:
    return len("".join(text.split()))


def _progress(before: str, after: str) -> int:
    """What came to it; a merged record may be shorter than the pieces of it were."""
    grown = _weight(after) - _weight(before)
    return grown if grown > 0 or before == after else _weight(after)


def join_texts(so_far: str, piece: str) -> str:
    """Text with what follows, the seam joined once."""
    piece = _without_preamble(piece)
    piece = _without_fence(so_far, piece)
    if _CLAIM.fullmatch(piece):
        return so_far
    if _begins_again(so_far, piece):
        return piece if len(piece) > len(so_far) else so_far
    shared = _shared_length(so_far, piece)
    if shared:
        return so_far + piece[shared:]
    return so_far if _is_known(so_far, piece.strip()) else so_far + piece


def _is_known(so_far: str, piece: str) -> bool:
    """Whether a piece only repeats lines that are there."""
    if len(piece) < _REPEATED or _repeats_itself("", piece + "\n"):
        return False
    return f"\n{piece}" in f"\n{so_far}"


def _without_preamble(piece: str) -> str:
    found = _PREAMBLE.match(piece)
    return piece[found.end() :] if found else piece


def _without_fence(so_far: str, piece: str) -> str:
    """A piece out of the fence around it; inside code, without the fence that opens it again."""
    found = _FENCE.match(piece)
    if found is None:
        return piece
    if len(_FENCES.findall(so_far)) % 2:
        return piece[found.end() :]
    if found[1].lower() not in _WRAPPINGS and so_far.endswith("\n"):
        return piece  # code that was meant
    return _CLOSING.sub("", piece[found.end() :])


def _begins_again(so_far: str, piece: str) -> bool:
    beginning = so_far[:_BEGINNING]
    return len(beginning) >= _LEAST_BEGINNING and piece.lstrip().startswith(beginning.lstrip())


def _shared_length(so_far: str, piece: str) -> int:
    """How much of a piece stands at the end of the text already; 0 where that may be chance."""
    length = _longest_overlap(so_far, piece)
    start = len(so_far) - length
    shared = piece[:length]
    begins_line = start == 0 or so_far[start - 1] == "\n"
    begins_word = start == 0 or not (so_far[start - 1].isalnum() and shared[:1].isalnum())
    goes_on = piece[length : length + 1].isalnum()
    if not (begins_word or length >= _LONG_OVERLAP) or _repeats_itself(so_far, shared):
        return 0
    if length >= _LEAST_OVERLAP or (begins_line and length >= _LEAST_LINE):
        return length
    finishes = shared.isalnum() and goes_on
    return length if finishes and length >= _LEAST_WORD else 0


def _longest_overlap(so_far: str, piece: str) -> int:
    """The longest end of the text that the piece begins with."""
    begins = piece[:MOST_OVERLAP]
    if not begins:
        return 0
    table = _prefix_table(begins)
    state = 0
    for char in so_far[-MOST_OVERLAP:]:
        while state and (state == len(begins) or begins[state] != char):
            state = table[state - 1]
        state += begins[state] == char
    return state


def _prefix_table(text: str) -> list[int]:
    """For each length, the longest beginning that is its end too (Knuth, Morris and Pratt)."""
    table, state = [0] * len(text), 0
    for at in range(1, len(text)):
        while state and text[state] != text[at]:
            state = table[state - 1]
        state += text[state] == text[at]
        table[at] = state
    return table


def _repeats_itself(so_far: str, shared: str) -> bool:
    """Whether what is shared stood there twice before, or is made of one thing said again."""
    length = len(shared)
    period = length - _prefix_table(shared)[-1] if length else 0
    twice = bool(length) and so_far[-2 * length : -length] == shared
    return twice or (length >= _LEAST_LINE and 2 * period <= length)


def _add_fragment(segments: list[str], piece: str) -> list[str]:
    """The records so far with another piece: a record of its own, or the rest of the last."""
    piece = _fragment(piece)
    if _CLAIM.fullmatch(piece):
        return segments
    last = segments[-1]
    if parse_whole(last) is not None:
        return [*segments, piece] if piece.lstrip()[:1] in ("{", "[") else segments
    if _begins_again(last, piece) or _is_whole_of(last, piece):
        grown = parse_whole(piece) is not None or len(piece) > len(last)
        return [*segments[:-1], piece] if grown else segments
    return [*segments[:-1], last + piece[_shared_json(last, piece) :]]


def _fragment(piece: str) -> str:
    """JSON without what was said before it, and out of the fence around it."""
    bare = _without_preamble(piece)
    found = _FENCE.match(bare)
    return bare if found is None else _CLOSING.sub("", bare[found.end() :])


def _is_in_string(text: str) -> bool:
    """Whether JSON breaks off inside a string."""
    return len(re.findall(r'(?<!\\)(?:\\\\)*"', text)) % 2 == 1


def _shared_json(so_far: str, piece: str) -> int:
    """What of a fragment is there already; where both readings are JSON, only what is long."""
    shared = _shared_length(so_far, piece)
    if not shared or shared >= _LONG_OVERLAP or _is_in_string(so_far):
        return shared
    return 0 if _may_become_json(so_far + piece) else shared


def _is_whole_of(begun: str, piece: str) -> bool:
    """Whether a piece is a whole record, and the one that was begun."""
    whole, part = parse_whole(piece), _parse_partly(begun)
    if whole is None or piece.startswith(begun):
        return whole is not None
    if not isinstance(whole, dict) or not isinstance(part, dict):
        return False
    return bool(part) and next(iter(whole), None) == next(iter(part))


def parse_whole(text: str) -> Json:
    """The object or list that a text is, or holds among words; None where there is none."""
    try:
        value = strict_json(text.encode(errors="replace"))
    except ValueError:
        roots = find_roots(text)
        if len(roots) != 1 or roots[0].problem:
            return None
        try:
            value = strict_json(text[roots[0].start : roots[0].end].encode(errors="replace"))
        except ValueError:
            return None
    return value if isinstance(value, dict | list) else None


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


def _merge_segments(segments: Sequence[str]) -> str:
    """All whole records as one, and behind it what is not closed yet."""
    if len(segments) == 1:
        return segments[0]
    whole = [value for value in map(parse_whole, segments) if value is not None]
    merged: Json = whole[0]
    for value in whole[1:]:
        merged = merge(merged, _in_form_of(merged, value))
    rest = [text for text in segments if parse_whole(text) is None]
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
