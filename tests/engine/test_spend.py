"""Spend in every view: the same total whatever it is grouped by, and what became of each call."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from quire.domain.errors import NotFound, UsageError
from quire.domain.spend import SpendBy
from quire.ledger.connection import Connection
from tests.pipeline.recipe_stages import recipe, record_stage
from tests.pipeline.test_money import FAULTS, Ahead
from tests.world import METADATA, World, sentences

Worlds = Callable[..., World]

COUNTED = (
    *("attempts", "calls", "tasks", "input_tokens", "output_tokens"),
    *("cost_pico", "presumed_pico", "packing_saved_pico", "reused", "reuse_saved_pico"),
)


def totals(here: World, by: str, run: int | None = None) -> dict[str, int]:
    """The sums of a view."""
    rows = here.engine.spend(by, run)
    return {name: sum(int(str(row[name])) for row in rows) for name in COUNTED}


def costs(here: World, by: str, run: int | None = None) -> dict[str, int]:
    """How many attempts each line of a view has."""
    return {str(row[by]): int(str(row["attempts"])) for row in here.engine.spend(by, run)}


def test_every_view_comes_to_what_attempts_and_tallies_say(world: Worlds) -> None:
    here = world(faults=FAULTS)
    here.ingest(sentences(60))
    first = here.run(pack_size=10, max_tries=5)
    second = here.run(pack_size=4, max_tries=5, reuse=False)

    found = {by: totals(here, by) for by in SpendBy}
    alone = {by: totals(here, by, second.id) for by in SpendBy}

    known = [run.progress() for run in (first, second)]
    assert len({tuple(sums.values()) for sums in found.values()}) == 1
    assert len({tuple(sums.values()) for sums in alone.values()}) == 1
    assert found[SpendBy.DAY]["cost_pico"] == sum(now.cost_pico for now in known)
    assert found[SpendBy.DAY]["presumed_pico"] == sum(now.presumed_pico for now in known) > 0
    assert alone[SpendBy.KEY]["cost_pico"] == known[1].cost_pico
    assert found[SpendBy.DAY]["packing_saved_pico"] > 0
    with here.engine.ledger.snapshot() as tx:
        runs = tx.spend.money_of_runs()
    assert [(run.tallied, run.attempted) for run in runs] == [
        (now.cost_pico + now.presumed_pico,) * 2 for now in known
    ]


def test_a_day_counts_what_was_sent_since_midnight_and_simulated_money_apart(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(12))
    run = here.run(pack_size=4)
    now = here.engine.runtime.now()

    today = here.engine.spend.of_day(now)
    tomorrow = here.engine.spend.of_day(now + timedelta(days=1))

    assert today == (0, 0, run.progress().cost_pico)
    assert tomorrow == (0, 0, 0)


def test_a_view_takes_three_questions_to_the_database_however_much_there_is(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(40))
    for size in (2, 4, 8):
        here.run(pack_size=size)

    with counted_questions(here) as asked:
        here.engine.spend("outcome")

    assert asked == ["priced_models", "spend_groups", "reuse_groups"]


@contextmanager
def counted_questions(here: World) -> Iterator[list[str]]:
    """The names of all statements that run meanwhile."""
    asked: list[str] = []
    with here.engine.ledger.snapshot() as tx:
        kind: type[Connection] = type(tx.connection)
    run = kind.run

    def count(self: Connection, name: str, /, **values: object) -> object:
        asked.append(name)
        return run(self, name, **values)

    kind.run = count  # type: ignore[method-assign,assignment]
    try:
        yield asked
    finally:
        kind.run = run  # type: ignore[method-assign]


def test_calls_are_told_by_what_became_of_them(world: Worlds) -> None:
    clock = Ahead()
    here = world(runtime=clock)
    here.ingest(sentences(8))
    here.model.script = ["drop=1", "500=1", "skip=0.5,seed=2"]

    run = here.run(pack_size=8)

    found = costs(here, "outcome", run.id)
    assert run.progress().done == 8
    assert (found["lost"], found["refused"], found["split"]) == (1, 1, 1)
    assert found["accepted"] == here.model.calls - 3
    lost = next(row for row in here.engine.spend("outcome") if row["outcome"] == "lost")
    assert lost["cost_pico"] == 0
    assert lost["presumed_pico"] == run.progress().presumed_pico


def test_a_lone_answer_that_does_not_do_is_retried_then_repaired_or_wasted(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(1))
    here.model.script = ["wrong=1", "wrong=1"]
    repaired = here.run(pack_size=1, max_tries=3, repair_after_failures=1)
    here.model.script = ["wrong=1", "wrong=1"]
    failed = here.run(pack_size=1, max_tries=2, repair_after_failures=0, reuse=False)

    assert costs(here, "outcome", repaired.id) == {"repaired": 1, "retried": 2}
    assert costs(here, "outcome", failed.id) == {"wasted": 2}


def test_runs_stages_models_days_and_keys_are_lines_of_their_own(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(6))
    first, second = here.run(pack_size=3), here.run(pack_size=6, reuse=False)

    assert costs(here, "run") == {str(first.id): 2, str(second.id): 1}
    assert costs(here, "model") == {"simulated/small": 3}
    assert costs(here, "key") == {"": 3}
    stages = here.engine.spend("stage", first.id)
    assert [(row["run"], row["stage"], row["tasks"]) for row in stages] == [
        (first.id, "extract", 6)
    ]
    assert here.engine.spend(run=first.id) == stages
    assert sum(costs(here, "day").values()) == 3


def test_answers_that_were_there_are_a_part_of_every_view(world: Worlds) -> None:
    here = world()
    here.ingest([*sentences(20), *sentences(5)])
    first, second = here.run(pack_size=4), here.run(pack_size=4, new=True)
    taken = [run.progress() for run in (first, second)]

    found = {by: totals(here, by) for by in SpendBy}
    lines = {str(row["outcome"]): row for row in here.engine.spend("outcome", second.id)}

    assert [now.reused for now in taken] == [5, 25]
    assert len({tuple(sums.values()) for sums in found.values()}) == 1
    assert found[SpendBy.DAY]["reused"] == 30
    assert found[SpendBy.DAY]["reuse_saved_pico"] == sum(now.saved_pico for now in taken) > 0
    assert [row["reused"] for row in here.engine.spend("run")] == [5, 25]
    assert list(lines) == ["reused"]
    assert (lines["reused"]["attempts"], lines["reused"]["cost_pico"]) == (0, 0)


def test_runs_and_stages_stand_in_their_order_whoever_asked(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(4))
    facts = record_stage("facts", "each_block", "Read.", templated=False)
    check = record_stage(
        "check", "each_result", "Well?\n{{ judged.answer }}", of="facts", critic="record"
    )
    anew = replace(check, prompt="Really?\n{{ judged.answer }}")
    for stages in ((facts, check), (facts, check), (facts, anew)):
        here.engine.run(recipe=recipe(*stages), model="simulated/small", new=True).wait()

    rows = here.engine.spend("stage")

    assert [(row["run"], row["stage"]) for row in rows] == [
        (run, stage) for run in (1, 2, 3) for stage in ("facts", "check")
    ]
    assert [row["reused"] for row in rows] == [0, 0, 4, 4, 4, 0]
    assert [row["run"] for row in here.engine.spend("run")] == [1, 2, 3]


def test_an_answer_that_was_taken_counts_once_whatever_becomes_of_it(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(6))
    here.run(pack_size=3)
    second = here.run(pack_size=3, new=True)
    before = here.engine.spend(run=second.id)

    second.regate(apply=True)
    second.rerun("extract")
    second.wait()
    here.engine.purge("doc")
    (after,) = here.engine.spend(run=second.id)

    assert (before[0]["reused"], after["reused"]) == (6, 6)
    assert (
        after["reuse_saved_pico"] == before[0]["reuse_saved_pico"] == second.progress().saved_pico
    )
    assert after["calls"] == 2


def dict_rows(frame: Any, kind: str) -> Any:
    """A frame's rows as plain dicts."""
    if kind == "pandas":
        return frame.to_dict("records")
    return frame.to_dicts() if kind == "polars" else frame.to_pylist()


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_a_view_is_a_frame_with_typed_columns(world: Worlds, kind: str) -> None:
    here = world()
    empty = getattr(here.engine.spend, f"to_{kind}")("day")
    here.ingest(sentences(8))
    here.run(pack_size=4)

    rows = here.engine.spend("stage")
    frame = getattr(here.engine.spend, f"to_{kind}")("stage")
    days = getattr(here.engine.spend, f"to_{kind}")("day")

    assert dict_rows(frame, kind) == rows
    assert dict_rows(empty, kind) == []
    dtype = days.schema.field("day").type if kind == "arrow" else days["day"].dtype
    assert str(dtype) in {"datetime64[us]", "Date", "date32[day]"}


def test_spend_is_what_attempts_and_the_entries_of_wallets_come_to(world: Worlds) -> None:
    here = world(faults=FAULTS)
    here.ingest(sentences(60))
    here.engine.wallets.create("team", 1)
    with_budget: dict[str, Any] = {"wallet": "team", "budget_usd": "0.9", "max_tries": 5}
    funded = here.engine.run(schema=METADATA, model="simulated/small", pack_size=6, **with_budget)
    funded.wait()
    here.run(pack_size=6, max_tries=5, reuse=False, new=True)

    with here.engine.ledger.snapshot() as tx:
        paid, unpaid = tx.spend.money_of_runs()

    now = funded.progress()
    assert (paid.wallet, unpaid.wallet) == ("team", None)
    assert paid.tallied == paid.attempted == paid.paid == now.cost_pico + now.presumed_pico > 0
    assert (paid.reserved, paid.free, unpaid.paid) == (0, 0, 0)


def test_what_does_not_exist_is_refused(world: Worlds) -> None:
    here = world()

    assert here.engine.spend() == []
    with pytest.raises(UsageError, match="run, stage, model, day, key, outcome"):
        here.engine.spend(by="colour")
    with pytest.raises(NotFound):
        here.engine.spend(run=7)
