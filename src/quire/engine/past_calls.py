"""Past calls: what answers to the same questions took, for forecasts that learn from them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from quire.domain.ids import RunId
from quire.domain.models import ModelFacts
from quire.domain.recipes import Recipe
from quire.domain.requests import OutputSample
from quire.ledger.ledger import Transaction
from quire.plan.sizing import MOST_SAMPLES
from quire.plan.token_estimates import PastCalls
from quire.recipes.recipe_snapshots import recipe_to_json

PAST_RUNS = 50  # searched for answers to the same question


def past_calls(
    tx: Transaction, recipe: Recipe, facts: ModelFacts
) -> dict[tuple[str, str], PastCalls]:
    """Answered calls of the newest run of the same recipe and model, by stage and model."""
    written = recipe_to_json(recipe)
    for run in tx.runs.list_runs(PAST_RUNS):
        if run.recipe != written or run.model.get("name") != facts.name:
            continue
        names = {stage.id: stage.name for stage in tx.runs.stages_of_run(run.id)}
        found: dict[tuple[str, str], list[OutputSample]] = defaultdict(list)
        for lane in tx.requests.lanes_of_run(run.id):
            samples = tx.attempts.output_samples(lane.id, MOST_SAMPLES)
            found[names[lane.stage_id], lane.model] += samples
        if any(found.values()):
            sums = tx.tallies.tallies_of_run(run.id) if recipe.is_single_schema else {}
            return {key: _past(tx, run.id, seen, sums) for key, seen in found.items() if seen}
    return {}


def _past(
    tx: Transaction, run: RunId, samples: Sequence[OutputSample], sums: Mapping[str, int]
) -> PastCalls:
    """What is known of past calls; the sums of a run are those of its stage if it has only one."""
    return PastCalls(
        samples=samples,
        calls=sums.get("calls", 0),
        output_tokens=sums.get("output_tokens", 0),
        cached_tokens=sums.get("cached_tokens", 0),
        batched=sum(view.answered for view in tx.views.list_batches(run)) if sums else 0,
    )
