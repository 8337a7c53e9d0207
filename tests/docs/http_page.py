"""The page docs/http_api.md: every route of the HTTP API by noun, from its OpenAPI document."""

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from typing import Any, NamedTuple

from quire.domain.errors import UsageError
from quire.engine import Engine
from quire.server.app import make_app
from quire.server.site import Site
from tests.docs.http_shapes import (
    PAGED,
    Document,
    Shape,
    field_rows,
    fields_of,
    follow,
    name_of,
    tell_answer,
)
from tests.docs.pages import ROOT
from tests.server.route_roles import ROLES

PAGE = ROOT / "docs" / "http_api.md"
HEAD = """# The HTTP API

Every route of `quire serve` by noun, written by `make docs` from `/v1/openapi.json`, which also
says how long a text may be. A test compares it with the code. [A server](server.md) tells how to
begin, who has which role, and how to ask from Python.

- A role may do what those before it may: viewer, reviewer, operator, admin. On this machine, where
  nobody signs in, everybody is an admin; elsewhere send `Authorization: Bearer qt_…`.
- A `{noun}` in a path is its number, where nothing else is said. All else that a route takes stands
  behind the `?` (query), in a header, or in a JSON body. What is not marked as needed may be left
  out; a body with a field that is not known is refused.
- A page is `{"items": […], "next": CURSOR}`; `?cursor=CURSOR` asks for what comes after it, and
  `"next": null` says that nothing does.
- Errors are 4XX or 503 with `{"error": {"kind", "message", "fix"}}`; `fix` says what to do.
- An answer may hold more than is said here; whoever reads one passes over what they do not know.
"""
SERVER = "http://localhost:8321"
FORM = "multipart/form-data"
TABLE = "| Takes | In | Is |\n|---|---|---|"


class Route(NamedTuple):
    """A method on a path, and what the document says of it."""

    method: str
    path: str
    said: dict[str, Any]

    @property
    def title(self) -> str:
        """Such as `GET /v1/runs`."""
        return f"{self.method} {self.path}"


def http_page() -> str:
    """Every noun with its routes, and then what answers are made of."""
    document = read_document()
    nouns: dict[str, list[Route]] = {}
    for route in routes(document):
        nouns.setdefault(route.said["tags"][0], []).append(route)
    lines = [HEAD, " · ".join(f"[{noun}](#{noun})" for noun in [*nouns, "shapes"])]
    for noun, found in nouns.items():
        lines.append(f"\n## {noun}")
        lines += [line for route in found for line in _tell(document, route)]
    lines.append("\n## shapes\n\nWhat answers, and lists in bodies, are made of.")
    lines += [line for shape in _shapes(document) for line in _tell_shape(document, shape)]
    return "".join(f"{line}\n" for line in lines)


def read_document() -> Document:
    """What a server says of itself at `/v1/openapi.json`."""
    return deepcopy(_document())


@cache  # FastAPI takes half a second
def _document() -> Document:
    def open_nothing(workspace: str) -> Engine:
        raise UsageError("a description needs no ledger")

    return make_app(Site(open_nothing)).openapi()


def routes(document: Document) -> Iterator[Route]:
    """Every route, in the order of the document."""
    for path, methods in document["paths"].items():
        for method, said in methods.items():
            yield Route(method.upper(), path, said)


def example_body(document: Document, route: Route) -> dict[str, Any] | None:
    """A body that stands as an example, or is made of those of its fields; else none."""
    shape = follow(document, _body_of(route).get("application/json", {}))
    fields = shape.get("properties", {})
    body = {key: field["examples"][0] for key, field in fields.items() if "examples" in field}
    whole = body and set(shape.get("required", ())) <= set(body)
    found: dict[str, Any] | None = shape.get("examples", [body if whole else None])[0]
    return found


def example_form(route: Route) -> dict[str, list[str]]:
    """The parts of a form that stands as an example: the texts of its files."""
    form: dict[str, list[str]] = route.said["requestBody"]["content"][FORM].get("example", {})
    return form


def _tell(document: Document, route: Route) -> Iterator[str]:
    role = ROLES[route.title]
    yield f"\n### {route.title}\n"
    first, *more = route.said["description"].split("\n\n")
    yield f"{_one_line(first)} Role: {role.word if role is not None else 'none'}."
    for paragraph in more:
        yield f"\n{_one_line(paragraph)}"
    rows = [*_parameter_rows(document, route), *_body_rows(document, route)]
    if rows:
        yield f"\n{TABLE}"
        yield from rows
    for status, answer in sorted(route.said["responses"].items()):
        if status.startswith("2"):
            yield f"\nAnswers {status}: {tell_answer(document, answer)}"
    yield from _example(document, route)


def _parameter_rows(document: Document, route: Route) -> Iterator[str]:
    for parameter in route.said.get("parameters", ()):
        fields = {parameter["name"]: parameter["schema"]}
        if parameter["in"] == "path" and parameter["schema"]["type"] == "integer":
            continue  # the head says it of all
        needed = {parameter["name"]} if parameter["required"] else set()
        yield from field_rows(document, fields, needed, parameter["in"])


def _body_rows(document: Document, route: Route) -> Iterator[str]:
    for media, shape in _body_of(route).items():
        fields, needed = fields_of(document, shape)
        yield from field_rows(document, fields, needed, "body" if "json" in media else "form")


def _example(document: Document, route: Route) -> Iterator[str]:
    address = SERVER + re.sub(r"{\w+}", "1", route.path)
    if FORM in _body_of(route):
        yield f"\n```\ncurl -F files=@lease.md {address}\n```"
    if (body := example_body(document, route)) is not None:
        method = "" if route.method == "POST" else f" -X {route.method}"
        text = json.dumps(body, ensure_ascii=False)
        head = "-H 'Content-Type: application/json'"
        yield f"\n```\ncurl{method} {head} -d '{text}' \\\n  {address}\n```"


def _body_of(route: Route) -> dict[str, Shape]:
    content = route.said.get("requestBody", {}).get("content", {})
    return {media: said["schema"] for media, said in content.items()}


def _shapes(document: Document) -> list[str]:
    """The components that answers hold, or that bodies hold further inside."""
    components = document["components"]["schemas"]
    found = list(routes(document))
    bodies = {name for route in found for name in _references(list(_body_of(route).values()))}
    answers = {name for route in found for name in _references(route.said["responses"])}
    inner = {name for shape in components.values() for name in _references(shape)}
    shapes = {name: components[name].get("properties", {}) for name in (inner - bodies) | answers}
    return sorted(name for name, fields in shapes.items() if fields and set(fields) != PAGED)


def _references(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from filter(None, [name_of(value)])
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _references(item)


def _tell_shape(document: Document, name: str) -> Iterator[str]:
    shape = document["components"]["schemas"][name]
    yield f"\n### {name}\n"
    yield _one_line(shape.get("description", ""))
    yield "\n| Field | Is |\n|---|---|"
    yield from field_rows(document, shape["properties"], set())


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


if __name__ == "__main__":
    PAGE.write_text(http_page(), "utf-8")
