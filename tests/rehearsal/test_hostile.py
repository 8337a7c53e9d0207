"""Whatever arrives is answered in the vendor's form; no traceback is ever shown."""

import gzip
import json
import socket
from typing import Any
from urllib.parse import urlsplit

import pytest

from quire.rehearsal.server import RehearsalThread
from tests.rehearsal.clients import FLASH
from tests.rehearsal.plain_http import ANTHROPIC, BEARER, GOOGLE, HttpAnswer, ask

RESPONSES, CHAT, MESSAGES = "/v1/responses", "/v1/chat/completions", "/v1/messages"
GENERATE = f"/v1/models/{FLASH}:generateContent"
VERTEX = f"/v1/projects/p/locations/l/publishers/google/models/{FLASH}:generateContent"
ENDPOINTS = [
    (RESPONSES, BEARER),
    (CHAT, BEARER),
    (MESSAGES, ANTHROPIC),
    ("/v1/messages/count_tokens", ANTHROPIC),
    (GENERATE, GOOGLE),
    (VERTEX, BEARER),
]


def _deep(levels: int) -> bytes:
    return b'{"model":' + b"[" * levels + b"]" * levels + b"}"


BODIES: dict[str, bytes] = {
    "nothing": b"",
    "half": b'{"model": "m", "input',
    "not_utf8": b'{"model": "\xff\xfe"}',
    "lone_surrogate": b'{"model": "\\ud800", "input": "\\ud800"}',
    "list": b"[]",
    "null": b"null",
    "number": b"1e999",
    "deep": _deep(500),
    "too_deep": _deep(100_000),
    "wrong_types": b'{"model": 5, "input": {}, "messages": {}, "contents": 7, "max_tokens": "x"}',
    "huge_number": b'{"model": "m", "max_tokens": ' + b"9" * 400 + b"}",
    "binary": bytes(range(256)) * 40,
}


def _is_error(got: HttpAnswer, path: str, statuses: tuple[int, ...] = (400,)) -> None:
    assert got.status in statuses
    error = got.json["error"]
    assert isinstance(error["message"], str)
    assert error["message"]
    assert b"Traceback" not in got.body
    assert b".py" not in got.body
    if path.startswith(MESSAGES):
        assert got.json["type"] == "error"
        assert got.json["request_id"] == got.headers["request-id"]
    elif "generateContent" in path:
        assert error["code"] == got.status
        assert error["status"].isupper()
    else:
        assert {*error} == {"message", "type", "param", "code"}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize(("path", "headers"), ENDPOINTS)
def test_a_broken_body_is_told_so(
    server: RehearsalThread, path: str, headers: dict[str, str], body: str
) -> None:
    _is_error(ask(server.url, path, BODIES[body], headers), path)


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        (RESPONSES, BEARER),
        pytest.param(CHAT, BEARER, marks=pytest.mark.soak),  # errors as of responses
        (MESSAGES, ANTHROPIC),
        ("/v1/messages/count_tokens", ANTHROPIC),
        (GENERATE, GOOGLE),
        pytest.param(VERTEX, BEARER, marks=pytest.mark.soak),  # read as Gemini's
    ],
)
def test_ten_megabytes_are_read_and_too_many_refused(
    server: RehearsalThread, path: str, headers: dict[str, str]
) -> None:
    text = "word " * 2_000_000
    body = {
        RESPONSES: {"model": "m", "input": text},
        CHAT: {"model": "m", "messages": [{"role": "user", "content": text}]},
    }.get(path) or (
        {"contents": [{"parts": [{"text": text}]}]}
        if "generate" in path
        else {"model": "m", "messages": [{"role": "user", "content": text}]}
        | ({} if "count" in path else {"max_tokens": 5})
    )
    large = ask(server.url, path, body, headers)
    larger = ask(server.url, path, b'"' + b"x" * 33 * 1024 * 1024 + b'"', headers)

    if "count_tokens" in path:
        assert large.json["input_tokens"] == 2_500_000
    else:
        _is_error(large, path)
    _is_error(larger, path, (400, 413))


@pytest.mark.parametrize(("path", "headers"), ENDPOINTS)
def test_nobody_is_answered_without_a_key(
    server: RehearsalThread, path: str, headers: dict[str, str]
) -> None:
    version = {name: value for name, value in headers.items() if name == "anthropic-version"}

    _is_error(ask(server.url, path, {}, version), path, (401, 403))


