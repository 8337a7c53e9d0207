"""Stage tables: the tables of a recipe file become stages, as far as they can be understood."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from quire.domain.data import Json, as_object
from quire.domain.errors import Mistake, SchemaInvalid
from quire.domain.models import Params
from quire.domain.recipes import (
    ALL_MODELS,
    BLOCK,
    DEFAULT_INSTRUCTIONS,
    DEFAULT_PROMPT,
    EVERY_STAGE,
    GATE,
    JSON_GATE,
    LEAVE_OUT,
    RECORD,
    GateUse,
    HistoryEntry,
    Schema,
    Stage,
)
from quire.domain.requests import Role
from quire.recipes.policy_layers import schema_layer, stage_layer
from quire.recipes.recipe_parameters import SAMPLES_RULE, parameter_name
from quire.recipes.recipe_problems import KeyPath, RecipeProblem, rule_problems
from quire.recipes.setting_rules import (
    PARAM_RULES,
    TEXT,
    Rule,
    one_of,
    or_true,
    or_word,
    whole_number_rule,
)
from quire.recipes.user_schemas import load_schema, read_schema

ReadFile = Callable[[str], bytes]  # a file by its path from the recipe's folder

_TABLE = Rule(wanted="a table", allows=lambda value: isinstance(value, Mapping))
_TEXTS = Rule(
    wanted="a list of texts",
    allows=lambda value: isinstance(value, list) and all(map(TEXT.allows, value)),
)
_SCHEMA = Rule(
    wanted="a table, or the path of a schema's file",
    allows=lambda value: TEXT.allows(value) or isinstance(value, Mapping),
)
_GATES = Rule(
    wanted="a list of gates, each a name or a table with a name",
    allows=lambda value: isinstance(value, list) and all(map(_is_gate, value)),
)
_RELEVANCE = Rule(
    wanted="a table of numbers from 0 to 1",
    allows=lambda value: isinstance(value, Mapping) and all(map(_is_share, value.values())),
)
_HISTORY = Rule(
    wanted="a list of { role, content } or { inputs }, each role user or assistant",
    allows=lambda value: isinstance(value, list) and all(map(_is_turn, value)),
)
STAGE_RULES: Mapping[str, Rule] = {
    "name": TEXT,
    "about": TEXT,
    "needs": _TEXTS,
    "of": TEXT,
    "over": TEXT,
    "system": TEXT,
    "prompt": TEXT,
    "schema": _SCHEMA,
    "gates": _GATES,
    "critic": one_of(True, False),
    "mode": one_of(RECORD, GATE),
    "accepts": TEXT,
    "model": TEXT,
    "own_model": or_true(_TEXTS),
    "missing": one_of(BLOCK, LEAVE_OUT),
    "models": or_word(_TEXTS, ALL_MODELS),
    "samples": Rule(
        wanted=f'{SAMPLES_RULE.wanted} or "parameters.NAME"',
        allows=lambda value: SAMPLES_RULE.allows(value) or bool(parameter_name(value)),
    ),
    "params": _TABLE,
    "policy": _TABLE,
    "settings": _TABLE,
    "relevance": _RELEVANCE,
    "history": _HISTORY,
    "max_tokens_per_block": whole_number_rule(1),
    "max_batch_size": whole_number_rule(1),
}


def _is_gate(value: Json) -> bool:
    return TEXT.allows(value) or (isinstance(value, Mapping) and TEXT.allows(value.get("name")))


def _is_turn(value: Json) -> bool:
    if not isinstance(value, Mapping) or not all(map(TEXT.allows, value.values())):
        return False
    role = value.get("role", Role.ASSISTANT if "inputs" in value else "")
    return role in tuple(Role) and value.keys() - {"role"} in ({"content"}, {"inputs"})


def _is_share(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


class ParsedStage(NamedTuple):
    """A stage, with what could not be understood of it."""

    stage: Stage
    problems: list[RecipeProblem]


def read_stage(table: Json, number: int, read_file: ReadFile) -> ParsedStage:
    """Read one table of stages; what is wrong is left out of the stage, and told."""
    place: KeyPath = ("stages", number)
    if not isinstance(table, Mapping):
        return ParsedStage(_EMPTY_STAGE, [RecipeProblem(place, "a stage must be a table")])
    reader = _StageReader(table, place, read_file)
    return ParsedStage(reader.read(), reader.problems)


# in the place of a schema with mistakes, so that the stage is still known to have one
_UNREAD_SCHEMA = Schema(ref="unread", uid="", body={"properties": {}})
_EMPTY_STAGE = Stage(name="", about="", schema=None, instructions="", prompt="", params=Params())


@dataclass(slots=True)
class _StageReader:
    """Reads the table of one stage."""

    table: Mapping[str, Json]
    place: KeyPath
    read_file: ReadFile
    problems: list[RecipeProblem] = field(default_factory=list)

    def read(self) -> Stage:
        """The stage; defaults are filled in."""
        self.problems += rule_problems(self.table, STAGE_RULES, self.place)
        wrong = {finding.path[-1] for finding in self.problems}
        values = {name: value for name, value in self.table.items() if name not in wrong}
        self._find_contradictions(values)
        return replace(
            self._read_asking(values),
            relevance=_as_numbers(as_object(values.get("relevance"))),
            history=tuple(_history_entries(values.get("history"))),
        )

    def _read_asking(self, values: Mapping[str, Json]) -> Stage:
        schema = self._read_schema(values["schema"]) if "schema" in values else None
        config = schema.prompt_config if schema else {}
        sizes = {**config, **values}
        records = "schema" in self.table
        return Stage(
            name=_text_at(values, "name"),
            about=_text_at(values, "about") or ("each_result" if values.get("critic") else ""),
            schema=schema,
            instructions=_text_at(values, "system")
            or _text_at(config, "system_instructions")
            or (DEFAULT_INSTRUCTIONS if records else ""),
            prompt=_text_at(values, "prompt")
            or _text_at(config, "per_block_prompt")
            or (DEFAULT_PROMPT if records else ""),
            params=self._read_params(values.get("params"), config),
            gates=_gate_chain(values.get("gates"), records),
            needs=_as_texts(values.get("needs")),
            of=_text_at(values, "of"),
            over=_text_at(values, "over"),
            samples=_as_integer(values.get("samples")) or 1,
            samples_parameter=parameter_name(values.get("samples")),
            critic=(_text_at(values, "mode") or RECORD) if values.get("critic") else "",
            accepts=_text_at(values, "accepts"),
            models=_as_texts([values["model"]] if "model" in values else values.get("models")),
            all_models=values.get("models") == ALL_MODELS,
            own_model=_own_stages(values.get("own_model")),
            missing=_text_at(values, "missing"),
            policy=self._read_policy(values.get("policy"), schema),
            settings=as_object(values.get("settings")),
            templated=True,
            max_tokens_per_block=_as_integer(sizes.get("max_tokens_per_block")),
            max_batch_size=_as_integer(sizes.get("max_batch_size")),
        )

    def _find_contradictions(self, values: Mapping[str, Json]) -> None:
        if "name" not in self.table:
            self._add_problem("a stage needs a name")
        if "about" not in self.table and not values.get("critic"):
            self._add_problem("a stage needs about: what each of its tasks is about")
        if "prompt" not in self.table and "schema" not in self.table:
            self._add_problem("a stage without a schema needs a prompt")
        if "model" in values and "models" in values:
            self._add_problem("give model or models, not both", "models")
        if "mode" in values and not values.get("critic"):
            self._add_problem("mode is for critics; add critic = true", "mode")

    def _read_schema(self, value: Json) -> Schema:
        try:
            if isinstance(value, str):
                return read_schema(self.read_file(value), value)
            return load_schema(value, name="schema")
        except SchemaInvalid as error:
            where = f"{value}: " if isinstance(value, str) else ""
            for mistake in error.mistakes:
                steps = _pointer_steps(mistake, value)
                self._add_problem(f"schema {where}{mistake}", "schema", *steps)
        except OSError as error:
            self._add_problem(f"schema {value} cannot be read: {error.strerror or error}", "schema")
        return _UNREAD_SCHEMA

    def _read_params(self, value: Json, config: Mapping[str, Json]) -> Params:
        table = as_object(value)
        wrong = list(rule_problems(table, PARAM_RULES, (*self.place, "params")))
        self.problems += wrong
        schema_values = {name: config[name] for name in ("temperature", "effort") if name in config}
        return params_from({**schema_values, **({} if wrong else table)})

    def _read_policy(self, value: Json, schema: Schema | None) -> Mapping[str, Json]:
        values, mistakes = stage_layer(as_object(value))
        for key, message in mistakes:
            self._add_problem(message, "policy", key)
        schema_values, _ = stage_layer(schema_layer(schema) if schema else {})
        return {**schema_values, **values}

    def _add_problem(self, message: str, *steps: str | int) -> None:
        self.problems.append(RecipeProblem((*self.place, *steps), message))


def params_from(table: Mapping[str, Json]) -> Params:
    """Make the parameters of a call from a table that has been checked."""
    stop = table.get("stop", ())
    values = {name: value for name, value in table.items() if name != "stop"}
    for name in ("temperature", "top_p"):
        if isinstance(number := values.get(name), int | float):
            values[name] = float(number)
    return Params(**values, stop=_as_texts(stop))  # type: ignore[arg-type]  # each was checked


def _history_entries(value: Json) -> Iterator[HistoryEntry]:
    for entry in map(as_object, value if isinstance(value, list) else []):
        role = _text_at(entry, "role") or Role.ASSISTANT.value
        yield HistoryEntry(role, _text_at(entry, "content"), _text_at(entry, "inputs"))


def _as_numbers(table: Mapping[str, Json]) -> dict[str, float]:
    return {name: float(value) for name, value in table.items() if isinstance(value, int | float)}


def _gate_chain(value: Json, records: bool) -> tuple[GateUse, ...]:
    """The chain of gates; the one that reads the answer may be left out."""
    uses = tuple(_gate_uses(value if isinstance(value, list) else []))
    if records and (not uses or uses[0].name != JSON_GATE.name):
        return (JSON_GATE, *uses)
    if not records and (not uses or uses[0].name == "rules"):
        return (GateUse("text"), *uses)
    return uses


def _gate_uses(listed: Sequence[Json]) -> Iterator[GateUse]:
    for item in listed:
        if isinstance(item, str):
            yield GateUse(item)
        elif isinstance(item, Mapping):
            params = {name: value for name, value in item.items() if name != "name"}
            yield GateUse(str(item["name"]), params)


def _pointer_steps(mistake: Mistake, schema: Json) -> list[str | int]:
    """Where in the recipe a mistake of a schema is; of one in another file nothing is known."""
    if isinstance(schema, str):
        return []
    return [name.replace("~1", "/").replace("~0", "~") for name in mistake.pointer.split("/")[1:]]


def _text_at(table: Mapping[str, Json], name: str) -> str:
    value = table.get(name)
    return value if isinstance(value, str) else ""


def _as_texts(value: Json) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list | tuple) else ()


def _own_stages(value: Json) -> tuple[str, ...]:
    """The stages of which only its own model's results are read: those named, or all."""
    return (EVERY_STAGE,) if value is True else _as_texts(value)


def _as_integer(value: Json) -> int | None:
    return value if isinstance(value, int) else None
