"""The rules gate: a user's own ranges, patterns and conditions between fields.

A rule is about one field, `{"field": "amount", "min": 0, "max": 10}` (also `pattern`,
`not_pattern`, `required`), or about several, `{"when": "kind == 'a'", "require": "total > 0"}`.
`say` is what the model and people are told when it is broken.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from quire.domain.data import Json, JsonObject
from quire.domain.gates import GateInput, Judgement, Verdict, clip
from quire.gates.expressions import (
    ExpressionError,
    expression_mistake,
    holds,
    matches,
    pattern_mistake,
)
from quire.gates.gate_parameters import is_number, is_reference, resolve_references, unknown_names

MOST_RULES = 100
_LIMITS = ("min", "max")
_PATTERNS = ("pattern", "not_pattern")
_OF_A_FIELD = ("field", *_LIMITS, *_PATTERNS, "required", "say")
_BETWEEN_FIELDS = ("when", "require", "say")
_LONGEST_VALUE = 60


@dataclass(frozen=True, slots=True)
class RulesGate:
    """Accepts data that break no rule; names every rule that is broken."""

    name: str = "rules"
    version: str = "rules/1"

    def mistakes(self, params: JsonObject) -> list[str]:
        """Check every rule; places are counted from 1."""
        rules = params.get("rules")
        mistakes = unknown_names(params, ("rules",))
        if not isinstance(rules, list | tuple) or not rules:
            return [*mistakes, "rules must be a list of at least one rule"]
        if len(rules) > MOST_RULES:
            return [*mistakes, f"there may be at most {MOST_RULES} rules"]
        for place, rule in enumerate(rules, 1):
            mistakes += [f"rule {place}: {wrong}" for wrong in _rule_mistakes(rule)]
        return mistakes

    def judge(self, answer: GateInput, params: JsonObject) -> Verdict:
        """Hold the data against every rule."""
        rules = [resolve_references(rule, answer.facts) for rule in _rule_list(params)]
        if mistakes := [*self.mistakes({**params, "rules": rules}), *_unknown_references(rules)]:
            return Verdict(Judgement.FAIL, None, tuple(mistakes))
        data = answer.data
        fields = data if isinstance(data, Mapping) else {}
        names = {**answer.facts, **fields, "answer": data}
        reasons: list[str] = []
        for rule in rules:
            broken = (
                _field_breach(rule, fields) if "field" in rule else _condition_breach(rule, names)
            )
            if broken:
                reasons.append(str(rule.get("say") or broken))
        if reasons:
            return Verdict(Judgement.RETRY, None, tuple(reasons))
        return Verdict(Judgement.ACCEPT, data)


def _rule_list(params: JsonObject) -> list[JsonObject]:
    rules = params.get("rules")
    candidates = rules if isinstance(rules, list | tuple) else ()
    return [rule for rule in candidates if isinstance(rule, Mapping)]


def _unknown_references(rules: Sequence[JsonObject]) -> Iterator[str]:
    values = (rule[name] for rule in rules for name in _LIMITS if name in rule)
    yield from (f"{value} is not known" for value in values if is_reference(value))


def _rule_mistakes(rule: Json) -> Iterator[str]:
    if not isinstance(rule, Mapping):
        yield "must be an object"
        return
    if not isinstance(rule.get("say", ""), str):
        yield "say must be a text"
    if "field" in rule:
        yield from unknown_names(rule, _OF_A_FIELD)
        yield from _field_mistakes(rule)
        return
    yield from unknown_names(rule, _BETWEEN_FIELDS)
    if "require" not in rule:
        yield "must say which field it is about, or what it requires"
    for name in ("when", "require"):
        if name in rule and (wrong := expression_mistake(rule[name])):
            yield f"{name} {wrong}"


def _field_mistakes(rule: JsonObject) -> Iterator[str]:
    if not isinstance(rule["field"], str) or not rule["field"]:
        yield "field must be the name of a field"
    if not {*_LIMITS, *_PATTERNS, "required"} & {*rule}:
        yield "must have min, max, pattern, not_pattern or required"
    yield from _limit_mistakes({name: rule[name] for name in _LIMITS if name in rule})
    for name in _PATTERNS:
        if name in rule and (wrong := pattern_mistake(rule[name])):
            yield f"{name} {wrong}"
    if not isinstance(rule.get("required", False), bool):
        yield "required must be true or false"


def _limit_mistakes(limits: JsonObject) -> Iterator[str]:
    for name, value in limits.items():
        if not is_reference(value) and not is_number(value):
            yield f"{name} must be a number"
    least, most = limits.get("min"), limits.get("max")
    if is_number(least) and is_number(most) and least > most:
        yield f"min {least} is above max {most}"


def _field_breach(rule: JsonObject, fields: JsonObject) -> str:
    """Say how the field breaks its rule; a field that is missing does so only if required."""
    name = str(rule["field"])
    values = [value for value in _values(fields, name) if value is not None]
    if not values and rule.get("required"):
        return f"{name} is missing"
    broken = (wrong for value in values for wrong in _value_breaches(rule, value))
    return next((f"{name}: {wrong}" for wrong in broken), "")


def _value_breaches(rule: JsonObject, value: Json) -> Iterator[str]:
    if any(name in rule for name in _LIMITS):
        yield from _limit_breaches(rule, value)
    for name, wanted in zip(_PATTERNS, (True, False), strict=True):
        pattern = rule.get(name)
        if not isinstance(pattern, str):
            continue
        if not isinstance(value, str):
            yield f"{_quote(value)} is not a text"
        elif matches(pattern, value) != wanted:
            yield f"{_quote(value)} {'does not match' if wanted else 'must not match'} {pattern}"


def _limit_breaches(rule: JsonObject, value: Json) -> Iterator[str]:
    least, most = rule.get("min", -inf), rule.get("max", inf)
    assert is_number(least)  # the gate has looked
    assert is_number(most)
    if not is_number(value):
        yield f"{_quote(value)} is not a number"
    elif value < least:
        yield f"{_quote(value)} is below {least}"
    elif value > most:
        yield f"{_quote(value)} is above {most}"


def _values(inside: Json, path: str) -> Iterator[Json]:
    """Follow a path; lists are walked through, so that a rule holds for each element."""
    if isinstance(inside, list | tuple):
        for item in inside:
            yield from _values(item, path)
    elif not path:
        yield inside
    elif isinstance(inside, Mapping):
        if path in inside:  # also a field whose own name has a dot
            yield from _values(inside[path], "")
        else:
            step, _, rest = path.partition(".")
            yield from _values(inside.get(step), rest) if rest else ()


def _condition_breach(rule: JsonObject, names: Mapping[str, Json]) -> str:
    when, require = rule.get("when"), str(rule["require"])
    try:
        if when is not None and not holds(str(when), names):
            return ""
        return "" if holds(require, names) else _unmet_text(require, when)
    except ExpressionError as error:
        return f"{_unmet_text(require, when)}; it {error}"


def _unmet_text(require: str, when: Json) -> str:
    return f"must hold: {require}" + (f" (where {when})" if when is not None else "")


def _quote(value: Json) -> str:
    text = repr(value) if not isinstance(value, str) else f'"{value}"'
    return clip(text, _LONGEST_VALUE)
