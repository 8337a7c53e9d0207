"""Rows of results: answers as a direct call's, errors named, nothing lost, nothing believed."""

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.batches import BatchRow, BatchStatus, RowEnd
from quire.domain.errors import ProviderError, Remedy
from quire.providers.batch_files import read_row
from quire.providers.compatible import Compatible
from quire.providers.openai import OpenAI
from quire.providers.openai_batches import OpenAIBatches
from quire.providers.protocol import WireFormat
from quire.providers.transport import Transport
from tests.providers.batch_servers import readable
from tests.providers.exchanges.openai import RESPONSES_ANSWERS
from tests.providers.exchanges.openai_batches import output_row, unsent_row
from tests.providers.hostile import json_of
from tests.providers.http_calls import failure_of
from tests.providers.sample_calls import KEY, account, error_response
from tests.providers.scripted import Scripted, jsonl, rows_of
from tests.providers.servers import answering, talking

OPENAI = OpenAIBatches()
BODY, REPLY = RESPONSES_ANSWERS["answer"]
NAMES = [
    *("custom_id", "response", "status_code", "body", "error", "code", "message", "status"),
    *("failed", "output", "choices", "usage", "batch_expired"),
]


def read(row: object, vendor: WireFormat | None = None) -> BatchRow:
    raw = row if isinstance(row, bytes) else orjson.dumps(row)
    return read_row(vendor or OpenAI(), account(), raw)


def errored(row: object, vendor: WireFormat | None = None) -> ProviderError:
    found = read(row, vendor)
    assert found is not None
    assert (found.custom_id, found.end, found.raw) == ("a-1", RowEnd.ERRORED, b"")
    assert found.error is not None
    assert str(found.error).isprintable()
    return found.error


@pytest.mark.parametrize("name", [name for name in RESPONSES_ANSWERS if name != "failed by policy"])
def test_an_answer_is_read_as_that_of_a_direct_call(name: str) -> None:
    body, reply = RESPONSES_ANSWERS[name]

    found = read(output_row("a-1", body))

    assert found is not None
    assert (found.custom_id, found.end, found.error) == ("a-1", RowEnd.ANSWERED, None)
    assert OpenAI().decode(found.raw) == reply


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "invalid_prompt"),
        (400, "context_length_exceeded"),
        (401, "invalid_api_key"),
        (429, "rate_limit_exceeded"),
        (429, "insufficient_quota"),
        (404, "model_not_found"),
        (500, "server_error"),
        (503, "server_is_overloaded"),
    ],
)
def test_an_error_is_named_as_that_of_a_direct_call(status: int, code: str) -> None:
    body = {"error": {"message": "because", "type": "some_error", "param": None, "code": code}}
    direct = OpenAI().classify(error_response(status, body))

    error = errored(output_row("a-1", body, status))

    assert str(error) == str(direct)
    assert (error.remedy, error.bad_key) == (direct.remedy, direct.bad_key)
    assert error.spent is direct.spent


def test_a_call_that_was_left_when_the_batch_ended_is_known_as_such() -> None:
    assert read(unsent_row("a-1", "batch_expired")) == BatchRow("a-1", RowEnd.EXPIRED)
    assert read(unsent_row("a-1", "batch_cancelled")) == BatchRow("a-1", RowEnd.CANCELLED)


def test_a_success_that_is_an_error_is_one() -> None:
    body = {"status": "failed", "error": {"code": "server_error", "message": "oh"}, "output": []}

    assert errored(output_row("a-1", body)).remedy is Remedy.RETRY
    said = {"error": {"code": 402, "message": "No credits"}}
    assert errored(output_row("a-1", said), Compatible("groq")).spent


@pytest.mark.parametrize(
    ("row", "remedy"),
    [
        ({"custom_id": "a-1"}, Remedy.LOST),
        ({"custom_id": "a-1", "response": None, "error": None}, Remedy.LOST),
        (output_row("a-1", None), Remedy.LOST),
        (output_row("a-1", {}, 302), Remedy.LOST),
        ({"custom_id": "a-1", "response": {"body": {}, "status_code": "200"}}, Remedy.LOST),
        ({"custom_id": "a-1", "error": "rate limited"}, Remedy.RETRY),
        ({"custom_id": "a-1", "error": {"code": "insufficient_quota"}}, Remedy.FIX_ACCOUNT),
        (
            {"custom_id": "a-1", "response": {"status_code": 429, "body": None}, "error": "slow"},
            Remedy.WAIT,
        ),
        (output_row("a-1", None, 429), Remedy.WAIT),
    ],
)
def test_a_row_that_names_a_call_and_says_little_goes_again(row: object, remedy: Remedy) -> None:
    assert errored(row).remedy is remedy


@pytest.mark.parametrize(
    "row", [b"", b"{", b"[]", b"null", b"{}", {"custom_id": None}, {"custom_id": 7}, b"\xff\xfe"]
)
def test_a_row_that_names_no_call_is_kept_as_it_came(row: object) -> None:
    raw = row if isinstance(row, bytes) else orjson.dumps(row)

    assert read(row) == BatchRow("", RowEnd.UNREADABLE, raw)


