"""Ordering: what a caller typed becomes an Order, every mistake found before anything is spent."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quire.domain.data import Json
from quire.domain.errors import Conflict, NotFound, UnknownModel, UsageError
from quire.domain.models import ModelFacts, Params
from quire.domain.policy import SourcedPolicy
from quire.domain.recipes import Recipe, Schema
from quire.engine.mistakes import own_models
from quire.ledger.ledger import Transaction
from quire.plan.routing import with_usual_route
from quire.providers.catalog import find_model
from quire.providers.registry import NAMES
from quire.recipes.classes import schema_of
from quire.recipes.extracting import extract
from quire.recipes.policies import resolve, schema_layer
from quire.recipes.schemas import load_schema, read_schema
from quire.settings import Settings

PAST_RUNS = 50  # searched for answers to the same question


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What is to be asked, of whom, and how it may spend."""

    recipe: Recipe
    facts: ModelFacts
    policy: SourcedPolicy


def ask(settings: Settings, schema: Schema, model: str | None, told: Mapping[str, Json]) -> Ask:
    """Resolve model and policy: flag over schema over quire.toml over environment over built-in."""
    flags = {name: value for name, value in told.items() if value is not None}
    policy = resolve(
        [
            ("flag", flags),
            ("schema", schema_layer(schema)),
            ("quire.toml", settings.file_policy),
            ("environment", settings.environment_policy),
        ]
    )
    wanted = model or schema.prompt_config.get("model") or settings.model
    if not isinstance(wanted, str):
        raise UsageError("no model: give --model, or set `model` in quire.toml")
    params = Params(temperature=policy.policy.temperature, effort=policy.policy.effort)
    facts = find_model(wanted, own_models(settings.models), settings.aliases)
    if facts.provider not in NAMES:
        raise UnknownModel(
            f"nobody answers for {facts.provider}/…; there are {', '.join(NAMES)};"
            " a server like OpenAI's is called compatible/MODEL@URL"
        )
    recipe = extract(schema, params)
    check_params(facts, recipe.stages[0].params)
    return Ask(recipe=recipe, facts=facts, policy=with_usual_route(policy, facts))


def check_params(facts: ModelFacts, params: Params) -> None:
    """Refuse what the model would refuse, before anything is sent."""
    refused = [name for name in ("temperature", "top_p") if getattr(params, name) is not None]
    if refused and not facts.wire.sampling:
        raise UsageError(f"{facts.name} takes no {' and no '.join(refused)}; leave it out")


def read_schema_source(source: "str | Path | Mapping[str, Any] | type", ref: str | None) -> Schema:
    """Read a schema from a file, a mapping, or a Pydantic class."""
    if isinstance(source, Mapping):
        return load_schema(dict(source), name=ref or "schema", ref=ref)
    if isinstance(source, type):
        return schema_of(source, ref=ref)  # type: ignore[arg-type]  # refuses other classes itself
    try:
        text = Path(source).read_bytes()
    except OSError as error:
        raise UsageError(f"{source}: {error.strerror}") from None
    return read_schema(text, os.fspath(source), ref)


def find_schema(tx: Transaction, name: str) -> Schema:
    """A kept schema by its name, or by the start of its fingerprint."""
    found = tx.schemas.by_ref(name)
    if found is not None:
        return found
    known = tx.schemas.all()
    alike = [each for each in known if len(name) >= 6 and each.uid.startswith(name)]
    if len(alike) == 1:
        return alike[0]
    names = ", ".join(each.ref for each in known) or "none yet; `quire schema add FILE` keeps one"
    raise NotFound(f"there is no schema {name!r}; known: {names}")


def keep_schema(tx: Transaction, schema: Schema) -> Schema | None:
    """Check a schema against those kept; returns the kept one if it is the same."""
    same_name = tx.schemas.by_ref(schema.ref)
    if same_name is not None:
        if same_name.uid == schema.uid:
            return same_name
        raise Conflict(
            f"schema {schema.ref!r} is kept with other content; schemas never change, so add this"
            f" one under another name: --ref {schema.ref}_v2"
        )
    same_body = tx.schemas.by_uid(schema.uid)
    if same_body is not None:
        raise Conflict(f"this schema is kept already, as {same_body.ref!r}")
    return None
