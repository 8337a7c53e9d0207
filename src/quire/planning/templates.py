"""Templates: a small safe language for prompts, whose every rendering is bounded and exact."""

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import TracebackType
from typing import Any, TypedDict

import jinja2
from jinja2 import nodes
from jinja2.meta import find_undeclared_variables
from jinja2.parser import Parser
from jinja2.runtime import Context, LoopContext, StrictUndefined
from jinja2.sandbox import SandboxedEnvironment

from quire.domain.errors import PromptTooLong, TemplateFailed, TemplateInvalid
from quire.planning.template_analysis import SUBJECT_NAMES as SUBJECT_NAMES
from quire.planning.template_analysis import (
    MeterRewriter,
    Reading,
    attribute_pairs,
    check_template,
    readings,
    require_boolean,
)
from quire.planning.template_filters import (
    FILTERS,
    METER,
    TESTS,
    Meter,
    TemplateTooCostly,
    TextTooLong,
    as_text,
    fail_if_undefined,
    field_names,
    look_up,
)

LONGEST = 100_000  # characters of a template
LARGEST = 2**63  # beyond this, numbers are no longer numbers of anything
_LOOP_PARTS = (
    *("index", "index0", "revindex", "revindex0", "first", "last", "length"),
    *("previtem", "nextitem"),
)
_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}
_FAILURES = (
    *(jinja2.TemplateError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError),
    *(RecursionError, MemoryError),
)


class _Missing(StrictUndefined):
    """What is not there: any use of it is an error that names it."""

    __slots__ = ()

    @property
    def _undefined_message(self) -> str:
        return self._undefined_hint or f"there is no variable {self._undefined_name!r}"


class _Environment(SandboxedEnvironment):
    """The sandbox, narrowed to data: no attributes, no methods, no calls."""

    intercepted_binops = frozenset(_OPERATORS)

    def getattr(self, obj: Any, attribute: str) -> Any:
        """`a.b` is the part of that name."""
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """`a["b"]` is the part of that name, or in that place."""
        fail_if_undefined(obj)
        fail_if_undefined(argument)
        if isinstance(obj, LoopContext) and argument in _LOOP_PARTS:
            return getattr(obj, argument)
        there, found = look_up(obj, argument)
        return found if there else self.undefined(_hint(obj, argument))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Numbers are reckoned with; texts and lists can only be joined, and are counted."""
        for item in (left, right):
            fail_if_undefined(item)
        if _is_number(left) and _is_number(right):
            result = _OPERATORS[operator](left, right)
            if abs(result) > LARGEST:
                raise TemplateTooCostly("a number grows too large")
            return result
        if operator == "+" and type(left) is type(right) and isinstance(left, str | list):
            meter = context.get(METER)
            assert isinstance(meter, Meter)
            meter.take(left)
            meter.take(right)
            (meter.make if isinstance(left, str) else meter.step)(len(left) + len(right))
            return left + right
        kinds = f"{type(left).__name__} and {type(right).__name__}"
        raise TypeError(f"{operator} does not work on {kinds}")

    def is_safe_callable(self, obj: Any) -> bool:
        """Nothing is called."""
        return False


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _hint(obj: Any, name: Any) -> str:
    names = [str(item) for item in (obj if isinstance(obj, Mapping) else field_names(obj))]
    if names:
        return f"there is no {name!r} here; there are {', '.join(sorted(names)[:20])}"
    return f"there is no {name!r} in a value of type {type(obj).__name__}"


@jinja2.pass_context
def _finalize(context: Context, value: Any) -> str:
    meter = context.get(METER)
    assert isinstance(meter, Meter)
    return as_text(meter, value)


def _make_environment() -> _Environment:
    made = _Environment(
        undefined=_Missing,
        finalize=_finalize,
        autoescape=False,
        keep_trailing_newline=True,
        cache_size=0,
    )
    made.globals = {}
    made.filters = dict(FILTERS)
    made.tests = dict(TESTS)
    return made


_ENVIRONMENT = _make_environment()


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A checked template; the same variables always render to the same text."""

    names: frozenset[str]  # top-level variables it mentions
    attributes: frozenset[tuple[str, str]]  # parts of them, such as ("inputs", "summary")
    readings: frozenset[Reading]  # the same to any depth, through loops, with their lines
    _compiled: jinja2.Template

    def render(self, variables: Mapping[str, object]) -> str:
        """Fill it in; what is missing or too much is one line that says so."""
        return "".join(_render_pieces(self._compiled, variables))


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """A checked condition on an answer's data."""

    names: frozenset[str]
    attributes: frozenset[tuple[str, str]]
    _compiled: jinja2.Template

    def holds(self, answer: object) -> bool:
        """Say whether it is true of this answer."""
        return "".join(_render_pieces(self._compiled, {"answer": answer})) != ""


