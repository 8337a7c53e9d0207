"""Verdicts at the end of an answer: identifiers that were shown, or an abstention."""

import re
from collections.abc import Mapping

from quire.domain.data import Json, JsonObject
from quire.gates.markers_lines import Decoded, Refusal, bare, read_last_line, without_remark
from quire.gates.parameters import is_whole

ABSTAIN = "ABSTAIN"
DEFAULT_LABELS = "labels"
METHODS = ("single", "subset")
_TOKEN = re.compile(r"[A-Za-z0-9]+")
_ABSTENTION = re.compile(r"abstain\b(?:\s*[(:;,.–—-].*)?", re.IGNORECASE)
_BRACKETS = (("[", "]"), ("(", ")"), ("{", "}"), ("<", ">"))
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def read_verdict(text: str, params: JsonObject, facts: JsonObject) -> Decoded | Refusal:
    """Read `VERDICT: <identifier>`, several with commas where a subset is asked for."""
    labels = labels_of(params, facts)
    assert not isinstance(labels, Refusal)  # the gate has looked
    subset, abstain = params.get("method") == "subset", params.get("abstain") is True
    return read_last_line(
        text, "VERDICT", lambda said: _decode(said, labels, subset=subset, abstain=abstain)
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


def _decode(
    said: str, labels: Mapping[str, int], *, subset: bool, abstain: bool
) -> Decoded | Refusal:
    if _ABSTENTION.fullmatch(said):
        return _abstention(said, labels, abstain=abstain)
    listed, remark = without_remark(said.rstrip(".;"))
    if set(_TOKEN.findall(remark)) & {*labels, ABSTAIN}:
        return Refusal(f"{said} names an identifier in its remark, too")
    tokens = [bare(each) for each in re.split(r"[,\s/]+", _unbracketed(listed)) if bare(each)]
    tokens = list(dict.fromkeys(_unbracketed(each) for each in tokens))
    unknown = [each for each in tokens if each not in labels]
    if unknown or not tokens:
        return Refusal(f"{said} is not among the identifiers {', '.join(sorted(labels))}")
    if len(tokens) > 1 and not subset:
        return Refusal(f"{said} names {len(tokens)} identifiers where one is wanted")
    scores: list[Json] = [*sorted({labels[each] for each in tokens})]
    return {"raw_verdict": said, "abstained": False, "decoded_scores": scores}


def _abstention(said: str, labels: Mapping[str, int], *, abstain: bool) -> Decoded | Refusal:
    if not abstain:
        return Refusal("model abstained, which was not allowed")
    if set(_TOKEN.findall(said)[1:]) & {*labels}:
        return Refusal(f"{said} both abstains and names an identifier")
    return {"raw_verdict": said, "abstained": True, "decoded_scores": []}


def _unbracketed(text: str) -> str:
    text = bare(text)
    for opening, closing in _BRACKETS:
        inside = text[1:-1]
        if text == f"{opening}{inside}{closing}" and opening not in inside:
            return bare(inside)
    return text
