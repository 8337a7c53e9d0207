"""The settings file: the nearest quire.toml, checked in full, over the environment."""

import math
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from quire.domain.data import Json, as_object, dates_as_text
from quire.domain.errors import AddressInvalid, SettingsInvalid, SettingsMistake
from quire.domain.models import CacheMarking, StructuredOutput

MOST_TOKENS = 1_000_000_000_000
LEAST_SECONDS, MOST_SECONDS = 0.01, 86_400
HIGHEST_PRICE = 1_000  # dollars per million tokens: more is a price in another unit


class SettingRule(NamedTuple):
    """What one setting may be."""

    wanted: str  # follows "must be"
    allows: Callable[[Json], bool]


def settings_mistakes(values: Mapping[str, Json]) -> list[SettingsMistake]:
    """Everything wrong with a file of settings."""
    found = _table_mistakes(values, _RULES, "")
    found += _table_mistakes(_subtable(values, "worker"), _WORKER, "worker.")
    found += _table_mistakes(_subtable(values, "review"), _REVIEW, "review.")
    found += _table_mistakes(_subtable(values, "simulated"), _SIMULATED, "simulated.")
    for name, target in _subtable(values, "aliases").items():
        found += _alias_mistakes(name, target)
    for name, value in _subtable(values, "providers").items():
        found += _provider_mistakes(name, value)
    for name, value in _subtable(values, "models").items():
        found += _model_mistakes(name, value)
    return found


def _table_mistakes(
    values: Mapping[str, Json], rules: Mapping[str, SettingRule], at: str
) -> list[SettingsMistake]:
    wrong = [
        SettingsMistake(f"{at}{name} must be {rule.wanted}, not {_quote_value(values[name])}")
        for name, rule in rules.items()
        if name in values and not rule.allows(values[name])
    ]
    return [*wrong, *_unknown_settings(values, tuple(rules), at)]


def _unknown_settings(
    values: Mapping[str, Json], known: Sequence[str], at: str
) -> Iterator[SettingsMistake]:
    for name in values:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"did you mean {at}{near[0]}?" if near else f"known: {', '.join(known)}"
            yield SettingsMistake(f"unknown setting {at}{name}", hint)


def _alias_mistakes(name: str, target: Json) -> Iterator[SettingsMistake]:
    if problem := model_url_problem(target):
        yield _with_prefix(f"aliases.{name} ", problem)
        return
    if not name or "/" in name:
        yield SettingsMistake(f'aliases."{name}": an alias has no slash', "a model has one")
    if not _is_model(target):
        yield SettingsMistake(
            f"aliases.{name} must be a model, as provider/model, not {_quote_value(target)}"
        )


def _provider_mistakes(name: str, value: Json) -> Iterator[SettingsMistake]:
    from quire.providers.vendors import VENDORS  # not for --help

    at = f"providers.{name}."
    if name not in VENDORS:
        yield from _unknown_settings({name: value}, tuple(VENDORS), "providers.")
    elif not isinstance(value, Mapping):
        yield SettingsMistake(f"providers.{name} must be a table, not {_quote_value(value)}")
    elif "key" in value:
        yield SettingsMistake(
            f"{at}key: a key does not belong in a file that is passed around",
            'name the variable that holds it (key_env = "…"), or its file (key_file = "…")',
        )
    else:
        yield from _table_mistakes(value, _PROVIDER, at)
        url = value.get("base_url")
        if isinstance(url, str) and (problem := url_problem(url)):
            yield _with_prefix(f"{at}base_url ", problem)
        yield from _header_mistakes(f"{at}headers", value.get("headers", {}))


def _header_mistakes(at: str, headers: Json) -> Iterator[SettingsMistake]:
    """What is wrong with headers; their values are shown to nobody."""
    if not isinstance(headers, Mapping):
        yield SettingsMistake(f"{at} must be a table of names and values")
        return
    for name, value in headers.items():
        if not _HEADER.fullmatch(name) or name.lower() in _OUR_HEADERS:
            yield SettingsMistake(f"{at}: {name!r} is no header that can be set")
        elif not isinstance(value, str) or not value.isascii() or not value.isprintable():
            yield SettingsMistake(f"{at}: the value of {name} must be a line of plain characters")


