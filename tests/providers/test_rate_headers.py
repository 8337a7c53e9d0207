"""Headers tell our limits and when to come again; strange ones tell nothing."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.accounts import Rates
from quire.domain.errors import Remedy
from quire.domain.models import Limits
from quire.providers.openai import OpenAI
from quire.providers.rate_headers import duration, read_rates, retry_after
from tests.providers.sample_calls import error_response

VENDOR = OpenAI()


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("6ms", 0.006),
        ("20s", 20.0),
        ("1m30s", 90.0),
        ("1h2m3.5s", 3723.5),
        ("2d", 172_800.0),
        ("7.66", 7.66),
        ("0s", 0.0),
        ("", None),
        ("soon", None),
        ("-5s", None),
        ("inf", None),
        ("9" * 39 + "d", 366 * 86_400.0),
    ],
)
def test_a_duration_is_read(value: str, seconds: float | None) -> None:
    assert duration(value) == seconds


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry_after_ms": "1500", "retry_after": "9"}, 1.5),
        ({"retry_after": "7"}, 7.0),
        (
            {
                "retry_after": "Sun, 15 Nov 2026 12:00:30 GMT",
                "date": "Sun, 15 Nov 2026 12:00:00 GMT",
            },
            30.0,
        ),
        ({"retry_after": "soon"}, None),
        ({"retry_after": "-1"}, None),
        ({"retry_after": "nan"}, None),
        ({"x_ratelimit_remaining_requests": "0", "x_ratelimit_reset_requests": "1m30s"}, 90.0),
        ({"x_ratelimit_remaining_tokens": "12", "x_ratelimit_reset_tokens": "6ms"}, 0.006),
        ({}, None),
    ],
)
def test_a_rate_limit_says_when_to_come_again(
    headers: dict[str, str], expected: float | None
) -> None:
    error = VENDOR.classify(
        error_response(429, {"error": {"code": "rate_limit_exceeded"}}, **headers)
    )

    assert error.remedy is Remedy.WAIT
    assert error.retry_after == expected


def test_headers_tell_our_limits() -> None:
    reported = {
        "x-ratelimit-limit-requests": "5000",
        "x-ratelimit-remaining-requests": "4999",
        "x-ratelimit-reset-requests": "12ms",
        "x-ratelimit-limit-tokens": "800000",
        "x-ratelimit-remaining-tokens": "799000",
        "x-ratelimit-reset-tokens": "1m1.5s",
        "x-ratelimit-limit-project-tokens": "500000",
        "x-ratelimit-remaining-project-tokens": "400000",
    }

    assert VENDOR.rates(reported) == Rates(
        Limits(requests=5000, total=500_000), Limits(requests=4999, total=400_000)
    )
    assert VENDOR.rates({"content-type": "application/json"}) is None


@given(st.dictionaries(st.sampled_from(["limit", "remaining", "reset"]), st.text(max_size=30)))
def test_strange_headers_tell_nothing_wrong(values: dict[str, str]) -> None:
    reported = VENDOR.rates(
        {f"x-ratelimit-{name}-tokens": value for name, value in values.items()}
        | {f"x-ratelimit-{name}-requests": value for name, value in values.items()}
    )

    assert reported is None or all(
        item is None or item >= 0 for item in (reported.limits.total, reported.left.requests)
    )


def test_a_minute_of_tokens_is_told_in_other_words_too() -> None:
    reported = {"x-ratelimit-limit-tokens-minute": "600", "x-ratelimit-remaining-req-minute": "3"}

    assert read_rates(reported) == Rates(Limits(total=600), Limits(requests=3))


@pytest.mark.parametrize("date", [{}, {"date": "today"}])
@pytest.mark.parametrize("zone", [" GMT", " -0000", ""])
def test_a_date_to_come_again_is_counted_from_our_clock_where_none_is_told(
    date: dict[str, str], zone: str
) -> None:
    came_at = datetime(2026, 11, 15, 12, tzinfo=UTC)
    response = error_response(
        429,
        {"error": {"code": "rate_limit_exceeded"}},
        retry_after=f"Sun, 15 Nov 2026 12:00:30{zone}",
        **date,
    )

    assert VENDOR.classify(response._replace(came_at=came_at)).retry_after == 30.0


def test_the_servers_own_clock_counts_before_ours() -> None:
    reported = {
        "retry-after": "Sun, 15 Nov 2026 12:00:30 GMT",
        "date": "Sun, 15 Nov 2026 12:00:20 GMT",
    }

    assert retry_after(reported, datetime(2026, 11, 15, 9, tzinfo=UTC)) == 10.0


@given(st.text(max_size=50), st.text(max_size=50))
def test_strange_words_about_coming_again_are_no_error(value: str, date: str) -> None:
    reported = retry_after({"retry-after": value, "date": date, "retry-after-ms": date})

    assert reported is None or reported >= 0
