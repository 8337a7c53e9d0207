"""The page docs/python_api.md: what `import quire` offers, with its signatures and sentences."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cached_property
from tempfile import TemporaryDirectory
from types import FunctionType

import quire
from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "python_api.md"
HEAD = """# What `import quire` offers

Every public name with its signature and what it does, written by `make docs` from the code. A test
compares it with the code. The [tutorial](tutorial.md) and the [README](../README.md#in-python) show
how they are used together.
"""
JSON = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
MODULES = re.compile(r"\b(?:quire|collections|typing|pathlib|datetime)\.(?:\w+\.)*")


def python_page() -> str:
    """Functions first, then classes with their methods."""
    names = [name for name in quire.__all__ if not name.startswith("_")]
    found = {name: getattr(quire, name) for name in names}
    functions = [name for name, item in found.items() if inspect.isroutine(item)]
    classes = [name for name, item in found.items() if inspect.isclass(item)]
    lines = [line for name in functions for line in _function(f"quire.{name}", found[name], "##")]
    lines += [line for name in classes for line in _class(name, found[name])]
    return HEAD + "".join(f"{line}\n" for line in lines)


def _class(name: str, item: type) -> Iterator[str]:
    yield f"\n## quire.{name}\n"
    yield _words(item.__doc__)
    if issubclass(item, BaseException):
        return
    if is_dataclass(item):
        yield "\n| Field | Is |\n|---|---|"
        yield from (f"| `{field.name}` | `{_type(field.type)}` |" for field in fields(item))
    for key, value in sorted(_members(item).items()):
        if inspect.isfunction(value) or inspect.ismethod(value):
            yield from _function(key, value, "###")
        elif isinstance(value, property | cached_property):
            found = value.fget if isinstance(value, property) else value.func
            yield f"\n### {key}\n"
            yield _words(found.__doc__ if found else "")


def _members(item: type) -> dict[str, object]:
    """What a class has by name; what an engine's parts do for it is asked of one that is open."""
    public = {key: inspect.getattr_static(item, key) for key in dir(item) if key[0] != "_"}
    if item is not quire.Engine:
        return public
    with TemporaryDirectory() as folder, quire.open(f"{folder}/page.db") as engine:
        return {
            key: value
            if isinstance(value, FunctionType | property | cached_property)
            else getattr(engine, key)
            for key, value in public.items()
        }


def _function(name: str, item: object, level: str) -> Iterator[str]:
    assert callable(item)
    yield f"\n{level} {name}\n"
    yield f"```text\n{name.rpartition('.')[2]}{_signature(item)}\n```\n"
    yield _words(item.__doc__)


def _signature(item: object) -> str:
    """The parameters with their types, one a line where they are many."""
    assert callable(item)
    signature = inspect.signature(item)
    shown: list[str] = []
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY and not any(part[0] == "*" for part in shown):
            shown.append("*")
        if name != "self":
            shown.append(_parameter(parameter))
    returned = signature.return_annotation
    back = "" if returned in (None, "None", inspect.Signature.empty) else f" -> {_type(returned)}"
    line = f"({', '.join(shown)}){back}"
    if len(line) <= 90:
        return line
    return "(\n" + "".join(f"    {part},\n" for part in shown) + f"){back}"


def _parameter(parameter: inspect.Parameter) -> str:
    stars = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
    stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else stars
    default = parameter.default
    value = (
        "" if default is parameter.empty else f" = {'…' if callable(default) else repr(default)}"
    )
    return f"{stars}{parameter.name}: {_type(parameter.annotation)}{value}"


def _type(annotation: object) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return MODULES.sub("", text).replace("'", "").replace(JSON, "Json")


def _words(text: str | None) -> str:
    return inspect.cleandoc(text or "")


if __name__ == "__main__":
    PAGE.write_text(python_page(), "utf-8")
