"""Anthropic, Gemini and Vertex over HTTP, against the server that their own clients understand."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from quire.domain.accounts import Rates
from quire.domain.errors import ProviderError, Remedy
from quire.domain.models import CacheMarking, StructuredOutput, Usage
from quire.domain.requests import Call, Reply, Stop
from quire.providers.anthropic import Anthropic
from quire.providers.gemini import Gemini
from quire.providers.http import HttpProvider
from quire.providers.protocol import WireFormat
from quire.providers.transport import Transport
from quire.providers.vertex import Vertex
from quire.rehearsal.server import RehearsalThread, rehearsal_server
from tests.providers.sample_calls import account, make_call
from tests.simulated.calls import message, wire_schema

FIELDS: dict[str, Any] = {
    "word_count": {"type": "integer", "minimum": 0, "maximum": 500},
    "kind": {"type": ["string", "null"], "enum": ["prose", "list", None]},
    "note": {"type": "string", "maxLength": 80},
}
PLAIN = {"type": "object", "properties": FIELDS, "required": list(FIELDS)}
RECORD = f"\nThe fields of one result follow this JSON Schema:\n{json.dumps(PLAIN)}"
CALL = replace(
    make_call(structured=StructuredOutput.SCHEMA, marking=CacheMarking.BREAKPOINT),
    system="Read every block with care. " * 400 + RECORD,
    user=message(["one two three", "four"]),
    output_schema={**wire_schema(FIELDS), "additionalProperties": False},
)
ASKED: list[tuple[WireFormat, str, StructuredOutput]] = [
    (Anthropic(), "anthropic/claude-sonnet-5-5", StructuredOutput.SCHEMA),
    (Anthropic(), "anthropic/claude-haiku-5-5", StructuredOutput.TOOL),
    (Anthropic(), "anthropic/claude-haiku-5-5", StructuredOutput.TEXT),
    (Gemini(), "gemini/gemini-3.8-flash", StructuredOutput.SCHEMA),
    (Gemini(), "gemini/gemini-3.8-flash", StructuredOutput.JSON),
    (Vertex(), "vertex/gemini-3.8-flash", StructuredOutput.SCHEMA),
]
EACH = pytest.mark.parametrize(("vendor", "model", "structured"), ASKED)


@pytest.fixture
def server() -> Iterator[RehearsalThread]:
    """A server of one's own."""
    with rehearsal_server() as started:
        yield started


class Heard:
    """What a call brought back."""

    def __init__(self, reply: Reply, rates: Rates | None) -> None:
        """Keep both."""
        self.reply, self.rates = reply, rates


def send(server: RehearsalThread, vendor: WireFormat, call: Call) -> Heard:
    by = account(vendor.name, server.url, project="quire-1", location="europe-west4")

    async def carry() -> Heard:
        provider = HttpProvider(vendor, Transport())
        try:
            sent = await provider.send(call, by)
            return Heard(provider.decode(sent.raw), sent.rates)
        finally:
            await provider.close()

    return asyncio.run(carry())


def shaped(model: str, structured: StructuredOutput, **more: Any) -> Call:
    return replace(CALL, model=model, wire=replace(CALL.wire, structured=structured), **more)


@EACH
def test_a_call_is_answered(
    server: RehearsalThread, vendor: WireFormat, model: str, structured: StructuredOutput
) -> None:
    reply = send(server, vendor, shaped(model, structured)).reply

    results = json.loads(reply.text)["results"]
    assert [record["word_count"] for record in results] == [3, 1]
    assert reply.stop is Stop.END
    assert reply.usage.input > 0
    assert reply.usage.output > 0


@EACH
def test_a_call_with_everything_asked_for_is_answered(
    server: RehearsalThread, vendor: WireFormat, model: str, structured: StructuredOutput
) -> None:
    params = replace(CALL.params, temperature=0.5, effort="low", stop=("\x00",))
    sampling = vendor.name != "anthropic" or "haiku" in model
    call = shaped(model, structured, params=params)
    call = replace(call, wire=replace(call.wire, sampling=sampling))

    assert send(server, vendor, call).reply.stop is Stop.END


def test_a_marked_prefix_is_written_once_and_read_afterwards(server: RehearsalThread) -> None:
    call = shaped("anthropic/claude-sonnet-5-5", StructuredOutput.SCHEMA, caching=True)

    first = send(server, Anthropic(), call).reply.usage
    second = send(server, Anthropic(), call).reply.usage

    assert (first.cached, first.written_short > 1_000) == (0, True)
    assert second == Usage(input=first.input, output=first.output, cached=first.written_short)


@EACH
def test_a_short_limit_cuts_the_answer_off(
    server: RehearsalThread, vendor: WireFormat, model: str, structured: StructuredOutput
) -> None:
    call = shaped(model, structured, params=replace(CALL.params, max_tokens=12))

    assert send(server, vendor, call).reply.stop is Stop.LENGTH


@EACH
@pytest.mark.parametrize(
    ("script", "remedy"),
    [("429=1", Remedy.WAIT), ("500=1", Remedy.RETRY), ("key=1", Remedy.FIX_ACCOUNT)],
)
def test_a_fault_gets_its_remedy(
    server: RehearsalThread,
    vendor: WireFormat,
    model: str,
    structured: StructuredOutput,
    script: str,
    remedy: Remedy,
) -> None:
    server.change_faults(script)

    with pytest.raises(ProviderError) as caught:
        send(server, vendor, shaped(model, structured))

    assert caught.value.remedy is remedy
    assert caught.value.bad_key == (script == "key=1")
