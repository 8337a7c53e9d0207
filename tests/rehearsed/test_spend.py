"""What caching and batches saved, and whose key paid, against the server's own bill."""

import pytest

from quire.domain.models import Usage
from quire.domain.pricing import price_call
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.rehearsed import ANTHROPIC, LONG, OPENAI, QuickClock, billed_entries
from tests.world import sentences


@pytest.mark.parametrize("asks", [ANTHROPIC, OPENAI])
def test_caching_saved_what_the_bill_would_have_been_without(rehearse: Rehearse, asks: str) -> None:
    here = rehearse(asks)
    here.ingest(sentences(60))
    run = here.run(LONG, pack_size=5)

    (row,) = here.engine.spend("key", run.id)

    plain = sum(
        price_call(here.facts, Usage(input=usage.input_total, output=usage.output))
        for _, usage in billed_entries(here.server.entries())
    )
    assert row["cost_pico"] == here.bill()
    assert row["caching_saved_pico"] == plain - here.bill() > 0
    assert row["batches_saved_pico"] == 0
    assert str(row["key"]).startswith(f"{here.facts.provider} env ")


def test_batches_saved_the_difference_to_direct_calls(rehearse: Rehearse) -> None:
    here = rehearse(ANTHROPIC, clock=QuickClock(60), batch_latency="20s")
    here.ingest(sentences(120))
    run = here.start(route="batch", min_batch_size=2, pack_size=4)
    run.wait()

    rows = here.engine.spend("day", run.id)

    saved, paid, calls = (
        sum(int(str(row[name])) for row in rows)
        for name in ("batches_saved_pico", "cost_pico", "batched_calls")
    )
    assert calls == run.progress().calls
    assert saved == paid == run.progress().cost_pico  # batches cost half