@pytest.mark.parametrize(
    ("method", "path", "headers", "kind"),
    [
        ("POST", "/v1/nowhere", BEARER, "openai"),
        ("GET", "/", {}, "openai"),
        ("DELETE", "/v1/responses", BEARER, "openai"),
        ("GET", "/v1/chat/completions", BEARER, "openai"),
        ("POST", "/v1/complete", ANTHROPIC, "anthropic"),
        ("GET", "/v1/messages", ANTHROPIC, "anthropic"),
        ("POST", "/v1beta/models/x:embedContent", GOOGLE, "google"),
        ("POST", "/v1/models/x:streamGenerateContent", GOOGLE, "google"),
        ("GET", "/_rehearsal/nothing", {}, "openai"),
        ("GET", "/%00%ff/..%2f..%2fetc/passwd", {}, "openai"),
    ],
)
def test_an_unknown_path_is_not_found_in_the_form_of_whoever_was_meant(
    server: RehearsalThread, method: str, path: str, headers: dict[str, str], kind: str
) -> None:
    got = ask(server.url, path, None, headers, method)

    assert got.status == 404
    error = got.json["error"]
    assert error.get("type") == {
        "openai": "invalid_request_error",
        "anthropic": "not_found_error",
    }.get(kind)
    assert (error.get("status") == "NOT_FOUND") == (kind == "google")


def test_vertex_is_asked_with_a_token(server: RehearsalThread) -> None:
    body = {"contents": [{"role": "user", "parts": [{"text": "hello"}]}]}
    got = ask(server.url, VERTEX, body, BEARER)

    assert got.json["candidates"][0]["content"]["parts"][0]["text"] == "simulated: hello"
    assert got.json["usageMetadata"]["trafficType"] == "ON_DEMAND"
    assert ask(server.url, VERTEX, body).status == 401


def test_azure_is_asked_with_a_header_of_its_own(server: RehearsalThread) -> None:
    body = {"model": "my-deployment", "input": "hello"}
    got = ask(server.url, "/openai/v1/responses?api-version=v1", body, {"api-key": "abc"})

    assert got.status == 200


def test_a_router_drops_what_it_does_not_know(server: RehearsalThread) -> None:
    body = {
        "model": "anthropic/claude",
        "messages": [
            {
                "role": "system",
                "content": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
            },
            {"role": "user", "content": "hello"},
        ],
        "provider": {"only": ["anthropic"]},
        "usage": {"include": True},
    }

    assert ask(server.url, "/api/v1/chat/completions", body, BEARER).status == 200
    assert ask(server.url, CHAT, body, BEARER).status == 400


def test_packed_bodies_are_unpacked_and_broken_ones_refused(server: RehearsalThread) -> None:
    packed = gzip.compress(json.dumps({"model": "m", "input": "hello"}).encode())
    headers = {**BEARER, "content-encoding": "gzip"}

    assert ask(server.url, RESPONSES, packed, headers).status == 200
    assert ask(server.url, RESPONSES, b"not packed at all", headers).status == 400


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "$ref": "#/nowhere"},
        {"type": "object", "properties": {"a": {"$ref": "#"}}},
        {"type": "object", "properties": {"a": {"pattern": "((((", "type": "string"}}},
        {"type": 5, "properties": [], "enum": "x"},
        {"anyOf": [{"anyOf": [{"anyOf": []}]}]},
    ],
)
def test_no_schema_breaks_the_server(server: RehearsalThread, schema: dict[str, Any]) -> None:
    form = {"type": "json_schema", "name": "x", "schema": schema}
    body = {"model": "m", "input": "hello", "text": {"format": form}}

    assert ask(server.url, RESPONSES, body, BEARER).status in (200, 400)


def test_half_a_request_disturbs_nobody(server: RehearsalThread) -> None:
    address = urlsplit(server.url)
    with socket.create_connection((address.hostname or "", address.port or 0)) as half:
        half.sendall(b"POST /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{")
    with socket.create_connection((address.hostname or "", address.port or 0)) as noise:
        noise.sendall(b"\x16\x03\x01\x02\x00 this is no HTTP\r\n\r\n")
        answer = noise.recv(4096)

    assert b"Traceback" not in answer
    assert ask(server.url, RESPONSES, {"model": "m", "input": "a"}, BEARER).status == 200
