"""Azure's and Groq's batches: OpenAI's, with addresses, limits and habits of their own."""

from pathlib import Path

import orjson
import pytest

from quire.domain.accounts import Account
from quire.domain.batches import BatchEnd, BatchStatus, Submission
from quire.domain.errors import CallFault, ProviderError, Remedy
from quire.providers.openai_batches import OpenAIBatches
from quire.providers.protocol import HttpClient
from tests.providers.exchanges.openai import RESPONSES_ANSWERS
from tests.providers.exchanges.openai_batches import BATCH, NONCE, batch, output_row
from tests.providers.sample_calls import KEY, account, make_call
from tests.providers.scripted import Scripted, jsonl, rows_of

AZURE = OpenAIBatches("azure")
BODY, _ = RESPONSES_ANSWERS["answer"]


def submission(path: Path) -> Submission:
    path.write_bytes(b'{"custom_id":"a"}')
    return Submission(nonce=NONCE, model="azure/my-deployment", rows=1, path=str(path))


def test_azure_calls_are_of_a_deployment_and_of_either_api() -> None:
    by = account("azure", "https://one.openai.azure.com")
    chat = account("azure", "https://one.openai.azure.com", api="chat")

    lines = [orjson.loads(AZURE.line(make_call("azure/mine"), item, "a")) for item in (by, chat)]

    assert [line["url"] for line in lines] == ["/v1/responses", "/v1/chat/completions"]
    assert [line["body"]["model"] for line in lines] == ["mine", "mine"]


def test_azure_files_leave_by_themselves_and_the_version_goes_everywhere(tmp_path: Path) -> None:
    server = Scripted(
        **{"POST /files": (201, {"id": "file-in"}), "POST /batches": (200, batch("validating"))}
    )
    made = submission(tmp_path / "calls")

    async def work(http: HttpClient, by: Account) -> str:
        return await AZURE.create(http, by, made, await AZURE.upload(http, by, made))

    ref = server.during(work, "azure", "?api-version=preview")

    assert ref == "batch_1"
    assert [dict(heard.query) for heard in server.heard] == [{"api-version": "preview"}] * 2
    assert [heard.headers["api-key"] for heard in server.heard] == [KEY] * 2
    assert b'name="expires_after[seconds]"\r\n\r\n1209600\r\n' in server.heard[0].body
    assert b'name="expires_after[anchor]"\r\n\r\ncreated_at\r\n' in server.heard[0].body


def test_azure_sends_an_empty_file_of_errors_and_no_counts() -> None:
    ended = batch("completed", output_file_id="o", error_file_id="e", request_counts=None)
    server = Scripted(
        **{
            "GET /batches/batch_1": (200, ended),
            "GET /files/o/content": (200, jsonl(output_row("a-1", BODY))),
            "GET /files/e/content": (200, b""),
        }
    )

    status = server.during(lambda http, by: AZURE.poll(http, by, "batch_1"), "azure")
    rows = server.during(rows_of(AZURE, status.results), "azure")

    assert status == BatchStatus(end=BatchEnd.COMPLETED, results=("o", "e"))
    assert [row.custom_id for row in rows] == ["a-1"]


def test_azure_without_an_address_says_which_one_it_needs() -> None:
    async def work(http: HttpClient, by: Account) -> ProviderError:
        with pytest.raises(ProviderError) as caught:
            await AZURE.poll(http, account("azure"), "batch_1")
        return caught.value

    error = Scripted().during(work)

    assert (error.remedy, error.fault) == (Remedy.FIX_ACCOUNT, CallFault.ADDRESS)
    assert "AZURE_OPENAI_ENDPOINT" in str(error)


def test_azure_takes_more_calls_and_never_ends_a_batch_by_itself() -> None:
    assert (AZURE.name, AZURE.rules.calls, AZURE.rules.window) == ("azure", 100_000, 0.0)


def test_groq_takes_chat_completions_only_at_its_own_address(tmp_path: Path) -> None:
    groq = OpenAIBatches("groq")
    server = Scripted(**{"POST /batches": (200, BATCH)})
    made = submission(tmp_path / "calls")

    server.during(lambda http, by: groq.create(http, by, made, "file-in"), "groq")
    line = orjson.loads(groq.line(make_call("groq/llama-4"), account("groq"), "a"))

    assert orjson.loads(server.heard[0].body)["endpoint"] == "/v1/chat/completions"
    assert line["url"] == "/v1/chat/completions"
    assert line["body"]["model"] == "llama-4"
    assert (groq.name, groq.rules.caches, groq.rules.calls) == ("groq", False, 50_000)