@lru_cache(maxsize=512)
def compile_template(text: str) -> Template:
    """Check a template's text and make it ready; its first mistake is told with its line."""
    tree = _parse_and_check(text, _parse)
    return Template(**_template_names(tree), readings=readings(tree), _compiled=_compile(tree))


@lru_cache(maxsize=512)
def compile_expression(text: str) -> Expression:
    """Check a condition over `answer`, such as `answer.score >= 0.7`, and make it ready."""
    tree = _parse_and_check(text, _parse_condition)
    (condition,) = tree.find_all(nodes.If)
    condition.test = require_boolean(condition.test)
    tree.set_environment(_ENVIRONMENT)
    return Expression(**_template_names(tree), _compiled=_compile(tree))


class _TemplateNames(TypedDict):
    names: frozenset[str]
    attributes: frozenset[tuple[str, str]]


def _template_names(tree: nodes.Template) -> _TemplateNames:
    names = frozenset(find_undeclared_variables(tree))
    attributes = frozenset(pair for pair in attribute_pairs(tree) if pair[0] in names)
    return _TemplateNames(names=names, attributes=attributes)


def _parse_and_check(text: str, parse: Callable[[str], nodes.Template]) -> nodes.Template:
    if len(text) > LONGEST:
        raise TemplateInvalid(f"it is longer than {LONGEST:,} characters")
    try:
        tree = parse(text)
    except jinja2.TemplateSyntaxError as error:
        raise TemplateInvalid(_one_line_message(error), error.lineno) from error
    except RecursionError as error:
        raise TemplateInvalid("it is nested too deeply") from error
    except ValueError as error:  # a number of thousands of digits
        raise TemplateInvalid(_one_line_message(error)) from error
    check_template(tree)
    bound: nodes.Template = MeterRewriter().visit(tree)
    bound.set_environment(_ENVIRONMENT)
    return bound


def _parse(text: str) -> nodes.Template:
    for line, kind, _ in _ENVIRONMENT.lex(text):
        if kind == "raw_begin":
            raise TemplateInvalid('raw is not allowed; {{ "{{" }} writes two braces', line)
    return _ENVIRONMENT.parse(text)


def _parse_condition(text: str) -> nodes.Template:
    parser = Parser(_ENVIRONMENT, text, state="variable")
    if parser.stream.eos:
        raise TemplateInvalid("it is empty")
    value = parser.parse_expression()
    if not parser.stream.eos:
        raise TemplateInvalid(f"{parser.stream.current.value!r} is one too many")
    one = nodes.Output([nodes.TemplateData("1")], lineno=1)
    tree = nodes.Template([nodes.If(value, [one], [], [], lineno=1)], lineno=1)
    tree.set_environment(_ENVIRONMENT)
    return tree


def _compile(tree: nodes.Template) -> jinja2.Template:
    try:
        return _ENVIRONMENT.from_string(tree)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise TemplateInvalid("it is nested too deeply") from error
    except jinja2.TemplateSyntaxError as error:
        raise TemplateInvalid(_one_line_message(error), error.lineno) from error


def _render_pieces(template: jinja2.Template, variables: Mapping[str, object]) -> Iterator[str]:
    meter = Meter()
    try:
        for piece in template.generate({**variables, METER: meter}):
            yield meter.write(piece)
    except _FAILURES as error:
        line = _template_line(error.__traceback__)
        kind = PromptTooLong if isinstance(error, TextTooLong) else TemplateFailed
        raise kind(_one_line_message(error), line) from error


def _one_line_message(error: BaseException) -> str:
    """What an error says, on one line."""
    message = getattr(error, "message", None) or str(error) or type(error).__name__
    return " ".join(str(message).split())[:300]


def _template_line(trace: TracebackType | None) -> int:
    """The line of the template where it failed; 0 where nobody knows."""
    found = 0
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            found = trace.tb_lineno
        trace = trace.tb_next
    return found
