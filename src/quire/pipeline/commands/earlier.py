"""Earlier: which run has answers already to what an order would ask, and pay for, once more."""

from typing import NamedTuple

from quire.domain.data import Json
from quire.domain.ids import DocumentId, RunId
from quire.domain.recipes import Recipe
from quire.domain.runs import Run
from quire.domain.states import TaskState
from quire.ledger.ledger import Transaction
from quire.pipeline.commands.answered import find_answered
from quire.pipeline.commands.start import OPERATIONAL, Order, find_run
from quire.pipeline.run_spec import StagePrompt
from quire.recipes.policy_layers import policy_from_json
from quire.recipes.recipe_snapshots import recipe_from_json, recipe_to_json

LOOKED_AT = 20  # of the newest runs


class EarlierAnswers(NamedTuple):
    """A run that asked the same model the same, and is not gone on with."""

    run_id: RunId
    answered: int  # at most
    blocks: int | None  # that are asked about now; None: larger things are
    settings: tuple[str, ...]  # that differ
    new_documents: tuple[DocumentId, ...]  # that it did not ask about


def find_earlier(tx: Transaction, order: Order) -> EarlierAnswers | None:
    """What a new run of this order would ask again; nothing, if that is wanted or goes on."""
    unasked = order.new or order.reuse is not None or order.sample is not None
    if unasked or find_run(tx, order) is not None:
        return None
    if find_answered(tx, order).blocks:  # those are taken, whichever run they are of
        return None
    questions = _questions(order.recipe)
    for run in tx.runs.list_whole_runs(LOOKED_AT):
        earlier = recipe_from_json(run.recipe)
        if run.model["name"] == order.facts.name and _questions(earlier) == questions:
            if _takes_answers(order, earlier):
                return None
            found = _compare(tx, order, run, earlier)
            if found.answered:
                return found
    return None


def _is_by_block(recipe: Recipe) -> bool:
    return any(StagePrompt(stage, recipe.parameters).by_block for stage in recipe.stages)


def _takes_answers(order: Order, earlier: Recipe) -> bool:
    """Whether what was said of documents, sections or pages is taken; of blocks it is counted."""
    pairs = zip(order.recipe.stages, earlier.stages, strict=True)
    same = all(stage.params == before.params for stage, before in pairs)
    return same and order.policy.policy.reuse and not _is_by_block(order.recipe)


def _compare(tx: Transaction, order: Order, run: Run, earlier: Recipe) -> EarlierAnswers:
    """By documents and sums alone: nobody looks at single blocks before a run begins."""
    asked = {document for document, _ in tx.runs.inputs_of_run(run.id)}
    documents = [document for document, _ in order.inputs]
    shared = [document for document in documents if document in asked]
    first = tx.runs.stages_of_run(run.id)[0]
    done = tx.tallies.tallies_of_stage(first.id).get(TaskState.DONE, 0)
    return EarlierAnswers(
        run.id,
        min(done, tx.runs.count_blocks_of_documents(shared)),
        tx.runs.count_blocks_of_documents(documents) if _is_by_block(order.recipe) else None,
        _other_settings(order, run, earlier),
        tuple(document for document in documents if document not in asked),
    )


def _other_settings(order: Order, run: Run, earlier: Recipe) -> tuple[str, ...]:
    before, now = policy_from_json(run.policy).policy, order.policy.policy
    names = [name for name in order.policy.as_json() if name not in OPERATIONAL]
    differing = [name for name in names if getattr(before, name) != getattr(now, name)]
    for old, new in zip(earlier.stages, order.recipe.stages, strict=True):
        params, others = old.params.as_json(), new.params.as_json()
        differing += [name for name in others if others[name] != params.get(name)]
    return tuple(dict.fromkeys(differing))


def _questions(recipe: Recipe) -> list[dict[str, Json]]:
    """What a recipe asks, however the calls are made."""
    stages = recipe_to_json(recipe)["stages"]
    assert isinstance(stages, list)
    found = [dict(stage) for stage in stages if isinstance(stage, dict)]
    return [{**stage, "params": None, "policy": None} for stage in found]
