"""The shape gate: does one task's data satisfy the user's schema, and if not, where not."""

import json
from itertools import islice

import jsonschema_rs

from quire.domain.data import Json, JsonObject
from quire.gates.omitting import omissible, without_nulls

MOST_REASONS = 5
_LONGEST_VALUE = 60
_LONGEST_REASON = 240
_MASK = "\x00"  # stands for the value in the validator's messages, until it is clipped
_NAMES = ("$id", "$schema")  # names of the file, no rules for data; need not be valid URIs


class Shape:
    """A compiled record schema; compile once a stage, ask once a record."""

    __slots__ = ("_omissible", "_validator", "fields")

    def __init__(self, record_schema: JsonObject) -> None:
        """Compile; the schema has been checked when it was loaded."""
        rules = {key: value for key, value in record_schema.items() if key not in _NAMES}
        properties = rules.get("properties")
        self.fields = frozenset(properties if isinstance(properties, dict) else ())
        self._validator = jsonschema_rs.validator_for(
            rules, validate_formats=True, mask=_MASK, offline=True
        )

        self._omissible = omissible(rules)

    def pruned(self, data: Json) -> Json:
        """The data without nulls that mean nothing; strict schemas have the model write them."""
        if self._omissible is None or self.fits(data):
            return data
        return without_nulls(data, self._omissible)

    @property
    def nested(self) -> bool:
        """Whether a field is named like a key of ours, so that `data` must be asked for."""
        return "block_uid" in self.fields or "data" in self.fields

    def fits(self, data: Json) -> bool:
        """Whether the data is right; also false where only `problems` can say why."""
        try:
            return self._validator.is_valid(data)
        except ValueError:
            return False

    def problems(self, data: Json) -> tuple[str, ...]:
        """Say what is wrong, each with its JSON pointer; nothing when the data is right."""
        try:
            if self._validator.is_valid(data):
                return ()
            errors = self._validator.iter_errors(data)
            return tuple(_reason(error) for error in islice(errors, MOST_REASONS))
        except ValueError as error:  # what cannot be handed to the validator, such as deep nesting
            return (f"/: cannot be checked: {_clip(str(error), _LONGEST_REASON)}",)


def _reason(error: jsonschema_rs.ValidationError) -> str:
    message = error.message
    if _MASK in message:
        shown = json.dumps(error.instance, ensure_ascii=False, default=str)
        message = message.replace(_MASK, _clip(shown, _LONGEST_VALUE), 1)
    return f"{_pointer(error.instance_path)}: {_clip(message, _LONGEST_REASON)}"


def _pointer(path: list[str | int]) -> str:
    steps = (str(step).replace("~", "~0").replace("/", "~1") for step in path)
    return "/" + "/".join(steps)


def _clip(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
