"""Draft fields: what a model is asked for when it drafts a schema, and the schema made of that.

A model lists fields in a form that leaves little to get wrong; the JSON Schema is written here. So
what comes back differs from a schema by a person only in who thought of it.
"""

from collections.abc import Mapping, Sequence

from quire.domain.data import Json
from quire.domain.errors import Mistake
from quire.domain.recipes import Schema
from quire.recipes.user_schemas import load_schema

MOST_FIELDS = 20
NAME = "^[a-z][a-z0-9_]{0,39}$"

# Every type that may be asked for, as a schema says it.
TYPES: Mapping[str, dict[str, Json]] = {
    "text": {"type": "string"},
    "number": {"type": "number"},
    "integer": {"type": "integer"},
    "yes_no": {"type": "boolean"},
    "date": {"type": "string", "format": "date"},
    "choice": {"type": "string"},
    "list": {"type": "array", "items": {"type": "string"}},
}

_INSTRUCTIONS = (
    "You design records that are filled in from documents, one record for each block of text. You"
    " are told what somebody wants to know, and are shown some blocks. Propose the fields of the"
    " record: as few as answer the wish, none that nobody asked for. Choose the narrowest type: a"
    " choice with its choices where the blocks show that only few values occur, a date, a number"
    " without its unit. Say in each description what belongs into the field, for somebody who sees"
    " a block and nothing else, and what to write in doubtful cases. A field is required if every"
    " block has it. The instructions tell that reader in two or three sentences what the records"
    " are for."
)

_FIELD: dict[str, Json] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name", "type", "description", "required", "choices"],
    "properties": {
        "name": {"type": "string", "pattern": NAME, "description": "In small letters and _."},
        "type": {"type": "string", "enum": [*TYPES]},
        "description": {"type": "string", "maxLength": 400},
        "required": {"type": "boolean", "description": "Whether every block has it."},
        "choices": {
            "type": "array",
            "items": {"type": "string", "minLength": 1, "maxLength": 60},
            "maxItems": 20,
            "description": "Of the type choice: all values that there are. Else empty.",
        },
    },
}

_BODY: dict[str, Json] = {
    "title": "schema draft",
    "description": "The fields of a record, drafted from a wish and some blocks.",
    "type": "object",
    "additionalProperties": False,
    "required": ["title", "instructions", "fields"],
    "properties": {
        "title": {"type": "string", "pattern": "^[a-z][a-z0-9_-]{0,39}$"},
        "instructions": {"type": "string", "maxLength": 800},
        "fields": {"type": "array", "minItems": 1, "maxItems": MOST_FIELDS, "items": _FIELD},
    },
    "prompt_config": {
        "system_instructions": _INSTRUCTIONS,
        "per_block_prompt": "The block below states a wish and shows blocks. Propose the record.",
    },
}


def draft_request_schema() -> Schema:
    """What a model that drafts is asked for."""
    return load_schema(_BODY, name="schema draft", ref="schema-draft")


def write_schema(drafted: Mapping[str, Json]) -> dict[str, Json]:
    """The schema that a model proposes; of two fields of a name the first."""
    fields = _fields(drafted)
    properties: dict[str, Json] = {}
    for field in fields:
        properties.setdefault(str(field["name"]), _property(field))
    body: dict[str, Json] = {
        "title": drafted["title"],
        "type": "object",
        "additionalProperties": False,
        "required": [*properties],
        "properties": properties,
    }
    if drafted["instructions"]:
        body["prompt_config"] = {"system_instructions": drafted["instructions"]}
    return body


def proposal_mistakes(drafted: Mapping[str, Json]) -> list[Mistake]:
    """What the written schema no longer shows: names used twice, choices where none are."""
    found: list[Mistake] = []
    names: set[Json] = set()
    for number, field in enumerate(_fields(drafted)):
        place, choices = f"/fields/{number}", field["choices"]
        assert isinstance(choices, list)
        if field["name"] in names:
            found.append(Mistake(f"{place}/name", f"there are two fields {field['name']}"))
        names.add(field["name"])
        if field["type"] == "choice" and len(set(map(str, choices))) < 2:
            found.append(Mistake(f"{place}/choices", "a choice needs two choices or more"))
    return found


def _fields(drafted: Mapping[str, Json]) -> Sequence[Mapping[str, Json]]:
    fields = drafted["fields"]
    assert isinstance(fields, list)  # the gates let nothing else through
    return [field for field in fields if isinstance(field, Mapping)]


def _property(field: Mapping[str, Json]) -> dict[str, Json]:
    """A field in a schema; where a block may lack it, null is an answer too."""
    kind = str(field["type"])
    made = dict(TYPES[kind])
    if kind == "choice" and field["choices"]:
        choices = field["choices"]
        assert isinstance(choices, list)
        made["enum"] = [*dict.fromkeys(choices)]
    if not field["required"] and kind != "list":
        made["type"] = [made["type"], "null"]
        if isinstance(made.get("enum"), list):
            made["enum"] = [*made["enum"], None]  # type: ignore[misc]  # it is a list, as was asked
    return {**made, "description": field["description"]}
