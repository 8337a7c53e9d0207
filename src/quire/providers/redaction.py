"""Redaction: keys and header values taken out of what a server sends back, however written."""

import re
from functools import lru_cache

from quire.domain.accounts import Account
from quire.providers.wire import is_page

_LEAST = 8  # characters; a shorter key may be a word that an answer rightly has
_LEAST_TOKEN = 6  # of what follows a scheme, which is a secret and nothing else
_LEAST_IN_ANSWERS = 16  # of a header's value: X-Team may rightly be in an answer

_WITH_SCHEME = re.compile(r"[A-Za-z][\w-]*\s+(\S+)")  # Bearer, Basic, Token…

_Patterns = tuple[re.Pattern[bytes], ...]


def redact_answer(body: bytes, account: Account) -> bytes:
    """Take our secrets out of an answer, and leave it what it may rightly say."""
    in_answers, in_complaints = _account_patterns(account)
    return _redact(body, in_complaints if account.headers and is_page(body) else in_answers)


def redact_complaint(body: bytes, account: Account) -> bytes:
    """Take our secrets, and all that the settings' headers hold, out of what is no answer."""
    return _redact(body, _account_patterns(account)[1])


def redact_words(text: str, account: Account) -> str:
    """Take the same out of words that are shown; of these a short key too."""
    text = account.key.redact(text)
    return redact_complaint(text.encode(errors="replace"), account).decode()


def _redact(body: bytes, patterns: _Patterns) -> bytes:
    for pattern in patterns:  # one by one: each begins with plain characters, which is fast
        if pattern.search(body):
            body = pattern.sub(b"...", body)
    return body


def _account_patterns(account: Account) -> tuple[_Patterns, _Patterns]:
    headers = account.headers
    values = tuple([value.reveal() for value in headers.values()]) if headers else ()
    return _patterns(account.key.reveal(), values)


@lru_cache(maxsize=64)
def _patterns(key: str, values: tuple[str, ...]) -> tuple[_Patterns, _Patterns]:
    """What is looked for in answers, and in complaints."""
    keys = [key] if len(key) >= _LEAST else []
    tokens = [found[1] for value in values if (found := _WITH_SCHEME.fullmatch(value.strip()))]
    held = [value for value in values if len(value) >= _LEAST]
    held += [token for token in tokens if len(token) >= _LEAST_TOKEN]
    in_answers = [value for value in held if _is_surely_secret(value)]
    return _compile(keys + in_answers), _compile(keys + held)


def _is_surely_secret(value: str) -> bool:
    return len(value) >= _LEAST_IN_ANSWERS and any(name.isdigit() for name in value)


def _compile(secrets: list[str]) -> _Patterns:
    longest_first = sorted(dict.fromkeys(secrets), key=len, reverse=True)
    return tuple(re.compile(b"".join(map(_pattern_of, secret))) for secret in longest_first)


def _pattern_of(name: str) -> bytes:
    """A character as it is, and as JSON, addresses and pages write it, also within each other."""
    plain = re.escape(name.encode(errors="replace"))
    if name.isascii() and name.isalnum():
        return plain
    address = b"".join(b"%%(?:25)*%02x" % byte for byte in name.encode(errors="replace"))
    code, entity = ord(name), rb"|&amp;" if name == "&" else b""
    json = rb"\\*%s|\\+u%04x" % (plain, code)
    return rb"(?i:%s|%s|&#x0*%x;|&#%d;%s)" % (json, address, code, code, entity)
