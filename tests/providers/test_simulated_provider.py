"""The simulated provider carries calls, classifies failures, logs calls and reads bodies."""

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.accounts import KEYLESS_ACCOUNT
from quire.domain.data import Json
from quire.domain.errors import ProviderError, Remedy, SettingsInvalid, Undecodable
from quire.domain.models import Usage
from quire.domain.requests import Call, Reply, Stop
from quire.providers.protocol import Provider
from quire.providers.simulated import SimulatedProvider
from quire.simulated.fault_scripts import NO_FAULTS, parse_fault_script
from tests.simulated.calls import make_call


def call(*contents: str, attempt: int = 1) -> Call:
    return make_call(contents, {"word_count": {"type": "integer"}}, attempt=attempt)


def send(provider: Provider, asked: Call) -> Reply:
    return provider.decode(asyncio.run(provider.send(asked, KEYLESS_ACCOUNT)).raw)


def test_a_call_is_answered_and_its_body_reads_back() -> None:
    reply = send(SimulatedProvider(), call("one two", "three"))

    assert json.loads(reply.text)["results"] == [
        {"block_uid": "1x", "word_count": 2},
        {"block_uid": "2x", "word_count": 1},
    ]
    assert reply.stop is Stop.END
    assert reply.usage.input > 0
    assert reply.usage.output == -(-len(reply.text) // 4)


def test_the_body_says_that_it_is_simulated() -> None:
    body = json.loads(asyncio.run(SimulatedProvider().send(call("one"))).raw)

    assert body["simulated"] is True
    assert body["model"] == "simulated/small"


def test_the_models_own_output_limit_holds_where_the_call_names_none() -> None:
    reply = send(SimulatedProvider(), call(*["word"] * 1200))

    assert (reply.stop, reply.usage.output) == (Stop.LENGTH, 8_192)


@pytest.mark.parametrize(
    ("script", "remedy", "retry_after"),
    [
        ("key=1", Remedy.FIX_ACCOUNT, None),
        ("400=1", Remedy.FIX_REQUEST, None),
        ("413=1", Remedy.SPLIT, None),
        ("429=1", Remedy.WAIT, None),
        ("429=1,retry_after=2", Remedy.WAIT, 2.0),
        ("500=1,retry_after=2", Remedy.RETRY, None),
        ("drop=1", Remedy.LOST, None),
    ],
)
def test_a_failure_carries_what_can_be_done_about_it(
    script: str, remedy: Remedy, retry_after: float | None
) -> None:
    with pytest.raises(ProviderError) as caught:
        send(SimulatedProvider(parse_fault_script(script)), call("one"))

    assert (caught.value.remedy, caught.value.retry_after) == (remedy, retry_after)
    assert str(caught.value).startswith("simulated ")


def test_a_garbled_body_arrives_and_cannot_be_decoded() -> None:
    provider = SimulatedProvider(parse_fault_script("garbage=1"))
    raw = asyncio.run(provider.send(call("one"))).raw

    with pytest.raises(Undecodable):
        provider.decode(raw)


def test_a_hanging_call_ends_only_when_it_is_cancelled() -> None:
    provider = SimulatedProvider(parse_fault_script("hang=1"))

    async def cancelled_while_waiting() -> bool:
        waiting = asyncio.ensure_future(provider.send(call("one")))
        for _ in range(5):
            await asyncio.sleep(0)
        unanswered = not waiting.done()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        return unanswered and waiting.cancelled()

    assert asyncio.run(cancelled_while_waiting())
    assert (provider.calls, provider.carried_out) == (1, 0)


def test_latency_delays_the_answer_without_blocking_other_calls() -> None:
    provider = SimulatedProvider(parse_fault_script("latency=0.05"))

    async def send_twenty() -> tuple[int, int]:
        calls = (provider.send(call("one", attempt=number)) for number in range(20))
        sent = [asyncio.ensure_future(each_call) for each_call in calls]
        for _ in range(5):
            await asyncio.sleep(0)
        begun = provider.calls, sum(answer.done() for answer in sent)
        await asyncio.gather(*sent)
        return begun

    assert asyncio.run(send_twenty()) == (20, 0)
    assert provider.carried_out == 20


def test_the_counters_tell_calls_blocks_and_what_was_carried_out() -> None:
    provider = SimulatedProvider(parse_fault_script("500@BAD,drop@GONE"))

    send(provider, call("one", "two"))
    for content in ("BAD", "GONE"):
        with pytest.raises(ProviderError):
            send(provider, call(content))

    assert (provider.calls, provider.blocks, provider.carried_out) == (3, 4, 2)


def test_the_call_log_has_one_line_for_every_call_that_reached_the_provider(tmp_path: Path) -> None:
    path = tmp_path / "calls.log"
    first = SimulatedProvider(parse_fault_script(f"429@BUSY,log={path}"))
    second = SimulatedProvider(parse_fault_script(f"log={path}"))

    send(first, call("one", "two", attempt=11))
    with pytest.raises(ProviderError):
        send(first, call("BUSY", attempt=12))
    send(second, call("two", "one", attempt=13))
    asyncio.run(first.close())
    asyncio.run(second.close())

    lines = [name.split(" ") for name in path.read_text().splitlines()]
    assert [[attempt, blocks, became] for attempt, blocks, _, became in lines] == [
        ["11", "2", "end"],
        ["12", "1", "429"],
        ["13", "2", "end"],
    ]
    assert lines[0][2] == lines[2][2] != lines[1][2]


def test_the_log_line_stands_before_the_answer_does(tmp_path: Path) -> None:
    path = tmp_path / "calls.log"
    provider = SimulatedProvider(parse_fault_script(f"hang=1,log={path}"))

    async def started_then_stopped() -> str:
        waiting = asyncio.ensure_future(provider.send(call("one", attempt=5)))
        await asyncio.sleep(0)
        written = path.read_text()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await provider.close()
        return written

    assert asyncio.run(started_then_stopped()).startswith("5 1 ")


def test_lines_can_be_given_to_a_function_instead_of_a_file() -> None:
    lines: list[str] = []
    send(SimulatedProvider(NO_FAULTS, lines.append), call("one", attempt=3))

    assert len(lines) == 1
    assert lines[0].startswith("3 1 ")


def test_a_call_log_that_cannot_be_written_is_found_before_any_call(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match="cannot be written"):
        SimulatedProvider(parse_fault_script(f"log={tmp_path}/missing/calls.log"))


def test_closing_twice_does_no_harm(tmp_path: Path) -> None:
    provider = SimulatedProvider(parse_fault_script(f"log={tmp_path}/calls.log"))

    asyncio.run(provider.close())
    asyncio.run(provider.close())


BODY: dict[str, Json] = {
    "text": "fine",
    "stop": "end",
    "usage": {"input_tokens": 1, "output_tokens": 2},
}


def test_a_body_needs_no_more_than_text_stop_and_usage() -> None:
    reply = SimulatedProvider().decode(json.dumps(BODY).encode())

    assert reply == Reply(text="fine", stop=Stop.END, usage=Usage(input=1, output=2))


@pytest.mark.parametrize(
    "change",
    [
        {"text": None},
        {"text": ["fine"]},
        {"stop": "never"},
        {"stop": ["end"]},
        {"usage": None},
        {"usage": {"input_tokens": 1}},
        {"usage": {"input_tokens": -1, "output_tokens": 2}},
        {"usage": {"input_tokens": 1.5, "output_tokens": 2}},
        {"usage": {"input_tokens": True, "output_tokens": 2}},
        {"usage": {"input_tokens": 10**30, "output_tokens": 2}},
        {"usage": {"input_tokens": "1", "output_tokens": 2}},
    ],
)
def test_a_body_with_an_unusable_part_is_undecodable(change: dict[str, Json]) -> None:
    with pytest.raises(Undecodable):
        SimulatedProvider().decode(json.dumps({**BODY, **change}).encode())


KEYS = st.sampled_from(["text", "stop", "usage", "input_tokens"])
HOSTILE = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
).map(lambda item: json.dumps(item).encode())


@given(st.binary(max_size=200) | HOSTILE)
def test_nothing_hostile_gets_past_the_decoder_as_another_error(raw: bytes) -> None:
    with pytest.raises(Undecodable):
        SimulatedProvider().decode(raw)


def test_a_body_nested_beyond_reason_is_undecodable() -> None:
    with pytest.raises(Undecodable):
        SimulatedProvider().decode(b"[" * 100_000)
