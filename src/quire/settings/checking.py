"""Checking quire.toml: every mistake in it at once, each in a line that says what is meant."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from difflib import get_close_matches
from typing import NamedTuple

from quire.domain.data import Json
from quire.domain.models import Marking, Structured
from quire.settings.places import PROVIDERS, trouble_in_name, trouble_with_url

MOST_TOKENS = 1_000_000_000_000
LEAST_SECONDS, MOST_SECONDS = 0.01, 86_400
DEAREST = 10_000  # dollars per million tokens: more is a price in another unit


class Rule(NamedTuple):
    """What one setting may be."""

    wanted: str  # follows "must be"
    allows: Callable[[Json], bool]


def mistakes(told: Mapping[str, Json]) -> list[str]:
    """Everything wrong with a file of settings."""
    found = _against(told, _RULES, "")
    found += _against(_table(told, "worker"), _WORKER, "worker.")
    found += _against(_table(told, "simulated"), _SIMULATED, "simulated.")
    for name, target in _table(told, "aliases").items():
        found += _alias(name, target)
    for name, value in _table(told, "providers").items():
        found += _provider(name, value)
    for name, value in _table(told, "models").items():
        found += _model(name, value)
    return found


def _against(told: Mapping[str, Json], rules: Mapping[str, Rule], at: str) -> list[str]:
    return [*_wrong(told, rules, at), *_unknown(told, tuple(rules), at)]


def _wrong(told: Mapping[str, Json], rules: Mapping[str, Rule], at: str) -> Iterator[str]:
    for name, rule in rules.items():
        if name in told and not rule.allows(told[name]):
            yield f"{at}{name} must be {rule.wanted}, not {_shown(told[name])}"


def _unknown(told: Mapping[str, Json], known: Sequence[str], at: str) -> Iterator[str]:
    for name in told:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"did you mean {at}{near[0]}?" if near else f"known: {', '.join(known)}"
            yield f"unknown setting {at}{name}; {hint}"


def _alias(name: str, target: Json) -> Iterator[str]:
    if trouble := trouble_in_name(target):
        yield f"aliases.{name} {trouble}"
        return
    if not name or "/" in name:
        yield f'aliases."{name}": an alias has no slash; a model has one'
    if not _is_model(target):
        yield f"aliases.{name} must be a model, as provider/model, not {_shown(target)}"


def _provider(name: str, value: Json) -> Iterator[str]:
    at = f"providers.{name}."
    if name not in PROVIDERS:
        yield from _unknown({name: value}, PROVIDERS, "providers.")
    elif not isinstance(value, Mapping):
        yield f"providers.{name} must be a table, not {_shown(value)}"
    elif "key" in value:
        yield (
            f"{at}key: a key does not belong in a file that is passed around; name the variable"
            f' that holds it (key_env = "…"), or its file (key_file = "…")'
        )
    else:
        yield from _against(value, _PROVIDER, at)
        url = value.get("base_url")
        if isinstance(url, str) and (trouble := trouble_with_url(url)):
            yield f"{at}base_url {trouble}"


def _model(name: str, value: Json) -> Iterator[str]:
    at = f'models."{name}".'
    if trouble := trouble_in_name(name):
        yield f'models."{name.partition("@")[0]}@…" {trouble}'
    elif not _is_model(name):
        yield (
            f'models.{name} is no model; write the whole name in quotes: [models."provider/model"]'
        )
    elif not isinstance(value, Mapping):
        yield f'models."{name}" must be a table, not {_shown(value)}'
    else:
        yield from _against(value, _MODEL, at)
        yield from _against(_table(value, "limits"), _LIMITS, f"{at}limits.")
        yield from _against(_table(value, "batch"), _PRICES, f"{at}batch.")
        url = value.get("url")
        if isinstance(url, str) and (trouble := trouble_with_url(url)):
            yield f"{at}url {trouble}"
        tiers = value.get("tiers")
        for each in tiers if isinstance(tiers, list) else ():
            if isinstance(each, Mapping):
                yield from _against(each, _TIER, f"{at}tiers.")


def _table(told: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    table = told.get(name)
    return table if isinstance(table, Mapping) else {}


def _shown(value: Json) -> str:
    shown = str(value).lower() if isinstance(value, bool) else repr(value)
    return shown if len(shown) <= 60 else shown[:59] + "…"


def _is_model(value: Json) -> bool:
    if not isinstance(value, str):
        return False
    provider, _, model = value.partition("/")
    return bool(provider and model)


def _number(value: Json) -> float:
    """A number, or nan, which is above and below nothing."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    return value


