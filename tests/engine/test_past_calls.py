"""Past calls: what forecasts learn from, and what teaches them nothing."""

from collections.abc import Callable

from quire.engine.past_calls import past_calls
from tests.world import METADATA, World, sentences


def test_of_answers_that_were_refused_no_lengths_are_learnt(world: Callable[..., World]) -> None:
    here = world()
    here.model.script = ["wrong=1"]
    here.ingest(sentences(4))

    here.run(pack_size=2)

    order = here.engine.orders.resolve(schema=METADATA, model="simulated/small", policy={})
    with here.engine.ledger.snapshot() as tx:
        (past,) = past_calls(tx, order.recipe, order.facts).values()
    assert sorted(sample.refused for sample in past.samples)[-1] > 0
    assert [sample.refused for sample in past.acceptable] == [0] * len(past.acceptable)
    assert 0 < len(past.acceptable) < len(past.samples)
