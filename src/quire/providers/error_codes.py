"""Error codes: what an error means, by its codes, its status or its words, and what can be done."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from quire.domain.data import Json, JsonObject
from quire.domain.errors import CallFault, ProviderError, Remedy
from quire.domain.fallbacks import PartRefusal
from quire.providers.protocol import HttpResponse
from quire.providers.rate_headers import retry_after
from quire.providers.refused_parts import (
    LONGEST_READ,
    REFUSED,
    find_refusal,
    names_unknown_model,
    template_refusal,
)
from quire.providers.wire import is_page, items, mapping, parse

# What goes out alike with every call of a stage; not the longest answer, which a smaller pack asks
# for less of.
_EVERYDAY_NAMES = r"reasoning|effort|temperature|thinking|tools"
_NAMES = (
    r"reasoning[_.]?effort|top_?[pk]|stop_?sequences"
    r"|thinking[_.]?(?:type|config|level|budget(?:_tokens)?)|output_(?:config|format)"
    r"|response_?(?:format|mime_?type|(?:json_?)?schema)|text\.format|tool_choice"
    r"|generation_?config|system_?instruction|prompt_cache_\w+|cache_control|service_tier"
)
_PLACE = re.compile(
    rf"(?:body\.)?(?:{_NAMES}|{_EVERYDAY_NAMES}|seed|stop|store)(?:[.\[]|$)", re.IGNORECASE
)
_LENGTH = re.compile(r"max_?(?:completion_?|output_?)?tokens", re.IGNORECASE)
# A message may quote a block, and everyday words stand in blocks too: they count only set off from
# the others, at the head of the message, or where they are called a parameter.
_NAMED = re.compile(
    rf"(?:^|[\s`'\"*]|[a-z]\.)(?:{_NAMES})(?:[.:\s`'\",]|$)"
    rf"|[`'\"*](?:{_EVERYDAY_NAMES})[`'\"*]"
    rf"|\A(?:{_EVERYDAY_NAMES})(?:[:.]| (?:\w+ )?is not supported\b)"
    rf"|\b(?:{_EVERYDAY_NAMES}) parameter\b",
    re.IGNORECASE | re.MULTILINE,
)
_CONTENT = re.compile(r"\b(?:messages?|contents?|input)(?:\.\d|\[\d|:)", re.IGNORECASE)


def is_about_parameters(message: str, places: Iterable[str] = ()) -> bool:
    """Whether a refused call can be refused for its parameters alone: then all like it will be.

    `places` are what the provider says is wrong by its path, if it says so.
    """
    named = [place for place in places if place]
    if named:
        return any(_PLACE.match(name) and not _LENGTH.search(name) for name in named)
    message = message[:LONGEST_READ]
    if _CONTENT.search(message) or _LENGTH.search(message):
        return False
    return bool(_NAMED.search(message) and REFUSED.search(message))


LONGEST_QUOTE = 180
_LONGEST_TEXT = 2000  # bytes of a complaint in plain words


class Meaning(NamedTuple):
    """What can be done about an error, and what to tell whoever must act."""

    remedy: Remedy
    hint: str = ""
    bad_key: bool = False
    spent: bool = False
    fault: CallFault | None = None
    refusal: PartRefusal | None = None  # of a part of every call, if one is known to be to blame
    unexplained: bool = False  # nothing that we know says why


MONEY = Meaning(
    Remedy.FIX_ACCOUNT, "add money to the account, or raise its spend limit", spent=True
)
KEY = Meaning(Remedy.FIX_ACCOUNT, "check the key and what it is allowed to do", bad_key=True)
ADDRESS = Meaning(Remedy.FIX_ACCOUNT, "check the base URL", fault=CallFault.ADDRESS)
MODEL = Meaning(
    Remedy.FIX_ACCOUNT,
    "check the model's name, and that this account may use it",
    fault=CallFault.MODEL,
)
FORM = Meaning(
    Remedy.FIX_ACCOUNT,
    "no call of this form can work: change the run's parameters",
    fault=CallFault.FORM,
)
TOO_LARGE = Meaning(Remedy.SPLIT)
BAD_REQUEST = Meaning(Remedy.FIX_REQUEST)
UNEXPLAINED = Meaning(Remedy.FIX_REQUEST, unexplained=True)
WAIT = Meaning(Remedy.WAIT)
RETRY = Meaning(Remedy.RETRY)

_CODES = {
    MONEY: (
        "insufficient_quota credit_balance_exhausted organization_spend_limit_exceeded"
        " project_spend_limit_exceeded organization_usage_limit_exceeded"
        " billing_hard_limit_reached billing_not_active insufficient_credits"
    ),
    KEY: "invalid_api_key account_deactivated",
    MODEL: (
        "model_not_found invalid_model unknown_model model_not_available model_decommissioned"
        " deploymentnotfound"
    ),
    FORM: "unsupported_parameter unsupported_value unknown_parameter invalid_json_schema",
    TOO_LARGE: (
        "context_length_exceeded string_above_max_length request_too_large tokens_limit_reached"
        " exceed_context_size_error"
    ),
    BAD_REQUEST: "content_filter content_policy_violation invalid_prompt",
}
_BY_CODE = {word: meaning for meaning, words in _CODES.items() for word in words.split()}

_BY_STATUS = {
    **dict.fromkeys((401, 403), KEY),
    402: MONEY,
    407: Meaning(Remedy.FIX_ACCOUNT, "check the user and password of the proxy"),
    413: TOO_LARGE,
    501: BAD_REQUEST,
    **dict.fromkeys((405, 410), ADDRESS),
    **dict.fromkeys((408, 409, 425, 499), RETRY),
    **dict.fromkeys((429, 503, 529), WAIT),
}

# Servers without error codes say it in words; some say it of their limit a minute, with a 429.
_LONG = re.compile(
    r"maximum context length|context[ _](?:length|window|size)|prompt is too long|too many tokens",
    re.IGNORECASE,
)
_AT_ONCE = re.compile(r"concurren|at once|in flight|in parallel|overloaded", re.IGNORECASE)
_WINDOW = re.compile(r"maximum context length|input tokens", re.IGNORECASE)  # both together
_LARGER_THAN_A_MINUTE = re.compile(r"request too large", re.IGNORECASE)


class ErrorBody(NamedTuple):
    """What an error's body says."""

    codes: tuple[str, ...]  # codes and types, the most telling first, in lower case
    message: str
    places: tuple[str, ...] = ()  # which parts of the call are wrong, by their paths