def _is_date(value: Json) -> bool:
    try:
        date.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        return False
    return True


def _between(least: float, most: float, wanted: str) -> Rule:
    return Rule(wanted, lambda value: least <= _number(value) <= most)


def _whole(least: int) -> Rule:
    return Rule(
        f"a whole number from {least} to {MOST_TOKENS:,}",
        lambda value: isinstance(value, int) and least <= _number(value) <= MOST_TOKENS,
    )


def _one_of(choices: Sequence[str]) -> Rule:
    return Rule(f"{', '.join(choices[:-1])} or {choices[-1]}", lambda value: value in choices)


_TEXT = Rule("a text that is not empty", lambda value: isinstance(value, str) and value != "")
_ANY_TEXT = Rule("a text", lambda value: isinstance(value, str))
_FLAG = Rule("true or false", lambda value: isinstance(value, bool))
_A_TABLE = Rule("a table", lambda value: isinstance(value, Mapping))
SECONDS = _between(
    LEAST_SECONDS,
    MOST_SECONDS,
    f"a positive number of seconds, from {LEAST_SECONDS} to {MOST_SECONDS:,}",
)
_MONEY = _between(0, DEAREST, f"dollars per million tokens, from 0 to {DEAREST:,}")
_PART = "a part of the price, above 0 and up to 1, or a table of prices"

_RULES = {
    **dict.fromkeys(("ledger", "model", "workspace"), _ANY_TEXT),
    "durable": _FLAG,
    **dict.fromkeys(("policy", "worker", "simulated", "aliases", "providers", "models"), _A_TABLE),
}
_WORKER = {"lease": SECONDS, "grace": SECONDS, "poll": SECONDS}
_SIMULATED = {"faults": _ANY_TEXT}
_PROVIDER = {
    **dict.fromkeys(("base_url", "key_env", "key_file"), _TEXT),
    "api": _one_of(("responses", "chat")),
    **dict.fromkeys(("organization", "project", "location", "bucket"), _TEXT),
}
_PRICES = dict.fromkeys(("input", "output", "cached", "written", "written_long"), _MONEY)
_TIER = {"above": _whole(1), **_PRICES}
_LIMITS = dict.fromkeys(("requests", "input", "output", "total", "enqueued"), _whole(1))
_MODEL = {
    "like": Rule("a model, as provider/model", _is_model),
    **dict.fromkeys(("window", "max_output", "max_input"), _whole(1)),
    **_PRICES,
    "batch": Rule(_PART, lambda value: isinstance(value, Mapping) or 0 < _number(value) <= 1),
    "tiers": Rule(
        "a list of tables",
        lambda value: isinstance(value, list) and all(isinstance(x, Mapping) for x in value),
    ),
    **dict.fromkeys(("cache_minimum", "thinking"), _whole(0)),
    "token_factor": _between(0.1, 10, "a number from 0.1 to 10"),
    "structured": _one_of(tuple(Structured)),
    "marking": _one_of(tuple(Marking)),
    "sampling": _FLAG,
    "limits": _A_TABLE,
    "retires": Rule("a date, as 2027-01-31", _is_date),
    "note": _ANY_TEXT,
    **dict.fromkeys(("id", "url"), _TEXT),
}
