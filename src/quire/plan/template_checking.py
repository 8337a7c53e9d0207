"""What a template may be written with: its parts are checked, then bound to what keeps count."""

from collections.abc import Iterator

from jinja2 import nodes
from jinja2.visitor import NodeTransformer

from quire.domain.errors import TemplateInvalid
from quire.plan.template_metering import FILTERS, MOST_STEPS, TESTS

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
_CALLED = {  # as people know them, where the class's own name is another
    "FromImport": "import",
    "AssignBlock": "a block of set",
    "CallBlock": "call",
    "FilterBlock": "a block of filter",
    "ScopedEvalContextModifier": "autoescape",
    "Pow": "**",
    "NSRef": "a namespace",
}


def check(tree: nodes.Template) -> None:
    """Refuse a template that is written with anything else than what is allowed."""
    waiting: list[tuple[nodes.Node, int]] = [(tree, 0)]
    while waiting:  # not by recursion: how deep it goes is what is not known yet
        node, depth = waiting.pop()
        if depth > DEEPEST:
            raise TemplateInvalid("it is nested too deeply", node.lineno)
        if type(node) not in _ALLOWED:
            name = type(node).__name__
            raise TemplateInvalid(
                f"{_CALLED.get(name, name.lower())} is not allowed; templates know {{{{ … }}}},"
                " {% if %}, {% for %} and {% set %}",
                node.lineno,
            )
        for problem in _problems(node):
            raise TemplateInvalid(problem, node.lineno)
        waiting += [(each, depth + 1) for each in node.iter_child_nodes()]
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
        known = ", ".join(sorted(each for each in FILTERS if each[0] != "_"))
        yield f"there is no filter {node.name!r}; there are {known}"
    elif isinstance(node, nodes.Test) and node.name not in TESTS:
        yield f"there is no test {node.name!r}; there are {', '.join(sorted(TESTS))}"


def _literal_problems(node: nodes.Node) -> Iterator[str]:
    """Lists of variables could hold each other, and double at every line."""
    plain = (nodes.Const, nodes.Neg, nodes.Pair, nodes.List, nodes.Dict, nodes.Tuple)
    if not all(isinstance(each, plain) for each in node.iter_child_nodes()):
        yield "a list may hold only plain texts and numbers"


def _least_steps(body: list[nodes.Node]) -> int:
    """How many steps the loops take at least, as far as that is written down."""
    loops: Iterator[int] = (
        _fixed_length(each.iter) * (1 + _least_steps(each.body))
        for each in body
        if isinstance(each, nodes.For) and each.test is None
    )
    return sum(loops)


def _fixed_length(node: nodes.Node) -> int:
    if isinstance(node, nodes.List | nodes.Tuple):
        return len(node.items)
    if isinstance(node, nodes.Call):
        given = [each.value for each in node.args if isinstance(each, nodes.Const)]
        bounds = [each for each in given if isinstance(each, int)]
        if len(bounds) == len(node.args) and (len(bounds) < 3 or bounds[2]):
            return min(_length(range(*bounds)), MOST_STEPS + 1)
    return 0


def _length(numbers: range) -> int:
    """The same as len(), which refuses numbers beyond the machine's own."""
    return max((numbers.stop - numbers.start) // numbers.step, 0)


def attributes(tree: nodes.Template) -> frozenset[tuple[str, str]]:
    """Every `name.part` that can be seen without rendering."""
    pairs = [_part(node) for node in tree.find_all((nodes.Getattr, nodes.Getitem))]
    return frozenset((name, part) for name, part in pairs if name and part)


def _part(node: nodes.Node) -> tuple[str, str]:
    if not isinstance(node, nodes.Getattr | nodes.Getitem) or not isinstance(node.node, nodes.Name):
        return "", ""
    if isinstance(node, nodes.Getattr):
        return node.node.name, node.attr
    constant = node.arg.value if isinstance(node.arg, nodes.Const) else None
    return node.node.name, constant if isinstance(constant, str) else ""


class Binding(NodeTransformer):
    """Rewrites what could grow without limit into filters that keep count."""

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - named after the node
        """A loop counts what it goes over."""
        self.generic_visit(node)
        node.iter = _filtered(node.iter, "_each")
        return node

    def visit_Call(self, node: nodes.Call) -> nodes.Node:  # noqa: N802
        """Only range() is called."""
        self.generic_visit(node)
        return _filtered(node.args[0], "_range", node.args[1:])

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802
        """`a ~ b` makes a new text."""
        self.generic_visit(node)
        return _filtered(nodes.List(node.nodes, lineno=node.lineno), "join")

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:  # noqa: N802
        """`text[:100]` makes a new text."""
        self.generic_visit(node)
        cut = node.arg
        if not isinstance(cut, nodes.Slice):
            return node
        bounds = [each or nodes.Const(None) for each in (cut.start, cut.stop, cut.step)]
        return _filtered(node.node, "_slice", bounds)

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:  # noqa: N802
        """`a in b` reads all of b."""
        self.generic_visit(node)
        (operand,) = node.ops
        if operand.op not in ("in", "notin"):
            return node
        held = nodes.Test(node.expr, "in", [operand.expr], [], None, None, lineno=node.lineno)
        return held if operand.op == "in" else nodes.Not(held, lineno=node.lineno)


def _filtered(value: nodes.Node, name: str, given: list[nodes.Expr] | None = None) -> nodes.Filter:
    return nodes.Filter(value, name, given or [], [], None, None, lineno=value.lineno)


def truth_of(value: nodes.Node) -> nodes.Filter:
    """The same expression, which must come out as true or false."""
    return _filtered(value, "_truth")
