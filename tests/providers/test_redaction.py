"""Secrets are taken out of what comes back, in every form, and answers keep what is theirs."""

import html
import json
from urllib.parse import quote

import pytest

from quire.domain.accounts import Account, Secret
from quire.providers.http import refusal
from quire.providers.openai import OpenAI
from quire.providers.protocol import HttpResponse
from quire.providers.redaction import redact_answer, redact_complaint

TOKEN = "top/secret+of'9&long==enough"


def holding(**headers: str) -> Account:
    secrets = {name: Secret(value) for name, value in headers.items()}
    return Account(provider="openai", credential="x", key=Secret("sk-12345678"), headers=secrets)


@pytest.mark.parametrize(
    "echo",
    [
        TOKEN,
        f"Bearer {TOKEN}",
        TOKEN.replace("/", "\\/"),
        "".join(name if name.isalnum() else f"\\u{ord(name):04X}" for name in TOKEN),
        json.dumps(json.dumps(TOKEN.replace("+", "\\u002b")))[3:-3],
        quote(TOKEN),
        quote(quote(TOKEN, safe=""), safe="").lower(),
        html.escape(TOKEN),
    ],
)
def test_a_token_behind_a_scheme_is_taken_out_however_it_is_written(echo: str) -> None:
    account, body = holding(Authorization=f"Bearer {TOKEN}"), f"given: {echo}.".encode()

    assert redact_complaint(body, account).replace(b"Bearer ", b"") == b"given: ...."
    assert redact_answer(body, account).replace(b"Bearer ", b"") == b"given: ...."


def test_a_header_that_is_a_plain_word_stays_in_answers_only() -> None:
    account = holding(Team="research", Place="department-of-letters")
    body = b"the research of the department-of-letters"

    assert redact_answer(body, account) == body
    assert redact_complaint(body, account) == b"the ... of the ..."
    assert redact_answer(b"<html>" + body, account) == b"<html>the ... of the ..."


@pytest.mark.parametrize("before", ["", "x" * 235])
def test_an_address_that_holds_a_headers_value_is_shown_without_it(before: str) -> None:
    said = {"location": f"http://elsewhere.test/{before}/{TOKEN}/x"}
    account = holding(Authorization=f"Basic {TOKEN}")

    error = refusal(OpenAI().classify, HttpResponse(302, said, b""), account, "here")

    assert "it points to http://elsewhere.test/" in str(error)
    assert "top/" not in str(error)
