"""Expressions of users: conditions on fields and regular expressions; none can run long.

Conditions are written as in Python: numbers, texts, lists, true, false, none; names of fields,
`a.b` and `a["b"]` for fields inside fields (what is missing is none); comparisons, `in`,
`is none`; and, or, not; + - * / // % on numbers; len, min, max, abs. There is nothing else.
Regular expressions take linear time, whatever they and the text are."""

import ast
import operator
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import jsonschema_rs

from quire.domain.data import Json

LONGEST = 1_000  # characters
_MOST_PARTS = 200
_DEEPEST = 30
_CONSTANTS: Mapping[str, Json] = {"true": True, "false": False, "none": None, "null": None}


class ExpressionError(ValueError):
    """The expression has no value for this answer, or is no expression at all."""


def expression_mistake(source: Json) -> str:
    """Say what is wrong with an expression; empty where it can be used."""
    if not isinstance(source, str) or not source.strip():
        return "must be an expression"
    try:
        _parse(source)
    except ExpressionError as error:
        return str(error)
    return ""


def value_of(source: str, names: Mapping[str, Json]) -> Json:
    """Work an expression out, or raise Unanswerable with the reason."""
    try:
        value: Json = _evaluate(_parse(source), names)
        return value
    except (ArithmeticError, TypeError, RecursionError) as error:
        raise ExpressionError(f"cannot be worked out: {error}") from None


def holds(source: str, names: Mapping[str, Json]) -> bool:
    """Say whether an expression is true of these names, or raise Unanswerable."""
    return bool(value_of(source, names))


