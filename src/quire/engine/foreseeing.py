"""Foreseeing: a run is forecast from its documents, the answers so far, and what batches cost."""

from collections.abc import Mapping, Sequence

from quire.domain.batches import BatchRules
from quire.domain.ids import DocumentId
from quire.domain.requests import Sample
from quire.domain.runs import Run
from quire.engine.counting import exactly
from quire.engine.ordering import RUNS_LOOKED_AT, SAMPLES, Ask
from quire.ledger.ledger import Transaction
from quire.plan.forecasting import Forecast, forecast
from quire.plan.learning import NO_PAST, Past
from quire.plan.routing import DIRECT, PACED
from quire.recipes.policies import policy_from_json
from quire.recipes.snapshots import recipe_to_json


def foresee(
    tx: Transaction,
    asked: Ask,
    inputs: Sequence[DocumentId],
    rules: BatchRules | None,
    *,
    exact: bool = False,
) -> Forecast:
    """Forecast a run over these documents; `exact` counts with the model's tokenizer, if any."""
    facts = exactly(tx, asked.facts, inputs) if exact else asked.facts
    return forecast(
        tx.documents.sizes(inputs),
        asked.recipe.stages[0],
        facts,
        asked.policy.policy,
        past_of(tx, asked),
        rules,
    )


def past_of(tx: Transaction, asked: Ask) -> Past:
    """Answered calls of the newest run that asked the same of the same model."""
    recipe, model = recipe_to_json(asked.recipe), asked.facts.name
    for run in tx.runs.newest(RUNS_LOOKED_AT):
        if run.recipe == recipe and run.model.get("name") == model:
            for lane in tx.requests.lanes_of_run(run.id):
                samples = tx.attempts.samples(lane.id, SAMPLES)
                if samples:
                    return _past(samples, tx.tallies.of_run(run.id), run)
    return NO_PAST


def _past(samples: Sequence[Sample], sums: Mapping[str, int], run: Run) -> Past:
    """What a run's calls read from caches, inside and outside of batches apart, where known."""
    calls, cached = sums.get("calls", 0), sums.get("cached_tokens", 0)
    batched, in_batches = sums.get("batched_calls", 0), sums.get("batched_cached_tokens", 0)
    told = policy_from_json(run.policy).policy
    known = batched > 0 or told.route in (DIRECT, PACED)
    return Past(
        samples=samples,
        calls=calls,
        output_tokens=sums.get("output_tokens", 0),
        direct_calls=calls - batched if known and told.caching != "off" else 0,
        direct_cached=cached - in_batches,
        batched_calls=batched,
        batched_cached=in_batches,
    )