def _model_mistakes(name: str, value: Json) -> Iterator[SettingsMistake]:
    if problem := model_url_problem(name):
        yield _with_prefix(f'models."{name.partition("@")[0]}@…" ', problem)
    elif not _is_model(name):
        fix = 'write the whole name in quotes: [models."provider/model"]'
        yield SettingsMistake(f"models.{name} is no model", fix)
    elif not isinstance(value, Mapping):
        said = f'models."{name}" must be a table, not {_quote_value(value)}'
        yield SettingsMistake(said, models=(name,))
    else:
        for mistake in _model_table_mistakes(f'models."{name}".', value):
            yield mistake._replace(models=(name,))


def _model_table_mistakes(at: str, value: Mapping[str, Json]) -> Iterator[SettingsMistake]:
    yield from _table_mistakes(value, _MODEL, at)
    yield from _table_mistakes(_subtable(value, "limits"), _LIMITS, f"{at}limits.")
    yield from _table_mistakes(_subtable(value, "batch"), _PRICES, f"{at}batch.")
    url = value.get("url")
    if isinstance(url, str) and (problem := url_problem(url)):
        yield _with_prefix(f"{at}url ", problem)
    tiers = value.get("tiers")
    for item in tiers if isinstance(tiers, list) else ():
        if isinstance(item, Mapping):
            yield from _table_mistakes(item, _TIER, f"{at}tiers.")


def _with_prefix(at: str, mistake: SettingsMistake) -> SettingsMistake:
    return mistake._replace(message=at + mistake.message)


def _subtable(values: Mapping[str, Json], name: str) -> Mapping[str, Json]:
    return as_object(values.get(name))


def _quote_value(value: Json) -> str:
    shown = str(value).lower() if isinstance(value, bool) else repr(value)
    return shown if len(shown) <= 60 else shown[:59] + "…"


def _is_model(value: Json) -> bool:
    if not isinstance(value, str):
        return False
    provider, _, model = value.partition("/")
    return bool(provider and model)


def _number_or_nan(value: Json) -> float:
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


def _between_rule(least: float, most: float, wanted: str) -> SettingRule:
    return SettingRule(wanted, lambda value: least <= _number_or_nan(value) <= most)


def _whole_number_rule(least: int) -> SettingRule:
    return SettingRule(
        f"a whole number from {least} to {MOST_TOKENS:,}",
        lambda value: isinstance(value, int) and least <= _number_or_nan(value) <= MOST_TOKENS,
    )


def _choice_rule(choices: Sequence[str]) -> SettingRule:
    wanted = f"{', '.join(choices[:-1])} or {choices[-1]}"
    return SettingRule(wanted, lambda value: value in choices)


_TEXT = SettingRule(
    "a text that is not empty", lambda value: isinstance(value, str) and value != ""
)
_ANY_TEXT = SettingRule("a text", lambda value: isinstance(value, str))
_FLAG = SettingRule("true or false", lambda value: isinstance(value, bool))
_A_TABLE = SettingRule("a table", lambda value: isinstance(value, Mapping))
SECONDS = _between_rule(
    LEAST_SECONDS,
    MOST_SECONDS,
    f"a positive number of seconds, from {LEAST_SECONDS} to {MOST_SECONDS:,}",
)
_MONEY = _between_rule(0, HIGHEST_PRICE, f"dollars per million tokens, from 0 to {HIGHEST_PRICE:,}")
_BATCH_PRICE = "a part of the price, above 0 and up to 1, or a table of prices"

