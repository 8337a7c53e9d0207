"""The kinds of markers but verdicts: a rubric, and scores from 0 to 1."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import pairwise, takewhile

from quire.domain.data import Json, JsonObject
from quire.domain.quantities import quantity
from quire.gates.gate_parameters import is_whole
from quire.gates.marker_lines import (
    Decoded,
    Refusal,
    add_reasoning,
    answer_lines,
    closes_only,
    find_marker_lines,
    read_last_line,
    split_remark,
    strip_brackets,
    strip_emphasis,
    strip_marks,
)
from quire.gates.marker_remarks import may_take_back
from quire.gates.marker_signs import plain_signs

FEWEST_CRITERIA, MOST_CRITERIA = 3, 6
_FENCE = re.compile(r"\s*`{3,}\w*\s*")
_STAGE = re.compile(
    r"[\s*_`>#+•-]*(?:(?:stage|level)\s+)?[(（]?([0-9]{1,3})[).:）．、：](?!:)(.*?)(?:::|：：)(.*)",
    re.IGNORECASE,
)
_JOINING = re.compile(r"^(?:and|or)\s+", re.IGNORECASE)
_LONGEST_LINE = 5_000
_NESTING = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


def read_rubric(text: str, params: JsonObject, _facts: JsonObject) -> Decoded | Refusal:
    """Read the block that begins with `RUBRIC:` and goes to the end."""
    size = params.get("scale_size")
    assert is_whole(size)  # the gate has looked
    lines = answer_lines(text)
    headers = find_marker_lines(lines, "RUBRIC")
    if not headers:
        return Refusal("answer has no line RUBRIC:")
    last = headers[-1]
    if last.text:
        return Refusal("the stages must stand on lines of their own after RUBRIC:")
    stages = _read_stages(_without_remark(lines[last.place + 1 :], size), size)
    if isinstance(stages, Refusal):
        return stages
    for one, other in pairwise(headers):
        block = takewhile(_is_rubric_line, lines[one.place + 1 : other.place])
        earlier = _read_stages([*block], size)
        if not isinstance(earlier, Refusal) and earlier != stages:
            return Refusal("answer has two rubrics that differ")
    return add_reasoning(lines, headers, {"stages": stages}, "RUBRIC")


def _without_remark(lines: Sequence[str], size: int) -> Sequence[str]:
    """Leave out what is said after the last stage and a blank line, if no stage is in it."""
    numbered = [place for place, line in enumerate(lines) if _is_stage_line(line)]
    end = numbered[-1] + 1 if len(numbered) == size else len(lines)
    parted = end < len(lines) and closes_only(lines[end])
    return lines[:end] if parted and not any("::" in line for line in lines[end:]) else lines


def _is_stage_line(line: str) -> bool:
    return len(line) <= _LONGEST_LINE and _STAGE.fullmatch(line.rstrip()) is not None


def _is_rubric_line(line: str) -> bool:
    blank = not line.strip() or _FENCE.fullmatch(line) is not None
    return blank or _is_stage_line(line)


def _read_stages(lines: Sequence[str], size: int) -> list[Json] | Refusal:
    stages: list[Json] = []
    labels: set[str] = set()
    for line in lines:
        if not line.strip() or _FENCE.fullmatch(line):
            continue
        number = len(stages) + 1
        stage = _read_stage(line, number)
        if isinstance(stage, Refusal):
            return stage
        label = str(stage["label"])
        if label.casefold() in labels:
            return Refusal(f'two stages have the label "{label}"')
        labels.add(label.casefold())
        stages.append(stage)
    if len(stages) != size:
        return Refusal(f"rubric has {quantity(len(stages), 'stage')}, not {size}")
    return stages


def _read_stage(line: str, number: int) -> Decoded | Refusal:
    found = _STAGE.fullmatch(line.rstrip()) if len(line) <= _LONGEST_LINE else None
    if found is None:
        shown = line.strip()[:80]
        return Refusal(f'"{shown}" is not of the form "{number}) label :: criterion; criterion"')
    label = strip_emphasis(found[2])
    if found[1] != str(number):
        # the weakest stage comes first; a list that runs backwards would turn the scale around
        return Refusal(f"stage {number} is numbered {found[1]}")
    if not re.search(r"\w", label):
        return Refusal(f"stage {number} has no label")
    criteria = _read_criteria(found[3], number)
    if isinstance(criteria, Refusal):
        return criteria
    return {"stage_number": number, "label": label, "criteria": [*criteria]}


def _read_criteria(text: str, number: int) -> list[str] | Refusal:
    if "::" in plain_signs(text):
        return Refusal(f"stage {number} has more than one ::, so where its label ends is a guess")
    criteria = _split_criteria(text)
    if len({criterion.casefold().rstrip(". ") for criterion in criteria}) < len(criteria):
        return Refusal(f"stage {number} has the same criterion twice")
    if FEWEST_CRITERIA <= len(criteria) <= MOST_CRITERIA:
        return criteria
    return Refusal(
        f"stage {number} has {len(criteria)} criteria parted by semicolons or commas,"
        f" not {FEWEST_CRITERIA} to {MOST_CRITERIA}"
    )


def _split_criteria(text: str) -> list[str]:
    """Split at semicolons outside of brackets, or at commas where there is no semicolon."""
    pieces = _split_unbracketed(text, "," if ";" not in plain_signs(text) else ";")
    bared = (_JOINING.sub("", strip_emphasis(piece), count=1) for piece in pieces)
    return [name for name in bared if re.search(r"\w", name)]


def _split_unbracketed(text: str, parting: str) -> list[str]:
    """Split at a mark outside of brackets; brackets that do not close hold nothing together."""
    pieces, depth, begin = [], 0, 0
    plain = plain_signs(text)  # sign for sign, so that places are the same
    closed = all(plain.count(one) == plain.count(other) for one, other in ("()", "[]", "{}"))
    for place, mark in enumerate(plain):
        depth = max(0, depth + _NESTING.get(mark, 0)) if closed else 0
        if mark == parting and not depth:
            pieces.append(text[begin:place])
            begin = place + 1
    return [*pieces, text[begin:]]


_LONGEST = 24  # digits nobody needs
_PLAIN = re.compile(r"((?:0|[1-9][0-9]*)?(?:\.[0-9]+)?)(?: ?/ ?1(?:\.0+)?)?")
_PERCENT = re.compile(r"((?:0|[1-9][0-9]{0,2})(?:\.[0-9]+)?) ?%")
_INTERVAL = re.compile(
    r"(?:(?:[0-9]{2}(?:\.[0-9])? ?% ?)?(?:CI|(?:confidence |credible )?interval|range)"
    r"(?: ?[:=]| of| from| between)? ?)?\[?(?P<low>[0-9.]+(?: ?%)?) ?(?:[-–—,]|to|and|\.\.)"
    r" ?(?P<high>[0-9.]+(?: ?%)?)\]?",
    re.IGNORECASE,
)
_LEAST_PERCENT = Decimal("0.01")  # "0.8%" is more often 0.8 than 0.008
_ABOUT = re.compile(r"(?:[~≈]|\b(?:about|around|approximately)\b)\s*(?=[0-9.])", re.IGNORECASE)
_GIVE_OR_TAKE = re.compile(r" ?(?:±|\+/-) ?0?\.[0-9]{1,4}\Z")
_OUT_OF_ONE = re.compile(r"\s+out\s+of\s+(1(?:\.0+)?)(?![0-9.])", re.IGNORECASE)
_REMARK_ON_SHARE = re.compile(r"(?P<number>[^\s,]+)(?:\s+[-–—]\s+|\s*,\s+)(?P<remark>[^0-9]*)")
_REMARKS_ON_SCORES = re.compile(r"\s*\([^()0-9]*\)")
_QUALITIES = ("observability", "discriminability")
_NUMBER = r"\[?[0-9.]+(?: ?%| ?/ ?1(?:\.0+)?(?![0-9.]))?\]?(?![^\s;,./])"
_NAMED = re.compile(rf"(?<![A-Za-z])([A-Za-z]++)\s*[=:]\s*({_NUMBER}|[^\s;=:]*[^\s;=:,])")
_DECIMAL_COMMA = re.compile(r"[=:]\s*[0-9]*,[0-9]")
_MARKS = re.compile(r"[*`\"]")
_BETWEEN = re.compile(r"(?:\s*[,;/]\s*|\s+|\s+and\s+)", re.IGNORECASE)


def read_quality(text: str, _params: JsonObject, _facts: JsonObject) -> Decoded | Refusal:
    """Read `QUALITY: observability=0.8, discriminability=0.6`; the names say which is which."""
    return read_last_line(text, "QUALITY", _decode_quality)


def read_agreement(text: str, _params: JsonObject, _facts: JsonObject) -> Decoded | Refusal:
    """Read `EXPERT_AGREEMENT: 0.8`."""
    return read_last_line(text, "EXPERT_AGREEMENT", _decode_agreement)


def read_share(text: str) -> float | Refusal:
    """Read a number from 0 to 1, or a percentage; nothing is clamped and nothing assumed."""
    if len(text) > _LONGEST:
        return Refusal(f"{text[:_LONGEST]}… is not a number from 0 to 1")
    text = strip_brackets(text)
    percent, plain = _PERCENT.fullmatch(text), _PLAIN.fullmatch(text)
    if percent is None and not (plain and plain[1]):
        comma = re.fullmatch(r"[0-9]*,[0-9]+", text)
        hint = "; write decimals with a point" if comma else ""
        return Refusal(f"{text} is not a number from 0 to 1{hint}")
    value = Decimal(percent[1]) / 100 if percent else Decimal(plain[1] if plain else text)
    if value > 1:
        return Refusal(f"{text} is not between 0 and 1")
    if percent and 0 < value < _LEAST_PERCENT:
        return Refusal(f"{text} may be a share as well as a percentage; write 0.8 or 80%")
    return float(value)


def _decode_agreement(said: str) -> Decoded | Refusal:
    bare = plain_signs(said).rstrip(".;")
    about = _ABOUT.sub("", _GIVE_OR_TAKE.sub("", bare), count=1)
    plain = _OUT_OF_ONE.sub(r"/\1", about, count=1)
    parted = _REMARK_ON_SHARE.fullmatch(plain)
    number, remark = parted.group("number", "remark") if parted else split_remark(plain)
    interval = _INTERVAL.fullmatch(remark.strip())
    if interval is None and any(mark.isdigit() for mark in remark):
        return Refusal(f"{said} holds more than one number")
    share = read_share(strip_marks(number))
    if isinstance(share, Refusal):
        return share
    if interval is not None and not _is_within(share, interval["low"], interval["high"]):
        return Refusal(f"{said} is not within its own interval")
    if interval is None and may_take_back(remark):
        return Refusal(f"{said} has a remark that may take it back")
    return {"expert_agreement_prob": share}


def _is_within(share: float, low: str, high: str) -> bool:
    """Whether a number lies in an interval; in "70-90%" both ends are percentages."""
    percent = "%" if high.endswith("%") and not low.endswith("%") else ""
    least, most = read_share(low + percent), read_share(high)
    return isinstance(least, float) and isinstance(most, float) and least <= share <= most


def _decode_quality(said: str) -> Decoded | Refusal:
    wanted = f"QUALITY: must be {_QUALITIES[0]}=…, {_QUALITIES[1]}=…; it is {said}"
    bare = strip_brackets(_MARKS.sub("", plain_signs(said)))
    if any(map(may_take_back, _REMARKS_ON_SCORES.findall(bare))):
        return Refusal(f"{said} has a remark that may take it back")
    said = _REMARKS_ON_SCORES.sub("", bare)
    if _DECIMAL_COMMA.search(said):
        return Refusal(f"{said} has a comma in a number; write decimals with a point")
    found = list(_NAMED.finditer(said))
    names = [match[1].lower() for match in found]
    if sorted(names) != sorted(_QUALITIES) or not all(_separator_checks(said.rstrip(".;"), found)):
        return Refusal(wanted)
    scores = [read_share(match[2].rstrip(".")) for match in found]
    if refused := [score for score in scores if isinstance(score, Refusal)]:
        return Refusal("; ".join(refusal.reason for refusal in refused))
    decoded = dict(zip(names, scores, strict=True))
    return {f"{name}_score": decoded[name] for name in _QUALITIES}


def _separator_checks(said: str, found: list[re.Match[str]]) -> Iterator[bool]:
    """Whether nothing but a separator stands around the two scores."""
    first, second = found
    yield not said[: first.start()].strip()
    yield _BETWEEN.fullmatch(said[first.end() : second.start()]) is not None
    yield not said[second.end() :].strip()
