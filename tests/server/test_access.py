"""Access: every route and page, as every role, as a stranger from another workspace, as nobody."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from fastapi.routing import APIRoute
from fastapi.testclient import TestClient

from quire.domain.access import AccessRole
from quire.engine import Engine, open_engine
from quire.server.sign_in_limit import MOST_FROM_ALL, MOST_FROM_ONE, WINDOW, SignInLimit
from quire.server.site import Site, SiteSettings
from tests.docs.http_page import example_body, read_document
from tests.docs.http_page import routes as described_routes
from tests.engine.installations import Later
from tests.server.route_roles import ROLES
from tests.server.sites import SCHEMA, TEXT, open_site

SIGNED_IN = SiteSettings(local=False)
MISSING = {"ref": "none", "name": "none", "provider": "none"}  # what no workspace has
NUMBER = "987654321"


@contextmanager
def open_engine_of(client: TestClient, workspace: str = "local") -> Iterator[Engine]:
    site: Site = client.app.state.site  # type: ignore[attr-defined]
    yield site.engine(workspace)


def make_token(client: TestClient, role: str, workspace: str = "local") -> dict[str, str]:
    """The header of somebody with a role."""
    with open_engine_of(client, workspace) as engine:
        made = engine.access_tokens.create(f"a {role}", role)
    return {"Authorization": f"Bearer {made.token}"}


def find_routes(routes: Sequence[object]) -> Iterator[APIRoute]:
    """Routes, also those of routers that were included."""
    for route in routes:
        if isinstance(route, APIRoute):
            yield route
        elif included := getattr(route, "original_router", None):
            yield from find_routes(included.routes)


def routes(client: TestClient) -> list[tuple[str, str]]:
    """Every method and path of the app."""
    found = find_routes(client.app.routes)  # type: ignore[attr-defined]
    listed = {(method, route.path) for route in found for method in route.methods or ()}
    assert len(listed) > 60
    return sorted({*listed, ("GET", "/v1/openapi.json")})


def fill_in(path: str, values: dict[str, str]) -> str:
    """A path with something in the place of its parameters."""
    return re.sub(r"{(\w+)(?::\w+)?}", lambda found: values.get(found[1], NUMBER), path)


def test_every_route_has_a_row_in_the_table(tmp_path: Path) -> None:
    with open_site(tmp_path) as client:
        named = {f"{method} {path}" for method, path in routes(client) if method != "HEAD"}

    assert sorted(named - set(ROLES)) == []  # write it into tests/server/route_roles.py


def test_nobody_gets_in_without_a_token(tmp_path: Path) -> None:
    with open_site(tmp_path, SIGNED_IN) as client:
        for method, path in routes(client):
            if ROLES.get(f"{method} {path}") is None:
                continue
            for headers in ({}, {"Authorization": "Bearer qt_" + "x" * 43}, {"Cookie": "a=b"}):
                answer = client.request(method, fill_in(path, MISSING), headers=headers)
                assert answer.status_code in {401, 429}, (method, path, answer.text)


def test_a_role_may_do_what_its_row_says_and_no_more(tmp_path: Path) -> None:
    with open_site(tmp_path, SIGNED_IN) as client:
        tokens = {role: make_token(client, role.word) for role in AccessRole}
        for method, path in routes(client):
            needed = ROLES.get(f"{method} {path}")
            for role, headers in tokens.items():
                answer = client.request(method, fill_in(path, MISSING), headers=headers)
                refused = needed is not None and role < needed
                seen = (method, path, role.word, answer.status_code, answer.text[:200])
                assert (answer.status_code == 403) is refused, seen
                assert answer.status_code != 401 or path == "/v1/signin", seen
                assert answer.status_code < 500, seen


def test_a_stranger_from_another_workspace_finds_nothing(tmp_path: Path) -> None:
    with open_site(tmp_path, SIGNED_IN) as client:
        (tmp_path / "secret-name.md").write_text(TEXT)
        with open_engine_of(client) as engine:
            engine.ingest(tmp_path / "secret-name.md", tell=lambda line: None)
            engine.add_schema(SCHEMA, "secret-name")
            run = engine.run(schema="secret-name", model="simulated/small")
            run.wait()
            engine.wallets.create("secret-name", 5)
            call = engine.queries.requests(run.id)[0].id
            task = run.rows()[0]["task_id"]
            audit = run.audit(2, tolerance=0.1).id
        values = {"run": run.id, "call": call, "task": task, "document": 1, "name": "secret-name"}
        values |= {"ref": "secret-name", "audit": audit, "no": 1}
        own = make_token(client, "admin")
        stranger = make_token(client, "admin", "elsewhere")
        known = {name: str(value) for name, value in values.items()}
        found: list[tuple[str, str, int, str]] = []
        for method, path in routes(client):
            if "{" not in path or ROLES.get(f"{method} {path}") is None:
                continue
            answer = client.request(method, fill_in(path, known), headers=stranger)
            if answer.status_code not in (404, 422):
                found.append((method, path, answer.status_code, answer.text[:200]))
        found += _ask_with_bodies(client, known, stranger)
        assert found == []
        for method, path in routes(client):
            if method == "GET" and "{" not in path:
                seen_there = client.get(path, headers=stranger).text
                assert "secret-name" not in seen_there, path
        mine = client.get(f"/v1/runs/{run.id}", headers=own)

    assert mine.status_code == 200


def _ask_with_bodies(
    client: TestClient, known: dict[str, str], headers: dict[str, str]
) -> Iterator[tuple[str, str, int, str]]:
    """What was not refused as missing, of all that takes a body and is about what another has."""
    document = read_document()
    for route in described_routes(document):
        body = example_body(document, route)
        if "{" in route.path and body is not None:
            path = fill_in(route.path, known)
            body.pop("who", None)  # whoever signed in leaves it out
            answer = client.request(route.method, path, headers=headers, json=body)
            if answer.status_code != 404 and answer.json() != {"released": 0}:
                yield route.method, path, answer.status_code, answer.text[:200]


def test_a_token_is_revoked(tmp_path: Path, ledger_url: str) -> None:
    with open_site(tmp_path, SIGNED_IN, ledger_url) as client:
        admin = make_token(client, "admin")
        made = client.post("/v1/tokens", json={"name": "ann", "role": "viewer"}, headers=admin)
        ann = {"Authorization": f"Bearer {made.json()['token']}"}
        before = client.get("/v1/me", headers=ann)
        client.delete(f"/v1/tokens/{made.json()['id']}", headers=admin)
        after = client.get("/v1/me", headers=ann)
        listed = client.get("/v1/tokens", headers=admin)

    assert before.json() == {"name": "ann", "role": "viewer", "workspace": "local", "local": False}
    assert after.status_code == 401
    assert made.json()["token"] not in listed.text
    assert "digest" not in listed.text


def test_a_token_lets_in_until_it_expires(tmp_path: Path) -> None:
    with open_site(tmp_path, SIGNED_IN) as client, open_engine_of(client) as engine:
        made = engine.access_tokens.create("ann", "viewer", "1h")
        ann = {"Authorization": f"Bearer {made.token}"}
        known = []
        for minutes in (0, 59, 61):
            engine.context.runtime = Later(minutes=minutes)
            known.append(client.get("/v1/me", headers=ann).status_code)

    assert known == [200, 200, 401]


def test_a_token_is_kept_only_as_a_digest(tmp_path: Path) -> None:
    with open_engine(str(tmp_path / "quire.db"), environment={}) as engine:
        made = engine.access_tokens.create("ann", "viewer", "30d")
        found = engine.access_tokens.find(made.token)
        wrong = engine.access_tokens.find(made.token[:-1] + ("A" if made.token[-1] != "A" else "B"))
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("quire.db*"))

    assert made.token.startswith("qt_")
    assert made.token.encode() not in stored
    assert found is not None
    assert found.expires_at is not None
    assert wrong is None


def test_people_sign_in_with_a_cookie_and_out_again(tmp_path: Path) -> None:
    with open_site(tmp_path, SIGNED_IN) as client:
        token = make_token(client, "viewer")["Authorization"].removeprefix("Bearer ")
        page = client.get("/", headers={"Accept": "text/html"}, follow_redirects=False)
        form = client.get(page.headers["location"])
        signed = client.post("/v1/signin", json={"token": token})
        home = client.get("/", headers={"Accept": "text/html"})
        client.post("/v1/signout")
        after = client.get("/v1/me")

    assert (page.status_code, page.headers["location"]) == (303, "/signin?next=/")
    assert "Sign in" in form.text
    cookie = signed.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert token not in signed.text
    assert home.status_code == 200
    assert after.status_code == 401


def test_a_cookie_travels_only_over_https_where_that_is_spoken(tmp_path: Path) -> None:
    with open_site(tmp_path, SIGNED_IN) as client:
        token = make_token(client, "viewer")["Authorization"].removeprefix("Bearer ")
        signed = client.post("https://localhost/v1/signin", json={"token": token})

    assert "secure" in signed.headers["set-cookie"].lower()


def test_wrong_tokens_are_tried_a_few_times_a_minute(tmp_path: Path) -> None:
    with open_site(tmp_path, SIGNED_IN) as client:
        answers = [
            client.post("/v1/signin", json={"token": f"qt_{number}"})
            for number in range(MOST_FROM_ONE + 1)
        ]

    assert {answer.status_code for answer in answers[:-1]} == {401}
    assert answers[-1].status_code == 429
    assert int(answers[-1].headers["Retry-After"]) > 0


def test_a_right_token_gets_in_however_many_wrong_ones_came_before(tmp_path: Path) -> None:
    with open_site(tmp_path, SIGNED_IN) as client:
        right = make_token(client, "viewer")
        site: Site = client.app.state.site  # type: ignore[attr-defined]
        for number in range(MOST_FROM_ALL):  # from everywhere, and from here
            site.sign_in_limit.note_failure(f"address {number}", monotonic())
            site.sign_in_limit.note_failure("testclient", monotonic())
        token = right["Authorization"].removeprefix("Bearer ")

        assert client.post("/v1/signin", json={"token": "qt_wrong"}).status_code == 429
        assert client.post("/v1/signin", json={"token": token}).status_code == 200
        client.cookies.clear()
        assert client.get("/v1/me", headers=right).status_code == 200


def test_guesses_in_a_header_are_limited_as_those_at_the_door(tmp_path: Path) -> None:
    with open_site(tmp_path, SIGNED_IN) as client:
        wrong = {"Authorization": "Bearer qt_" + "x" * 43}
        answers = [client.get("/v1/me", headers=wrong) for _ in range(MOST_FROM_ONE + 1)]

    assert [answer.status_code for answer in answers] == [401] * MOST_FROM_ONE + [429]
    assert int(answers[-1].headers["Retry-After"]) > 0


def test_the_limit_counts_by_address_and_overall() -> None:
    limit = SignInLimit()
    for _ in range(MOST_FROM_ONE):
        limit.note_failure("a", 100.0)
    for number in range(MOST_FROM_ALL):
        limit.note_failure(f"b{number}", 150.0)

    assert limit.seconds_to_wait("a", 150.0) > 0
    assert limit.seconds_to_wait("new", 150.0) > 0
    assert limit.seconds_to_wait("a", 150.0 + WINDOW) == 0
