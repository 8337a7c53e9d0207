"""Recipes and schemas: what is asked of every subject, checked before anything is spent."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from quire.domain.data import Json, JsonObject
from quire.domain.models import Params
from quire.domain.quotes import QuotedField, asked_schema, quoted_fields

DEFAULT_INSTRUCTIONS = "Extract the requested fields from each block of the document."
DEFAULT_PROMPT = "Fill in the fields for each block below."
ITEM_PROMPT = "Carry out the task of each block below."

RECORD, GATE = "record", "gate"  # what a critic's word does: it is kept, or it decides
SAME = "same"  # the model whose result a stage is about
ALL_MODELS = "all"  # every model of the run
EVERY_STAGE = "*"  # in own_model: all stages of which that makes sense
EACH_MODEL = "each_model"  # the grouping that asks each model once
EACH_BLOCK, EACH_DOCUMENT = "each_block", "each_document"
EACH_SECTION, EACH_PAGE = "each_section", "each_page"  # groupings that divide documents
SPANS = (EACH_SECTION, EACH_PAGE)
# What people call the things that a schema is asked of, by grouping.
UNITS = {
    EACH_BLOCK: "block",
    EACH_DOCUMENT: "document",
    EACH_SECTION: "section",
    EACH_PAGE: "page",
}
RUN_TITLE = "title"  # of a recipe's facts: what its run is called, where others bear its name
EXTRACTION = "extract"  # the recipe that a schema alone is
BLOCK, LEAVE_OUT = "block", "leave_out"  # what an input does that came to nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """A user's schema: its top-level properties are the columns of the result."""

    ref: str  # the short name people type
    uid: str
    body: JsonObject  # the whole file as given, prompt_config included
    version: int = 1  # of those that were kept under its name

    @property
    def label(self) -> str:
        """What people read and type: of later versions with their number, as in ticket@2."""
        return self.ref if self.version == 1 else f"{self.ref}@{self.version}"

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

    @property
    def quoted_fields(self) -> tuple[QuotedField, ...]:
        """The fields that ask for words which prove them."""
        return quoted_fields(self.body)

    @property
    def asked_schema(self) -> dict[str, Json]:
        """The plain JSON Schema of one task's answer: its data, and the quotes asked for."""
        return asked_schema(self.record_schema)


@dataclass(frozen=True, slots=True)
class GateUse:
    """One gate of a stage, with its parameters; the first reads the answer, the rest judge data."""

    name: str
    params: JsonObject = field(default_factory=dict)


JSON_GATE = GateUse("json")


class HistoryEntry(NamedTuple):
    """Something that was said before the prompt: a template, or the results of a stage."""

    role: str  # user or assistant
    content: str = ""
    inputs: str = ""  # the stage, each of whose results is a turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One step of a recipe: what a task is about, how it is asked, what its answer must satisfy."""

    name: str
    about: str  # the grouping
    schema: Schema | None  # None: the answer is text
    instructions: str  # as a template it knows the parameters alone, so that calls share it
    prompt: str  # as a template that names the subject it is rendered for each task
    params: Params
    gates: tuple[GateUse, ...] = (JSON_GATE,)
    needs: tuple[str, ...] = ()  # stages whose results the prompt may use
    of: str = ""  # the stage whose results it is about, where it is about results
    over: str = ""  # the named input it is about, where it is about documents; "" = all
    samples: int = 1  # independent answers to the same question
    samples_parameter: str = ""  # the parameter that says how many
    critic: str = ""  # record or gate: it judges the results of `of`; "" = it is no critic
    accepts: str = ""  # of a critic that decides: an expression over its `answer`
    models: tuple[str, ...] = ()  # who is asked, each on its own; none: the run's model
    all_models: bool = False  # all of the run's: an order names them
    own_model: tuple[str, ...] = ()  # stages of whose results it reads only its own model's
    missing: str = ""  # what a failed input does: block or leave_out; "" = as its grouping does
    policy: Mapping[str, Json] = field(default_factory=dict)  # in the place of the run's
    settings: Mapping[str, Json] = field(default_factory=dict)  # what its grouping is told
    relevance: Mapping[str, float] = field(default_factory=dict)  # of what it shows: 0 to 1, else 1
    history: tuple[HistoryEntry, ...] = ()  # what was said before the prompt
    templated: bool = False  # instructions and prompt are templates; else they are sent as they are
    prompt_in_items: bool = False  # as it is asked: each item holds its own prompt; never stored
    max_tokens_per_block: int | None = None
    max_batch_size: int | None = None  # the schema's own ceiling on tasks per call

    @property
    def record(self) -> Schema:
        """The schema of its records; only stages that are answered by records have one."""
        assert self.schema is not None
        return self.schema

    @property
    def asks_all(self) -> bool:
        """Whether it asks every model of the run; `each_model` does unless it names some."""
        return self.all_models or (self.about == EACH_MODEL and not self.models)

    @property
    def is_sampled(self) -> bool:
        """Whether a model may be asked several times about one thing."""
        return self.samples > 1 or bool(self.samples_parameter)

    @property
    def may_be_several(self) -> bool:
        """Whether one thing may have several results of it: how many is chosen with the order."""
        several = self.is_sampled or self.asks_all or len(self.models) > 1
        return several or self.about in SPANS

    @property
    def upstream(self) -> tuple[str, ...]:
        """Every stage whose results it reads, the one it is about first."""
        return tuple(dict.fromkeys([*([self.of] if self.of else []), *self.needs]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A versioned graph of stages, each after all it needs, with its parameters given."""

    name: str
    stages: tuple[Stage, ...]
    version: str = "1"
    description: str = ""
    parameters: Mapping[str, Json] = field(default_factory=dict)  # by name, defaults filled in
    inputs: tuple[str, ...] = ()  # names of sets of documents; none: there is one, without a name
    attach: str = ""  # the input that holds what is attached to an order, or nothing
    facts: Mapping[str, Json] = field(default_factory=dict)

    @property
    def is_single_schema(self) -> bool:
        """Whether it is no more than a schema: people see blocks then, and not tasks of stages."""
        only = self.stages[0]
        asked = only.about == EACH_BLOCK or (only.about in UNITS and self.name == EXTRACTION)
        return len(self.stages) == 1 and asked and only.schema is not None and not only.templated

    @property
    def unit(self) -> str:
        """What people count: what a schema is asked of, or a recipe's tasks."""
        return UNITS[self.stages[0].about] if self.is_single_schema else "task"

    def critics_of(self, name: str) -> tuple[Stage, ...]:
        """The stages that judge the results of this one."""
        return tuple(stage for stage in self.stages if stage.critic and stage.of == name)
