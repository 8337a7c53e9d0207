"""The catalog: the models we know, their windows, their limits and their prices."""

import tomllib
from collections.abc import Iterable, Mapping
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
from quire.providers.vendors import VENDORS, vendor_facts

_FILE: Mapping[str, Any] = tomllib.loads(
    files("quire.providers").joinpath("catalog.toml").read_text("utf-8")
)

PRICED_ON: str = _FILE["made"]  # the day of its prices
UNPRICED: Mapping[str, str] = MappingProxyType(_FILE["unpriced"])  # a name, and why
RETIRED: Mapping[str, str] = MappingProxyType(_FILE["retired"])  # a name, and since when

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
    """Look a model up, in the user's own facts first; UnknownModel says what to type instead."""
    known = {**CATALOG, **extra}
    wanted = aliases.get(name, name)
    facts = known.get(wanted) or _derive_facts(wanted, known)
    if facts is None:
        raise _unknown_model(wanted, known, aliases)
    return facts


def _is_ready(name: str, table: JsonObject, waiting: Mapping[str, object]) -> bool:
    like = table.get("like")
    return like == name or like not in waiting


def _derive_facts(name: str, known: Mapping[str, ModelFacts]) -> ModelFacts | None:
    """What a name says of itself: a model of Google's in Vertex, or one on one's own machine."""
    provider, _, rest = name.partition("/")
    vendor = vendor_facts(provider)
    twin = None if vendor.statement_needed else known.get(f"{vendor.same_models_as}/{rest}")
    if twin is not None:
        return facts_like(twin, name)
    return facts_from_statement(name, _FILE["own_machine"], None) if is_own_machine(name) else None


def _unknown_model(
    name: str, known: Mapping[str, ModelFacts], aliases: Mapping[str, str]
) -> UnknownModel:
    provider = provider_of(name)
    if name in RETIRED:
        said, fix = f"was shut down on {RETIRED[name]}", f"`quire models {provider}` lists others"
        return UnknownModel(f"{name} {said}", fix)
    if name in UNPRICED:
        said = f"no price is known of {name} ({UNPRICED[name]})"
        return UnknownModel(said, _statement_template(name))
    if vendor_facts(provider).statement_needed and "/" in name:
        return UnknownModel(f"nothing is known of {name}", _statement_template(name))
    hint = with_fix(*_hint(name, [*known, *UNPRICED, *aliases]))
    return UnknownModel(f"no model is called {name!r}", hint)


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
    near = [ends[bare]] if bare in ends else []
    near = near or get_close_matches(name.lower(), known, n=3)
    near = near or [ends[match] for match in get_close_matches(bare, ends, n=3, cutoff=0.75)]
    return near or [text for text in known if len(bare) >= 3 and bare in text.lower()][:3]


def _statement_template(name: str) -> str:
    """The lines that state a model; unfilled they are refused, so that no figure is a guess."""
    called = name
    if provider_of(name) == COMPATIBLE and not model_address(name).url:
        called = f"{name}@http://HOST/v1"
    own = (model_address(name).id or name).rpartition("/")[2]
    twin = next((text for text in CATALOG if text.endswith(f"/{own}")), "openai/gpt-5-mini")
    return (
        "state it in quire.toml, for example:\n"
        f'  [models."{called}"]\n'
        "  window = ?       # tokens, input and output together\n"
        "  max_output = ?   # tokens\n"
        "  input = ?        # dollars per million tokens\n"
        "  output = ?\n"
        f'If it is a model of the catalog elsewhere, one line does instead: like = "{twin}"'
    )


def _read_models() -> dict[str, ModelFacts]:
    defaults = _FILE["defaults"]
    return {
        name: facts_from_statement(name, {**defaults.get(provider_of(name), {}), **table}, None)
        for name, table in _FILE["models"].items()
    }


CATALOG: Mapping[str, ModelFacts] = MappingProxyType(_read_models())
