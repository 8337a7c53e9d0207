"""Requests as the OpenAPI document allows them: none breaks the server, all answers are as it says.

Each is asked without a token and with one of every role; what comes back must have a status, a
content type and a body that the document declares. Nothing is left out: no worker runs, so that no
webhook is told anything; drafts are the simulated model's, as no other has a key; events come as a
page, for a stream has no end (tests/server/test_stream_access.py and test_event_broadcast.py).
"""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, given, settings

from quire.domain.access import AccessRole
from quire.engine import Engine, open_engine
from quire.server.site import Site, SiteSettings
from tests.docs.http_page import Route, example_body, read_document, routes
from tests.docs.http_shapes import follow
from tests.server.site_apps import ready_site_app
from tests.server.sites import SCHEMA, TEXT, open_site

NOBODY = ""
REACHED = (  # that do more than refuse, though a model or an address is outside
    "POST /v1/webhooks",
    "DELETE /v1/webhooks/{webhook}",
    "POST /v1/signout",
    "POST /v1/schemas/draft",
    "GET /v1/runs/{run}/events",
)
# What is there: most requests are about it, so that not all answers are refusals.
THERE: dict[str, Sequence[int | str]] = {
    "run": [1, 2],  # of a schema, and of a recipe
    "task": [1, 14],
    "document": [1],
    "call": [1, 5],
    "audit": [1],
    "webhook": [1],
    "no": [0],
    "name": ["team"],
    "ref": ["clause"],
}


def _fill(engine: Engine, folder: Path) -> None:
    (folder / "lease.md").write_text(TEXT)
    engine.ingest(folder / "lease.md", tell=lambda line: None)
    engine.add_schema(SCHEMA, "clause")
    run = engine.run(schema="clause", model="simulated/small", pack_size=4)
    run.wait()
    run.audit(3, tolerance=0.1)
    run.approve(2, who="ann")
    engine.run(recipe="extract_checked", model="simulated/small", limit=4).wait()
    engine.wallets.create("team", 5)


def _open_filled(folder: Path) -> tuple[Site, dict[str, dict[str, str]]]:
    """A site with something in it, and the headers of everybody who asks."""
    place = str(folder / "quire.db")
    asks: dict[str, dict[str, str]] = {NOBODY: {}}
    with open_engine(place, environment={}) as engine:
        _fill(engine, folder)
        for role in AccessRole:
            token = engine.access_tokens.create(f"a {role.word}", role.word).token
            asks[role.word] = {"Authorization": f"Bearer {token}"}
    told = SiteSettings(local=False, host_names=("testserver",))
    return Site(lambda name: open_engine(place, workspace=name, environment={}), told), asks


def _ask_everything(
    folder: Path, examples: int, turns: Sequence[Sequence[str]]
) -> list[tuple[str, int]]:
    """Route and status of all answers, each of which was looked at; `turns` say who asks."""
    import schemathesis  # takes a second, in each of the processes that test

    site, asks = _open_filled(folder)
    schema = schemathesis.openapi.from_asgi("/v1/openapi.json", ready_site_app(site))
    answers: list[tuple[str, int]] = []
    for found in schema.get_all_operations():
        operation: Any = found.ok()  # type: ignore[union-attr]  # the document is right
        asked = 0

        @given(case=operation.as_strategy())
        @settings(
            max_examples=examples,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
        )
        def ask(case: Any) -> None:
            nonlocal asked
            for who in turns[asked % len(turns)]:
                status = _ask(case, asks[who], asked)
                answers.append((f"{case.method} {case.operation.path}", status))
            asked += 1

        ask()
    site.close()
    return answers


def _ask(case: Any, headers: Mapping[str, str], asked: int) -> int:
    if asked % 3 < 2:
        _take_example(case)
        for name, numbers in THERE.items():
            if name in case.path_parameters:
                case.path_parameters[name] = numbers[asked % 3 % len(numbers)]
    answer = case.call(headers=dict(headers))
    case.validate_response(answer, checks=_checks())
    status: int = answer.status_code
    return status


@cache
def _checks() -> list[Any]:
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    return [
        not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
    ]


