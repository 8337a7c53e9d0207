"""Rubrics at the end of an answer: one line for each stage, with its label and its criteria."""

import re
from collections.abc import Sequence
from itertools import pairwise, takewhile

from quire.domain.data import Json, JsonObject
from quire.gates.markers_lines import Decoded, Refusal, lines_of, marked, plain, with_reasoning
from quire.gates.parameters import is_whole

FEWEST_CRITERIA, MOST_CRITERIA = 3, 6
_FENCE = re.compile(r"\s*`{3,}\w*\s*")
_STAGE = re.compile(r"[\s*_`>#+•-]*([0-9]{1,3})[).]\s*(.*?)\s*::\s*(.*)")
_JOINING = re.compile(r"^(?:and|or)\s+", re.IGNORECASE)
_LONGEST_LINE = 5_000
_NESTING = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


def read_rubric(text: str, params: JsonObject, _facts: JsonObject) -> Decoded | Refusal:
    """Read the block that begins with `RUBRIC:` and goes to the end."""
    size = params.get("scale_size")
    assert is_whole(size)  # the gate has looked
    lines = lines_of(text)
    headers = marked(lines, "RUBRIC")
    if not headers:
        return Refusal("answer has no line RUBRIC:")
    last = headers[-1]
    if last.said:
        return Refusal("the stages must stand on lines of their own after RUBRIC:")
    stages = _stages(lines[last.place + 1 :], size)
    if isinstance(stages, Refusal):
        return stages
    for one, other in pairwise(headers):
        block = takewhile(_belongs, lines[one.place + 1 : other.place])
        earlier = _stages([*block], size)
        if not isinstance(earlier, Refusal) and earlier != stages:
            return Refusal("answer has two rubrics that differ")
    return with_reasoning(lines, headers, {"stages": stages}, "RUBRIC")


def _belongs(line: str) -> bool:
    blank = not line.strip() or _FENCE.fullmatch(line) is not None
    return blank or (len(line) <= _LONGEST_LINE and _STAGE.fullmatch(line.rstrip()) is not None)


def _stages(lines: Sequence[str], size: int) -> list[Json] | Refusal:
    stages: list[Json] = []
    labels: set[str] = set()
    for line in lines:
        if not line.strip() or _FENCE.fullmatch(line):
            continue
        number = len(stages) + 1
        stage = _stage(line, number)
        if isinstance(stage, Refusal):
            return stage
        label = str(stage["label"])
        if label.casefold() in labels:
            return Refusal(f'two stages have the label "{label}"')
        labels.add(label.casefold())
        stages.append(stage)
    if len(stages) != size:
        return Refusal(f"rubric has {len(stages)} stages, not {size}")
    return stages


def _stage(line: str, number: int) -> Decoded | Refusal:
    found = _STAGE.fullmatch(line.rstrip()) if len(line) <= _LONGEST_LINE else None
    if found is None:
        shown = line.strip()[:80]
        return Refusal(f'"{shown}" is not of the form "{number}) label :: criterion; criterion"')
    label = plain(found[2])
    if int(found[1]) != number:
        # the weakest stage comes first; a list that runs backwards would turn the scale around
        return Refusal(f"stage {number} is numbered {found[1]}")
    if not re.search(r"\w", label):
        return Refusal(f"stage {number} has no label")
    criteria = _criteria(found[3])
    if not FEWEST_CRITERIA <= len(criteria) <= MOST_CRITERIA:
        return Refusal(
            f"stage {number} has {len(criteria)} criteria parted by semicolons,"
            f" not {FEWEST_CRITERIA} to {MOST_CRITERIA}"
        )
    return {"stage_number": number, "label": label, "criteria": [*criteria]}


def _criteria(text: str) -> list[str]:
    """Split at semicolons outside of brackets; brackets that do not close hold nothing together."""
    pieces, depth, begin = [], 0, 0
    closed = all(text.count(one) == text.count(other) for one, other in ("()", "[]", "{}"))
    for place, mark in enumerate(text):
        depth = max(0, depth + _NESTING.get(mark, 0)) if closed else 0
        if mark == ";" and not depth:
            pieces.append(text[begin:place])
            begin = place + 1
    pieces.append(text[begin:])
    bared = (_JOINING.sub("", plain(each), count=1) for each in pieces)
    return [each for each in bared if re.search(r"\w", each)]
