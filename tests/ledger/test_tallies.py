"""Progress is the sum of append-only tallies, and that sum always equals a recount."""

from collections.abc import Callable
from random import Random

import pytest

from quire.domain.ids import TaskId
from quire.domain.states import TASK, TaskMove
from quire.ledger.ledger import Ledger, Transaction
from quire.ledger.statements import migrations
from quire.pipeline.calls.record import drop_requests
from quire.planning.failure_limits import EXPECTED
from tests.ledger.factories import (
    Place,
    claim_requests,
    pack_tasks,
    run_with_ready_tasks,
    tasks_of,
)
from tests.ledger.raw import Raw

PACKED = ("packs", "packed_tasks", EXPECTED)
Step = Callable[[Transaction, Place, Random], None]


class Regret(Exception):
    """Raised inside a transaction, to undo it."""


def test_a_move_appends_its_tally_in_the_same_transaction(ledger: Ledger, raw: Raw) -> None:
    place = run_with_ready_tasks(ledger)
    with ledger.transaction() as tx:
        tx.tasks.move_tasks(TaskMove.PACK, tasks_of(tx, place)[:2])

    assert raw.rows("SELECT what, delta FROM tallies ORDER BY id") == [
        ("ready", 3),
        ("ready", -2),
        ("packed", 2),
    ]


def test_who_did_not_move_is_not_tallied(ledger: Ledger, raw: Raw) -> None:
    place = run_with_ready_tasks(ledger)
    with ledger.transaction() as tx:
        assert tx.tasks.move_tasks(TaskMove.RETURN, tasks_of(tx, place)) == 0

    assert raw.rows("SELECT what, delta FROM tallies") == [("ready", 3)]


def test_tasks_of_two_stages_are_tallied_apart(ledger: Ledger) -> None:
    first, second = run_with_ready_tasks(ledger, name="a"), run_with_ready_tasks(ledger, name="b")
    with ledger.transaction() as tx:
        tx.tasks.move_tasks(TaskMove.PACK, [*tasks_of(tx, first), *tasks_of(tx, second)[:1]])

        assert _sums(tx, first) == {"packed": 3}
        assert _sums(tx, second) == {"ready": 2, "packed": 1}
        assert tx.tallies.tallies_of_run(second.run) == {"ready": 2, "packed": 1}


def test_folding_keeps_the_sums_and_leaves_one_row_for_each(ledger: Ledger, raw: Raw) -> None:
    place = run_with_ready_tasks(ledger)
    with ledger.transaction() as tx:
        for _ in range(5):
            tx.tasks.move_tasks(TaskMove.PACK, tasks_of(tx, place))
            tx.tasks.move_tasks(TaskMove.RETURN, tasks_of(tx, place))
        tx.tallies.add_tallies(place.stage, {"cost": 2**40, "calls": 3})
        before = _sums(tx, place)
        assert tx.tallies.crowded_stages(20) == [place.stage]
        tx.tallies.fold_tallies(place.stage)

        assert _sums(tx, place) == before == {"ready": 3, "cost": 2**40, "calls": 3}
        assert tx.tallies.crowded_stages(20) == []
    assert raw.one("SELECT count(*) FROM tallies") == 3


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.soak) for seed in (2, 3))]
)
def test_sums_equal_a_recount_after_any_sequence_of_moves(seed: int, ledger: Ledger) -> None:
    random = Random(seed)
    places = [run_with_ready_tasks(ledger, ["one"] * 7, name) for name in "ab"]
    for _ in range(60):
        place = random.choice(places)
        try:
            with ledger.transaction() as tx:
                for step in random.choices([_move_some, _move_all, _fold], [8, 1, 1], k=3):
                    step(tx, place, random)
                if random.random() < 0.2:
                    raise Regret
        except Regret:
            pass

        with ledger.snapshot() as tx:
            assert [_sums(tx, place) for place in places] == [
                _recount(tx, place) for place in places
            ]


def _move_some(tx: Transaction, place: Place, random: Random) -> None:
    tasks: list[TaskId] = random.sample(tasks_of(tx, place), 3)
    tx.tasks.move_tasks(random.choice(list(TASK.targets)), tasks)


def _move_all(tx: Transaction, place: Place, random: Random) -> None:
    tx.tasks.move_tasks_of_stage(random.choice(list(TASK.targets)), place.stage)


def _fold(tx: Transaction, place: Place, random: Random) -> None:
    tx.tallies.fold_tallies(place.stage)


def _sums(tx: Transaction, place: Place) -> dict[str, int]:
    return {
        what: count for what, count in tx.tallies.tallies_of_stage(place.stage).items() if count
    }


def _recount(tx: Transaction, place: Place) -> dict[str, int]:
    return tx.tallies.recount_tasks(place.stage)


@pytest.mark.parametrize("version", ["older", "newer"])
def test_a_ledger_from_before_counts_no_packs_of_which_nothing_was_sent(
    ledger: Ledger, raw: Raw, version: str
) -> None:
    place = run_with_ready_tasks(ledger, ["one", "two", "three", "four"])
    with ledger.transaction() as tx:
        pack_tasks(tx, place)
        counted = _packed(tx, place)
        claim_requests(tx, place, 1)
        drop_requests(tx, tx.requests.unsent_requests(place.lane))
        truth = _packed(tx, place)
        if version == "older":  # it took nothing back
            more = {name: counted[name] - truth[name] for name in PACKED}
            tx.tallies.add_tallies(place.stage, more)

    for _ in range(2):  # the second time there is nothing to do
        raw.rows(migrations(raw.dialect)[44])

    with ledger.snapshot() as tx:
        assert (truth["packs"], truth["packed_tasks"]) == (1, 2)
        assert _packed(tx, place) == truth
        assert tx.checks.miscounts() == []


def _packed(tx: Transaction, place: Place) -> dict[str, int]:
    """What is counted of packs."""
    sums = _sums(tx, place)
    return {name: sums[name] for name in PACKED}
