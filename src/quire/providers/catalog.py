"""The catalog: the models we know, their windows, their limits and their prices."""

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from quire.domain.data import JsonObject
from quire.domain.errors import SettingsInvalid, SettingsMistake, UnknownModel, with_fix
from quire.domain.models import ModelFacts
from quire.providers.model_facts import (
    COMPATIBLE,
    facts_from_statement,
    facts_like,
    is_own_machine,
    model_address,
    provider_of,
)
from quire.providers.model_names import full_name, likely_vendor, spelling, split_date
from quire.providers.vendors import VENDORS, vendor_facts

_FILE: Mapping[str, Any] = tomllib.loads(
    files("quire.providers").joinpath("catalog.toml").read_text("utf-8")
)

PRICED_ON: str = _FILE["made"]  # the day of its prices
UNPRICED: Mapping[str, str] = MappingProxyType(_FILE["unpriced"])  # a name, and why
RETIRED: Mapping[str, str] = MappingProxyType(_FILE["retired"])  # a name, and since when

_NUMBERS = re.compile(r"\d+")
_BARE_ADDRESS = re.compile(  # of a server, without what begins it
    r"(?:[\w-]+(?:\.[\w-]+)*:\d+|localhost|[\w-]+(?:\.[\w-]+)+)(?:/\S*)?"
)
_NO_MODELS: Mapping[str, ModelFacts] = MappingProxyType({})
_NO_ALIASES: Mapping[str, str] = MappingProxyType({})


def facts_from_table(
    name: str, table: JsonObject, known: Mapping[str, ModelFacts] | None = None
) -> ModelFacts:
    """Make facts of a table of quire.toml, over what `known` (the catalog) says of that name.

    `like` names the model whose facts hold where the table says nothing; without it, those of the
    same name do, and for a new name of a known provider only what is usual there.
    """
    known = CATALOG if known is None else known
    like = table.get("like")
    start = known.get(name) or _derive_facts(name, known)
    if isinstance(like, str):
        if like not in known:
            hint, fix = _hint(like, known)
            raise SettingsInvalid(f'[models."{name}"]: like = "{like}": {hint}', fix=fix)
        start = facts_like(known[like], name)
    if start is None:
        table = {**_FILE["defaults"].get(provider_of(name), {}), **table}
    stated = {key: value for key, value in table.items() if key != "like"}
    return facts_from_statement(name, stated, start)


def facts_from_tables(tables: Mapping[str, JsonObject]) -> dict[str, ModelFacts]:
    """Make facts of all of quire.toml's tables, those that others are like first."""
    known = dict(CATALOG)
    waiting = dict(tables)
    made: dict[str, ModelFacts] = {}
    while waiting:
        ready = [name for name, table in waiting.items() if _is_ready(name, table, waiting)]
        if not ready:
            circle = ", ".join(f'"{name}"' for name in waiting)
            said = f"[models] in quire.toml: {circle} are like each other in a ring"
            raise SettingsInvalid(SettingsMistake(said, models=tuple(waiting)))
        for name in ready:
            made[name] = known[name] = _own_facts(name, waiting.pop(name), known)
    return {name: made[name] for name in tables}


def _own_facts(name: str, table: JsonObject, known: Mapping[str, ModelFacts]) -> ModelFacts:
    try:
        return facts_from_table(name, table, known)
    except SettingsInvalid as error:
        named = (mistake._replace(models=(name,)) for mistake in error.mistakes)
        raise SettingsInvalid(*named) from error


def find_model(
    name: str,
    extra: Mapping[str, ModelFacts] = _NO_MODELS,
    aliases: Mapping[str, str] = _NO_ALIASES,
) -> ModelFacts:
    """Look a model up, in the user's own facts first; UnknownModel says what to type instead.

    A name that means one model is taken however it is written.
    """
    known = {**CATALOG, **extra}
    wanted = aliases.get(name, name)
    for called in (wanted, full_name(wanted, known) or wanted):
        facts = known.get(called) or _derive_facts(called, known)
        if facts is not None:
            return facts
    raise _unknown_model(wanted, known, aliases)


def _is_ready(name: str, table: JsonObject, waiting: Mapping[str, object]) -> bool:
    like = table.get("like")
    return like == name or like not in waiting


def _derive_facts(name: str, known: Mapping[str, ModelFacts]) -> ModelFacts | None:
    """What a name says of itself: whose model it is elsewhere, its family, or one's own machine."""
    provider, _, rest = name.partition("/")
    vendor = vendor_facts(provider)
    if is_own_machine(name):
        return facts_from_statement(name, _FILE["own_machine"], None)
    if vendor.statement_needed:
        return None
    twin = known.get(f"{vendor.same_models_as}/{rest}")
    return facts_like(twin, name) if twin is not None else _facts_of_family(name, known)


def _facts_of_family(name: str, known: Mapping[str, ModelFacts]) -> ModelFacts | None:
    """The facts of a dated name, which is sent as it is written."""
    family, date = split_date(name)
    if not date or name in UNPRICED:
        return None
    facts = known.get(family) or _derive_facts(family, known)
    return facts and replace(facts, name=name, wire=replace(facts.wire, id=""))