def _take_example(case: Any) -> None:
    """A body that the document shows, where it shows one."""
    document = case.operation.schema.raw_schema
    operation = document["paths"][case.operation.path][case.method.lower()]
    route = Route(case.method, case.operation.path, operation)
    body = example_body(document, route)
    if body is not None:
        case.body, case.media_type = body, "application/json"


def test_every_answer_is_as_the_document_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where the file goes that guards kept keys
    turns = [(NOBODY, "viewer", "operator"), ("reviewer", "admin"), ("admin",)]

    answers = _ask_everything(tmp_path, 3, turns)

    assert len(answers) > 400
    assert {200, 201, 401, 403, 404, 422} <= {status for _, status in answers}
    assert {*REACHED} <= {route for route, status in answers if status in {200, 201}}


@pytest.mark.soak
def test_every_answer_to_many_requests_is_as_the_document_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    everybody = (NOBODY, *(role.word for role in AccessRole))

    assert len(_ask_everything(tmp_path, 30, [everybody])) > 5_000


def test_every_parameter_says_what_it_is(tmp_path: Path) -> None:
    with open_site(tmp_path) as client:
        document = client.get("/v1/openapi.json").json()

    unsaid = [
        (path, parameter["name"])
        for path, route in document["paths"].items()
        for operation in route.values()
        for parameter in operation.get("parameters", ())
        if not parameter.get("description")
    ]
    assert unsaid == []


WHOLE = {  # lists that end by themselves
    "/v1/recipes",  # what is installed
    "/v1/models",
    "/v1/keys",
    "/v1/me/keys",
    "/v1/runs/{run}/failures",  # a line for each kind of failure
    "/v1/runs/{run}/leases",  # what those hold who are at it now
}


def test_every_list_comes_in_pages() -> None:
    document = read_document()
    whole = set()
    for route in routes(document):
        answer = route.said["responses"].get("200", {}).get("content", {})
        shape = follow(document, answer.get("application/json", {}).get("schema", {}))
        taken = {parameter["name"] for parameter in route.said.get("parameters", ())}
        paged = {"cursor", "limit"} <= taken and "next" in shape.get("properties", {})
        if route.method == "GET" and "items" in shape.get("properties", {}) and not paged:
            whole.add(route.path)

    assert whole == WHOLE


def test_a_list_that_is_read_whole_is_answered_page_by_page(tmp_path: Path) -> None:
    site, asks = _open_filled(tmp_path)
    headers = asks["admin"]
    with TestClient(ready_site_app(site), headers=headers) as client:
        for number in range(7):
            client.post("/v1/wallets", json={"name": f"w{number}"})
        found, cursor = [], None
        for _ in range(3):
            query = {"limit": 3, **({"cursor": cursor} if cursor else {})}
            page = client.get("/v1/wallets", params=query).json()
            found += [item["wallet"] for item in page["items"]]
            cursor = page["next"]
        strange = client.get("/v1/wallets", params={"cursor": "none of ours"})

    assert sorted(found) == ["team", *(f"w{number}" for number in range(7))]
    assert cursor is None
    assert strange.status_code == 422


def test_every_field_is_declared_and_says_what_it_is(tmp_path: Path) -> None:
    site, _ = _open_filled(tmp_path)
    shapes = ready_site_app(site).openapi()["components"]["schemas"]
    site.close()

    unsaid = [
        (name, field)
        for name, shape in shapes.items()
        for field, said in shape.get("properties", {}).items()
        if not said.get("description")
    ]
    assert unsaid == []
    assert [name for name, shape in shapes.items() if _is_bare(shape)] == []


def _is_bare(shape: Any) -> bool:
    """Whether anything may stand somewhere in a shape, and nobody says why."""
    if not isinstance(shape, dict) or "x-free" in shape or "$ref" in shape:
        return False
    said = shape.keys() - {"title", "description", "default", "examples"}
    free = shape.get("additionalProperties", "properties" not in shape) is True
    if not said or (shape.get("type") == "object" and free):
        return True
    inner = [*shape.get("properties", {}).values(), *shape.get("anyOf", ())]
    inner += [shape.get("items"), shape.get("additionalProperties")]
    return any(map(_is_bare, inner))
