"""Scores from 0 to 1 at the end of an answer: a rubric's quality, an expert's agreement."""

import re
from collections.abc import Iterator
from decimal import Decimal

from quire.domain.data import JsonObject
from quire.gates.markers_lines import Decoded, Refusal, bare, read_last_line, without_remark

_LONGEST = 24  # digits nobody needs
_PLAIN = re.compile(r"[0-9]*\.?[0-9]+")
_PERCENT = re.compile(r"([0-9]{1,3}(?:\.[0-9]+)?) ?%")
_QUALITIES = ("observability", "discriminability")
_NAMED = re.compile(r"([A-Za-z]+)\s*[=:]\s*([^\s;=:]*[^\s;=:,])")
_MARKS = re.compile(r"[*`]")
_BETWEEN = re.compile(r"(?:\s*[,;/]\s*|\s+|\s+and\s+)", re.IGNORECASE)


def read_quality(text: str, _params: JsonObject, _facts: JsonObject) -> Decoded | Refusal:
    """Read `QUALITY: observability=0.8, discriminability=0.6`; the names say which is which."""
    return read_last_line(text, "QUALITY", _quality)


def read_agreement(text: str, _params: JsonObject, _facts: JsonObject) -> Decoded | Refusal:
    """Read `EXPERT_AGREEMENT: 0.8`."""
    return read_last_line(text, "EXPERT_AGREEMENT", _agreement)


def read_share(text: str) -> float | Refusal:
    """Read a number from 0 to 1, or a percentage; nothing is clamped and nothing assumed."""
    if len(text) > _LONGEST:
        return Refusal(f"{text[:_LONGEST]}… is not a number from 0 to 1")
    percent = _PERCENT.fullmatch(text)
    if percent is None and _PLAIN.fullmatch(text) is None:
        comma = re.fullmatch(r"[0-9]*,[0-9]+", text)
        hint = "; write decimals with a point" if comma else ""
        return Refusal(f"{text} is not a number from 0 to 1{hint}")
    value = Decimal(percent[1]) / 100 if percent else Decimal(text)
    if value > 1:
        return Refusal(f"{text} is not between 0 and 1")
    return float(value)


def _agreement(said: str) -> Decoded | Refusal:
    number, remark = without_remark(said.rstrip(".;"))
    if any(each.isdigit() for each in remark):
        return Refusal(f"{said} holds more than one number")
    share = read_share(bare(number))
    return share if isinstance(share, Refusal) else {"expert_agreement_prob": share}


def _quality(said: str) -> Decoded | Refusal:
    wanted = f"QUALITY: must be {_QUALITIES[0]}=…, {_QUALITIES[1]}=…; it is {said}"
    said = _MARKS.sub("", said)
    found = list(_NAMED.finditer(said))
    names = [each[1].lower() for each in found]
    if sorted(names) != sorted(_QUALITIES) or not all(_separate(said.rstrip(".;"), found)):
        return Refusal(wanted)
    scores = [read_share(each[2].rstrip(".")) for each in found]
    if refused := [each for each in scores if isinstance(each, Refusal)]:
        return Refusal("; ".join(each.reason for each in refused))
    decoded = dict(zip(names, scores, strict=True))
    return {f"{name}_score": decoded[name] for name in _QUALITIES}


def _separate(said: str, found: list[re.Match[str]]) -> Iterator[bool]:
    """Whether nothing but a separator stands around the two scores."""
    first, second = found
    yield not said[: first.start()].strip()
    yield _BETWEEN.fullmatch(said[first.end() : second.start()]) is not None
    yield not said[second.end() :].strip()