def classify(vendor: str, response: HttpResponse) -> ProviderError:
    """Name an error, what can be done about it, and when to come again."""
    error_body = read_error(response.body)
    return name_error(vendor, response, error_body, _meaning(response.status, error_body))


def name_error(
    vendor: str,
    response: HttpResponse,
    error_body: ErrorBody,
    meaning: Meaning,
    wait: float | None = None,
) -> ProviderError:
    """An error with what it means; `wait` is when to come again, if its headers need not say so."""
    waits = meaning.remedy in (Remedy.WAIT, Remedy.RETRY)
    said = retry_after(response.headers, response.came_at) if waits and wait is None else wait
    error = ProviderError(
        error_message(vendor, response.status, error_body, meaning.hint),
        remedy=meaning.remedy,
        retry_after=said if waits else None,
        bad_key=meaning.bad_key,
        spent=meaning.spent,
        fault=meaning.fault,
    )
    error.refusal, error.unexplained = meaning.refusal, meaning.unexplained
    at_once = _AT_ONCE.search(error_body.message[:LONGEST_READ])  # no matter how many a minute
    error.of_rate = response.status == 429 and waits and said is None and not at_once
    return error


def read_error(body: bytes) -> ErrorBody:
    """Find codes and words in an error's body, wherever this server puts them."""
    whole = mapping(parse(body))
    error = mapping(error_of(whole)) or whole
    words = [error.get("code"), error.get("type"), mapping(error.get("innererror")).get("code")]
    upstream = _message_in(mapping(error.get("metadata")).get("raw"))
    message = _message_in(error_of(whole)) or _message_in(whole) or plain_text(body)
    if upstream and upstream not in message:  # whom a router asked
        message = f"{message}: {upstream}"
    codes = tuple(item.lower() for item in words if isinstance(item, str))
    return ErrorBody(codes, message, tuple(_wrong_parts(whole, error)))


