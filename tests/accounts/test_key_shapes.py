"""Keys are checked before they are kept: what they hold, and whose they look to be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.accounts.key_search import (
    key_doubt,
    needs_key,
    validate_key,
    validate_key_name,
    validate_provider,
    variables_of,
)
from quire.domain.accounts import Secret
from quire.domain.errors import UsageError

visible = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1)


@given(visible, st.text(" \t\r\n", max_size=3))
def test_a_key_is_taken_without_the_blanks_around_it(key: str, blanks: str) -> None:
    assert validate_key(blanks + key + blanks, "it").reveal() == key


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        (" \n", "is empty"),
        ("sk-one two", "a blank or a line break"),
        ("sk-one\nX-Header: two", "a blank or a line break"),
        ("sk-\x00one", "a blank or a line break"),
        ("sk-schlüssel", "letters that no key has"),
        ("sk-“quoted”", "letters that no key has"),
        ("k" * 8193, "8,193 characters long"),
    ],
)
def test_what_cannot_be_a_key_is_refused_and_not_repeated(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=f"the key .*{why}") as caught:
        validate_key(text, "the key")

    assert not text.strip() or text.strip() not in str(caught.value)


@pytest.mark.parametrize(
    ("provider", "key", "said"),
    [
        ("anthropic", "sk-ant-api03-x", ""),
        ("anthropic", "sk-proj-x", "looks like a key of openai, not of anthropic"),
        ("anthropic", "nonsense", "does not look like a key of anthropic: those begin with sk-ant"),
        ("openai", "sk-proj-x", ""),
        ("openai", "sk-ant-x", "looks like a key of anthropic, not of openai"),
        ("openai", "sk-or-v1-x", "looks like a key of openrouter, not of openai"),
        ("gemini", "AIzaSy", ""),
        ("gemini", "AQ.x", ""),
        ("groq", "gsk_x", ""),
        ("mistral", "0123456789abcdef", ""),
        ("mistral", "gsk_x", "looks like a key of groq"),
        ("compatible", "sk-anything", ""),
        ("vllm", "anything", ""),
    ],
)
def test_a_key_that_looks_like_anothers_is_doubted(provider: str, key: str, said: str) -> None:
    assert said in key_doubt(provider, Secret(key))
    assert bool(said) == bool(key_doubt(provider, Secret(key)))
    assert key not in key_doubt(provider, Secret(key))


def test_a_provider_is_known_by_name_and_the_nearest_is_suggested() -> None:
    assert validate_provider("openai") == "openai"
    assert validate_provider("mine", frozenset({"mine"})) == "mine"
    with pytest.raises(UsageError, match="no provider is called antropic; did you mean anthropic"):
        validate_provider("antropic")
    with pytest.raises(UsageError, match="there are anthropic, azure"):
        validate_provider("xyz")
    with pytest.raises(UsageError, match="simulated needs no key"):
        validate_provider("simulated")


@pytest.mark.parametrize(
    "text", ["sk-ant-12345", "sk-12345", "gsk_12345", "x" * 60, "a" * 32, "a b", ""]
)
def test_a_key_in_the_place_of_a_name_is_not_repeated(text: str) -> None:
    for check in (validate_provider, validate_key_name):
        with pytest.raises(UsageError) as caught:
            check(text)

        assert not text or text not in str(caught.value)


def test_a_name_may_have_dots_and_dashes() -> None:
    assert validate_key_name("team-2.eu_west") == "team-2.eu_west"


@pytest.mark.parametrize(
    ("provider", "url", "needed"),
    [
        ("openai", "", True),
        ("openai", "https://proxy.example/v1", True),
        ("openai", "http://127.0.0.1:8080/v1", False),
        ("compatible", "http://localhost:9/v1", False),
        ("compatible", "http://[::1]:9/v1", False),
        ("compatible", "http://127.evil.example/v1", True),
        ("compatible", "http://[", True),
        ("compatible", "http://localhost.evil.example", True),
        ("compatible", "http://10.0.0.5:8000/v1", False),
        ("compatible", "http://gpu-box:8000/v1", False),
        ("compatible", "http://8.8.8.8/v1", True),
        ("compatible", "", True),
        ("openai", "http://10.0.0.5:8000/v1", True),
        ("vllm", "", False),
        ("ollama", "http://10.0.0.1:11434", False),
        ("simulated", "", False),
        ("local", "", False),
    ],
)
def test_servers_on_this_machine_need_no_key(provider: str, url: str, needed: bool) -> None:
    assert needs_key(provider, url) == needed


def test_the_usual_variable_of_a_strangers_server_is_made_of_its_name() -> None:
    assert variables_of("my-server") == ("MY_SERVER_API_KEY",)
    assert variables_of("gemini") == ("GEMINI_API_KEY", "GOOGLE_API_KEY")
