"""What a template reads of its variables, step by step, as far as that can be seen."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from jinja2 import nodes

ITEM = "*"  # a step from a list to one of its items
Path: TypeAlias = tuple[str, ...]
Reading: TypeAlias = tuple[Path, int]  # such as inputs, facts, *, data, who; and the line

_SAME_ITEMS = frozenset({"_each", "_slice", "list", "reverse", "sort", "unique"})
_ONE_ITEM = frozenset({"first", "last", "min", "max"})
_ATTRIBUTES = {"map": 0, "sort": 0, "join": 1}  # filters that take one, and in which place


@dataclass(frozen=True, slots=True)
class _Listed:
    """A list whose items are in this place."""

    item: Path


_Value: TypeAlias = Path | _Listed | None  # None: it cannot be said where it comes from


def readings(tree: nodes.Template) -> frozenset[Reading]:
    """Every part of a variable that is read, through loops and names given with set."""
    walk = _Walk()
    walk.block(tree.body, {})
    return frozenset(walk.found)


class _Walk:
    """Goes through a template in its order, knowing what each name stands for there."""

    def __init__(self) -> None:
        self.found: set[Reading] = set()

    def block(self, body: Sequence[nodes.Node], known: dict[str, _Value]) -> None:
        """Statements after each other; `known` learns what they name."""
        for node in body:
            if isinstance(node, nodes.For):
                self._loop(node, known)
            elif isinstance(node, nodes.If):
                self._choice(node, known)
            elif isinstance(node, nodes.Assign):
                value = self.value(node.node, known)
                known.update(_named(node.target, value))
            else:
                for each in node.iter_child_nodes():
                    self.value(each, known)

    def _loop(self, node: nodes.For, known: dict[str, _Value]) -> None:
        item = _item(self.value(node.iter, known))
        inside = {**known, **_assigned(node.body), "loop": None, **_named(node.target, item)}
        if node.test is not None:
            self.value(node.test, inside)
        self.block(node.body, inside)
        self.block(node.else_, dict(known))

    def _choice(self, node: nodes.If, known: dict[str, _Value]) -> None:
        self.value(node.test, known)
        for body in (node.body, node.elif_, node.else_):
            self.block(body, dict(known))
        for body in (node.body, node.elif_, node.else_):
            known.update(_assigned(body))  # nobody knows which of them it was

    def value(self, node: nodes.Node, known: Mapping[str, _Value]) -> _Value:
        """Where a value comes from; what is read on the way is noted."""
        if isinstance(node, nodes.Name):
            return known.get(node.name, (node.name,))
        if isinstance(node, nodes.Getattr):
            return self._step(self.value(node.node, known), node.attr, node.lineno)
        if isinstance(node, nodes.Getitem):
            return self._part(node, known)
        if isinstance(node, nodes.Filter) and node.node is not None:
            return self._filtered(node, known)
        for each in node.iter_child_nodes():
            self.value(each, known)
        return None

    def _part(self, node: nodes.Getitem, known: Mapping[str, _Value]) -> _Value:
        whole, part = self.value(node.node, known), node.arg
        if isinstance(part, nodes.Const) and isinstance(part.value, str):
            return self._step(whole, part.value, node.lineno)
        self.value(part, known)
        is_place = isinstance(part, nodes.Const) and isinstance(part.value, int)
        return _item(whole) if is_place else None

    def _filtered(self, node: nodes.Filter, known: Mapping[str, _Value]) -> _Value:
        assert node.node is not None
        whole = self.value(node.node, known)
        for each in (*node.args, *(each.value for each in node.kwargs)):
            self.value(each, known)
        item, name = _item(whole), _attribute(node)
        read = self._step(item, name, node.lineno) if name else item
        if node.name == "map":
            return None if read is None else _Listed(read)
        if node.name in _ONE_ITEM:
            return item
        return whole if node.name in _SAME_ITEMS else None

    def _step(self, whole: _Value, name: str, line: int) -> Path | None:
        if whole is None or isinstance(whole, _Listed):
            return None
        self.found.add(((*whole, name), line))
        return (*whole, name)


def _item(value: _Value) -> Path | None:
    if isinstance(value, _Listed):
        return value.item
    return None if value is None else (*value, ITEM)


def _attribute(node: nodes.Filter) -> str:
    """The part of every item that a filter asks for by name."""
    if node.name not in _ATTRIBUTES:
        return ""
    place = _ATTRIBUTES[node.name]
    given = [each.value for each in node.kwargs if each.key == "attribute"]
    given += node.args[place : place + 1]
    named = given[0] if given else None
    found = named.value if isinstance(named, nodes.Const) else None
    return found if isinstance(found, str) else ""


def _named(target: nodes.Node, value: _Value) -> dict[str, _Value]:
    if isinstance(target, nodes.Name):
        return {target.name: value}
    return {each.name: None for each in target.find_all(nodes.Name)}


def _assigned(body: Sequence[nodes.Node]) -> dict[str, _Value]:
    """The names that are given in some statements, whatever they stand for."""
    given = [each.target for node in body for each in _assignments(node)]
    return {name: None for target in given for name in _named(target, None)}


def _assignments(node: nodes.Node) -> Iterator[nodes.Assign]:
    if isinstance(node, nodes.Assign):
        yield node
    yield from node.find_all(nodes.Assign)
