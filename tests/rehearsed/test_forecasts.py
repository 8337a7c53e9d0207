"""Over HTTP, with the prefix cached: what a plan says is what the server bills."""

import pytest

from quire.engine.foreseeing import foresee
from quire.engine.ordering import ask
from quire.plan.variants import Forecast
from quire.recipes.schemas import load_schema
from tests.plan.test_accuracy import block, long
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.rehearsed import GEMINI, OPENAI, Rehearsed

HAIKU = "anthropic/claude-haiku-4-5"


def plan(here: Rehearsed, name: str) -> Forecast:
    asked = ask(here.engine.settings, load_schema(long(name), name="long"), here.asks, {})
    with here.engine.ledger.snapshot() as tx:
        return foresee(tx, asked, [document for document, _ in tx.documents.names()], None)


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
