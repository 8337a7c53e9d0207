"""Past calls: what answers to the same questions, and whole runs of them, took; to learn from."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from quire.domain.documents import Document
from quire.domain.ids import RunId
from quire.domain.models import ModelFacts
from quire.domain.reasons import EventKind
from quire.domain.recipes import Recipe
from quire.domain.requests import OutputSample
from quire.domain.runs import Run
from quire.domain.states import RunState, StageState, TaskState
from quire.engine.spend import read_groups
from quire.ledger.ledger import Transaction
from quire.pipeline.commands.start import Order
from quire.planning.failure_limits import REUSED
from quire.planning.forecast_corrections import StageKey, StageSpend, spend_by_stage
from quire.planning.sizing import MOST_SAMPLES
from quire.planning.token_estimates import PastCalls
from quire.recipes.policy_layers import policy_from_json
from quire.recipes.recipe_snapshots import recipe_to_json

PAST_RUNS = 50  # searched for answers to the same question
LEARNT_RUNS = 4  # of these, whose answers are learnt from
MOST_EVENTS = 1000  # of a run, looked through for what people had asked again
ASKED_ALL = (1, 1)
ASKED_AGAIN = (EventKind.RERUN, EventKind.RETRIED, EventKind.REUSED)  # more, or less, than usual


def past_calls(
    tx: Transaction, recipe: Recipe, facts: ModelFacts
) -> dict[tuple[str, str], PastCalls]:
    """Answered calls of runs of the same recipe and model, by stage and model.

    What calls are billed beside their answers is told by the newest run that went through, or else
    by the newest; how long answers are, by some runs more, whose texts may be of other sizes.
    """
    written = recipe_to_json(recipe)
    same = [
        run
        for run in tx.runs.list_runs(PAST_RUNS)
        if run.recipe == written and run.model.get("name") == facts.name
    ]
    through = [run for run in same if run.state == RunState.FINISHED and run.task_limit is None][:1]
    found: dict[tuple[str, str], PastCalls] = {}
    learnt_from = 0
    for run in [*through, *(run for run in same if run not in through)]:
        samples = _answer_samples(tx, run.id)
        sums = tx.tallies.tallies_of_run(run.id) if samples and recipe.is_single_schema else {}
        for key, seen in samples.items():
            past = found.get(key)
            more = past and past._replace(further=[*past.further, *seen])
            found[key] = more or _past(tx, run.id, seen, sums)
        learnt_from += bool(samples)
        if learnt_from == LEARNT_RUNS:
            break
    return found


def _answer_samples(tx: Transaction, run: RunId) -> dict[tuple[str, str], Sequence[OutputSample]]:
    """What the newest answered calls of each stage and model took."""
    names = {stage.id: stage.name for stage in tx.runs.stages_of_run(run)}
    found: dict[tuple[str, str], list[OutputSample]] = defaultdict(list)
    for lane in tx.requests.lanes_of_run(run):
        samples = tx.attempts.output_samples(lane.id, MOST_SAMPLES, refusals=True)
        found[names[lane.stage_id], lane.model] += samples
    return {key: seen for key, seen in found.items() if seen}


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


class PastWork(NamedTuple):
    """The same work as it was done before: what it was told, and what its stages took."""

    run_id: RunId
    order: Order
    documents: Sequence[Document]
    spent: Mapping[StageKey, StageSpend]  # of stages that are through
    asked: Mapping[str, tuple[int, int]]  # tasks that it asked, of how many, by stage

    def is_same(self, order: Order, documents: Sequence[Document]) -> bool:
        """Whether it was told the same about the same documents, so that its forecast is too."""
        earlier = (self.order.facts, self.order.models, self.order.policy.policy)
        uids = [document.conv_uid for document in self.documents]
        return (
            earlier == (order.facts, order.models, order.policy.policy)
            and order.reuse is None
            and uids == [document.conv_uid for document in documents]
        )


def find_past_work(tx: Transaction, order: Order) -> PastWork | None:
    """The newest run of the same recipe and model that has stages which are through."""
    written = recipe_to_json(order.recipe)
    for run in tx.runs.list_whole_runs(PAST_RUNS):
        same = run.recipe == written and run.model.get("name") == order.facts.name
        if same and run.task_limit is None and (found := _read_past_work(tx, order, run)):
            return found
    return None


def _read_past_work(tx: Transaction, order: Order, run: Run) -> PastWork | None:
    stages = tx.runs.stages_of_run(run.id)
    through = {stage.name for stage in stages if stage.state == StageState.CLOSED}
    if not through or any(
        event.kind in ASKED_AGAIN for event in tx.events.events_of_run(run.id, MOST_EVENTS)
    ):
        return None
    inputs = tx.runs.inputs_of_run(run.id)
    numbers = {document for document, _ in inputs}
    documents = [item for item in tx.documents.list_documents() if item.id in numbers]
    groups = read_groups(tx, tx.spend.priced_models(run.id), run.id, outcomes=False)
    asked = _asked_tasks(tx, run.id)
    spent = {key: sums for key, sums in spend_by_stage(groups).items() if key[0] in through}
    # of a stage that took most of its answers from elsewhere, what the rest cost says little
    spent = {key: sums for key, sums in spent.items() if 2 * asked[key[0]][0] > asked[key[0]][1]}
    if len(documents) < len(numbers) or not any(sums.calls for sums in spent.values()):
        return None  # some were purged since, or nothing was asked
    facts, *further = tx.runs.models_of_run(run)
    earlier = replace(
        order,
        facts=facts,
        models=tuple(further),
        policy=policy_from_json(run.policy),
        inputs=[(document.id, document.conv_uid) for document in documents],
        input_names=dict(inputs),
        reuse=None,
    )
    return PastWork(run.id, earlier, documents, spent, asked)


def _asked_tasks(tx: Transaction, run: RunId) -> dict[str, tuple[int, int]]:
    """How many tasks of each stage were asked, of how many: the others took an answer."""
    found: dict[str, tuple[int, int]] = {}
    sums = tx.tallies.tallies_by_stage(run)
    for stage in tx.runs.stages_of_run(run):
        counts = sums.get(stage.id, {})
        ended = counts.get(TaskState.DONE, 0) + counts.get(TaskState.FAILED, 0)
        found[stage.name] = (max(0, ended - counts.get(REUSED, 0)), ended) if ended else ASKED_ALL
    return found
