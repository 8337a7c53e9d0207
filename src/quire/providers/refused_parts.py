"""Refused parts: which part of every call an error is about, by the paths and words it names.

Few servers have codes for this, and those that have them share none. So paths are looked at where
an error names some, and words where it does not: names of parameters, which hardly stand in a
block, beside a word of refusal; and the sentences that chat templates and gateways are known to
say. A message may quote a block: whatever is everyday language must stand at its head or set off.
"""

import re
from collections.abc import Iterable

from quire.domain.fallbacks import PartRefusal, RefusedPart

LONGEST_READ = 4_000  # characters of a message that are read


REFUSED = re.compile(
    r"\bun(?:supported|known|recogni[sz]ed|expected|available|marshal)"
    r"|\b(?:not|n't) (?:be |yet )?(?:support(?:ed)?|permitted|allowed|available|valid|compatible"
    r"|enabled)|\binvalid\b|deprecated|out of range|\bmust contain\b"
    r"|\b(?:must|should|cannot|can't) be\b|cannot find field|extra inputs",
    re.IGNORECASE,
)
_FORMAT = re.compile(
    r"response[ _]?format|\btext\.format\b|output_(?:config\.)?format"
    r"|response_?mime_?type|response_?(?:json_?)?schema|\bJSON mode is not enabled",
    re.IGNORECASE,
)
_FORMAT_TYPE = re.compile(
    r"json_schema|json_object|response_?(?:json_?)?schema|response_?format['\"`]?[.,]? ?['\"`]?type"
    r"|\bJSON mode\b(?! is not enabled)",
    re.IGNORECASE,
)
_GRAMMAR = re.compile(
    r"failed to parse grammar|JSON schema conversion failed|features not supported by \w+\W*\Z"
    r"|\Ainvalid format: .{0,80}JSON Schema",
    re.IGNORECASE,
)
_TOOLS = re.compile(
    r"tools param requires|\A\S{0,200} ?does not support tools\b|\btool_choice\b", re.IGNORECASE
)

_ROLE_PLACE = re.compile(
    r"(?:body\.)?(?:messages|input)(?:\[\d+\]|\.\[?\d+\]?)(?:\.\w+)?\.role\Z", re.IGNORECASE
)
_ROLE_PATH = r"['\"`]?(?:messages|input)(?:\[\d+\]|\.\[?\d+\]?)\.role['\"`]?"
_ROLE = re.compile(
    rf"{_ROLE_PATH} does not support ['\"`](?P<a>system|developer)"
    rf"|\A['\"`](?P<b>system|developer)['\"`] is not one of \[.{{0,80}}\] - {_ROLE_PATH}"
    r"|\A\W*(?:unexpected|unknown|invalid|unsupported) (?:message )?role:? ['\"`]?"
    r"(?P<c>system|developer)\b"
    r"|\A\W*(?:the )?role:? ['\"`]?(?P<d>system|developer)['\"`]? (?:is )?"
    r"(?:un(?:supported|known|expected|recogni[sz]ed)|invalid|not (?:supported|allowed|valid))\b",
    re.IGNORECASE,
)
# What chat templates say, mostly within the words of whoever fills them in.
_TEMPLATE = re.compile(
    r"\A(?:[\w ]*:|\W)*(?:System role not supported"
    r"|Conversation roles must alternate|Only user and assistant roles are supported)"
    r"|template: \W*System role not supported",
    re.IGNORECASE,
)
_NO_INSTRUCTION = re.compile(
    r"\A(?:Developer|System) instruction is not (?:enabled|supported)", re.IGNORECASE
)

_LENGTH = re.compile(r"max_?(?:(?:completion|output|new)_?)?tokens", re.IGNORECASE)
_LENGTH_NAMED = re.compile(r"max_completion_tokens|max_(?:output_)?tokens", re.IGNORECASE)
_BETTER_NAME = re.compile(
    r"\buse ['\"`]?(max_completion_tokens|max_tokens)['\"`]? instead", re.IGNORECASE
)
_NAME_REFUSED = re.compile(
    r"\bun(?:supported|known|recogni[sz]ed|expected)\b|\bnot (?:supported|permitted|allowed)\b"
    r"|deprecated|does not support parameters",
    re.IGNORECASE,
)
_NUMBER = r"\D{0,4}(\d[\d,]{0,9})"
_MOST = re.compile(
    rf"\d+ > {_NUMBER}|\bto (\d{{1,9}}) \(exclusive\)|range of \S+ is \[\d+,{_NUMBER}"
    rf"|(?:<=|less than or equal to|at most|no more than|(?:cannot|not) exceed){_NUMBER}",
    re.IGNORECASE,
)

_STREAM_PLACE = re.compile(r"(?:body\.)?stream(?:_options)?\b", re.IGNORECASE)
# Somebody who answers in streams only, at the head of what is said.
_STREAM = re.compile(
    r"\A\W*(?:<\d+> )?(?:[\w.]+: )*(?:(?:this|the) (?:model|server|endpoint|api) )?(?:"
    r"only (?:supports? )?stream|non-?stream(?:ing)?\b.{0,40}\bnot (?:supported|allowed)"
    r"|['\"`]?stream(?:ing)?['\"`]? (?:is required|must be (?:set to )?['\"`]?(?:true|enabled))"
    r"|\S{0,40}enable_thinking must be set to false for non-streaming"
    r"|.{0,60}\bstream_options\b)",
    re.IGNORECASE,
)

