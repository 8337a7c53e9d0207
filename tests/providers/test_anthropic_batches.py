"""Anthropic's batches: what is sent fits the published types, what comes back is understood."""

import json
from pathlib import Path
from typing import Any

import pytest
from anthropic.types.messages.batch_create_params import BatchCreateParams
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.accounts import Account
from quire.domain.batches import BatchEnd, BatchLookup, RowEnd
from quire.domain.errors import Remedy
from quire.domain.models import CacheMarking
from quire.providers.anthropic import Anthropic
from quire.providers.anthropic_batches import AnthropicBatches
from tests.providers.batch_servers import (
    NONCE,
    Answer,
    Answers,
    Asked,
    BatchServer,
    batch_query,
    failure_of,
    json_lines,
    readable,
    rows,
    run,
    submission,
    survives,
)
from tests.providers.exchanges.anthropic import ANSWER, error, message
from tests.providers.exchanges.anthropic_batches import CANCELLED, GOOD, REF, batch, row
from tests.providers.hostile import bodies_of
from tests.providers.sample_calls import KEY, account, make_call
from tests.providers.wire_types import mistakes

BATCHES, VENDOR = AnthropicBatches(), Anthropic()
MODEL = "anthropic/claude-haiku-5-5"
PATH = "/v1/messages/batches"
ONE = f"{PATH}/{REF}"


def at(base: str) -> Account:
    return account("anthropic", base)


def batch_server(answers: Answers) -> BatchServer:
    return BatchServer(answers, at)


def test_a_batch_is_sent_in_one_order_that_fits_the_published_types(tmp_path: Path) -> None:
    calls = [
        make_call(MODEL, caching=True, long_lived=True, marking=CacheMarking.BREAKPOINT),
        make_call(MODEL),
    ]
    there = batch_server({f"POST {PATH}": Answer(batch("in_progress"))})
    sent = submission(tmp_path, BATCHES, calls, there.account)

    made = run(there, lambda on: BATCHES.create(on.http, on.account, sent, ""))

    (order,) = there.asked
    assert made == REF
    assert mistakes(order.json(), BatchCreateParams) == []
    assert [item["custom_id"] for item in order.json()["requests"]] == [f"{NONCE}-1", f"{NONCE}-2"]
    direct = VENDOR.encode(calls[0], there.account)
    assert order.json()["requests"][0]["params"] == json.loads(direct.body)
    assert order.headers["Content-Length"] == str(len(order.body))
    named = ("anthropic-version", "Authorization", "Content-Type")
    assert [order.headers[item] for item in named] == [direct.headers[item] for item in named]


@pytest.mark.parametrize("system", ["short", "long " * 100_000])
def test_sampling_is_asked_for_under_the_version_that_takes_it(tmp_path: Path, system: str) -> None:
    there = batch_server({f"POST {PATH}": Answer(batch("in_progress"))})
    calls = [make_call(MODEL, temperature=0.5, system=system), make_call(MODEL, temperature=0.5)]
    sent = submission(tmp_path, BATCHES, calls, there.account)

    run(there, lambda on: BATCHES.create(on.http, on.account, sent, ""))

    assert there.asked[0].headers["anthropic-version"] == "2023-06-01"
    assert there.asked[0].headers["x-api-key"] == KEY


def test_nothing_is_uploaded_and_nothing_is_discarded(tmp_path: Path) -> None:
    there = batch_server({})
    sent = submission(tmp_path, BATCHES, [make_call(MODEL)], there.account)

    assert run(there, lambda on: BATCHES.upload(on.http, on.account, sent)) == ""
    run(there, lambda on: BATCHES.discard(on.http, on.account, ""))
    assert there.asked == []
    assert (BATCHES.rules.lookup, BATCHES.rules.separator) == (BatchLookup.ROWS, b",")


@pytest.mark.parametrize(
    ("answer", "remedy"),
    [
        (Answer(status=0), Remedy.LOST),
        (Answer(error("api_error"), 500), Remedy.LOST),
        (Answer(error("overloaded_error"), 529), Remedy.LOST),
        (Answer({"id": None}), Remedy.LOST),
        (Answer(b"<html>"), Remedy.LOST),
        (Answer(error("rate_limit_error"), 429), Remedy.WAIT),
        (Answer(error("authentication_error"), 401), Remedy.FIX_ACCOUNT),
        (Answer(error("billing_error"), 402), Remedy.FIX_ACCOUNT),
        (Answer(error("invalid_request_error"), 400), Remedy.FIX_REQUEST),
        (Answer(error("request_too_large"), 413), Remedy.FIX_REQUEST),
    ],
)
def test_an_order_that_fails_says_whether_anybody_knows(
    tmp_path: Path, answer: Answer, remedy: Remedy
) -> None:
    there = batch_server({f"POST {PATH}": answer})
    sent = submission(tmp_path, BATCHES, [make_call(MODEL)], there.account)

    found = failure_of(there, lambda on: BATCHES.create(on.http, on.account, sent, ""))

    assert found.remedy is remedy
    assert len(there.asked) == 1


def test_calls_that_are_no_longer_there_are_not_sent(tmp_path: Path) -> None:
    there = batch_server({f"POST {PATH}": Answer(batch("in_progress"))})
    sent = submission(tmp_path, BATCHES, [make_call(MODEL)], there.account)
    Path(sent.path).unlink()

    found = failure_of(there, lambda on: BATCHES.create(on.http, on.account, sent, ""))

    assert found.remedy is Remedy.RETRY
    assert there.asked == []


