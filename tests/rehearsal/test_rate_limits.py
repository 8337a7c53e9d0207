"""Limits a minute: buckets run dry, say when to come back, and fill up again."""

from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from typing import Any

import anthropic
import openai
import pytest

from quire.domain.errors import SettingsInvalid
from quire.domain.models import Limits
from quire.rehearsal.rate_limits import LimitRule, RateLimiter, Refill, parse_limits, parse_rule
from quire.rehearsal.server import RehearsalThread, rehearsal_server
from quire.rehearsal.vendor_apis.openai import duration
from tests.rehearsal.clients import (
    HAIKU,
    MODELS,
    PREFIX,
    SONNET,
    anthropic_client,
    create_message,
    message,
    openai_client,
    respond,
    with_schema,
)
from tests.rehearsed.rehearsed import StillClock

OWNER = ("key", "model")


def limited(**server_config: Any) -> AbstractContextManager[RehearsalThread]:
    """A server with limits, whose clock stands still."""
    return rehearsal_server(clock=StillClock(), **server_config)


def test_requests_beyond_the_limit_wait_as_long_as_they_are_told() -> None:
    with limited(limit="requests=3") as server, openai_client(server.url) as client:
        for _ in range(3):
            respond(client)
        with pytest.raises(openai.RateLimitError) as caught:
            respond(client)
        wait = int(caught.value.response.headers["retry-after"])
        server.advance(wait)
        again = respond(client)
        statuses = server.stats()["statuses"]

    assert wait == 20
    assert caught.value.code == "rate_limit_exceeded"
    assert "requests per min: Limit 3, Used 3, Requested 1" in str(caught.value)
    assert again.status == "completed"
    assert statuses == {"200": 4, "429": 1}


def test_openai_says_on_every_answer_what_is_left() -> None:
    with (
        limited(limit="requests=60,total=10000") as server,
        openai_client(server.url) as client,
    ):
        raw = client.with_raw_response.responses.create(model="gpt-x", input="a" * 400)
        used = raw.parse().usage
    headers = raw.headers

    assert used is not None
    assert headers["x-ratelimit-limit-requests"] == "60"
    assert headers["x-ratelimit-remaining-requests"] == "59"
    assert headers["x-ratelimit-reset-requests"] == "1s"
    assert headers["x-ratelimit-limit-tokens"] == "10000"
    assert headers["x-ratelimit-remaining-tokens"] == str(10_000 - used.total_tokens)


def test_anthropic_says_so_in_its_own_headers() -> None:
    with limited(limit="requests=60,input=10000,output=5000") as server:
        with anthropic_client(server.url) as client:
            raw = client.messages.with_raw_response.create(
                model=HAIKU, max_tokens=4_000, messages=[{"role": "user", "content": "a" * 4_000}]
            )
        at = datetime.fromtimestamp(server.entries()[0].at, UTC)
    headers = raw.headers
    reset = datetime.fromisoformat(headers["anthropic-ratelimit-requests-reset"])

    assert headers["anthropic-ratelimit-requests-remaining"] == "59"
    assert headers["anthropic-ratelimit-input-tokens-limit"] == "10000"
    assert headers["anthropic-ratelimit-input-tokens-remaining"] == "9000"
    assert headers["anthropic-ratelimit-output-tokens-limit"] == "5000"
    assert abs(reset - at) <= timedelta(seconds=1)


def test_without_limits_nothing_is_said_of_them() -> None:
    with rehearsal_server() as server, openai_client(server.url) as client:
        raw = client.with_raw_response.responses.create(model="gpt-x", input="a")

    assert not [name for name in raw.headers if "ratelimit" in name]


def test_keys_and_models_have_buckets_of_their_own() -> None:
    with limited(limit="requests=1", models=MODELS) as server:
        with anthropic_client(server.url) as client:
            create_message(client, model=HAIKU)
            create_message(client, model=SONNET)
            with pytest.raises(anthropic.RateLimitError):
                create_message(client, model=HAIKU)
        with anthropic_client(server.url, api_key="sk-another") as client:
            create_message(client, model=HAIKU)


def test_what_anthropic_reads_from_its_cache_does_not_count() -> None:
    system = [{"type": "text", "text": PREFIX, "cache_control": {"type": "ephemeral"}}]
    with limited(limit="input=2000", models=MODELS) as server:
        with anthropic_client(server.url) as client:
            answers = [create_message(client, model=HAIKU, system=system) for _ in range(5)]
        most = server.stats()["models"][f"anthropic/{HAIKU}"]["most_in_a_minute"]["input"]

    assert sum(answer.usage.cache_read_input_tokens for answer in answers) == 4 * with_schema(
        PREFIX
    )
    assert most < 2_000


