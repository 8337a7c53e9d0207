"""Checks of quire.toml that need the policy and the model catalog."""

from collections.abc import Mapping, Sequence

from quire.domain.data import Json, JsonObject
from quire.domain.errors import SettingsInvalid, SettingsMistake
from quire.domain.models import ModelFacts
from quire.providers.catalog import facts_from_tables
from quire.recipes.policy_layers import resolve_policy

Tables = Mapping[str, JsonObject]


def find_mistakes(
    settings: Mapping[str, Json], found: Sequence[SettingsMistake]
) -> list[SettingsMistake]:
    """What else is wrong with a file of settings, beside what was found in it already.

    A model that cannot be used is no reason to refuse the whole file: it is told where something
    else is wrong too, and else when a model is asked for.
    """
    more = [*_policy_mistakes(settings.get("policy"))]
    models = settings.get("models")
    if (found or more) and isinstance(models, Mapping):
        tables = {name: table for name, table in models.items() if isinstance(table, Mapping)}
        reported = [name for mistake in found for name in mistake.models]
        more += _model_mistakes(_unaffected_models(tables, reported))
    return more


def own_models(tables: Tables) -> dict[str, ModelFacts]:
    """The facts that quire.toml states of models, or all that is wrong with them."""
    found = _model_mistakes(tables)
    if found:
        raise SettingsInvalid(*found)
    return facts_from_tables(tables)


def _policy_mistakes(policy: Json) -> Sequence[SettingsMistake]:
    try:
        resolve_policy([("policy", policy if isinstance(policy, Mapping) else {})])
    except SettingsInvalid as error:
        return error.mistakes
    return ()


def _model_mistakes(tables: Tables) -> list[SettingsMistake]:
    """One mistake after the other, each time without the models that it spoils."""
    found: list[SettingsMistake] = []
    while tables:
        try:
            facts_from_tables(tables)
        except SettingsInvalid as error:
            found += error.mistakes
            spoilt = found[-1].models
            tables = _unaffected_models(tables, spoilt) if spoilt else {}
        else:
            break
    return found


def _unaffected_models(tables: Tables, spoilt: Sequence[str]) -> Tables:
    """The models that are neither spoilt nor like one that is."""
    bad = set(spoilt)
    while more := {name for name in tables if tables[name].get("like") in bad} - bad:
        bad |= more
    return {name: table for name, table in tables.items() if name not in bad}
