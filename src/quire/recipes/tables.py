"""Tables: what a recipe file says of its stages becomes stages, as far as it can be understood."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from quire.domain.data import Json
from quire.domain.errors import Mistake, SchemaInvalid
from quire.domain.models import Params
from quire.domain.recipes import (
    DEFAULT_INSTRUCTIONS,
    DEFAULT_PROMPT,
    GATE,
    JSON_GATE,
    RECORD,
    GateUse,
    Schema,
    Stage,
)
from quire.recipes.findings import Finding, unlike
from quire.recipes.policies import schema_layer, stage_layer
from quire.recipes.rules import PARAM_RULES, TEXT, Rule, one_of, whole
from quire.recipes.schemas import load_schema, read_schema

Path = tuple[str | int, ...]
ReadFile = Callable[[str], bytes]  # a file by its path from the recipe's folder

MOST_SAMPLES = 1_000_000
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
    "models": _TEXTS,
    "samples": whole(1, MOST_SAMPLES),
    "params": _TABLE,
    "policy": _TABLE,
    "settings": _TABLE,
    "max_tokens_per_block": whole(1),
    "max_batch_size": whole(1),
}


def _is_gate(value: Json) -> bool:
    return TEXT.allows(value) or (isinstance(value, Mapping) and TEXT.allows(value.get("name")))


class Understood(NamedTuple):
    """A stage, with what could not be understood of it."""

    stage: Stage
    findings: list[Finding]


def read_stage(table: Json, number: int, read_file: ReadFile) -> Understood:
    """Read one table of stages; what is wrong is left out of the stage, and told."""
    place: Path = ("stages", number)
    if not isinstance(table, Mapping):
        return Understood(_EMPTY, [Finding(place, "a stage must be a table")])
    reader = _Reader(table, place, read_file)
    return Understood(reader.stage(), reader.findings)


# in the place of a schema with mistakes, so that the stage is still known to have one
_UNREAD = Schema(ref="unread", uid="", body={"properties": {}})
_EMPTY = Stage(name="", about="", schema=None, instructions="", prompt="", params=Params())


@dataclass(slots=True)
class _Reader:
    """Reads the table of one stage."""

    table: Mapping[str, Json]
    place: Path
    read_file: ReadFile
    findings: list[Finding] = field(default_factory=list)

    def stage(self) -> Stage:
        """The stage; defaults are filled in."""
        self.findings += unlike(self.table, STAGE_RULES, self.place)
        wrong = {each.path[-1] for each in self.findings}
        said = {name: value for name, value in self.table.items() if name not in wrong}
        self._contradictions(said)
        schema = self._schema(said["schema"]) if "schema" in said else None
        config = schema.prompt_config if schema else {}
        records = "schema" in self.table
        return Stage(
            name=_text(said, "name"),
            about=_text(said, "about") or ("each_result" if said.get("critic") else ""),
            schema=schema,
            instructions=_text(said, "system")
            or _text(config, "system_instructions")
            or (DEFAULT_INSTRUCTIONS if records else ""),
            prompt=_text(said, "prompt")
            or _text(config, "per_block_prompt")
            or (DEFAULT_PROMPT if records else ""),
            params=self._params(said.get("params"), config),
            gates=_gates(said.get("gates"), records),
            needs=_texts(said.get("needs")),
            of=_text(said, "of"),
            over=_text(said, "over"),
            samples=_whole(said.get("samples")) or 1,
            critic=(_text(said, "mode") or RECORD) if said.get("critic") else "",
            accepts=_text(said, "accepts"),
            models=(_text(said, "model"),) if "model" in said else _texts(said.get("models")),
            policy=self._policy(said.get("policy"), schema),
            settings=_table(said.get("settings")),
            templated=True,
            max_tokens_per_block=_whole(_first("max_tokens_per_block", said, config)),
            max_batch_size=_whole(_first("max_batch_size", said, config)),
        )

    def _contradictions(self, said: Mapping[str, Json]) -> None:
        if not {"name"} & set(self.table):
            self._find("a stage needs a name")
        if "about" not in self.table and not said.get("critic"):
            self._find("a stage needs about: what each of its tasks is about")
        if "prompt" not in self.table and "schema" not in self.table:
            self._find("a stage without a schema needs a prompt")
        if "model" in said and "models" in said:
            self._find("give model or models, not both", "models")
        if "mode" in said and not said.get("critic"):
            self._find("mode is for critics; add critic = true", "mode")

    def _schema(self, value: Json) -> Schema:
        try:
            if isinstance(value, str):
                return read_schema(self.read_file(value), value)
            return load_schema(value, name="schema")
        except SchemaInvalid as error:
            where = f"{value}: " if isinstance(value, str) else ""
            for each in error.mistakes:
                self._find(f"schema {where}{each}", "schema", *_steps(each, value))
        except OSError as error:
            self._find(f"schema {value} cannot be read: {error.strerror or error}", "schema")
        return _UNREAD

    def _params(self, value: Json, config: Mapping[str, Json]) -> Params:
        table = _table(value)
        wrong = list(unlike(table, PARAM_RULES, (*self.place, "params")))
        self.findings += wrong
        wished = {name: config[name] for name in ("temperature", "effort") if name in config}
        return params_from({**wished, **({} if wrong else table)})

    def _policy(self, value: Json, schema: Schema | None) -> Mapping[str, Json]:
        values, mistakes = stage_layer(_table(value))
        for key, message in mistakes:
            self._find(message, "policy", key)
        wished, _ = stage_layer(schema_layer(schema) if schema else {})
        return {**wished, **values}

    def _find(self, message: str, *steps: str | int) -> None:
        self.findings.append(Finding((*self.place, *steps), message))


def params_from(table: Mapping[str, Json]) -> Params:
    """Make the parameters of a call from a table that has been checked."""
    stop = table.get("stop", ())
    values = {name: value for name, value in table.items() if name != "stop"}
    for name in ("temperature", "top_p"):
        if isinstance(number := values.get(name), int | float):
            values[name] = float(number)
    return Params(**values, stop=_texts(stop))  # type: ignore[arg-type]  # each was checked


def _gates(value: Json, records: bool) -> tuple[GateUse, ...]:
    """The chain of gates; the one that reads the answer may be left out."""
    uses = tuple(_gate_uses(value if isinstance(value, list) else []))
    if records and (not uses or uses[0].name != JSON_GATE.name):
        return (JSON_GATE, *uses)
    if not records and (not uses or uses[0].name == "rules"):
        return (GateUse("text"), *uses)
    return uses


def _gate_uses(listed: Sequence[Json]) -> Iterator[GateUse]:
    for each in listed:
        if isinstance(each, str):
            yield GateUse(each)
        elif isinstance(each, Mapping):
            params = {name: value for name, value in each.items() if name != "name"}
            yield GateUse(str(each["name"]), params)


def _steps(mistake: Mistake, schema: Json) -> list[str | int]:
    """Where in the recipe a mistake of a schema is; of one in another file nothing is known."""
    if isinstance(schema, str):
        return []
    return [each.replace("~1", "/").replace("~0", "~") for each in mistake.pointer.split("/")[1:]]


def _first(name: str, *tables: Mapping[str, Json]) -> Json:
    return next((table[name] for table in tables if name in table), None)


def _text(table: Mapping[str, Json], name: str) -> str:
    value = table.get(name)
    return value if isinstance(value, str) else ""


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list | tuple) else ()


def _whole(value: Json) -> int | None:
    return value if isinstance(value, int) else None


def _table(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, Mapping) else {}
