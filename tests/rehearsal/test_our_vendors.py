"""Our own files for the vendors and the server understand each other, to the last token."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from quire.domain.accounts import Account, Secret
from quire.domain.errors import ProviderError, Remedy, Undecodable
from quire.domain.ids import AttemptId
from quire.domain.models import ModelFacts, Params, StructuredOutput
from quire.domain.requests import Call, Reply, Role, Stop, Turn
from quire.providers.catalog import CATALOG
from quire.providers.provider_registry import Providers
from quire.rehearsal.server import RehearsalThread, rehearsal_server
from tests.rehearsal.clients import KEY, SCHEMA, message

FIELDS = {
    "type": "object",
    "properties": {"word_count": {"type": "integer"}, "has_question": {"type": "boolean"}},
}
SYSTEM = f"Answer in JSON. {'Take care. ' * 2_000}\n{json.dumps(FIELDS)}"
PATHS = {"openai": "/v1", "groq": "/openai/v1", "openrouter": "/api/v1", "mistral": "/v1"}
AT_HOME = ("simulated", "local")  # no vendor's server stands between
OF_VENDORS = [facts for facts in CATALOG.values() if facts.provider not in AT_HOME]
MODELS = [facts for facts in OF_VENDORS if not facts.embeds]
EMBEDDERS = [facts for facts in OF_VENDORS if facts.embeds]
OURS = ("openai/gpt-6-luna", "anthropic/claude-haiku-5-5", "gemini/gemini-3.8-flash")


def exchange(server: RehearsalThread, facts: ModelFacts, times: int = 1, **how: Any) -> list[Reply]:
    """Send a call over HTTP, as the engine does, and read what came back."""
    call = Call(
        attempt_id=AttemptId(1),
        model=facts.name,
        system=SYSTEM,
        user=message(),
        output_schema=SCHEMA,
        params=Params(max_tokens=min(2_000, facts.max_output)),
        wire=replace(facts.wire, **how),
        caching=True,
    )
    return send_calls(server, facts, [call] * times)


def send_calls(server: RehearsalThread, facts: ModelFacts, calls: Sequence[Call]) -> list[Reply]:
    """Send calls over HTTP, one after the other."""
    account = Account(
        provider=facts.provider,
        credential="test",
        key=Secret(KEY),
        base_url=server.url + PATHS.get(facts.provider, ""),
        options={"project": "p", "location": "global"},
    )

    async def send() -> list[Reply]:
        providers = Providers()
        provider = providers.get(facts.provider)
        try:
            sent = [await provider.send(call, account) for call in calls]
            return [provider.decode(response.raw) for response in sent]
        finally:
            await providers.close()

    return asyncio.run(send())


@pytest.fixture(scope="module")
def knowing() -> Any:
    """A server that knows the whole catalog, and no other models."""
    with rehearsal_server(models=CATALOG, strict=True) as running:
        yield running


@pytest.mark.parametrize("facts", MODELS, ids=lambda facts: facts.name)
def test_every_model_of_the_catalog_is_asked_and_billed_alike_on_both_sides(
    knowing: RehearsalThread, facts: ModelFacts
) -> None:
    for way in {facts.wire.structured, StructuredOutput.JSON, StructuredOutput.TEXT}:
        replies = exchange(knowing, facts, times=2, structured=way)
        logged = knowing.entries()[-2:]

        assert [reply.usage for reply in replies] == [entry.usage for entry in logged]
        assert {entry.model for entry in logged} == {facts.name}
        for reply in replies:
            counts = [record["word_count"] for record in json.loads(reply.text)["results"]]
            assert counts == [3, 3]


@pytest.mark.parametrize("facts", EMBEDDERS, ids=lambda facts: facts.name)
def test_passages_are_embedded_and_billed_alike_on_both_sides(
    knowing: RehearsalThread, facts: ModelFacts
) -> None:
    call = Call(
        attempt_id=AttemptId(1),
        model=facts.name,
        system="",
        user="",
        output_schema=None,
        params=Params(),
        wire=facts.wire,
        passages=("Pears ripen late.", "The ferry leaves at noon."),
        dimensions=facts.dimensions,
    )

    (reply,) = send_calls(knowing, facts, [call])

    entry = knowing.entries()[-1]
    assert (reply.text, reply.stop, reply.usage) == ("", Stop.END, entry.usage)
    assert (entry.model, entry.endpoint) == (facts.name, "embeddings")
    assert reply.usage.input > 0


@pytest.mark.parametrize(
    ("fault", "remedy"),
    [
        ("key", Remedy.FIX_ACCOUNT),
        ("spend", Remedy.FIX_ACCOUNT),
        ("400", Remedy.FIX_REQUEST),
        ("413", Remedy.SPLIT),
        ("429", Remedy.WAIT),
        ("500", Remedy.RETRY),
        ("drop", Remedy.LOST),
    ],
)
@pytest.mark.parametrize("model", OURS)
def test_what_goes_wrong_is_understood(model: str, fault: str, remedy: Remedy) -> None:
    with (
        rehearsal_server(models=CATALOG, faults=f"{fault}=1,retry_after=7") as server,
        pytest.raises(ProviderError) as caught,
    ):
        exchange(server, CATALOG[model])

    assert caught.value.remedy is remedy
    assert caught.value.retry_after == (7.0 if fault == "429" else None)


@pytest.mark.parametrize("model", OURS)
def test_answers_that_are_none_are_understood(model: str) -> None:
    with rehearsal_server(models=CATALOG) as server:
        stops = {}
        for fault in ("refuse", "truncate", "empty"):
            server.change_faults(f"{fault}=1")
            stops[fault] = exchange(server, CATALOG[model])[0].stop
        server.change_faults("garbage=1")
        with pytest.raises(Undecodable):
            exchange(server, CATALOG[model])

    assert stops == {"refuse": Stop.REFUSAL, "truncate": Stop.LENGTH, "empty": Stop.END}


def _continued(facts: ModelFacts, so_far: str) -> Call:
    turns = (Turn(Role.USER, message()), Turn(Role.ASSISTANT, so_far))
    return Call(
        attempt_id=AttemptId(1),
        model=facts.name,
        system=SYSTEM,
        user="Continue exactly where you stopped.",
        turns=turns,
        output_schema=SCHEMA,
        params=Params(max_tokens=2_000),
        wire=replace(facts.wire, structured=StructuredOutput.TEXT),
        caching=True,
    )


@pytest.mark.parametrize("model", [*OURS, "mistral/mistral-large-4", "groq/openai/gpt-oss-120b"])
def test_a_call_of_several_turns_is_understood_and_billed_alike(
    knowing: RehearsalThread, model: str
) -> None:
    facts = CATALOG[model]
    whole = exchange(knowing, facts, structured=StructuredOutput.TEXT)[0].text

    rest = send_calls(knowing, facts, [_continued(facts, whole[:40])])[0]

    entry = knowing.entries()[-1]
    assert whole[:40] + rest.text == whole
    assert rest.usage == entry.usage
    assert entry.blocks == 2


def test_an_answer_that_goes_on_badly_is_logged_by_its_fault() -> None:
    facts = CATALOG[OURS[0]]
    with rehearsal_server(faults="start_again=1", models=CATALOG) as server:
        whole = exchange(server, facts, structured=StructuredOutput.TEXT)[0].text
        again = send_calls(server, facts, [_continued(facts, whole[:40])])[0]

        faults = [entry.fault for entry in server.entries()]

    assert again.text == whole
    assert faults == ["", "start_again"]
