"""Policy layers: settings from several places become one policy, each value with its layer."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import NamedTuple

from quire.domain.data import Json, json_or_text
from quire.domain.errors import SettingsInvalid, SettingsMistake
from quire.domain.policy import Policy, SourcedPolicy
from quire.domain.recipes import Schema
from quire.planning.routing import PACED
from quire.recipes.setting_rules import (
    POLICY_ALIASES,
    POLICY_RULES,
    PROBED,
    nearest_name,
    parse_seconds,
)

ENVIRONMENT = "environment"  # the one layer whose values are all text
_SWITCHES: dict[str, Json] = {"on": True, "off": False, "auto": True}
_OF_THE_CALL = ("temperature", "effort")  # a stage has these among its params
_OF_THE_RUN = ("completion_mode", "deadline", "limits", "review")
_FRACTIONS = ("call_timeout", "temperature", "batch_wait")


class _Setting(NamedTuple):
    name: str
    value: Json
    mistake: SettingsMistake | None


def resolve_policy(layers: Sequence[tuple[str, Mapping[str, Json]]]) -> SourcedPolicy:
    """Merge layers, the most specific first; None in a layer means not given.

    Every layer is checked in full, also where a more specific one decides.
    """
    values: dict[str, Json] = {}
    sources: dict[str, str] = {}
    mistakes: list[SettingsMistake] = []
    for layer, given in layers:
        for setting in _read_layer(layer, given):
            if setting.mistake:
                said = f"{layer}: {setting.mistake.message}"
                mistakes.append(setting.mistake._replace(message=said))
            elif setting.name not in values:
                values[setting.name] = setting.value
                sources[setting.name] = layer
    if mistakes:
        raise SettingsInvalid(*mistakes)
    probed = values.get("pack_size") == PROBED
    if probed:
        del values["pack_size"]  # whoever can look into the ledger puts the number there
    return SourcedPolicy(policy=_make_policy(values), sources=sources, probed=probed)


def stage_layer(given: Mapping[str, Json]) -> tuple[dict[str, Json], list[tuple[str, str]]]:
    """Read a stage's own policy: the values as they are meant, and each mistake with its key."""
    values: dict[str, Json] = {}
    mistakes: list[tuple[str, str]] = []
    for key, setting in zip(
        (name for name in given if given[name] is not None), _read_layer("", given), strict=True
    ):
        if mistake := setting.mistake or _misplaced_message(key, setting):
            mistakes.append((key, str(mistake)))
        else:
            values[setting.name] = setting.value
    return values, mistakes


def _misplaced_message(key: str, setting: _Setting) -> str:
    """Why a value that is right has no place in a stage's policy; "" where it has."""
    if setting.name in _OF_THE_CALL:
        return f"{key} belongs into the stage's params"
    if setting.name in _OF_THE_RUN:
        return f"{key} is for a whole run, not for one stage: see `quire run --help`"
    if (setting.name, setting.value) == ("pack_size", PROBED):
        return f'{key} = "{PROBED}" is for a whole run, not for one stage'
    if setting.name == "route" and setting.value != PACED:
        return f'{key}: a stage may only be "{PACED}"; how the others travel is the run\'s to say'
    return ""


def schema_layer(schema: Schema) -> dict[str, Json]:
    """Take the policy's part of what a schema says in its prompt_config."""
    names = {*POLICY_RULES, *POLICY_ALIASES}
    return {name: value for name, value in schema.prompt_config.items() if name in names}


def policy_from_json(body: Mapping[str, Json]) -> SourcedPolicy:
    """Read what `SourcedPolicy.as_json` wrote; values that this version lacks are left out."""
    values: dict[str, Json] = {}
    sources: dict[str, str] = {}
    for field in fields(Policy):
        entry = body.get(field.name)
        if isinstance(entry, Mapping):
            values[field.name] = entry["value"]
            if entry["source"] != "built-in":
                sources[field.name] = str(entry["source"])
    return SourcedPolicy(policy=_make_policy(values), sources=sources)


def _read_layer(layer: str, given: Mapping[str, Json]) -> Iterator[_Setting]:
    seen: dict[str, str] = {}
    for key, raw in given.items():
        value = _parse_text(raw) if layer == ENVIRONMENT and isinstance(raw, str) else raw
        if value is None:
            continue
        mistake: SettingsMistake | None
        name = POLICY_ALIASES.get(key, key)
        rule = POLICY_RULES.get(name)
        if rule is None:
            hint = nearest_name(key, (*POLICY_RULES, *POLICY_ALIASES))
            mistake = SettingsMistake(f"{key} is not known", hint)
        elif name in seen:
            mistake = SettingsMistake(f"{key} says the same as {seen[name]}", "give one of them")
        elif not rule.allows(value):
            quoted = json.dumps(raw, default=str)[:60]
            mistake = SettingsMistake(f"{key} must be {rule.wanted}, not {quoted}")
        else:
            mistake = None
        seen[name] = key
        yield _Setting(name, _normalise_value(name, value), mistake)


def _normalise_value(name: str, value: Json) -> Json:
    if name in ("packing", "reuse") and isinstance(value, str):
        return _SWITCHES.get(value)
    if name == "caching" and isinstance(value, bool):
        return "auto" if value else "off"
    if name == "deadline":
        return parse_seconds(value)
    if name in _FRACTIONS and isinstance(value, int):
        return float(value)
    return value


def _parse_text(text: str) -> Json:
    """Read an environment variable: a number or true/false where it looks like one."""
    bare = text.strip()
    value = json_or_text(bare.lower())
    return value if isinstance(value, (bool, int, float)) else bare or None


def _make_policy(values: Mapping[str, Json]) -> Policy:
    return Policy(**values)  # type: ignore[arg-type]  # each value was checked by its rule
