"""A key is tried with a call that costs nothing, and what the vendor says fits on one line."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from quire.domain.accounts import Account, Secret
from quire.domain.states import CredentialState
from quire.providers.key_check import KeyCheck, check_keys
from tests.accounts.key_server import GOOD, KeyServer, serve_keys

BAD = "sk-a-key-that-nobody-lets-in-5678"


@pytest.fixture
def key_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[KeyServer]:
    """A vendor that lets one key in."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with serve_keys() as opened:
        yield opened


def account(
    key_server: KeyServer, provider: str = "openai", key: str = GOOD, path: str = ""
) -> Account:
    """An account that is found at that server."""
    return Account(
        provider=provider, credential="", key=Secret(key), base_url=key_server.url + path
    )


def tried(account: Account) -> KeyCheck:
    """Try one key."""
    return asyncio.run(check_keys([account], seconds=5))[0]


@pytest.mark.parametrize(
    ("provider", "path", "asked", "header"),
    [
        ("openai", "/v1", "/v1/models", "authorization"),
        ("openai", "", "/v1/models", "authorization"),
        ("anthropic", "", "/v1/models?limit=1", "x-api-key"),
        ("anthropic", "/gateway", "/gateway/v1/models?limit=1", "x-api-key"),
        ("gemini", "", "/v1/models?pageSize=1", "x-goog-api-key"),
        ("gemini", "/v1beta", "/v1beta/models?pageSize=1", "x-goog-api-key"),
        ("azure", "", "/openai/v1/models", "api-key"),
        ("azure", "/openai/", "/openai/v1/models", "api-key"),
        ("groq", "", "/openai/v1/models", "authorization"),
        ("mistral", "", "/v1/models", "authorization"),
        ("openrouter", "", "/api/v1/key", "authorization"),
        ("compatible", "/v1", "/v1/models", "authorization"),
        ("vllm", "", "/v1/models", "authorization"),
    ],
)
def test_each_vendor_is_asked_where_it_listens(
    key_server: KeyServer, provider: str, path: str, asked: str, header: str
) -> None:
    assert tried(account(key_server, provider, GOOD, path)) == KeyCheck(
        CredentialState.VALID, "accepted"
    )

    ((seen, headers),) = key_server.seen
    assert seen == asked
    assert headers[header].endswith(GOOD)


def test_openai_is_told_on_whose_behalf_it_is_asked(key_server: KeyServer) -> None:
    mine = replace(account(key_server), options={"organization": "org-1", "api": "chat"})

    assert tried(mine).state == CredentialState.VALID
    ((_, headers),) = key_server.seen
    assert headers["openai-organization"] == "org-1"
    assert "openai-project" not in headers


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini", "groq"])
def test_a_refused_key_is_invalid_and_not_repeated(key_server: KeyServer, provider: str) -> None:
    probe = tried(account(key_server, provider, BAD))

    assert probe.state == CredentialState.INVALID
    assert probe.message.startswith(f"{provider} 401: Incorrect API key provided")
    assert BAD not in probe.message
    assert "\n" not in probe.message


def test_a_key_that_is_repeated_at_the_end_of_a_long_complaint_does_not_show_its_start(
    key_server: KeyServer,
) -> None:
    for length in range(140, 200, len(BAD) // 3):  # wherever it is cut, some end inside the key
        complaint = "x" * length + BAD
        key_server.say.update(
            status=401, body=json.dumps({"error": {"message": complaint}}).encode()
        )

        assert BAD[:6] not in tried(account(key_server, "openai", BAD)).message


def test_geminis_way_to_refuse_a_key_is_understood(key_server: KeyServer) -> None:
    error = {
        "code": 400,
        "message": "API key not valid.",
        "details": [{"reason": "API_KEY_INVALID"}],
    }
    key_server.say.update(status=400, body=json.dumps({"error": error}).encode())

    assert tried(account(key_server, "gemini", BAD)).state == CredentialState.INVALID


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (402, {"message": "pay first"}),
        (429, {"code": "insufficient_quota", "message": "You exceeded your current quota"}),
        (403, {"type": "billing_error", "message": "no credit"}),
    ],
)
def test_an_account_without_credit_is_spent(
    key_server: KeyServer, status: int, error: dict[str, str]
) -> None:
    key_server.say.update(status=status, body=json.dumps({"error": error}).encode())

    assert tried(account(key_server)).state == CredentialState.SPENT


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (404, b"{}", "has no list of models (404); a run will tell"),
        (500, b"oops", "openai 500: oops"),
        (429, b'{"error": {"message": "slow down"}}', "openai 429: slow down"),
        (403, b"<html>blocked by a firewall</html>", "but not from an API; check the base URL"),
        (302, b"", "but not from an API; check the base URL"),
    ],
)
def test_what_says_nothing_about_the_key_leaves_it_open(
    key_server: KeyServer, status: int, body: bytes, said: str
) -> None:
    key_server.say.update(
        status=status, body=body, headers={"Location": f"{key_server.url}/elsewhere"}
    )

    probe = tried(account(key_server))

    assert probe.state is None
    assert said in probe.message
    assert len(key_server.seen) == 1  # a redirect is not followed: the key would go along


def test_a_vendor_that_cannot_be_reached_leaves_it_open(key_server: KeyServer) -> None:
    nowhere = Account(
        provider="openai", credential="", key=Secret(GOOD), base_url="http://127.0.0.1:9/v1"
    )

    probe = tried(nowhere)

    assert probe == KeyCheck(
        None, "nothing listens at 127.0.0.1:9; start the server, or check the URL"
    )


def test_an_endless_answer_is_not_read_to_its_end(key_server: KeyServer) -> None:
    key_server.say.update(body=b"x" * 3_000_000)

    assert tried(account(key_server)).state == CredentialState.VALID


@pytest.mark.parametrize(
    ("provider", "url", "said"),
    [
        ("simulated", "", "nothing that costs nothing"),
        ("vertex", "", "nothing that costs nothing"),
        ("azure", "", "azure: no base URL is known"),
        ("openai", "sk-a-key-in-the-wrong-place", "the base URL is not one"),
        ("anthropic", "nonsense", "the base URL is not one"),
    ],
)
def test_what_cannot_be_asked_is_told(provider: str, url: str, said: str) -> None:
    probe = tried(Account(provider=provider, credential="", key=Secret(GOOD), base_url=url))

    assert probe.state is None
    assert said in probe.message
    assert not url or url not in probe.message


def test_a_key_that_no_header_can_carry_is_invalid(key_server: KeyServer) -> None:
    probe = tried(account(key_server, "openai", "a key\nX-Injected: yes"))

    assert probe.state == CredentialState.INVALID
    assert key_server.seen == []


def test_several_keys_are_tried_at_once_and_answered_in_order(key_server: KeyServer) -> None:
    accounts = [account(key_server, "openai", key) for key in (BAD, GOOD, BAD)]

    probes = asyncio.run(check_keys(accounts))

    assert [probe.state for probe in probes] == ["invalid", "valid", "invalid"]
