"""Recipes and schemas: what is asked of every subject, checked before anything is spent."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from quire.domain.data import Json, JsonObject
from quire.domain.models import Params

DEFAULT_INSTRUCTIONS = "Extract the requested fields from each block of the document."
DEFAULT_PROMPT = "Fill in the fields for each block below."


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """A user's schema: its top-level properties are the columns of the result."""

    ref: str  # the short name people type
    uid: str
    body: JsonObject  # the whole file as given, prompt_config included

    @property
    def properties(self) -> Mapping[str, JsonObject]:
        """The fields, by name."""
        return self.body["properties"]  # type: ignore[return-value]  # checked at load

    @property
    def prompt_config(self) -> JsonObject:
        """What the schema says about how to ask for it."""
        return self.body.get("prompt_config") or {}  # type: ignore[return-value]  # checked at load

    @property
    def record_schema(self) -> dict[str, Json]:
        """The plain JSON Schema that one task's data must satisfy."""
        return {key: value for key, value in self.body.items() if key != "prompt_config"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One step of a recipe: what a task is about, how it is asked, what its answer must satisfy."""

    name: str
    about: str  # the grouping
    schema: Schema
    instructions: str
    prompt: str
    params: Params
    gate: str = "json"
    max_tokens_per_block: int | None = None
    max_batch_size: int | None = None  # the schema's own ceiling on tasks per call


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A versioned set of stages; the spine has the one-stage kind."""

    name: str
    stages: tuple[Stage, ...]
    facts: Mapping[str, Json] = field(default_factory=dict)
