"""Templates seen without rendering: what they may be written with, and what they read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from jinja2 import nodes
from jinja2.visitor import NodeTransformer

from quire.domain.errors import TemplateInvalid
from quire.planning.template_filters import FILTERS, MOST_STEPS, TESTS

DEEPEST = 50  # parts within parts
SUBJECT_NAMES = frozenset(  # what differs from task to task
    {"block", "document", "documents", "inputs", "sample", "model", "part", "judged", "critique"}
)
# a template cannot give these names to something else, as it may `document` inside a loop
RESERVED = frozenset({"parameters", "inputs", "documents", "judged", "answer", "loop", "range"})
_STATEMENTS = (nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.For, nodes.Assign)
_EXPRESSIONS = (
    *(nodes.Name, nodes.Const, nodes.Getattr, nodes.Getitem, nodes.Slice, nodes.Filter),
    *(nodes.Test, nodes.Call, nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not),
    *(nodes.Add, nodes.Sub, nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Neg, nodes.Pos),
    *(nodes.Concat, nodes.CondExpr, nodes.List, nodes.Tuple, nodes.Dict, nodes.Pair, nodes.Keyword),
)
_ALLOWED = _STATEMENTS + _EXPRESSIONS
_NODE_NAMES = {  # as people know them, where the class's own name is another
    "FromImport": "import",
    "AssignBlock": "a block of set",
    "CallBlock": "call",
    "FilterBlock": "a block of filter",
    "ScopedEvalContextModifier": "autoescape",
    "Pow": "**",
    "NSRef": "a namespace",
}


def check_template(tree: nodes.Template) -> None:
    """Refuse a template that is written with anything else than what is allowed."""
    waiting: list[tuple[nodes.Node, int]] = [(tree, 0)]
    while waiting:  # not by recursion: how deep it goes is what is not known yet
        node, depth = waiting.pop()
        if depth > DEEPEST:
            raise TemplateInvalid("it is nested too deeply", node.lineno)
        if type(node) not in _ALLOWED:
            name = type(node).__name__
            raise TemplateInvalid(
                f"{_NODE_NAMES.get(name, name.lower())} is not allowed; templates know {{{{ … }}}},"
                " {% if %}, {% for %} and {% set %}",
                node.lineno,
            )
        for problem in _problems(node):
            raise TemplateInvalid(problem, node.lineno)
        waiting += [(child, depth + 1) for child in node.iter_child_nodes()]
    if _least_steps(tree.body) > MOST_STEPS:
        raise TemplateInvalid(f"its loops take more than {MOST_STEPS:,} steps", tree.lineno)


def _problems(node: nodes.Node) -> Iterator[str]:
    if isinstance(node, nodes.Name):
        yield from _name_problems(node)
    elif isinstance(node, nodes.Getattr) and node.attr.startswith("_"):
        yield f"{node.attr} is no name of data"
    elif isinstance(node, nodes.Filter | nodes.Test | nodes.Call):
        yield from _call_problems(node)
    elif isinstance(node, nodes.For) and node.recursive:
        yield "a loop cannot be recursive"
    elif isinstance(node, nodes.Compare) and len(node.ops) > 1:
        yield "compare two things at a time"
    elif isinstance(node, nodes.List | nodes.Dict | nodes.Pair) or (
        isinstance(node, nodes.Tuple) and node.ctx == "load"
    ):
        yield from _literal_problems(node)


def _name_problems(node: nodes.Name) -> Iterator[str]:
    if node.name.startswith("_"):
        yield f"{node.name}: a name cannot begin with _"
    elif node.ctx == "store" and node.name in RESERVED:
        yield f"{node.name} means something already; choose another name"


def _call_problems(node: nodes.Filter | nodes.Test | nodes.Call) -> Iterator[str]:
    if node.dyn_args is not None or node.dyn_kwargs is not None:
        yield "* and ** are not allowed"
    if isinstance(node, nodes.Call):
        if not (isinstance(node.node, nodes.Name) and node.node.name == "range"):
            yield "nothing can be called but range(); filters are written as value|filter"
        elif not 1 <= len(node.args) <= 3 or node.kwargs:
            yield "range() takes one to three numbers"
    elif isinstance(node, nodes.Filter) and (node.name not in FILTERS or node.name[0] == "_"):
        known = ", ".join(sorted(name for name in FILTERS if name[0] != "_"))
        yield f"there is no filter {node.name!r}; there are {known}"
    elif isinstance(node, nodes.Test) and node.name not in TESTS:
        yield f"there is no test {node.name!r}; there are {', '.join(sorted(TESTS))}"


def _literal_problems(node: nodes.Node) -> Iterator[str]:
    """Lists of variables could hold each other, and double at every line."""
    plain = (nodes.Const, nodes.Neg, nodes.Pair, nodes.List, nodes.Dict, nodes.Tuple)
    if not all(isinstance(child, plain) for child in node.iter_child_nodes()):
        yield "a list may hold only plain texts and numbers"


def _least_steps(body: list[nodes.Node]) -> int:
    """How many steps the loops take at least, as far as that is written down."""
    loops: Iterator[int] = (
        _fixed_length(node.iter) * (1 + _least_steps(node.body))
        for node in body
        if isinstance(node, nodes.For) and node.test is None
    )
    return sum(loops)


def _fixed_length(node: nodes.Node) -> int:
    if isinstance(node, nodes.List | nodes.Tuple):
        return len(node.items)
    if isinstance(node, nodes.Call):
        given = [arg.value for arg in node.args if isinstance(arg, nodes.Const)]
        bounds = [item for item in given if isinstance(item, int)]
        if len(bounds) == len(node.args) and (len(bounds) < 3 or bounds[2]):
            numbers = range(*bounds)  # whose len() refuses numbers beyond the machine's own
            length = (numbers.stop - numbers.start) // numbers.step
            return min(max(length, 0), MOST_STEPS + 1)
    return 0


def attribute_pairs(tree: nodes.Template) -> frozenset[tuple[str, str]]:
    """Every `name.part` that can be seen without rendering."""
    pairs = [_name_and_part(node) for node in tree.find_all((nodes.Getattr, nodes.Getitem))]
    return frozenset((name, part) for name, part in pairs if name and part)


def _name_and_part(node: nodes.Node) -> tuple[str, str]:
    if not isinstance(node, nodes.Getattr | nodes.Getitem) or not isinstance(node.node, nodes.Name):
        return "", ""
    if isinstance(node, nodes.Getattr):
        return node.node.name, node.attr
    constant = node.arg.value if isinstance(node.arg, nodes.Const) else None
    return node.node.name, constant if isinstance(constant, str) else ""


class MeterRewriter(NodeTransformer):
    """Rewrites what could grow without limit into filters that keep count."""

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - named after the node
        """A loop counts what it goes over."""
        self.generic_visit(node)
        node.iter = _wrap_in_filter(node.iter, "_each")
        return node

    def visit_Call(self, node: nodes.Call) -> nodes.Node:  # noqa: N802
        """Only range() is called."""
        self.generic_visit(node)
        return _wrap_in_filter(node.args[0], "_range", node.args[1:])

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        """`a ~ b` makes a new text."""
        self.generic_visit(node)
        return _wrap_in_filter(nodes.List(node.nodes, lineno=node.lineno), "join")

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802
        """`text[:100]` makes a new text."""
        self.generic_visit(node)
        cut = node.arg
        if not isinstance(cut, nodes.Slice):
            return node
        bounds = [expr or nodes.Const(None) for expr in (cut.start, cut.stop, cut.step)]
        return _wrap_in_filter(node.node, "_slice", bounds)

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802
        """`a in b` reads all of b."""
        self.generic_visit(node)
        (operand,) = node.ops
        if operand.op not in ("in", "notin"):
            return node
        contains = nodes.Test(node.expr, "in", [operand.expr], [], None, None, lineno=node.lineno)
        return contains if operand.op == "in" else nodes.Not(contains, lineno=node.lineno)


def _wrap_in_filter(
    value: nodes.Node, name: str, given: list[nodes.Expr] | None = None
) -> nodes.Filter:
    return nodes.Filter(value, name, given or [], [], None, None, lineno=value.lineno)


def require_boolean(value: nodes.Node) -> nodes.Filter:
    """The same expression, which must come out as true or false."""
    return _wrap_in_filter(value, "_truth")


ITEM = "*"  # a step from a list to one of its items
Path: TypeAlias = tuple[str, ...]
Reading: TypeAlias = tuple[Path, int]  # such as inputs, facts, *, data, who; and the line

_SAME_ITEMS = frozenset({"_each", "_slice", "list", "reverse", "sort", "unique"})
_ONE_ITEM = frozenset({"first", "last", "min", "max"})
_ATTRIBUTES = {"map": 0, "sort": 0, "join": 1}  # filters that take one, and in which place


@dataclass(frozen=True, slots=True)
class _ListOf:
    """A list whose items are in this place."""

    item: Path


_Value: TypeAlias = Path | _ListOf | None  # None: it cannot be said where it comes from


def readings(tree: nodes.Template) -> frozenset[Reading]:
    """Every part of a variable that is read, through loops and names given with set."""
    walk = _Walk()
    walk.walk_block(tree.body, {})
    return frozenset(walk.readings)


class _Walk:
    """Goes through a template in its order, knowing what each name stands for there."""

    def __init__(self) -> None:
        self.readings: set[Reading] = set()

    def walk_block(self, body: Sequence[nodes.Node], known: dict[str, _Value]) -> None:
        """Statements after each other; `known` learns what they name."""
        for node in body:
            if isinstance(node, nodes.For):
                self._walk_loop(node, known)
            elif isinstance(node, nodes.If):
                self._walk_if(node, known)
            elif isinstance(node, nodes.Assign):
                value = self.trace(node.node, known)
                known.update(_target_names(node.target, value))
            else:
                for child in node.iter_child_nodes():
                    self.trace(child, known)

    def _walk_loop(self, node: nodes.For, known: dict[str, _Value]) -> None:
        item = _item_path(self.trace(node.iter, known))
        inside = {**known, **_assigned_names(node.body), "loop": None}
        inside |= _target_names(node.target, item)
        if node.test is not None:
            self.trace(node.test, inside)
        self.walk_block(node.body, inside)
        self.walk_block(node.else_, dict(known))

    def _walk_if(self, node: nodes.If, known: dict[str, _Value]) -> None:
        self.trace(node.test, known)
        for body in (node.body, node.elif_, node.else_):
            self.walk_block(body, dict(known))
        for body in (node.body, node.elif_, node.else_):
            known.update(_assigned_names(body))  # nobody knows which of them it was

    def trace(self, node: nodes.Node, known: Mapping[str, _Value]) -> _Value:
        """Where a value comes from; what is read on the way is noted."""
        if isinstance(node, nodes.Name):
            return known.get(node.name, (node.name,))
        if isinstance(node, nodes.Getattr):
            return self._read_part(self.trace(node.node, known), node.attr, node.lineno)
        if isinstance(node, nodes.Getitem):
            return self._trace_part(node, known)
        if isinstance(node, nodes.Filter) and node.node is not None:
            return self._trace_filter(node, known)
        for child in node.iter_child_nodes():
            self.trace(child, known)
        return None

    def _trace_part(self, node: nodes.Getitem, known: Mapping[str, _Value]) -> _Value:
        whole, part = self.trace(node.node, known), node.arg
        if isinstance(part, nodes.Const) and isinstance(part.value, str):
            return self._read_part(whole, part.value, node.lineno)
        self.trace(part, known)
        is_place = isinstance(part, nodes.Const) and isinstance(part.value, int)
        return _item_path(whole) if is_place else None

    def _trace_filter(self, node: nodes.Filter, known: Mapping[str, _Value]) -> _Value:
        assert node.node is not None
        whole = self.trace(node.node, known)
        for expr in (*node.args, *(kwarg.value for kwarg in node.kwargs)):
            self.trace(expr, known)
        item, name = _item_path(whole), _attribute_name(node)
        read = self._read_part(item, name, node.lineno) if name else item
        if node.name == "map":
            return None if read is None else _ListOf(read)
        if node.name in _ONE_ITEM:
            return item
        return whole if node.name in _SAME_ITEMS else None

    def _read_part(self, whole: _Value, name: str, line: int) -> Path | None:
        if whole is None or isinstance(whole, _ListOf):
            return None
        self.readings.add(((*whole, name), line))
        return (*whole, name)


def _item_path(value: _Value) -> Path | None:
    if isinstance(value, _ListOf):
        return value.item
    return None if value is None else (*value, ITEM)


def _attribute_name(node: nodes.Filter) -> str:
    """The part of every item that a filter asks for by name."""
    if node.name not in _ATTRIBUTES:
        return ""
    place = _ATTRIBUTES[node.name]
    given = [kwarg.value for kwarg in node.kwargs if kwarg.key == "attribute"]
    given += node.args[place : place + 1]
    named = given[0] if given else None
    found = named.value if isinstance(named, nodes.Const) else None
    return found if isinstance(found, str) else ""


def _target_names(target: nodes.Node, value: _Value) -> dict[str, _Value]:
    if isinstance(target, nodes.Name):
        return {target.name: value}
    return {name.name: None for name in target.find_all(nodes.Name)}


def _assigned_names(body: Sequence[nodes.Node]) -> dict[str, _Value]:
    """The names that are given in some statements, whatever they stand for."""
    given = nodes.Template(list(body)).find_all(nodes.Assign)
    return {name: None for node in given for name in _target_names(node.target, None)}
