"""Answered: how much of an order was answered before, and need not be asked again."""

from typing import NamedTuple

from quire.domain.data import canonical_json
from quire.domain.recipes import Recipe, Stage
from quire.ledger.ledger import Transaction
from quire.pipeline.commands.start import Order
from quire.pipeline.contexts import asked_words
from quire.pipeline.run_spec import StagePrompt, possible_models
from quire.plan.questions import question_number, stage_question
from quire.plan.rendering import render_prefix
from quire.recipes.recipe_snapshots import recipe_from_json, recipe_to_json


class AnsweredBefore(NamedTuple):
    """What a run of an order finds in the ledger."""

    blocks: int = 0  # of the first stage, whose answers are there
    of: int = 0  # blocks in all
    saved: int = 0  # picodollars that those answers had cost
    repeated: int = 0  # further blocks that say what another of them says
    stages: tuple[str, ...] = ()  # asked in the same words before, and all that they read too


NOTHING_ANSWERED = AnsweredBefore()
LOOKED_AT = 20  # of the newest runs


def find_answered(tx: Transaction, order: Order) -> AnsweredBefore:
    """Look what of an order was answered before, of blocks one by one, of recipes by stages.

    What a later stage asks depends on answers: it is told only whether it asks in the same words.
    """
    if not order.policy.policy.reuse:
        return NOTHING_ANSWERED
    found = NOTHING_ANSWERED
    known: list[str] = []
    words = _stage_words(order.recipe)
    before = _words_before(tx) if len(words) > 1 else {*words.values()}
    for stage in order.recipe.stages:
        models = possible_models(order.recipe, stage, order.facts.name)
        asked = [stage_question_key(order, stage, model) for model in models]
        same = words[stage.name] in before and set(stage.upstream) <= {*known}
        if same and all(map(tx.questions.is_asked, asked)):
            known.append(stage.name)
        if StagePrompt(stage, order.recipe.parameters).by_block and order.sample is None:
            found = _count_blocks(tx, order, asked[0])
    return found._replace(stages=tuple(known))


def _words_before(tx: Transaction) -> set[str]:
    """In which words stages of the newest runs asked."""
    recipes = [recipe_from_json(run.recipe) for run in tx.runs.list_whole_runs(LOOKED_AT)]
    return {words for recipe in recipes for words in _stage_words(recipe).values()}


def _stage_words(recipe: Recipe) -> dict[str, str]:
    """What each stage says, with its templates and all that these are filled with."""
    stages = recipe_to_json(recipe)["stages"]
    assert isinstance(stages, list)
    bodies = [dict(stage) for stage in stages if isinstance(stage, dict)]
    plain = [{**body, "policy": None, "gates": None, "samples": None} for body in bodies]
    parameters = canonical_json(recipe.parameters)
    return {str(body["name"]): canonical_json(body) + parameters for body in plain}


def _count_blocks(tx: Transaction, order: Order, question: int) -> AnsweredBefore:
    documents = [document for document, _ in order.inputs]
    blocks, contents = tx.questions.count_contents(documents)
    answered, known, cost = tx.questions.count_answered(question, documents)
    return AnsweredBefore(answered, blocks, cost, (blocks - answered) - (contents - known))


def stage_question_key(order: Order, stage: Stage, model: str | None = None) -> int:
    """The number that the ledger finds a stage's question by."""
    asked = StagePrompt(stage, order.recipe.parameters).stage
    prefix, name = render_prefix(asked), model or order.facts.name
    return question_number(stage_question(prefix.hash, asked_words(asked), name, asked.params))
