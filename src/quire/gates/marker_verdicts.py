"""Verdicts: the identifiers of stages that a judge names at the end, or an abstention."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from quire.domain.data import Json, JsonObject
from quire.gates.gate_parameters import is_whole
from quire.gates.marker_lines import (
    AROUND,
    Decoded,
    Refusal,
    read_last_line,
    split_remark,
    strip_brackets,
    strip_marks,
)
from quire.gates.marker_remarks import may_take_back, may_undo_abstention
from quire.gates.marker_signs import plain_signs

ABSTAIN = "ABSTAIN"
DEFAULT_LABELS = "labels"
METHODS = ("single", "subset")
_TOKEN = re.compile(r"[A-Za-z0-9]+")
_ABSTENTION = re.compile(
    r"((?:i\s+)?(?:abstain(?:ed|ing)?|abstention))\b[.!]*"
    r"(?:\s*[(:;,.!–—-].*|\s+(?:because|since|due to)\b.*)?",
    re.IGNORECASE,
)
_BOTH = re.compile(r"\Aboth\s+(?=.*\s(?:and|&)\s)", re.IGNORECASE)
_ARTICLE = re.compile(r"(?<!\S)an? (?=(?P<next>[a-z]{3,})(?![a-z]))")
_NO_NOUN = (  # after which "a" is no article, but may well name what is called A
    "alone also and applies are but can could does fits for had has instead is may might nor not"
    " over rather seems should than the then too was were when while with would"
)
_NOUN = re.compile(r"\b(?:stages?|options?|levels?|identifiers?|labels?)\s+", re.IGNORECASE)
_PARTED_REMARK = re.compile(r"(?P<said>.*?)(?:\s+[-–—]+\s+|\s*:\s+)(?P<remark>.*)")
_LOOSE_REMARK = re.compile(  # the line as it was displayed, a choice with its text, a reason
    r"(?P<line>\[[^\[\]]+\]|\(\w+\)) (?:: )?[^\W\d_].*|(?P<choice>\w+)[.)](?: [^\W\d_].*)?"
    r"|(?P<reasoned>[^:.]+?)(?:,? (?:because|since) .*| :: .*)"
    r"|(?P<sure>[^:.]+?),? (?:\[.*\]|(?:with )?(?:\w+ )?confidence\b.*)",
    re.IGNORECASE,
)
_RESTRICTS = re.compile(r"\b(?:but|however|although|though|yet|except)\b", re.IGNORECASE)
_NOUN_FIRST = re.compile(
    r"\A(?:stages?|options?|levels?|identifiers?)(?:\s*:\s+|\s+(?=\(\w+\)))", re.IGNORECASE
)
_REMARK_ON_ONE = re.compile(r" ?\((?P<remark>[^()0-9]*)\)(?=\s*[,;&]|\s+and\s|\Z)")
_MARKS_OF_LINES = re.compile(rf"[{re.escape(AROUND)}]")
_BEFORE_LINE = " .,;:([])-–—=→"  # between an identifier and what stood beside it
_BETWEEN_LINES = re.compile(r"\s*[,;&]\s*(?:and\s+)?|\s+and\s+", re.IGNORECASE)
_LETTER = re.compile(r"(?<![\w'’.-])[B-HJ-Z](?![\w'’.-])")
_END_OF_SCALE = re.compile(
    r"(?<![\w-])(weakest|strongest)(?: (?:displayed|shown))?"
    r"(?: (?:identifier|stage|level|option|label|one|of all))?(?=\s*(?:[.,;:!)\]]|\Z))",
    re.IGNORECASE,
)
_PARTING = re.compile(r"(?:\s*[,;/&+]\s*(?!$)(?:and\s+)?|\s+and\s+|\s+)", re.IGNORECASE)
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class _Identifiers(NamedTuple):
    """Which stage each identifier stands for."""

    labels: Mapping[str, int]  # as the task was shown them
    known: Mapping[str, int]  # also in another case, where that tells them apart
    lines: Mapping[str, set[int]]  # what stood beside them, bare


def read_verdict(text: str, params: JsonObject, facts: JsonObject) -> Decoded | Refusal:
    """Read `VERDICT: <identifier>`, several with commas where a subset is asked for."""
    labels = labels_of(params, facts)
    assert not isinstance(labels, Refusal)  # the gate has looked
    subset, abstain = params.get("method") == "subset", params.get("abstain") is True
    known = _by_any_case(labels)
    shown = _Identifiers(labels, known, _displayed_lines(_scale_of(params, facts), known))
    return read_last_line(
        text, "VERDICT", lambda said: _decode_verdict(said, shown, subset=subset, abstain=abstain)
    )


def labels_of(params: JsonObject, facts: JsonObject) -> dict[str, int] | Refusal:
    """Which stage each identifier stands for: what the task was shown, else A, B, C and so on."""
    name, size = params.get("labels", DEFAULT_LABELS), params.get("scale_size")
    part = facts.get("part")
    given: Json = name if isinstance(name, Mapping) else None  # what a reference led to
    if given is None and isinstance(part, Mapping):
        given = part.get(str(name))
    if given is None and "labels" not in params and is_whole(size, 2):
        if size > len(_LETTERS):
            return Refusal(f"{size} stages have no letters; the task must say what was shown")
        return {letter: stage for stage, letter in enumerate(_LETTERS[:size], 1)}
    if not isinstance(given, Mapping) or not given:
        return Refusal("the task does not say which identifiers were shown; mend its `labels`")
    most = size if is_whole(size, 2) else len(given)
    stages = {
        token: stage
        for token, stage in given.items()
        if _is_identifier(token) and is_whole(stage, 1) and stage <= most
    }
    if len(set(stages.values())) == len(given):
        return stages
    return Refusal(f"`labels` must lead from identifiers to different stages, 1 to {most}")


def _is_identifier(token: str) -> bool:
    return _TOKEN.fullmatch(token) is not None and token.upper() != ABSTAIN


def _decode_verdict(
    said: str, shown: _Identifiers, *, subset: bool, abstain: bool
) -> Decoded | Refusal:
    plain = plain_signs(said)
    if found := _ABSTENTION.fullmatch(strip_brackets(plain)):
        return _decode_abstention(said, found, shown, abstain=abstain)
    stages = _read_repeated_lines(plain, shown, subset=subset)
    if stages is None:
        stages = _read_with_remark(said, plain, shown, subset=subset)
    if isinstance(stages, Refusal):
        return stages
    if len(stages) > 1 and not subset:
        return Refusal(f"{said} names {len(stages)} identifiers where one is wanted")
    return {"raw_verdict": said, "abstained": False, "decoded_scores": [*sorted(stages)]}


def _read_with_remark(
    said: str, plain: str, shown: _Identifiers, *, subset: bool
) -> set[int] | Refusal:
    """The stages that are named, if what is said beside them does not take them back."""
    labels, known, _lines = shown
    listed, remark = _split_verdict(_NOUN_FIRST.sub("", plain.rstrip(".;!")))
    stages = _read_stages_named(listed, known)
    if stages is None and (loose := _LOOSE_REMARK.fullmatch(plain)):
        listed = next(filter(None, loose.group("line", "choice", "reasoned", "sure")))
        remark = plain[len(listed) :].lstrip(" ,.):[").rstrip("]")
        stages = None if _RESTRICTS.search(remark) else _read_stages_named(listed, known)
    if stages is None and subset and len(remarks := _REMARK_ON_ONE.findall(plain)) > 1:
        stages = _read_stages_named(_REMARK_ON_ONE.sub("", plain), known)
        remark = "; ".join(remarks)
    if stages is None:
        return Refusal(f"{said} is not among the identifiers {', '.join(sorted(labels))}")
    if _names_any(_without_articles(remark, labels), known) or _names_letter(remark, labels):
        return Refusal(f"{said} names an identifier in its remark, too")
    if may_take_back(remark) or _names_other_end(remark, stages, labels):
        return Refusal(f"{said} has a remark that may take it back")
    return stages


def _scale_of(params: JsonObject, facts: JsonObject) -> Json:
    """The stages of the rubric: as stated, of a result that the task reads, or of the recipe."""
    if "stages" in params:
        return params["stages"]
    inputs, parameters = facts.get("inputs"), facts.get("parameters")
    for read in inputs.values() if isinstance(inputs, Mapping) else ():
        data = read.get("data") if isinstance(read, Mapping) else None
        if isinstance(data, Mapping) and "stages" in data:
            return data["stages"]
    return parameters.get("rubric") if isinstance(parameters, Mapping) else None


def _displayed_lines(scale: Json, known: Mapping[str, int]) -> dict[str, set[int]]:
    """The stages by what may have stood beside their identifiers: label, criteria, or both."""
    found: dict[str, set[int]] = defaultdict(set)
    for number, stage in enumerate(scale if isinstance(scale, Sequence) else (), 1):
        if isinstance(stage, Mapping) and isinstance(criteria := stage.get("criteria"), Sequence):
            label, asked = str(stage.get("label", "")), "; ".join(map(str, criteria))
            for line in (label, asked, f"{label}: {asked}"):
                found[_bare_line(line).casefold()].add(number)
    return {line: stages for line, stages in found.items() if line and line not in known}


def _bare_line(text: str) -> str:
    return _MARKS_OF_LINES.sub("", plain_signs(text)).strip(" .;:)]")


def _read_repeated_lines(
    plain: str, shown: _Identifiers, *, subset: bool
) -> set[int] | Refusal | None:
    """The stages whose identifiers and texts are repeated as they stood; None if none are."""
    whole = _read_repeated_line(plain, shown)
    if isinstance(whole, int):
        return {whole}
    if whole is not None or not subset:
        return whole
    found: set[int] = set()
    for piece in _BETWEEN_LINES.split(plain):
        stage = _read_repeated_line(piece, shown)
        if not isinstance(stage, int):
            return stage
        found.add(stage)
    return found


def _read_repeated_line(plain: str, shown: _Identifiers) -> int | Refusal | None:
    """The stage whose identifier and text are repeated as they stood; None if they are not."""
    said = _bare_line(plain)
    folded = said.casefold()
    if len(folded) != len(said):  # places would differ
        return None
    for line, stages in shown.lines.items():
        head = said[: len(said) - len(line)]
        if not folded.endswith(line) or head.rstrip(_BEFORE_LINE) == head:
            continue
        named = _read_stages_named(head.strip(_BEFORE_LINE), shown.known)
        if named is not None and len(named) == 1:
            (stage,) = named
            return stage if stage in stages else Refusal(f"{plain} has the text of another stage")
    return None


def _read_stages_named(listed: str, known: Mapping[str, int]) -> set[int] | None:
    """The stages that identifiers alone stand for; None if there is anything else."""
    bare = _BOTH.sub("", strip_brackets(_NOUN.sub("", listed)).replace("][", "], ["))
    marked = map(strip_marks, _PARTING.split(bare))
    tokens = [*map(strip_brackets, filter(None, marked))]
    if not tokens or _PARTING.match(bare) or any(token not in known for token in tokens):
        return None
    return {known[token] for token in tokens}


def _names_letter(remark: str, labels: Mapping[str, int]) -> bool:
    """Whether a remark names a letter that nobody was shown, where letters are identifiers."""
    return all(len(token) == 1 for token in labels) and _LETTER.search(remark) is not None


def _names_other_end(remark: str, stages: set[int], labels: Mapping[str, int]) -> bool:
    """Whether a remark says "the weakest stage" of another one, or "the strongest"."""
    ends = {"weakest": min(labels.values()), "strongest": max(labels.values())}
    return any(ends[end.lower()] not in stages for end in _END_OF_SCALE.findall(remark))


def _split_verdict(said: str) -> tuple[str, str]:
    """Part the identifiers from what is remarked after them, in parentheses or after a dash."""
    listed, remark = split_remark(said)
    parted = _PARTED_REMARK.fullmatch(listed)
    if parted is None or not parted["said"]:
        return listed, remark
    return parted["said"].strip(), f"{parted['remark']} {remark}"


def _by_any_case(labels: Mapping[str, int]) -> dict[str, int]:
    """The stages by identifiers, also written in another case where that tells them apart."""
    meanings: dict[str, set[int]] = {}
    for token, stage in labels.items():
        meanings.setdefault(token.lower(), set()).add(stage)
    plain = {token: stage for token, stage in labels.items() if len(meanings[token.lower()]) == 1}
    either = {form: plain[token] for token in plain for form in (token.upper(), token.lower())}
    return either | dict(labels)


def _words(text: str) -> set[str]:
    return {word.upper() for word in _TOKEN.findall(text)}


def _names_any(remark: str, known: Mapping[str, int]) -> bool:
    return bool(_words(remark) & {token.upper() for token in known})


def _without_articles(remark: str, labels: Mapping[str, int]) -> str:
    """A remark without the article in "a weak text", which names no stage that is called A."""
    if "a" in labels:
        return remark

    def keep(found: re.Match[str]) -> str:
        return found[0] if found["next"] in _NO_NOUN.split() else ""

    return _ARTICLE.sub(keep, remark)


def _decode_abstention(
    said: str, found: re.Match[str], shown: _Identifiers, *, abstain: bool
) -> Decoded | Refusal:
    if not abstain:
        return Refusal("model abstained, which was not allowed")
    rest = found.string[found.end(1) :]
    if _names_any(_without_articles(rest.replace("(", "( "), shown.labels), shown.known):
        return Refusal(f"{said} both abstains and names an identifier")
    if may_undo_abstention(rest):
        return Refusal(f"{said} has a remark that may take it back")
    return {"raw_verdict": said, "abstained": True, "decoded_scores": []}
