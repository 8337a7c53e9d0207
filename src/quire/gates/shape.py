"""Validate records against the schema: what does not satisfy it, and which nulls are left out."""

import json
from itertools import islice

import jsonschema_rs

from quire.domain.data import Json, JsonObject
from quire.domain.gates import Judgement, Verdict, clip
from quire.gates.leniency import find_whole_numbers, loosen, write_whole
from quire.gates.null_fields import drop_null_fields, find_optional_fields

MOST_REASONS = 5
MOST_NOTES = 20  # of what was read in another form
_LONGEST_VALUE = 60
_LONGEST_REASON = 240
_MASK = "\x00"  # stands for the value in the validator's messages, until it is clipped
_NAMES = ("$id", "$schema")  # names of the file, no rules for data; need not be valid URIs


class Shape:
    """A compiled record schema; compile once a stage, ask once a record."""

    __slots__ = ("_lenient_rules", "_omissible", "_validator", "_whole_numbers", "fields")

    def __init__(self, record_schema: JsonObject, *, lenient: bool = False) -> None:
        """Compile; the schema has been checked when it was loaded."""
        rules = {key: value for key, value in record_schema.items() if key not in _NAMES}
        self._lenient_rules = rules if lenient else None
        properties = rules.get("properties")
        self.fields = frozenset(properties if isinstance(properties, dict) else ())
        self._validator = jsonschema_rs.validator_for(
            rules, validate_formats=True, mask=_MASK, offline=True
        )
        self._omissible = find_optional_fields(rules)
        self._whole_numbers = find_whole_numbers(rules)

    def prune(self, data: Json) -> Json:
        """The data without nulls that mean nothing; strict schemas have the model write them."""
        if self._omissible is None or self.fits(data):
            return data
        return drop_null_fields(data, self._omissible)

    def write_whole(self, data: Json) -> Json:
        """Data that fits, with 12.0 written as 12 where only whole numbers may stand."""
        return data if self._whole_numbers is None else write_whole(data, self._whole_numbers)

    def fits(self, data: Json) -> bool:
        """Whether the data is right; also false where only `problems` can say why."""
        try:
            return self._validator.is_valid(data)
        except ValueError:
            return False

    def judge(self, data: Json) -> Verdict:
        """Accept the data without nulls that mean nothing, or say all that is wrong with it.

        Where it is lenient, the notes of an accepted answer say what was read in another form.
        """
        data = self.prune(data)
        if not (problems := self.problems(data)):
            return Verdict(Judgement.ACCEPT, self.write_whole(data))
        if self._lenient_rules is not None:
            loosened = loosen(data, self._lenient_rules)
            read = self.prune(loosened.data)
            if loosened.notes and self.fits(read):
                whole, notes = self.write_whole(read), loosened.notes[:MOST_NOTES]
                return Verdict(Judgement.ACCEPT, whole, notes=notes)
        return Verdict(Judgement.RETRY, None, problems)

    def problems(self, data: Json) -> tuple[str, ...]:
        """Say what is wrong, each with its JSON pointer; nothing when the data is right."""
        try:
            if self._validator.is_valid(data):
                return ()
            errors = self._validator.iter_errors(data)
            return tuple(_reason(error) for error in islice(errors, MOST_REASONS))
        except ValueError as error:  # what cannot be handed to the validator, such as deep nesting
            return (f"/: cannot be checked: {clip(str(error), _LONGEST_REASON)}",)


def _reason(error: jsonschema_rs.ValidationError) -> str:
    message = error.message
    if _MASK in message:
        shown = json.dumps(error.instance, ensure_ascii=False, default=str)
        message = message.replace(_MASK, clip(shown, _LONGEST_VALUE), 1)
    return f"{_pointer(error.instance_path)}: {clip(message, _LONGEST_REASON)}"


def _pointer(path: list[str | int]) -> str:
    steps = (str(step).replace("~", "~0").replace("/", "~1") for step in path)
    return "/" + "/".join(steps)