@lru_cache(maxsize=256)
def _parse(source: str) -> ast.expr:
    if len(source) > LONGEST:
        raise ExpressionError(f"must have at most {LONGEST:,} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # what Python only warns of is a mistake here
            tree = ast.parse(source.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        said = error.msg if isinstance(error, SyntaxError) else "it cannot be read"
        raise ExpressionError(f"is not an expression: {said}") from None
    _check(tree)
    return tree


def _check(tree: ast.expr) -> None:
    level: list[ast.AST] = [tree]
    parts = 0
    for _depth in range(_DEEPEST):
        parts += len(level)
        if parts > _MOST_PARTS:
            raise ExpressionError(f"has more than {_MOST_PARTS} parts")
        for node in level:
            _check_node(node)
        level = [child for node in level for child in _children(node)]
        if not level:
            return
    raise ExpressionError(f"is nested more than {_DEEPEST} deep")


def _children(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Call):
        yield from node.args
    else:
        children = ast.iter_child_nodes(node)
        yield from (child for child in children if isinstance(child, ast.expr))


def _check_node(node: ast.AST) -> None:
    if isinstance(node, ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name not in _CALLS or node.keywords:
            raise ExpressionError(f"may call only {', '.join(_CALLS)}")
    elif isinstance(node, ast.BinOp | ast.UnaryOp):
        if type(node.op) not in {*_ARITHMETIC, *_UNARY}:
            raise ExpressionError(f"may not use {type(node.op).__name__}")
    elif isinstance(node, ast.Constant):
        if not isinstance(node.value, int | float | str | None):
            raise ExpressionError(f"may not hold {node.value!r}")
    elif not isinstance(node, (*_RULES, ast.List, ast.Tuple)):
        raise ExpressionError(f"may not use {type(node).__name__}")


def _evaluate(node: ast.expr, names: Mapping[str, Json]) -> Any:
    if isinstance(node, ast.List | ast.Tuple):
        return [_evaluate(elt, names) for elt in node.elts]
    rule = next(rule for kind, rule in _RULES.items() if isinstance(node, kind))
    return rule(node, names)


def _name(node: ast.Name, names: Mapping[str, Json]) -> Json:
    return names[node.id] if node.id in names else _CONSTANTS.get(node.id)


def _field(node: ast.Attribute, names: Mapping[str, Json]) -> Json:
    inside = _evaluate(node.value, names)
    return inside.get(node.attr) if isinstance(inside, Mapping) else None


def _element(node: ast.Subscript, names: Mapping[str, Json]) -> Json:
    inside, key = _evaluate(node.value, names), _evaluate(node.slice, names)
    if isinstance(inside, Mapping):
        return inside.get(key) if isinstance(key, str) else None
    if isinstance(inside, str | list | tuple) and type(key) is int:
        return inside[key] if -len(inside) <= key < len(inside) else None
    return None


def _boolean(node: ast.BoolOp, names: Mapping[str, Json]) -> bool:
    values = (bool(_evaluate(value, names)) for value in node.values)
    return all(values) if isinstance(node.op, ast.And) else any(values)


def _unary(node: ast.UnaryOp, names: Mapping[str, Json]) -> Json:
    value = _evaluate(node.operand, names)
    if isinstance(node.op, ast.Not):
        return not value
    result: Json = _UNARY[type(node.op)](_number(value))
    return result


def _arithmetic(node: ast.BinOp, names: Mapping[str, Json]) -> Json:
    left, right = _number(_evaluate(node.left, names)), _number(_evaluate(node.right, names))
    result: Json = _ARITHMETIC[type(node.op)](left, right)
    return result


def _compare(node: ast.Compare, names: Mapping[str, Json]) -> bool:
    left = _evaluate(node.left, names)
    for sign, other in zip(node.ops, node.comparators, strict=True):
        right = _evaluate(other, names)
        if not _COMPARISONS[type(sign)](left, right):
            return False
        left = right
    return True


def _call(node: ast.Call, names: Mapping[str, Json]) -> Json:
    assert isinstance(node.func, ast.Name)
    values = [_evaluate(arg, names) for arg in node.args]
    result: Json = _CALLS[node.func.id](values)
    return result


def _number(value: object) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ExpressionError(f"cannot be worked out: {_kind(value)} is not a number")
    return value


def _kind(value: object) -> str:
    if value is None:
        return "what is missing"
    return {bool: "true or false", str: "a text", dict: "an object"}.get(type(value), "a list")


def _is_equal(left: object, right: object) -> bool:
    # Python holds 1 and True to be equal, JSON does not
    return left == right and isinstance(left, bool) == isinstance(right, bool)


def _ordering(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def check(left: object, right: object) -> bool:
        if isinstance(left, str) and isinstance(right, str):
            return compare(left, right)
        return compare(_number(left), _number(right))

    return check


def _is_in(left: object, right: object) -> bool:
    if isinstance(right, str):
        return isinstance(left, str) and left in right
    if isinstance(right, Mapping | list | tuple):
        return any(_is_equal(left, item) for item in right)
    raise ExpressionError(f"cannot be worked out: nothing is in {_kind(right)}")


def _length(values: Sequence[Any]) -> int:
    if len(values) != 1 or not isinstance(values[0], str | list | tuple | Mapping):
        raise ExpressionError("cannot be worked out: len wants one text, list or object")
    return len(values[0])


def _extreme(choose: Callable[[list[Any]], Any]) -> Callable[[Sequence[Any]], Any]:
    def pick(values: Sequence[Any]) -> Any:
        of = values[0] if len(values) == 1 and isinstance(values[0], list | tuple) else values
        if not of:
            raise ExpressionError("cannot be worked out: min and max want at least one number")
        return choose([_number(item) for item in of])

    return pick


def _absolute(values: Sequence[Any]) -> Any:
    if len(values) != 1:
        raise ExpressionError("cannot be worked out: abs wants one number")
    return abs(_number(values[0]))


_CALLS: Mapping[str, Callable[[Sequence[Any]], Any]] = {
    "len": _length,
    "min": _extreme(min),
    "max": _extreme(max),
    "abs": _absolute,
}
_ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: _is_equal,
    ast.NotEq: lambda left, right: not _is_equal(left, right),
    ast.Lt: _ordering(operator.lt),
    ast.LtE: _ordering(operator.le),
    ast.Gt: _ordering(operator.gt),
    ast.GtE: _ordering(operator.ge),
    ast.In: _is_in,
    ast.NotIn: lambda left, right: not _is_in(left, right),
    ast.Is: _is_equal,
    ast.IsNot: lambda left, right: not _is_equal(left, right),
}
_RULES: Mapping[type[ast.expr], Callable[[Any, Mapping[str, Json]], Any]] = {
    ast.Constant: lambda node, _names: node.value,
    ast.Name: _name,
    ast.Attribute: _field,
    ast.Subscript: _element,
    ast.BoolOp: _boolean,
    ast.UnaryOp: _unary,
    ast.BinOp: _arithmetic,
    ast.Compare: _compare,
    ast.Call: _call,
}


LONGEST_PATTERN = 1_000
_MOST_BYTES = 1_000_000  # of a compiled pattern, so that a{1000}{1000} costs nothing


def pattern_mistake(value: Json) -> str:
    """Say what is wrong with a pattern; empty where it can be used."""
    if not isinstance(value, str) or not value:
        return "must be a regular expression"
    if len(value) > LONGEST_PATTERN:
        return f"must have at most {LONGEST_PATTERN:,} characters"
    try:
        _compile(value)
    except ValueError:
        why = "it is malformed, too large, or looks around or back"
        return f"is not a regular expression that can be used: {why}"
    return ""


def matches(pattern: str, text: str) -> bool:
    """Say whether a checked pattern is found anywhere in the text."""
    # half of a surrogate pair cannot be handed over, and no pattern can ask for it
    return _compile(pattern).is_valid(text.encode("utf-8", "replace").decode())


@lru_cache(maxsize=256)
def _compile(pattern: str) -> jsonschema_rs.Validator:
    # the engine without backtracking: schemas, which may look around, have another
    options = jsonschema_rs.RegexOptions(size_limit=_MOST_BYTES, dfa_size_limit=_MOST_BYTES)
    return jsonschema_rs.validator_for({"pattern": pattern}, pattern_options=options)
