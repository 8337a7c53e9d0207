"""What went wrong: an error in the words of OpenAI and its kin, and what can be done about it."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from quire.domain.data import Json, JsonObject
from quire.domain.errors import ProviderError, Remedy
from quire.providers.parameters import about_parameters
from quire.providers.protocol import HttpResponse
from quire.providers.rates import retry_after
from quire.providers.reading import items, mapping, parse

LONGEST_QUOTE = 180


class Meaning(NamedTuple):
    """What can be done about an error, and what to tell whoever must act."""

    remedy: Remedy
    hint: str = ""
    bad_key: bool = False
    spent: bool = False


MONEY = Meaning(
    Remedy.FIX_ACCOUNT, "add money to the account, or raise its spend limit", spent=True
)
KEY = Meaning(Remedy.FIX_ACCOUNT, "check the key and what it is allowed to do", bad_key=True)
ADDRESS = Meaning(Remedy.FIX_ACCOUNT, "check the base URL")
MODEL = Meaning(Remedy.FIX_ACCOUNT, "check the model's name, and that this account may use it")
FORM = Meaning(Remedy.FIX_ACCOUNT, "no call of this form can work: change the run's parameters")
TOO_LARGE = Meaning(Remedy.SPLIT)
CULPRIT = Meaning(Remedy.FIX_REQUEST)
WAIT = Meaning(Remedy.WAIT)
RETRY = Meaning(Remedy.RETRY)

_WORDS = {
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
    CULPRIT: "content_filter content_policy_violation invalid_prompt",
}
_BY_WORD = {word: meaning for meaning, words in _WORDS.items() for word in words.split()}

_BY_STATUS = {
    401: KEY,
    402: MONEY,
    403: KEY,
    405: ADDRESS,
    407: Meaning(Remedy.FIX_ACCOUNT, "check the user and password of the proxy"),
    408: RETRY,
    409: RETRY,
    410: ADDRESS,
    413: TOO_LARGE,
    425: RETRY,
    429: WAIT,
    499: RETRY,
    501: CULPRIT,
    503: WAIT,
    529: WAIT,
}

# Servers without error codes say it in words; some say it of their limit a minute, with a 429.
_LONG = re.compile(
    r"maximum context length|context[ _](?:length|window|size)|prompt is too long|too many tokens",
    re.IGNORECASE,
)
_LARGER_THAN_A_MINUTE = re.compile(r"request too large", re.IGNORECASE)


class Complaint(NamedTuple):
    """What an error's body says."""

    words: tuple[str, ...]  # codes and types, the most telling first, in lower case
    message: str
    places: tuple[str, ...] = ()  # which parts of the call are wrong, by their paths


def classify(vendor: str, response: HttpResponse) -> ProviderError:
    """Name an error, what can be done about it, and when to come again."""
    told = complaint(response.body)
    meaning = _meaning(response.status, told)
    waits = meaning.remedy in (Remedy.WAIT, Remedy.RETRY)
    return ProviderError(
        sentence(vendor, response.status, told, meaning.hint),
        remedy=meaning.remedy,
        retry_after=retry_after(response.headers) if waits else None,
        bad_key=meaning.bad_key,
        spent=meaning.spent,
    )


def complaint(body: bytes) -> Complaint:
    """Find codes and words in an error's body, wherever this server puts them."""
    whole = mapping(parse(body))
    error = mapping(error_of(whole)) or whole
    words = [error.get("code"), error.get("type"), mapping(error.get("innererror")).get("code")]
    upstream = _said(mapping(error.get("metadata")).get("raw"))
    message = _said(error_of(whole)) or _said(whole)
    if upstream and upstream not in message:  # whom a router asked
        message = f"{message}: {upstream}"
    told = tuple(each.lower() for each in words if isinstance(each, str))
    return Complaint(told, message, tuple(_places(whole, error)))


def _places(whole: JsonObject, error: JsonObject) -> Iterator[str]:
    """The parameter that OpenAI names, and the paths of those who check calls by a form."""
    param = error.get("param")
    if isinstance(param, str):
        yield param
    for each in (*items(whole.get("detail")), *items(error.get("detail"))):
        path = mapping(each).get("loc")
        yield ".".join(str(part) for part in path) if isinstance(path, list) else ""


def error_of(body: JsonObject) -> Json:
    """The error of a body, or of its first choice."""
    found = body.get("error")
    for choice in items(body.get("choices"))[:1]:
        found = found or choice.get("error")
    return found


def sentence(vendor: str, status: int, told: Complaint, hint: str = "") -> str:
    """One line that says what happened, then what to do."""
    quote = " ".join(told.message.split()) or ", ".join(told.words) or "no reason given"
    if len(quote) > LONGEST_QUOTE:
        quote = quote[: LONGEST_QUOTE - 1] + "…"
    return f"{vendor} {status}: {quote}" + (f" ({hint})" if hint else "")


def _meaning(status: int, told: Complaint) -> Meaning:
    for word in told.words:
        if word in _BY_WORD:
            return _BY_WORD[word]
    if status in (400, 422) and _LONG.search(told.message):
        return TOO_LARGE
    if status in (400, 422) and about_parameters(told.message, told.places):
        return FORM
    if status == 429 and _LARGER_THAN_A_MINUTE.match(told.message):
        return TOO_LARGE
    return by_status(status, missing=MODEL if "model" in told.message.lower() else ADDRESS)


def by_status(status: int, missing: Meaning = MODEL) -> Meaning:
    """What a status means by itself; `missing` is what a 404 does."""
    if status == 404:
        return missing
    rest = ADDRESS if status < 400 else RETRY if status >= 500 else CULPRIT
    return _BY_STATUS.get(status, rest)


def _said(value: Json, depth: int = 6) -> str:
    """The words of an error: a string, or what stands in the usual fields of an object."""
    if isinstance(value, str):
        return value
    if depth == 0:
        return ""
    if isinstance(value, list):
        return "; ".join(filter(None, (_said(each, depth - 1) for each in items(value)[:3])))
    found = mapping(value)
    for name in ("message", "msg", "detail"):
        if said := _said(found.get(name), depth - 1):
            return said
    return ""