def plain_text(body: bytes) -> str:
    """What a body says that is neither JSON nor a page: many a gateway complains in plain words."""
    if is_page(body) or parse(body) is not None:
        return ""
    try:
        text = " ".join(body[:_LONGEST_TEXT].decode().split())
    except UnicodeDecodeError:
        return ""
    return text if text.isprintable() else ""


def _wrong_parts(whole: JsonObject, error: JsonObject) -> Iterator[str]:
    """The parameter that OpenAI names, and the paths of those who check calls by a form."""
    param = error.get("param")
    if isinstance(param, str):
        yield param
    message = mapping(whole.get("message"))  # of Mistral, an object
    details = [found.get("detail") for found in (whole, error, message)]
    for json_object in [item for detail in details for item in items(detail)]:
        path = mapping(json_object).get("loc")
        yield ".".join(str(part) for part in path) if isinstance(path, list) else ""


def error_of(body: JsonObject) -> Json:
    """The error of a body, or of its first choice."""
    found = body.get("error")
    for choice in items(body.get("choices"))[:1]:
        found = found or choice.get("error")
    return found


def error_message(vendor: str, status: int, error_body: ErrorBody, hint: str = "") -> str:
    """One line that says what happened, then what to do."""
    quote = " ".join(error_body.message.split()) or ", ".join(error_body.codes) or "no reason given"
    if len(quote) > LONGEST_QUOTE:
        quote = quote[: LONGEST_QUOTE - 1] + "…"
    return f"{vendor} {status}: {quote}" + (f" ({hint})" if hint else "")


def _meaning(status: int, error_body: ErrorBody) -> Meaning:
    for word in error_body.codes:
        if word in _BY_CODE:
            return _with_part(_BY_CODE[word], word, error_body)
    if status in (400, 422) and (found := _meaning_of_refusal(error_body)):
        return found
    if status >= 500 and (refusal := template_refusal(error_body.message)):
        return _meaning_without(refusal)
    if status == 429 and _LARGER_THAN_A_MINUTE.match(error_body.message):
        return TOO_LARGE
    missing = MODEL if "model" in error_body.message.lower() else ADDRESS
    return meaning_of_status(status, missing)


def _with_part(meaning: Meaning, code: str, error_body: ErrorBody) -> Meaning:
    """What a code means; another schema may well be taken, so its form blames no part for all."""
    if meaning is not FORM or code == "invalid_json_schema":
        return meaning
    return meaning_of_form(error_body) or meaning


def _meaning_of_refusal(error_body: ErrorBody) -> Meaning | None:
    """What a call that was refused as it is was refused for, as far as it is known."""
    form = meaning_of_form(error_body)
    limit = form is not None and form.refusal is not None and form.refusal.most_output > 0
    if _LONG.search(error_body.message) and not (limit and not _WINDOW.search(error_body.message)):
        return TOO_LARGE
    return MODEL if names_unknown_model(error_body.message) else form


def meaning_of_form(error_body: ErrorBody) -> Meaning | None:
    """A refusal of what goes out with every call, with the part if one is named; else None."""
    message, places = error_body.message, error_body.places
    if refusal := find_refusal(message, places):
        return _meaning_without(refusal)
    return FORM if is_about_parameters(message, places) else None


def _meaning_without(refusal: PartRefusal) -> Meaning:
    return FORM._replace(hint="", refusal=refusal)


def meaning_of_status(status: int, missing: Meaning = MODEL) -> Meaning:
    """What a status means by itself; `missing` is what a 404 does."""
    if status == 404:
        return missing
    rest = ADDRESS if status < 400 else RETRY if status >= 500 else UNEXPLAINED
    return _BY_STATUS.get(status, rest)


def _message_in(value: Json, depth: int = 6) -> str:
    """The words of an error: a string, or what stands in the usual fields of an object."""
    if isinstance(value, str):
        return value
    if depth == 0:
        return ""
    if isinstance(value, list):
        return "; ".join(filter(None, (_message_in(item, depth - 1) for item in items(value)[:3])))
    found = mapping(value)
    for name in ("message", "msg", "detail"):
        if message := _message_in(found.get(name), depth - 1):
            return message
    return ""
