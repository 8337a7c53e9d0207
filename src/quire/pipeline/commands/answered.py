"""Answered: how many blocks of an order were answered before, and need not be asked again."""

from typing import NamedTuple

from quire.domain.data import JsonObject, canonical_json
from quire.domain.ids import hash_number
from quire.domain.recipes import Recipe, Stage
from quire.ledger.ledger import Transaction
from quire.pipeline.commands.start import Order
from quire.pipeline.contexts import asked_words
from quire.pipeline.run_spec import StagePrompt, possible_models
from quire.planning.questions import drawn_by, stage_question
from quire.planning.rendering import render_prefix
from quire.recipes.recipe_snapshots import recipe_to_json

# Of a stage, what is no part of its questions, or is told apart by the models themselves.
_UNSAID = ("policy", "gates", "samples", "models")


class AnsweredBefore(NamedTuple):
    """What a run of an order finds in the ledger about the blocks of its documents."""

    blocks: int = 0  # whose answers are there
    of: int = 0  # blocks in all
    saved: int = 0  # picodollars that those answers had cost
    repeated: int = 0  # further blocks that say what another of them says


NOTHING_ANSWERED = AnsweredBefore()


def find_answered(tx: Transaction, order: Order) -> AnsweredBefore:
    """Look which blocks a stage of an order need not ask about, if it asks about blocks plainly."""
    if not order.policy.policy.reuse or order.sample is not None:
        return NOTHING_ANSWERED
    found = NOTHING_ANSWERED
    for stage in order.recipe.stages:
        if StagePrompt(stage, order.recipe.parameters).by_block:
            model = possible_models(order.recipe, stage, order.facts.name)[0]
            found = _count_blocks(tx, order, stage_question_key(order, stage, model))
    return found


def stage_words(recipe: Recipe) -> dict[str, str]:
    """What each stage says, with its templates and all that these are filled with."""
    stages = recipe_to_json(recipe)["stages"]
    assert isinstance(stages, list)
    bodies = [dict(stage) for stage in stages if isinstance(stage, dict)]
    plain = [{**body, **dict.fromkeys(_UNSAID)} for body in bodies]
    known = {stage.name: canonical_json(_parameters_of(recipe, stage)) for stage in recipe.stages}
    found = {str(body["name"]): canonical_json(body) + known[str(body["name"])] for body in plain}
    drawn = {stage.name: drawn_by(recipe, stage).hex() for stage in recipe.stages}
    return {name: words + drawn[name] for name, words in found.items()}


def _parameters_of(recipe: Recipe, stage: Stage) -> JsonObject:
    """The parameters that a stage's templates name: the others change nothing of what it asks."""
    if not stage.templated:
        return recipe.parameters
    from quire.planning.template_analysis import ITEM  # loads Jinja
    from quire.planning.templates import compile_template

    texts = (stage.instructions, stage.prompt, *(entry.content for entry in stage.history))
    templates = [compile_template(text) for text in texts if text]
    named = {part for item in templates for name, part in item.attributes if name == "parameters"}
    paths = {path for item in templates for path, _ in item.readings if path[0] == "parameters"}
    if ("parameters", ITEM) in paths or (paths and not named):  # chosen while it is filled in
        return recipe.parameters
    return {name: value for name, value in recipe.parameters.items() if name in named}


def _count_blocks(tx: Transaction, order: Order, question: int) -> AnsweredBefore:
    documents = [document for document, _ in order.inputs]
    blocks, contents = tx.questions.count_contents(documents)
    answered, known, cost = tx.questions.count_answered(question, documents)
    return AnsweredBefore(answered, blocks, cost, (blocks - answered) - (contents - known))


def stage_question_key(order: Order, stage: Stage, model: str | None = None) -> int:
    """The number that the ledger finds a stage's question by."""
    asked = StagePrompt(stage, order.recipe.parameters).stage
    prefix, name = render_prefix(asked), model or order.facts.name
    return hash_number(stage_question(prefix.hash, asked_words(asked), name, asked.params))