def _unknown_model(
    name: str, known: Mapping[str, ModelFacts], aliases: Mapping[str, str]
) -> UnknownModel:
    listed = full_name(name, [*RETIRED, *UNPRICED]) or name
    family = split_date(listed).family
    if family in RETIRED:
        others = f"`quire models {provider_of(family)}` lists others"
        return UnknownModel(f"{listed} was shut down on {RETIRED[family]}", others)
    why = UNPRICED.get(listed) or UNPRICED.get(family)
    if why is not None:
        said = f"no price is known of {listed} ({why})"
        return UnknownModel(said, _statement_template(listed))
    names = [*known, *UNPRICED, *aliases]
    vendor = provider_of(name) if "/" in name else likely_vendor(name, CATALOG)
    if vendor not in VENDORS or vendor_facts(vendor).keyless:
        return UnknownModel(f"no model is called {name!r}", with_fix(*_hint(name, names)))
    full = name if "/" in name else f"{vendor}/{name}"
    model, _, address = full.rpartition("@")
    if vendor == COMPATIBLE and model and _BARE_ADDRESS.fullmatch(address):
        fix = f"write {model}@http://{address}, or https://"
        return UnknownModel(f"{full!r} names no server: an address begins with http://", fix)
    near = [] if vendor_facts(vendor).statement_needed else _misspelled_names(full, names)
    if near:
        return UnknownModel(f"no model is called {name!r}", f"did you mean {' or '.join(near)}?")
    kin = _longer_or_shorter_names(full, names)
    asked = f"did you mean {' or '.join(kin)}? if it is new, " if kin else ""
    return UnknownModel(f"nothing is known of {full}", asked + _statement_template(full))


def _longer_or_shorter_names(name: str, known: Collection[str]) -> list[str]:
    """Names of which this one is the beginning, or that begin it: `haiku-5` for `haiku-5-5`."""
    longer = [text for text in known if text.startswith(f"{name}-")]
    shorter = [text for text in known if name.startswith(f"{text}-")]
    return [*sorted(shorter, key=len)[-1:], *sorted(longer, key=len)][:3]


def _misspelled_names(name: str, known: Collection[str]) -> list[str]:
    """Names of which this one may be a slip; other numbers are another model, perhaps a new one."""
    model = name.partition("/")[2].lower()
    ends = [text for text in known if text.lower().rpartition("/")[2] == model]
    numbers = _NUMBERS.findall(model)
    same = [text for text in known if _NUMBERS.findall(text) == numbers]
    return ends or get_close_matches(name.lower(), same, n=3, cutoff=0.9)


def _hint(name: str, known: Iterable[str]) -> tuple[str, str]:
    """What may have been meant by a name that nobody has, and what else can be done."""
    near = _nearest_names(name, list(known))
    if near:
        return f"did you mean {' or '.join(near)}?", ""
    if "/" not in name:
        return "a name is provider/model", "`quire models` lists those that are known"
    if provider_of(name) not in VENDORS:
        others = "any server that speaks like OpenAI's is compatible/MODEL@URL"
        return f"providers are {', '.join(VENDORS)}", others
    return "`quire models` lists those that are known", f"else {_statement_template(name)}"


def _nearest_names(name: str, known: list[str]) -> list[str]:
    """Names that end alike, else those written nearly alike, else those that contain it."""
    bare = name.rpartition("/")[2].lower()
    ends = {text.rpartition("/")[2].lower(): text for text in known}
    near = [text for text in known if text.rpartition("/")[2].lower() == bare]
    near = near or get_close_matches(name.lower(), known, n=3)
    near = near or [ends[match] for match in get_close_matches(bare, ends, n=3, cutoff=0.75)]
    return near or [text for text in known if len(bare) >= 3 and bare in text.lower()][:3]


def _statement_template(name: str) -> str:
    """What states a model; it names no figure, so that none is a guess."""
    called = name
    if provider_of(name) == COMPATIBLE and not model_address(name).url:
        called = f"{name}@http://HOST/v1"
    own = spelling((model_address(name).id or name).rpartition("/")[2])
    twins = (text for text in CATALOG if spelling(text.rpartition("/")[2]) == own)
    needed = vendor_facts(provider_of(name)).statement_needed
    twin = next(twins, "openai/gpt-5-mini" if needed else "")
    shorter = f', or like = "{twin}" where it is that model elsewhere' if twin else ""
    return (
        f'state it in quire.toml under [models."{called}"]: window = ? and max_output = ? (tokens),'
        f" input = ? and output = ? (dollars per million tokens){shorter}"
    )


def _read_models() -> dict[str, ModelFacts]:
    defaults = _FILE["defaults"]
    return {
        name: facts_from_statement(name, {**defaults.get(provider_of(name), {}), **table}, None)
        for name, table in _FILE["models"].items()
    }


CATALOG: Mapping[str, ModelFacts] = MappingProxyType(_read_models())
