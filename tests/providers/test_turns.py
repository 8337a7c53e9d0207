"""Calls of several turns: every vendor is sent them in its own form, roles taking turns."""

from typing import Any

import pytest

from quire.domain.requests import Call
from quire.providers.anthropic import Anthropic
from quire.providers.gemini import Gemini
from quire.providers.openai import OpenAI
from quire.providers.protocol import WireFormat
from tests.providers.sample_calls import MARKED, TURNS, USER, account, make_call, sent_body

PLAIN = make_call(turns=TURNS)


def messages_sent(vendor: WireFormat, call: Call, name: str, **options: str) -> list[Any]:
    """What follows the system text, in the vendor's form."""
    messages = sent_body(vendor, call, account(vendor.name, **options))[name]
    return [item for item in messages if item["role"] not in ("system", "developer")]


@pytest.mark.parametrize(
    ("vendor", "name", "options"),
    [
        (Anthropic(), "messages", {}),
        (OpenAI(), "input", {}),
        (OpenAI(), "messages", {"api": "chat"}),
    ],
)
def test_turns_stand_between_system_and_question_and_roles_alternate(
    vendor: WireFormat, name: str, options: dict[str, str]
) -> None:
    assert messages_sent(vendor, PLAIN, name, **options) == [
        {"role": "user", "content": "First."},
        {"role": "assistant", "content": "Said.\n\nAnd more."},
        {"role": "user", "content": f"Second.\n\n{USER}"},
    ]


def test_google_is_told_what_the_model_said_by_its_own_word() -> None:
    assert messages_sent(Gemini(), PLAIN, "contents") == [
        {"role": "user", "parts": [{"text": "First."}]},
        {"role": "model", "parts": [{"text": "Said.\n\nAnd more."}]},
        {"role": "user", "parts": [{"text": f"Second.\n\n{USER}"}]},
    ]


def test_the_end_of_the_stable_head_is_marked() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    call = make_call(turns=TURNS, stable_turns=4, **MARKED)
    shorter = make_call(turns=TURNS, stable_turns=2, **MARKED)

    assert messages_sent(Anthropic(), call, "messages")[2]["content"] == [
        {"type": "text", "text": "Second.", **mark},
        {"type": "text", "text": USER},
    ]
    assert messages_sent(Anthropic(), shorter, "messages")[1]["content"] == [
        {"type": "text", "text": "Said.", **mark},
        {"type": "text", "text": "And more."},
    ]


def test_where_the_models_words_carry_no_mark_the_users_before_them_do() -> None:
    call = make_call(turns=TURNS, stable_turns=3, **MARKED)
    mark = {"prompt_cache_breakpoint": {"mode": "explicit"}}

    messages = messages_sent(OpenAI(), call, "input")

    assert messages[0]["content"] == [{"type": "input_text", "text": "First.", **mark}]
    assert messages[1]["content"] == "Said.\n\nAnd more."
