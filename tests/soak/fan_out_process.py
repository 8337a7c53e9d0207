"""A process that expands a recipe of six stages, 1 to N to N × N tasks, and tells how it goes."""

import json
import resource
import sys
from time import process_time

from quire.domain.recipes import Recipe
from quire.engine import open_engine
from quire.ledger.ledger import Ledger
from quire.pipeline.contexts import Contexts
from quire.pipeline.stages.advance import advance
from tests.pipeline.recipe_stages import recipe, text_stage
from tests.world import NOW

REPORT_EVERY = 20_000  # tasks


def fan_out_recipe(width: int) -> Recipe:
    """One task, then so many, then as many of each; a whole, a word on it, and draws of that."""
    return recipe(
        text_stage("one", "each_document", "{{ document.text }}"),
        text_stage("many", "samples", "{{ inputs.one.text }}", of="one", samples=width),
        text_stage("most", "samples", "{{ inputs.many.text }}", of="many", samples=width),
        text_stage("whole", "all_to_one", "{{ inputs.many | length }}", needs=("many",)),
        text_stage("word", "each_result", "{{ inputs.whole.text }}", of="whole"),
        text_stage("draws", "samples", "{{ inputs.word.text }}", of="word", samples=width),
    )


def main() -> None:
    """fanning.py URL RUN: expand all that can be expanded before anything is answered."""
    url, run = sys.argv[1], int(sys.argv[2])
    with open_engine(url) as engine:
        _expand(engine.ledger, run)


def _expand(ledger: Ledger, run: int) -> None:
    contexts, made, reported = Contexts(), 0, 0
    while True:
        with ledger.transaction() as tx:
            added = advance(tx, contexts, NOW).expanded
        made += added
        if made - reported >= REPORT_EVERY or not added:
            reported = made
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            report = {"made": made, "cpu": process_time(), "peak": peak}
            sys.stdout.write(json.dumps(report) + "\n")
            sys.stdout.flush()
        if not added:
            return


if __name__ == "__main__":
    main()
