"""What follows from an answer costs the same, however many a task reads and however many failed."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import pytest

from quire.domain.ids import StageId, TaskId
from quire.ledger.ledger import Ledger, open_ledger
from tests.ledger.crowd import FIRST, NUMBERS, fill_ledger
from tests.ledger.raw import Raw
from tests.ledger.statement_costs import cost_of
from tests.postgres import Databases

FEW, MANY = 300, 3_000
READER = 5_000_000
CRITICS = 6_000_000


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, postgres: Databases
) -> Iterator[tuple[Ledger, Ledger]]:
    """Two ledgers in which one task reads all others, half of which are done."""
    with ExitStack() as stack:
        if request.param == "postgres":
            urls = [stack.enter_context(postgres.database()) for _ in range(2)]
        else:
            folder = tmp_path_factory.mktemp("lineage")
            urls = [str(folder / name) for name in ("few.db", "many.db")]
        few, many = (open_ledger(url, durable=False) for url in urls)
        for ledger, tasks in ((few, FEW), (many, MANY)):
            stack.callback(ledger.close)
            place = fill_ledger(ledger, tasks)
            _read_all(Raw(ledger.url), place.run, tasks)
        yield few, many


def test_letting_go_who_reads_everything_costs_the_same_with_ten_times_the_inputs(
    pair: tuple[Ledger, Ledger],
) -> None:
    def last_done(tasks: int) -> list[TaskId]:
        return [TaskId(FIRST + tasks // 2 - number) for number in range(10)]

    few = cost_of(pair[0], lambda tx: _none(tx.lineage.dependants_to_release(last_done(FEW))))
    many = cost_of(pair[1], lambda tx: _none(tx.lineage.dependants_to_release(last_done(MANY))))

    assert 0 < many <= 2 * few


def test_looking_for_critics_that_failed_costs_the_same_after_ten_times_the_failures(
    pair: tuple[Ledger, Ledger],
) -> None:
    costs = [
        cost_of(
            ledger,
            lambda tx: _none(tx.critiques.failed_critiques(StageId(1), StageId(3), few=True)),
        )
        for ledger in pair
    ]

    assert 0 < costs[1] <= 2 * costs[0]


def _none(found: Sequence[object]) -> None:
    assert found == []


def _read_all(raw: Raw, run: int, tasks: int) -> None:
    """Let one task wait for all, and a critic have failed about each result that there is."""
    hashed = raw.bytes_of("'s' || CAST(i AS TEXT)")
    for stage, name in ((2, "digest"), (3, "check")):
        raw.rows(
            "INSERT INTO stages (id, run_id, name, state) VALUES (:id, :run, :name, 'open')",
            id=stage, run=run, name=name,
        )  # fmt: skip
    columns = "id, workspace_id, run_id, stage_id, subject_hash, question_hash, state"
    raw.rows(
        f"{NUMBERS} INSERT INTO tasks ({columns})"
        f" SELECT :reader, 'local', :run, 2, {hashed}, {hashed}, 'waiting' FROM n",
        count=1, reader=READER, run=run,
    )  # fmt: skip
    raw.rows(
        f"{NUMBERS} INSERT INTO task_inputs (task_id, ordinal, input_task_id)"
        " SELECT :reader, i - 1, :first + i FROM n",
        count=tasks, reader=READER, first=FIRST,
    )  # fmt: skip
    raw.rows(
        f"INSERT INTO tasks ({columns}, judged_result_id)"
        " SELECT :critics + r.id, 'local', :run, 3, t.subject_hash, t.question_hash, 'failed', r.id"
        " FROM results r JOIN tasks t ON t.id = r.task_id",
        critics=CRITICS, run=run,
    )  # fmt: skip
    if raw.dialect == "postgres":
        raw.rows("VACUUM ANALYZE")
    raw.close()
