"""CPU per block of a run whose questions are all new, with and without looking for answers."""

import sys
import tempfile
from pathlib import Path
from time import process_time

from benchmarks.corpus import SCHEMA, fill
from quire.dispatch import settler
from quire.domain.ids import StageId, TaskId
from quire.engine import Engine
from quire.engine.context import make_context
from quire.ledger.ledger import Ledger, open_ledger
from quire.pipeline.answers.reuse_answers import share_questions
from quire.pipeline.calls.prepare import ShareQuestions, ask_all
from quire.pipeline.commands.answered import stage_question_key
from quire.settings import Settings

MOST = 1.05  # times the run that never looks
EARLIER = 1_000_000  # questions that were asked before, in the same words
ROUNDS = 6
IN_FLIGHT = 256
FAR = 10**9  # numbers of contents that no block here has


def run_seconds(folder: Path, count: int, per_call: int, *, looking: bool, earlier: int) -> float:
    """CPU seconds from the order to the last result."""
    path = str(folder / f"engine{looking}.db")
    ledger = open_ledger(path)
    fill(ledger, count)
    with Engine(make_context(Settings(ledger=path), ledger)) as engine:
        order = engine.orders.resolve(
            schema=SCHEMA,
            model="simulated/small",
            policy={"pack_size": per_call, "concurrency": IN_FLIGHT},
        )
        _add_questions(ledger, stage_question_key(order, order.recipe.stages[0]), earlier)
        share: ShareQuestions = share_questions if looking else ask_all
        vars(settler)["share_questions"] = share
        began = process_time()
        done = engine.start(order).wait()
        spent = process_time() - began
    assert (done.done, done.reused) == (count, 0), done
    return spent


def _add_questions(ledger: Ledger, question: int, count: int) -> None:
    """Questions of other blocks, half of them on either side of those that will be asked."""
    with ledger.transaction() as tx:
        for first in range(0, count, 10_000):
            side = -FAR if first < count // 2 else FAR
            numbers = range(side + first, side + first + 10_000)
            rows = [(question, number, StageId(0), TaskId(0)) for number in numbers]
            tx.questions.add_questions(rows)


def least(count: int, per_call: int, earlier: int) -> tuple[float, float]:
    """Least CPU µs per block over some rounds, turn about: without looking, and with."""
    found: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(ROUNDS if not earlier else ROUNDS // 2):
        with tempfile.TemporaryDirectory() as name:
            for looking in (False, True):
                spent = run_seconds(Path(name), count, per_call, looking=looking, earlier=earlier)
                found[looking].append(spent)
    return min(found[False]) / count * 1e6, min(found[True]) / count * 1e6


def main() -> int:
    """Print the ratios; 1 if one is too high."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    failed = 0
    print(f"{count:,} blocks, all new, simulated provider at zero latency, CPU µs per block")
    print("per call  asked before   without      with   ratio")
    for earlier in (0, EARLIER):
        for per_call in (1, 10):
            without, looking = least(count, per_call, earlier)
            print(
                f"{per_call:8d} {earlier:13,d} {without:9.1f} {looking:9.1f}"
                f" {looking / without:7.3f}  (at most {MOST:g})"
            )
            failed += looking / without > MOST
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
