"""Foreseeing: a run is forecast from its documents, the answers so far, and what batches cost."""

from collections.abc import Sequence

from quire.domain.batches import BatchRules
from quire.domain.ids import DocumentId
from quire.engine.counting import exactly
from quire.engine.ordering import RUNS_LOOKED_AT, SAMPLES, Ask
from quire.ledger.ledger import Transaction
from quire.plan.forecasting import Forecast, forecast
from quire.plan.learning import NO_PAST, Past
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
            lanes = tx.requests.lanes_of_run(run.id)
            samples = [each for lane in lanes for each in tx.attempts.samples(lane.id, SAMPLES)]
            if samples:
                sums = tx.tallies.of_run(run.id)
                return Past(
                    samples=samples,
                    calls=sums.get("calls", 0),
                    output_tokens=sums.get("output_tokens", 0),
                    cached_tokens=sums.get("cached_tokens", 0),
                    batched=sum(each.answered for each in tx.batch_views.all(run.id)),
                )
    return NO_PAST
