"""What a prompt asks a judge for, read from its words by stated rules.

Material is what stands between a line `<<<NAME` and a line `NAME>>>`; it is never instructions.
In the rest, the last of these says what is asked; the system text counts before the message:

- "end", "finish" or "conclude", then on the same line or the next one `RUBRIC:`, `VERDICT:`,
  `QUALITY:` or `EXPERT_AGREEMENT:`; or a line that is `RUBRIC:` and nothing else.
- The size of a rubric: "exactly 5 stages", else "5 stages", in digits or in words up to ten; 5.
- The scale of a verdict: lines `[identifier] anything`, the longest run of them; A to E.
- Several identifiers may be named where it says "separated by commas", "one or more" or "subset".
- Abstaining is allowed where the word ABSTAIN stands in a line without "not" or "never" before it.
- The concept is what follows "Concept:".
"""

import re
from itertools import groupby
from typing import NamedTuple

_MARKERS = "RUBRIC|VERDICT|QUALITY|EXPERT_AGREEMENT"
_ASKING = re.compile(
    rf"\b(?i:end|finish|conclude)\b[^\n]{{0,200}}?\n?[^\n]{{0,80}}?\b({_MARKERS}):"
    r"|^[*#` ]*(RUBRIC):[*` ]*$",
    re.MULTILINE,
)
MATERIAL = re.compile(r"^<<<([^\n]+)\n(.*?)\n?^\1>>>[ \t]*$", re.MULTILINE | re.DOTALL)
_WORDS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_SIZES = tuple(
    re.compile(rf"\b{begin}({'|'.join(_WORDS)}|[0-9]{{1,3}})[ -]stages?\b", re.IGNORECASE)
    for begin in ("exactly ", "")
)
_SHOWN = re.compile(r"^[ \t]*(?:[-*][ \t]+)?\[([A-Za-z0-9]{1,20})\](?=[ \t:]|$)")
_SEVERAL = re.compile(r"separated by commas|one or more|\bsubset\b", re.IGNORECASE)
_ABSTAIN = re.compile(r"^(?:(?!\b(?:not|never)\b).)*?\bABSTAIN\b", re.MULTILINE)
_CONCEPT = re.compile(r"\bConcept:[ \t]*([^\n]{1,80})")


class JudgePrompt(NamedTuple):
    """What a judge is asked to end its answer with."""

    marker: str
    stages: int
    identifiers: tuple[str, ...]
    several: bool
    abstain: bool
    concept: str
    material: str  # what is to be judged


def read_prompt(system: str, user: str) -> JudgePrompt | None:
    """Read what is asked of a judge; None where something else is asked."""
    instructions = MATERIAL.sub("", user) if "<<<" in user else user
    found = _askings(system) or _askings(instructions)
    if not found:
        return None
    marker = found[-1][1] or found[-1][2]
    everything = f"{system}\n{instructions}"
    concept = _CONCEPT.search(everything)
    return JudgePrompt(
        marker=marker,
        stages=_rubric_size(everything),
        identifiers=_identifiers(instructions) or tuple("ABCDE"),
        several=_SEVERAL.search(everything) is not None,
        abstain=_ABSTAIN.search(everything) is not None,
        concept=concept[1].strip() if concept else "the concept",
        material=material_of(user) or instructions,
    )


def _askings(text: str) -> list[re.Match[str]]:
    """Where it is said what to end with; most prompts have none of these words, which is quick."""
    if not any(f"{marker}:" in text for marker in _MARKERS.split("|")):
        return []
    return [*_ASKING.finditer(text)]


def material_of(user: str) -> str:
    """All material of a message, without its marks; empty where nothing is marked."""
    return "\n".join(found[2] for found in MATERIAL.finditer(user))


def _rubric_size(text: str) -> int:
    for pattern in _SIZES:
        if found := pattern.search(text):
            word = found[1].lower()
            return _WORDS.index(word) + 2 if word in _WORDS else max(1, int(word))
    return 5


def _identifiers(text: str) -> tuple[str, ...]:
    """The longest run of lines that show an identifier; blank and indented lines part nothing."""
    lines = [line for line in text.splitlines() if line.strip()]
    shown = [(line, _SHOWN.match(line)) for line in lines]
    kept = [found for line, found in shown if found or not line.startswith((" ", "\t"))]
    runs = [[*run] for here, run in groupby(kept, key=bool) if here]
    longest = max(runs, key=len, default=[])
    return tuple(dict.fromkeys(found[1] for found in longest if found))