def test_openai_holds_as_much_back_as_a_call_may_write() -> None:
    with limited(limit="total=1000") as server, openai_client(server.url) as client:
        with pytest.raises(openai.RateLimitError, match="Requested 1500"):
            respond(client, max_output_tokens=1_500)
        for _ in range(3):  # what was held for nothing is given back
            respond(client, message("a"), max_output_tokens=600)


def test_output_counts_when_it_was_written() -> None:
    with limited(limit="output=20") as server, anthropic_client(server.url) as client:
        create_message(client)
        with pytest.raises(anthropic.RateLimitError):
            create_message(client)
        server.advance(60)
        create_message(client)


def test_a_bucket_fills_by_the_second_and_never_runs_over() -> None:
    limiter = RateLimiter(LimitRule(Limits(requests=60)))

    taken = [limiter.take(OWNER, Limits(requests=1), 0.0) for _ in range(61)]

    assert taken[:60] == [None] * 60
    assert taken[60] is not None
    assert taken[60].wait == 1.0
    assert limiter.take(OWNER, Limits(requests=1), 1.0) is None
    assert limiter.levels(OWNER, 1_000.0)["requests"].left == 60


def test_a_call_that_is_short_of_one_thing_takes_nothing_of_another() -> None:
    limiter = RateLimiter(LimitRule(Limits(requests=10, input=100)))

    short = limiter.take(OWNER, Limits(requests=1, input=500), 0.0)

    assert short is not None
    assert short.kind == "input"
    assert limiter.levels(OWNER, 0.0)["requests"].left == 10


def test_a_fixed_bucket_fills_at_the_turn_of_a_minute() -> None:
    limiter = RateLimiter(LimitRule(Limits(requests=60), Refill.FIXED))

    taken = [limiter.take(OWNER, Limits(requests=1), 90.0) for _ in range(61)]

    assert [short is None for short in taken] == [True] * 60 + [False]
    assert limiter.take(OWNER, Limits(requests=1), 119.9) is not None
    assert limiter.take(OWNER, Limits(requests=1), 120.0) is None
    assert limiter.levels(OWNER, 120.0)["requests"].left == 59


def test_a_sliding_bucket_gets_back_what_was_taken_sixty_seconds_ago() -> None:
    limiter = RateLimiter(LimitRule(Limits(total=100), Refill.SLIDING))
    limiter.take(OWNER, Limits(total=80), 10.0)
    limiter.settle(OWNER, Limits(total=-50), 12.0)
    limiter.take(OWNER, Limits(total=70), 40.0)

    assert limiter.take(OWNER, Limits(total=1), 69.9) is not None
    assert limiter.take(OWNER, Limits(total=30), 70.0) is None
    assert limiter.take(OWNER, Limits(total=1), 99.9) is not None
    assert limiter.levels(OWNER, 100.0)["total"].left == 70


@pytest.mark.parametrize(("refill", "left"), [*zip(Refill, (40, 10, 10), strict=True)])
def test_a_limit_may_change_and_what_was_taken_stays_taken(refill: Refill, left: int) -> None:
    limiter = RateLimiter(LimitRule(Limits(requests=60), refill))
    for _ in range(20):
        limiter.take(OWNER, Limits(requests=1), 0.0)

    limiter.change(LimitRule(Limits(requests=30), refill), 0.0)

    assert limiter.levels(OWNER, 0.0)["requests"].left == min(30, left)
    limiter.change(LimitRule(), 0.0)
    assert limiter.take(OWNER, Limits(requests=1), 0.0) is None


@pytest.mark.parametrize("text", ["requests", "request=5", "input=0", "input=-5", "total=x"])
def test_a_limit_that_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(SettingsInvalid, match="says nothing"):
        parse_limits(text)


def test_limits_are_read() -> None:
    assert parse_limits("requests=60, input=10000") == Limits(requests=60, input=10_000)
    assert parse_limits("") == Limits()
    fixed = LimitRule(Limits(requests=60), Refill.FIXED, silent=True)
    assert parse_rule("requests=60,fixed,silent") == fixed
    assert parse_rule("total=9,sliding") == LimitRule(Limits(total=9), Refill.SLIDING)


@pytest.mark.parametrize(
    ("seconds", "written"), [(0, "0ms"), (0.006, "6ms"), (1, "1s"), (90, "1m30s"), (360, "6m0s")]
)
def test_a_wait_is_written_as_openai_does(seconds: float, written: str) -> None:
    assert duration(seconds) == written
