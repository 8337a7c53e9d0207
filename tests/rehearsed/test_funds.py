"""Workers side by side spend one budget: it runs out, is raised, and the bill is the server's."""

import pytest

from quire.domain.pricing import to_usd
from quire.domain.reasons import EventKind, HoldCause
from tests.ready_databases import ReadyDatabases
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.rehearsed import OPENAI, Rehearsed, side_by_side
from tests.rehearsed.test_faults import MIXED, OFTEN, PATIENT
from tests.world import METADATA, sentences

SHARES = (0.2, 0.45, 0.7)  # of what is forecast: there the money runs out
DROPPED = f"drop=0.01,{MIXED}"  # calls that are carried out, and nobody hears of it


def spend(first: Rehearsed, others: list[Rehearsed], blocks: int) -> None:
    """Carry out a run whose money runs out three times; the ledger says what the server does."""
    first.ingest(sentences(blocks))
    policy = {"pack_size": 5, "concurrency": 16, **PATIENT}
    plan = first.engine.plan(schema=METADATA, model=OPENAI, **policy)
    forecast = plan.forecast.expected.cost
    first.engine.wallets.create("team", 1000)
    budget = to_usd(int(SHARES[0] * forecast))
    run = first.engine.run(
        schema=METADATA, model=OPENAI, wallet="team", budget_usd=f"{budget:.12f}", **policy
    )

    for share in (*SHARES[1:], 10):
        side_by_side(first, *others, run=run.id)
        now = run.progress()
        assert [hold.cause for hold in now.holds] == [HoldCause.BUDGET_SPENT]
        run.resume(budget_usd=f"{to_usd(int(share * forecast)):.12f}")
    side_by_side(first, *others, run=run.id)

    ended, lost = run.progress(), first.server.stats()["faults"].get("drop", 0)
    assert (ended.state, dict(ended.counts)) == ("finished", {"done": blocks})
    assert ended.cost_pico <= first.bill() <= ended.cost_pico + ended.presumed_pico
    assert (ended.presumed_pico > 0) == (lost > 0)
    spent = ended.cost_pico + ended.presumed_pico
    assert 1000 * 10**12 - first.engine.wallets.get("team").balance == spent
    held = [event for event in run.events(0, 10_000) if event.kind == EventKind.HELD]
    assert len(held) == len(SHARES)
    with first.engine.ledger.snapshot() as tx:
        assert tx.checks.unbalanced_wallets() == []
        assert tx.checks.unbalanced_runs() == []
        assert tx.checks.unbalanced_slices() == []


def spend_side_by_side(
    rehearse: Rehearse,
    ready_postgres: ReadyDatabases,
    blocks: int,
    workers: int,
    faults: str,
) -> None:
    """The same with so many workers of one ledger."""
    with ready_postgres.lend() as url:
        first = rehearse(OPENAI, url=url, faults=faults)
        others = [rehearse(OPENAI, url=url, server=first.server) for _ in range(workers - 1)]
        spend(first, others, blocks)
        assert ("drop" in first.server.stats()["faults"]) == ("drop" in faults)
        for here in (first, *others):
            here.close()


def test_workers_spend_one_budget_and_pay_what_the_server_billed(
    rehearse: Rehearse, ready_postgres: ReadyDatabases
) -> None:
    spend_side_by_side(rehearse, ready_postgres, 120, 2, OFTEN)


def test_of_calls_that_were_lost_the_bill_lies_between_what_is_known_and_presumed(
    rehearse: Rehearse, ready_postgres: ReadyDatabases
) -> None:
    spend_side_by_side(rehearse, ready_postgres, 120, 2, f"drop=0.1,{OFTEN}")


@pytest.mark.soak
@pytest.mark.parametrize("faults", [MIXED, DROPPED])
def test_many_workers_spend_one_budget_and_pay_what_the_server_billed(
    rehearse: Rehearse, ready_postgres: ReadyDatabases, faults: str
) -> None:
    spend_side_by_side(rehearse, ready_postgres, 10_000, 8, faults)
