"""One prepare and one claim among a million tasks against ten thousand, also behind held runs."""

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import perf_counter

from quire.domain.accounts import KEYLESS_ACCOUNT
from quire.ledger.ledger import Ledger, Transaction, open_ledger
from quire.pipeline.calls.claim import Sender, claim
from quire.pipeline.calls.prepare import prepare
from quire.pipeline.contexts import Contexts
from tests.ledger.crowd import fill_ledger, put_held_runs_first
from tests.ledger.factories import NOW, add_worker
from tests.postgres import postgres_server

FEW, MANY = 10_000, 1_000_000
HELD = 100
MOST = 2.0  # the many may cost this many times the few
ROUNDS = 25
CLAIMED = 16


class Undone(Exception):
    """Raised at the end of a round, so that the next one meets the same ledger."""


def round_of(ledger: Ledger) -> Callable[[], float]:
    """Make a round: seconds to look for lanes, fill the queue and claim; all of it undone."""
    contexts = Contexts()  # kept: a worker reads what a run was told once

    def seconds() -> float:
        contexts.prepared_texts.clear()
        began = perf_counter()
        try:
            with ledger.transaction() as tx:
                _send_more(tx, contexts)
                raise Undone
        except Undone:
            return perf_counter() - began

    seconds()
    return seconds


def _send_more(tx: Transaction, contexts: Contexts) -> None:
    (lane,) = tx.requests.open_lanes(NOW)
    context = contexts.of_lane(tx, lane)
    assert prepare(tx, contexts, context, NOW) > CLAIMED
    claimed = claim(tx, contexts, context, Sender(add_worker(tx), KEYLESS_ACCOUNT), CLAIMED, NOW)
    assert len(claimed) == CLAIMED


def least(*rounds: Callable[[], float]) -> list[float]:
    """The least seconds of each, taken in turn so that a busy moment meets them all."""
    times = [[item() for item in rounds] for _ in range(ROUNDS)]
    return [min(column) for column in zip(*times, strict=True)]


def measure(database: str, urls: tuple[str, str]) -> float:
    """Print one database's rows; returns the worst ratio."""
    with _open_ledger(urls[0]) as few, _open_ledger(urls[1]) as many:
        fill_ledger(few, FEW)
        fill_ledger(many, MANY)
        one, alone = least(round_of(few), round_of(many))
        with put_held_runs_first(many, HELD):
            other, behind = least(round_of(few), round_of(many))
    _show(database, FEW, 0, one, one)
    _show(database, MANY, 0, alone, one)
    _show(database, MANY, HELD, behind, other)
    return max(alone / one, behind / other)


def _show(database: str, tasks: int, held: int, seconds: float, base: float) -> None:
    print(f"{database:10} {tasks:9,} {held:10} {seconds * 1e3:8.2f} {seconds / base:7.2f}")


@contextmanager
def _open_ledger(url: str) -> Iterator[Ledger]:
    ledger = open_ledger(url)
    yield ledger
    ledger.close()


def main() -> int:
    """Print the table; 1 if a ratio is too high."""
    print(f"fill the queue and claim {CLAIMED}, milliseconds; ratio at most {MOST:g}")
    print("database       tasks  held runs       ms   ratio")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        worst = [measure("sqlite", (str(folder / "few.db"), str(folder / "many.db")))]
        server = stack.enter_context(postgres_server())
        few, many = (stack.enter_context(server.database()) for _ in range(2))
        worst.append(measure("postgres", (few, many)))
    return int(max(worst) > MOST)


if __name__ == "__main__":
    sys.exit(main())