_RULES = {
    **dict.fromkeys(("ledger", "model", "workspace"), _ANY_TEXT),
    "durable": _FLAG,
    **dict.fromkeys(
        ("policy", "worker", "review", "simulated", "aliases", "providers", "models"), _A_TABLE
    ),
}
_WORKER = {"lease": SECONDS, "grace": SECONDS, "poll": SECONDS}
MOST_MINUTES = 24 * 60
_MINUTES = _between_rule(1, MOST_MINUTES, f"minutes, from 1 to {MOST_MINUTES:,}")
_REVIEW = {"lease": _MINUTES, "name": _TEXT}
_SIMULATED = {"faults": _ANY_TEXT}
_PROVIDER = {
    **dict.fromkeys(("base_url", "key_env", "key_file"), _TEXT),
    "api": _choice_rule(("responses", "chat")),
    **dict.fromkeys(("organization", "project", "location", "bucket"), _TEXT),
    "headers": SettingRule("a table", lambda value: True),  # see _header_mistakes
}
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_OUR_HEADERS = (
    *("host", "content-length", "content-type", "transfer-encoding", "connection"),
    *("accept-encoding", "content-encoding", "upgrade", "expect", "te"),
)
_PRICES = dict.fromkeys(("input", "output", "cached", "written", "written_long"), _MONEY)
_TIER = {"above": _whole_number_rule(1), **_PRICES}
_LIMITS = dict.fromkeys(("requests", "input", "output", "total", "enqueued"), _whole_number_rule(1))
_MODEL = {
    "like": SettingRule("a model, as provider/model", _is_model),
    **dict.fromkeys(("window", "max_output", "max_input"), _whole_number_rule(1)),
    **_PRICES,
    "batch": SettingRule(
        _BATCH_PRICE, lambda value: isinstance(value, Mapping) or 0 < _number_or_nan(value) <= 1
    ),
    "tiers": SettingRule(
        "a list of tables",
        lambda value: isinstance(value, list) and all(isinstance(x, Mapping) for x in value),
    ),
    **dict.fromkeys(("cache_minimum", "thinking", "dimensions"), _whole_number_rule(0)),
    "token_factor": _between_rule(0.1, 10, "a number from 0.1 to 10"),
    "structured": _choice_rule(tuple(StructuredOutput)),
    "marking": _choice_rule(tuple(CacheMarking)),
    "sampling": _FLAG,
    "embeds": _FLAG,
    "limits": _A_TABLE,
    "retires": SettingRule("a date, as 2027-01-31", _is_date),
    "note": _ANY_TEXT,
    **dict.fromkeys(("id", "url"), _TEXT),
}


FILE = "quire.toml"
DEFAULT_LEDGER = "quire.db"
DEFAULT_LEASE, DEFAULT_GRACE = 30.0, 10.0
DEFAULT_REVIEW_LEASE = 15.0

FurtherChecks = Callable[[Mapping[str, Json], Sequence[SettingsMistake]], list[SettingsMistake]]

