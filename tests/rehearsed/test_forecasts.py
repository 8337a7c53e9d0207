"""Over HTTP, with the prefix cached: what a plan says is what the server bills."""

import pytest

from quire.domain.data import Json
from quire.engine.foreseeing import foresee
from quire.engine.ordering import ask
from quire.plan.variants import Forecast
from quire.recipes.schemas import load_schema
from tests.plan.test_accuracy import block, long
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.rehearsed import GEMINI, OPENAI, QuickClock, Rehearsed

HAIKU = "anthropic/claude-haiku-4-5"


def plan(here: Rehearsed, name: str, **policy: Json) -> Forecast:
    asked = ask(here.engine.settings, load_schema(long(name), name="long"), here.asks, policy)
    batching = here.engine.providers.batching(here.facts.provider)
    assert batching is not None
    with here.engine.ledger.snapshot() as tx:
        documents = [document for document, _ in tx.documents.names()]
        return foresee(tx, asked, documents, batching.rules)


@pytest.mark.parametrize("asks", [OPENAI, HAIKU, GEMINI, "openai/gpt-5.4-mini"])
@pytest.mark.parametrize("name", ["clauses", "revision"])
def test_spend_is_what_was_forecast(rehearse: Rehearse, asks: str, name: str) -> None:
    here = rehearse(asks)
    here.ingest([block(number) for number in range(200)])

    first = plan(here, name)
    here.start(long(name), limit=30).wait()
    then = plan(here, name)
    run = here.run(long(name))

    spent = here.bill()
    assert (run.progress().done, run.progress().cost) == (200, spent)
    assert first.expected.name == then.expected.name == "packed + cached"
    assert first.expected.cost == pytest.approx(spent, rel=0.25)
    assert then.expected.cost == pytest.approx(spent, rel=0.02)


@pytest.mark.parametrize("asks", [OPENAI, HAIKU])
def test_what_rows_of_a_batch_read_is_expected_of_the_next_ones(
    rehearse: Rehearse, asks: str
) -> None:
    here = rehearse(asks, clock=QuickClock(300))
    here.ingest([block(number) for number in range(400)])

    run = here.run(long("clauses"), route="batch")
    then = plan(here, "clauses", route="batch")

    assert run.progress().done == 400
    assert (then.expected.requests, then.expected.batched) == (run.progress().calls, 35)
    assert then.expected.cost == pytest.approx(run.progress().cost, rel=0.02)