_SAMPLING = {
    "temperature": RefusedPart.TEMPERATURE,
    "top_?p": RefusedPart.TOP_P,
    "(?:random_)?seed": RefusedPart.SEED,
}
_SAMPLING_PLACES = {
    re.compile(rf"(?:body\.|generation_?config\.)?{name}\Z", re.IGNORECASE): part
    for name, part in _SAMPLING.items()
}
_SAMPLING_NAMES = {
    re.compile(rf"[`'\"*]{name}[`'\"*]|\A{name}: ", re.IGNORECASE): part
    for name, part in _SAMPLING.items()
}

_AT_THE_HEAD = r"\A\W*(?:[\w.]+(?:error|exception): )*"
_UNKNOWN_MODEL = re.compile(
    rf"{_AT_THE_HEAD}(?:the |requested |specified )*model\b:? ?"
    r"(?:[`'\"][^`'\"]{1,200}[`'\"] |\S{1,200}/\S{1,200} )?(?:is |was )?"
    r"(?:not (?:found|exist|available|loaded)|does(?: not|n't) exist|could not be found)\b"
    rf"|{_AT_THE_HEAD}(?:unknown|invalid|no such) model\b"
    r"|\A\S{1,200} is not a valid model id\b|\Ano models? (?:is |are )?loaded\b",
    re.IGNORECASE,
)


def names_unknown_model(message: str) -> bool:
    """Whether a message says, at its head, that nobody there knows the model."""
    return _UNKNOWN_MODEL.search(message[:LONGEST_READ]) is not None


def template_refusal(message: str) -> PartRefusal | None:
    """Whether a chat template takes no system role; servers say so with any status."""
    said = _TEMPLATE.search(message[:LONGEST_READ])
    return PartRefusal(RefusedPart.SYSTEM_ROLE) if said else None


def find_refusal(message: str, places: Iterable[str] = ()) -> PartRefusal | None:
    """The part of every call that an error is about; None where it is about none, or unclear."""
    message, named = message[:LONGEST_READ], [place for place in places if place]
    for place in named:
        if found := _refused_place(place, message):
            return found
    if found := _refused_role(message) or template_refusal(message) or _refused_whole(message):
        return found
    if any(not place.startswith("messages") for place in named):  # it says what it is about
        return None
    return _refused_words(message)


def _refused_place(place: str, message: str) -> PartRefusal | None:
    if _ROLE_PLACE.match(place):
        return _refused_role(message) or PartRefusal(_role_left_out(message))
    if _LENGTH.search(place):
        return _refused_length(message, place)
    if _FORMAT.search(place):
        return _refused_format(f"{place} {message}")
    if _STREAM_PLACE.match(place):
        return PartRefusal(RefusedPart.STREAM)
    for pattern, part in _SAMPLING_PLACES.items():
        if pattern.match(place):
            return PartRefusal(part)
    return None


def _role_left_out(message: str) -> RefusedPart:
    """Which role was refused, by those that would do."""
    return RefusedPart.DEVELOPER_ROLE if "'system'" in message else RefusedPart.SYSTEM_ROLE


def _refused_role(message: str) -> PartRefusal | None:
    if _NO_INSTRUCTION.match(message):
        return PartRefusal(RefusedPart.SYSTEM_ROLE)
    said = _ROLE.search(message)
    if said is None:
        return None
    role = next(word for word in said.groupdict().values() if word)
    developer = role.lower() == "developer"
    return PartRefusal(RefusedPart.DEVELOPER_ROLE if developer else RefusedPart.SYSTEM_ROLE)


def _refused_whole(message: str) -> PartRefusal | None:
    return PartRefusal(RefusedPart.STREAM) if _STREAM.search(message) else None


def _refused_words(message: str) -> PartRefusal | None:
    if _GRAMMAR.search(message):
        return PartRefusal(RefusedPart.FORMAT_TYPE)
    if _TOOLS.search(message):
        return PartRefusal(RefusedPart.TOOLS)
    if _LENGTH.search(message) and not _FORMAT.search(message):
        return _refused_length(message)
    if _FORMAT.search(message) and REFUSED.search(message):
        return _refused_format(message)
    for pattern, part in _SAMPLING_NAMES.items():
        if pattern.search(message) and REFUSED.search(message):
            return PartRefusal(part)
    return None


def _refused_format(said: str) -> PartRefusal:
    kind = _FORMAT_TYPE.search(said) is not None
    return PartRefusal(RefusedPart.FORMAT_TYPE if kind else RefusedPart.FORMAT)


def _refused_length(message: str, place: str = "") -> PartRefusal | None:
    """Whether it is the name of the limit that is refused, or its number."""
    if most := _MOST.search(message):
        number = int(next(text for text in most.groups() if text).replace(",", ""))
        return PartRefusal(RefusedPart.OUTPUT_LIMIT, max(1, number - bool(most[2])))
    if not _NAME_REFUSED.search(message) and "extra inputs" not in message.lower():
        return None
    if better := _BETTER_NAME.search(message):
        old = better[1].lower() == "max_completion_tokens"
        return PartRefusal(RefusedPart.MAX_TOKENS if old else RefusedPart.MAX_COMPLETION_TOKENS)
    named = _LENGTH_NAMED.search(place or message)
    newer = named is not None and named[0].lower() == "max_completion_tokens"
    return PartRefusal(RefusedPart.MAX_COMPLETION_TOKENS if newer else RefusedPart.MAX_TOKENS)
