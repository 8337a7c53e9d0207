"""Learn: the sizes of a stage's calls, from what its own answers took."""

from collections.abc import Sequence

from quire.domain.requests import OutputSample
from quire.ledger.ledger import Transaction
from quire.pipeline.contexts import NOTHING_LEARNT, Contexts, LaneContext, Sizes
from quire.planning.rendering import items_bytes
from quire.planning.sizing import MOST_SAMPLES, TokenSample, calibrate, learn_output

LEARN_AFTER = 1000  # tasks packed with sizes once learnt, before they are learnt again


def learn_sizes(tx: Transaction, contexts: Contexts, context: LaneContext, tasks: int) -> Sizes:
    """Sizes of real calls, looked at again once in a while."""
    key = (context.stage_id, context.model_no)
    sizes = contexts.sizes.get(key, NOTHING_LEARNT)
    if sizes.learned is None or sizes.packed >= LEARN_AFTER:
        sizes = _sizes_from(context, _samples(tx, context))
    contexts.sizes[key] = sizes._replace(packed=sizes.packed + tasks)
    return sizes


def _samples(tx: Transaction, context: LaneContext) -> list[OutputSample]:
    """A model's answers to the stage, however they travelled; the newest of a lane first."""
    wanted = (context.stage_id, context.facts.name)
    lanes = tx.requests.lanes_of_run(context.run_id)
    mine = [item.id for item in lanes if (item.stage_id, item.model) == wanted]
    most = MOST_SAMPLES
    return [
        sample
        for lane in mine
        for read in (tx.attempts.output_samples, tx.pieces.assembled_samples)
        for sample in read(lane, most)
    ][:most]


def _sizes_from(context: LaneContext, samples: Sequence[OutputSample]) -> Sizes:
    measured = [
        TokenSample(
            context.prefix_bytes + items_bytes(sample.tasks, sample.content_bytes),
            sample.input_tokens,
        )
        for sample in reversed(samples)
    ]
    per_byte = calibrate(measured).most_per_byte
    budget = context.budget if per_byte is None else context.budget_at(per_byte)
    return Sizes(learn_output(samples), per_byte, budget)
