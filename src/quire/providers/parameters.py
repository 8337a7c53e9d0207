"""Parameters: whether an error is about how a call was made, not about what it carries."""

import re
from collections.abc import Iterable

# What goes out alike with every call of a stage; not the longest answer, which a smaller pack asks
# for less of.
_EVERYDAY = r"reasoning|effort|temperature|thinking|tools"
_NAMES = (
    r"reasoning[_.]?effort|top_?[pk]|stop_?sequences"
    r"|thinking[_.]?(?:type|config|level|budget(?:_tokens)?)|output_(?:config|format)"
    r"|response_?(?:format|mime_?type|(?:json_?)?schema)|text\.format|tool_choice"
    r"|generation_?config|system_?instruction|prompt_cache_\w+|cache_control|service_tier"
)
_LONGEST = 4_000  # characters of a message that are read
_PLACE = re.compile(
    rf"(?:body\.)?(?:{_NAMES}|{_EVERYDAY}|seed|stop|store)(?:[.\[]|$)", re.IGNORECASE
)
_LENGTH = re.compile(r"max_?(?:completion_?|output_?)?tokens", re.IGNORECASE)
# A message may quote a block, and everyday words stand in blocks too: they count only set off from
# the others, at the head of the message, or where they are called a parameter.
_NAMED = re.compile(
    rf"(?:^|[\s`'\"*]|[a-z]\.)(?:{_NAMES})(?:[.:\s`'\",]|$)"
    rf"|[`'\"*](?:{_EVERYDAY})[`'\"*]|\A(?:{_EVERYDAY})(?:[:.]| (?:\w+ )?is not supported\b)"
    rf"|\b(?:{_EVERYDAY}) parameter\b",
    re.IGNORECASE | re.MULTILINE,
)
_REFUSED = re.compile(
    r"\bun(?:supported|known|recogni[sz]ed|expected)|\b(?:not|n't) (?:be |yet )?(?:support(?:ed)?"
    r"|permitted|allowed|available|valid|compatible)|\binvalid\b|deprecated|out of range"
    r"|\b(?:must|should|cannot|can't) be\b|cannot find field|extra inputs",
    re.IGNORECASE,
)
_CONTENT = re.compile(r"\b(?:messages?|contents?|input)(?:\.\d|\[\d|:)", re.IGNORECASE)


def about_parameters(message: str, places: Iterable[str] = ()) -> bool:
    """Whether a refused call can be refused for its parameters alone: then all like it will be.

    `places` are what the provider says is wrong by its path, if it says so.
    """
    told = [each for each in places if each]
    if told:
        return any(_PLACE.match(each) and not _LENGTH.search(each) for each in told)
    message = message[:_LONGEST]
    if _CONTENT.search(message) or _LENGTH.search(message):
        return False
    return bool(_NAMED.search(message) and _REFUSED.search(message))
