"""The demo: documents, a finished run, one with critics, one under way, and an experiment."""

from quire.engine import Engine
from quire.engine.examples import load_example
from quire.engine.run_reports import run_examples

MODEL = "simulated/small"
FAULTS = "wrong=0.05,seed=7"  # what the simulated model gets wrong while the demo is filled
SLOW = "latency=1"  # so that one sees a run under way
CHECKED = "extract_checked"  # the recipe whose critics object to some


def fill_demo(engine: Engine) -> None:
    """Fill a ledger with the simulated model; what is there already stays as it is."""
    example = load_example(engine)
    engine.run(schema=example.schema, model=MODEL, over=example.documents).wait()
    engine.run(recipe=CHECKED, model=MODEL, over=example.documents).wait()
    run_examples(engine)
    # left to the worker beside the server, one call at a time
    engine.run(
        schema=example.schema,
        model="simulated/large",
        over=example.documents,
        reuse=False,
        pack_size=1,
        concurrency=1,
    )