@pytest.mark.parametrize(
    "row",
    [
        {"custom_id": "a-1", "response": "text"},
        {"custom_id": "a-1", "result": {"output": [{"text": "an answer"}]}},
        {"custom_id": "a-1", "response": {"status_code": "200", "body": {"output": "an answer"}}},
        output_row("a-1", {"output": "moved"}, 302),
    ],
)
def test_a_row_in_no_form_of_ours_that_says_something_is_kept_as_it_came(row: object) -> None:
    assert read(row) == BatchRow("a-1", RowEnd.UNREADABLE, orjson.dumps(row))


def test_an_answer_in_no_form_of_ours_is_kept_as_it_is() -> None:
    found = read(output_row("a-1", ["what", "is", "this"]))

    assert found is not None
    assert (found.end, found.raw) == (RowEnd.ANSWERED, b'["what","is","this"]')


@pytest.mark.parametrize("depth", [300, 900, 5000])
def test_a_row_of_any_depth_is_no_exception(depth: int) -> None:
    deep = b"[" * depth + b"]" * depth
    row = orjson.dumps(output_row("a-1", "here")).replace(b'"here"', deep)

    found = read(row)

    assert found.custom_id == "a-1" or found == BatchRow("", RowEnd.UNREADABLE, row)


def test_half_a_character_does_not_cost_an_answer() -> None:
    raw = orjson.dumps(output_row("a-1", BODY)).replace(b"results", b"re\\ud83dults")

    found = read(raw)

    assert found is not None
    assert found.end is RowEnd.ANSWERED
    OpenAI().decode(found.raw).text.encode()


@given(json_of(NAMES), st.sampled_from(["openai", "groq", "mistral"]))
def test_no_row_is_an_exception(value: Any, name: str) -> None:
    vendor: WireFormat = OpenAI() if name == "openai" else Compatible(name)
    rows = [value, {"custom_id": "a-1", "response": value}, {"custom_id": "a-1", "error": value}]
    rows += [output_row("a-1", value), output_row("a-1", value, 500)]

    for row in rows:
        found = read(json.dumps(row).encode(), vendor)
        assert found is None or (found.error is None) is (found.end is not RowEnd.ERRORED)


@pytest.mark.parametrize("files", [(), ("o",), ("e",), ("o", "e"), ("o", "o")])
def test_answers_are_read_first_and_either_file_may_be_missing(files: tuple[str, ...]) -> None:
    server = Scripted(
        **{
            "GET /files/o/content": (200, jsonl(output_row("a-1", BODY), output_row("a-2", BODY))),
            "GET /files/e/content": (200, jsonl(unsent_row("a-3", "batch_expired")).rstrip()),
        }
    )

    rows = server.during(rows_of(OPENAI, files))

    named = {"o": ["a-1", "a-2"], "e": ["a-3"]}
    assert [row.custom_id for row in rows] == [
        text for name in dict.fromkeys(files) for text in named[name]
    ]


def test_strangers_and_garbage_between_rows_do_not_matter_and_keys_do_not_stay() -> None:
    echo = {**BODY, "echo": KEY}
    file = b"\n\r\n{half\n" + jsonl([], output_row("a-1", echo)) + b"<html>\n"
    server = Scripted(**{"GET /files/o/content": (200, file)})

    (row,) = readable(server.during(rows_of(OPENAI, ("o",))), 3)

    assert row.custom_id == "a-1"
    assert KEY.encode() not in row.raw


@pytest.mark.parametrize(
    ("answer", "remedy"),
    [
        ((404, {"error": {"message": "No such File object"}}), Remedy.FIX_ACCOUNT),
        ((401, {"error": {"code": "invalid_api_key"}}), Remedy.FIX_ACCOUNT),
        ((500, b"<html>oh</html>"), Remedy.RETRY),
        ((429, {}), Remedy.WAIT),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error(answer: tuple[int, Any], remedy: Remedy) -> None:
    async def work(http: Any, by: Any) -> ProviderError:
        with pytest.raises(ProviderError) as caught:
            await rows_of(OPENAI, ("o",))(http, by)
        return caught.value

    error = Scripted(**{"GET /files/o/content": answer}).during(work)

    assert error.remedy is remedy
    assert answer[0] != 404 or "file o is not found with this key" in str(error)


def test_a_file_that_breaks_off_is_an_error_after_its_whole_rows() -> None:
    file = jsonl(output_row("a-1", BODY), output_row("a-2", BODY))
    raw = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(file) + file[:-9]
    seen: list[str] = []

    async def work() -> None:
        transport = Transport()
        async with talking(answering(raw)) as port:
            by = account(base_url=f"http://127.0.0.1:{port}")
            status = BatchStatus(results=("o",))
            try:
                async for row in OPENAI.fetch(transport, by, "batch_1", status):
                    seen.append(row.custom_id)
            finally:
                await transport.close()

    error = failure_of(work)

    assert seen == ["a-1"]
    assert error.remedy is Remedy.RETRY
