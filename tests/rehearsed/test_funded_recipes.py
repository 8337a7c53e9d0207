"""A recipe with critics, repairs, pieces and embeddings, paid from a wallet within a budget."""

from collections import Counter
from dataclasses import replace

from quire.domain.pricing import price_call
from quire.domain.reasons import HoldCause
from quire.domain.requests import RequestKind
from quire.domain.states import RunState
from quire.providers.catalog import CATALOG
from tests.pipeline.recipe_stages import NOTED, recipe, record_stage
from tests.pipeline.test_compression import ASK, long_document
from tests.pipeline.test_continuation import PROMPT, limited
from tests.rehearsed.conftest import Rehearse
from tests.rehearsed.rehearsed import ANTHROPIC, QuickClock, Rehearsed, billed_entries
from tests.rehearsed.test_batch_routes import skipping
from tests.rehearsed.test_embeddings import OPENAIS, SMALL_WINDOW
from tests.time_limits import at_most
from tests.world import METADATA, sentences, until_rest

ESSAY = limited(replace(ASK, name="essay", prompt=PROMPT), 180)
FACTS = record_stage("facts", "each_block", "Read.", templated=False)
CHECK = record_stage(
    "check", "each_result", "Well?\n{{ judged.answer }}", NOTED, of="facts", critic="record"
)


def bill(here: Rehearsed) -> int:
    """What the server carried out, at the prices of each model and way."""
    return sum(
        price_call(CATALOG[entry.model], usage, batched=entry.route == "batch")
        for entry, usage in billed_entries(here.server.entries())
    )


def assert_all_sums_agree(here: Rehearsed, run: int, paid_in: int) -> None:
    """Spend is what the attempts cost, what the wallet paid, and what the server billed."""
    now = here.engine.get(run).progress()
    attempts = sum(it.cost_pico or 0 for it in here.attempts(now.run_id))
    entries = [it for it in here.engine.wallets.entries("team") if it.run_id == run]
    assert now.presumed_pico == 0
    assert now.cost_pico == attempts == -sum(entry.amount for entry in entries) == bill(here)
    assert here.engine.wallets.get("team").balance == paid_in - now.cost_pico
    assert sum(int(str(row["cost_pico"])) for row in here.engine.spend(run=run)) == now.cost_pico
    with here.engine.ledger.snapshot() as tx:
        assert tx.checks.unbalanced_wallets() == []
        assert tx.checks.unbalanced_runs() == []
        assert tx.checks.unbalanced_slices() == []


def test_every_kind_of_call_is_paid_from_the_wallet_as_the_server_billed_it(
    rehearse: Rehearse,
) -> None:
    faults = "wrong=0.2,seed=3,wrong@Sentence 7 says"  # one block always: it is surely repaired
    here = rehearse(ANTHROPIC, tables=SMALL_WINDOW, faults=faults)
    here.ingest(long_document(1_800))
    here.engine.wallets.create("team", "0.008")
    run = here.engine.run(
        recipe=recipe(FACTS, CHECK, ESSAY, ASK),
        model=ANTHROPIC,
        embedder=OPENAIS,
        wallet="team",
        budget_usd=2,
        pack_size=4,
        max_tries=9,
        max_continuations=9,
    )

    held = until_rest(run)
    here.engine.wallets.credit("team", "1.992")
    after = run.wait()

    assert held.holds[0].cause is HoldCause.WALLET_EMPTY
    assert after.state == RunState.FINISHED
    kinds = Counter(line.kind for line in here.lines(run.id))
    wanted = (RequestKind.ANSWER, RequestKind.REPAIR, RequestKind.CONTINUATION, RequestKind.EMBED)
    assert all(kinds[kind] for kind in wanted), kinds
    assert_all_sums_agree(here, run.id, 2 * 10**12)


def test_a_late_batch_is_paid_from_the_same_wallet_as_what_overtook_it(rehearse: Rehearse) -> None:
    here = rehearse(ANTHROPIC, clock=QuickClock(60), batch_latency="7200s")
    here.ingest(sentences(60))
    here.engine.wallets.create("team", 2)
    run = here.engine.run(
        schema=METADATA,
        model=ANTHROPIC,
        wallet="team",
        budget_usd=2,
        route="batch",
        min_batch_size=2,
        pack_size=3,
        deadline="10m",
    )

    run.wait(skipping(here, 540))
    here.server.advance(7200)
    here.engine.drive(run.id, at_most(), batches=True)

    assert run.progress().batches == 0
    assert {it.batch_id is None for it in here.attempts(run.id)} == {True, False}
    assert_all_sums_agree(here, run.id, 2 * 10**12)