_NO_POLICY = {"ledger"}  # QUIRE_LEDGER is where the ledger is, not how full its bodies are
_FLAT_NAMES = ("ledger", "model", "workspace", "durable")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What this installation was told, before any flag."""

    ledger: str
    model: str | None = None
    workspace: str = "local"
    durable: bool = True  # sync every commit to disk
    lease: float = DEFAULT_LEASE
    grace: float = DEFAULT_GRACE
    review_lease: float = DEFAULT_REVIEW_LEASE  # minutes that an item is one reviewer's
    reviewer: str = ""  # who reviews at this machine
    poll: float | None = None  # seconds between looks at a batch; None = as its vendor likes it
    faults: str = ""  # of the simulated model
    aliases: Mapping[str, str] = field(default_factory=dict)  # short names of models
    models: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)  # facts, by name
    providers: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    file_policy: Mapping[str, Json] = field(default_factory=dict)
    environment_policy: Mapping[str, Json] = field(default_factory=dict)
    workspace_policy: Mapping[str, Json] = field(default_factory=dict)  # which the ledger keeps
    sources: Mapping[str, str] = field(default_factory=dict)
    folder: Path = field(default_factory=Path)  # of quire.toml; paths in it start there


def read_settings(
    folder: Path,
    environment: Mapping[str, str],
    policy_names: tuple[str, ...],
    further: FurtherChecks = lambda table, found: [],
) -> Settings:
    """Read the nearest quire.toml and the environment; `policy_names` may hold old names too.

    `further` says what else is wrong with the file, so that all of its mistakes are told at once.
    """
    path = _find_file(folder)
    table = _read_file(path, further) if path else {}
    environment_values = _read_environment(environment, ("ledger", "model", "workspace"))
    flat = {name: value for name, value in table.items() if name in _FLAT_NAMES}
    values: dict[str, Any] = {**environment_values, **flat}
    sources = {name: "environment" for name in environment_values}
    sources |= {name: str(path) for name in values if name in table}
    ledger = values.get("ledger", DEFAULT_LEDGER)
    if path and "ledger" in table and "://" not in ledger:
        ledger = str(path.parent / ledger)
    worker = table.get("worker", {})
    return Settings(
        ledger=ledger,
        model=values.get("model"),
        workspace=values.get("workspace") or "local",
        durable=values.get("durable", True),
        lease=worker.get("lease") or _read_seconds("QUIRE_LEASE", environment, DEFAULT_LEASE),
        grace=worker.get("grace") or _read_seconds("QUIRE_GRACE", environment, DEFAULT_GRACE),
        **_read_review(table.get("review", {}), environment),
        poll=worker.get("poll") or _read_seconds("QUIRE_POLL", environment, 0.0) or None,
        faults=table.get("simulated", {}).get("faults")
        or environment.get("QUIRE_SIMULATED_FAULTS", ""),
        aliases=table.get("aliases", {}),
        models=table.get("models", {}),
        providers=table.get("providers", {}),
        file_policy=table.get("policy", {}),
        environment_policy=_read_environment(environment, set(policy_names) - _NO_POLICY),
        sources=sources,
        folder=path.parent if path else folder,
    )


def _read_review(table: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, Any]:
    reviewer = environment.get("QUIRE_REVIEWER", "").strip() or table.get("name", "")
    return {"reviewer": reviewer, "review_lease": table.get("lease", DEFAULT_REVIEW_LEASE)}


def _find_file(folder: Path) -> Path | None:
    paths = (place / FILE for place in (folder, *folder.parents))
    return next(filter(Path.is_file, paths), None)


def _read_file(path: Path, further: FurtherChecks) -> dict[str, Any]:
    """Read a file of settings, every value of the kind that its rule asks for."""
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:  # TOML and UTF-8 errors among them
        raise SettingsInvalid(f"{path}: {error}") from None
    except RecursionError:
        raise SettingsInvalid(f"{path}: brackets are nested too deep to be read") from None
    plain: dict[str, Any] = dates_as_text(table)
    found = settings_mistakes(plain)
    found += further(plain, found)
    if found:
        raise SettingsInvalid(*(_with_prefix(f"{path}: ", mistake) for mistake in found))
    return plain


def _read_environment(environment: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    found = {name: environment.get(f"QUIRE_{name.upper()}") for name in names}
    return {name: value for name, value in found.items() if value}


def _read_seconds(variable: str, environment: Mapping[str, str], default: float) -> float:
    text = environment.get(variable, "").strip()
    if not text:
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not SECONDS.allows(seconds):
        raise SettingsInvalid(f"environment: {variable} must be {SECONDS.wanted}, not {text!r}")
    return seconds


_ADDRESS = re.compile("@(http.*)", re.IGNORECASE | re.DOTALL)


def base_url(settings: Settings, provider: str, environment: Mapping[str, str]) -> str:
    """Where a provider is found: quire.toml over the environment; "" is where its vendor put it."""
    from quire.providers.vendors import vendor_facts  # not for --help

    configured = settings.providers.get(provider, {}).get("base_url")
    if isinstance(configured, str):
        return configured.rstrip("/")
    facts = vendor_facts(provider)
    for variable in facts.url_variables:
        address = environment.get(variable, "").strip()
        if address:
            url = _add_scheme(address, facts.listen_port) if facts.listen_port else address
            if problem := url_problem(url):
                said = f"environment: {variable} {problem.message}"
                raise AddressInvalid(said, fix=problem.fix)
            return url.rstrip("/")
    return ""


def url_problem(url: str) -> SettingsMistake | None:
    """What is wrong with an address, never repeating a key in it; follows its name."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # a port that is no number shows itself only here
    except ValueError:
        return SettingsMistake("is not an address", "write https://HOST/path")
    if "@" in parts.netloc:
        return SettingsMistake("holds a name or a key", "use key_env or key_file for that")
    if "?" in url or "#" in url:  # where keys stand too
        return SettingsMistake("must end with its path: without ? and #")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return SettingsMistake(f"must be an address like https://HOST/path, not {url!r}")
    return None


def model_url_problem(model: Json) -> SettingsMistake | None:
    """What is wrong with the address in a model's name, if it has one and something is."""
    name = model if isinstance(model, str) else ""
    found = _ADDRESS.search(name)
    return url_problem(found[1]) if found else None


def _add_scheme(host: str, usual_port: int) -> str:
    """Make an address of where a server is told to listen: 0.0.0.0, :8080, box:8080."""
    url = host if "://" in host else f"http://{host}"
    try:
        parts = urlsplit(url)
        port = parts.port or (None if "://" in host else usual_port)
    except ValueError:
        return url
    name = parts.hostname or "127.0.0.1"
    name = "127.0.0.1" if name == "0.0.0.0" else name  # noqa: S104 - where it listens, not we
    shown = f"[{name}]" if ":" in name else name
    return f"{parts.scheme}://{shown}{f':{port}' if port else ''}{parts.path}"