@pytest.mark.parametrize(
    ("body", "end", "cancelling"),
    [
        (batch("in_progress"), None, False),
        (batch("canceling", **CANCELLED), None, True),
        (batch(), BatchEnd.COMPLETED, False),
        (batch(counts={"errored": 1}), BatchEnd.COMPLETED, False),
        (batch(counts={"expired": 1}), BatchEnd.EXPIRED, False),
        (batch(counts={"canceled": 1}, **CANCELLED), BatchEnd.CANCELLED, False),
        ({"processing_status": "dreaming"}, None, False),
    ],
)
def test_a_batch_says_how_it_stands(body: Any, end: BatchEnd | None, cancelling: bool) -> None:
    there = batch_server({f"GET {ONE}": Answer(body)})

    status = run(there, lambda on: BATCHES.poll(on.http, on.account, REF))

    assert (status.end, status.cancelling) == (end, cancelling)
    assert status.counts == body.get("request_counts", {})


@pytest.mark.parametrize(
    ("answer", "remedy"),
    [
        (Answer(error("not_found_error"), 404), Remedy.FIX_ACCOUNT),
        (Answer(status=0), Remedy.RETRY),
        (Answer([1]), Remedy.RETRY),
        (Answer({}), Remedy.RETRY),
        (Answer(error("api_error"), 500), Remedy.RETRY),
    ],
)
def test_a_batch_that_cannot_be_asked_for_is_not_lost(answer: Answer, remedy: Remedy) -> None:
    there = batch_server({f"GET {ONE}": answer})

    found = failure_of(there, lambda on: BATCHES.poll(on.http, on.account, REF))

    assert found.remedy is remedy
    assert ("does not prove" in str(found)) is (answer.status == 404)


def test_rows_are_read_in_any_order_and_with_any_end() -> None:
    refused = {"type": "errored", "error": error("invalid_request_error", "too odd")}
    busy = {"type": "errored", "error": error("overloaded_error")}
    others = [{"type": "canceled"}, {"type": "expired"}]
    results: list[dict[str, Any]] = [refused, GOOD, busy, *others]
    body = json_lines(*(row(number, result) for number, result in enumerate(results)))
    body += json_lines({"custom_id": "", "result": GOOD}, [1]) + b"half a li\n\n"
    body += json_lines(
        {"custom_id": "new-1", "result": {"type": "postponed"}}, {"custom_id": "bare-2"}
    )
    there = batch_server({f"GET {ONE}/results": Answer(body)})

    found = readable(run(there, lambda on: rows(BATCHES, on, REF)), 3)

    ends = [batch_row.end for batch_row in found]
    assert ends[1] is RowEnd.ANSWERED
    assert ends[3:5] == [RowEnd.CANCELLED, RowEnd.EXPIRED]
    assert [ends[0], ends[2], *ends[5:]] == [RowEnd.ERRORED] * 4
    assert VENDOR.decode(found[1].raw).text == ANSWER
    remedies = [batch_row.error.remedy for batch_row in found if batch_row.error]
    assert remedies == [Remedy.FIX_REQUEST, Remedy.WAIT, Remedy.LOST, Remedy.LOST]
    assert [batch_row.custom_id for batch_row in found[:2]] == [f"{NONCE}-0", f"{NONCE}-1"]


def test_large_integers_of_an_answer_are_kept() -> None:
    tool = {"type": "tool_use", "id": "t", "name": "results", "input": {"n": 1}}
    line = json_lines(row(1, {"type": "succeeded", "message": message(tool)}))
    line = line.replace(b'"n":1', b'"n":123456789012345678901')
    there = batch_server({f"GET {ONE}/results": Answer(line)})

    (found,) = run(there, lambda on: rows(BATCHES, on, REF))

    assert VENDOR.decode(found.raw).text == '{"n":123456789012345678901}'


def test_results_that_are_not_there_are_no_rows_but_a_failure() -> None:
    there = batch_server({f"GET {ONE}/results": Answer(error("not_found_error"), 404)})

    assert failure_of(there, lambda on: rows(BATCHES, on, REF)).remedy is Remedy.FIX_ACCOUNT


def test_cancelling_asks_once_and_an_end_before_that_is_no_failure() -> None:
    late = error("invalid_request_error", "the batch has ended")
    there = batch_server({f"POST {ONE}/cancel": Answer(batch("canceling", **CANCELLED))})
    ended = batch_server({f"POST {ONE}/cancel": Answer(late, 400), f"GET {ONE}": Answer(batch())})
    running = {f"POST {ONE}/cancel": Answer(late, 400), f"GET {ONE}": Answer(batch("in_progress"))}

    run(there, lambda on: BATCHES.cancel(on.http, on.account, REF))
    run(ended, lambda on: BATCHES.cancel(on.http, on.account, REF))

    assert len(there.asked) == 1
    found = failure_of(batch_server(running), lambda on: BATCHES.cancel(on.http, on.account, REF))
    assert found.remedy is Remedy.FIX_REQUEST


NAMES = ["id", "processing_status", "ended", "request_counts", "created_at", "data", "has_more"]
NAMES += ["custom_id", "result", "type", "succeeded", "errored", "message", "error", "last_id"]


@given(bodies_of(NAMES), st.sampled_from([200, 400, 404, 500]))
def test_whatever_is_answered_the_worst_is_a_classified_failure(body: bytes, status: int) -> None:
    def answer(asked: Asked) -> Answer:
        return Answer(body, status)

    places = (f"GET {PATH}", f"GET {ONE}", f"GET {ONE}/results", f"POST {ONE}/cancel")
    there = batch_server(dict.fromkeys(places, answer))

    async def all_of_it(on: BatchServer) -> None:
        await survives(BATCHES.find(on.http, on.account, batch_query()))
        await survives(BATCHES.poll(on.http, on.account, REF))
        await survives(rows(BATCHES, on, REF))
        await survives(BATCHES.cancel(on.http, on.account, REF))

    run(there, all_of_it)
