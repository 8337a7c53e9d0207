"""A probe sees what packing changes, tells it from the model's own noise, and pays only once."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from quire.domain.errors import Conflict, UsageError
from quire.domain.ids import RunId
from quire.domain.runs import Progress
from quire.engine import Order
from quire.engine.orders import resolve_order, with_probed_size
from quire.engine.probes import (
    ProbeReport,
    ProbeSpec,
    ProbeTurn,
    plan_probe,
    probe,
    run_probe,
    unfinished_turns,
)
from quire.planning.pack_probe import Parity
from tests.world import METADATA, World, sentences

MODEL = "simulated/large"  # a call to the small one holds no fifty of these blocks
Worlds = Callable[..., World]


@pytest.fixture
def filled(world: Worlds) -> Worlds:
    """A world with a hundred blocks in two documents."""

    def make(faults: str = "") -> World:
        here = world(faults)
        here.ingest(sentences(70), "long")
        here.ingest([f"{text} Here." for text in sentences(30)], "short")
        return here

    return make


def probe_report(here: World, **how: object) -> ProbeReport:
    """Probe the usual schema."""
    return probe(here.engine, ProbeSpec(**how), schema=METADATA, model=MODEL)  # type: ignore[arg-type]


def order_of(here: World, size: object, **more: object) -> Order:
    """Order the usual schema with a pack size."""
    schema = here.engine.library.schema("metadata")
    told = {"pack_size": size, **more}
    return resolve_order(here.engine.settings, schema, MODEL, told)  # type: ignore[arg-type]


def test_where_packing_changes_nothing_the_largest_size_is_recommended(filled: Worlds) -> None:
    here = filled()

    report = probe_report(here)

    assert (report.size, report.blocks, report.available) == (50, 50, 100)
    assert [trial.size for trial in report.trials] == [5, 10, 25, 50]
    assert [trial.spend.calls for trial in report.trials] == [10, 5, 2, 1]
    assert [trial.spend.blocks_per_call for trial in report.trials] == [5, 10, 25, 50]
    assert all(trial.comparison.fields.hits == 0 for trial in report.trials)
    assert (report.alone.calls, report.again.calls) == (50, 50)
    costs = [report.alone, *(trial.spend for trial in report.trials)]
    assert sorted(costs, key=lambda spend: -spend.cost) == costs
    assert here.model.packs == [1] * 100 + [5] * 10 + [10] * 5 + [25] * 2 + [50]


def test_the_sample_is_spread_over_the_documents_by_their_length(filled: Worlds) -> None:
    here = filled()
    planned = plan_probe(here.engine, ProbeSpec(sample=20), schema=METADATA, model=MODEL)

    per_document = [sum(ordinal == item for ordinal, _ in planned.blocks) for item in (0, 1)]
    assert per_document == [14, 6]
    assert here.engine.runs() == []


def test_every_answer_is_kept_in_an_ordinary_run_over_the_sample(filled: Worlds) -> None:
    here = filled()

    report = probe_report(here, sample=10, sizes=(5,))

    assert len({*report.runs}) == 3
    for run in report.runs:
        assert here.engine.progress(run).total == 10
        assert [row["status"] for row in here.engine.rows(run)] == ["accepted"] * 10


def test_the_same_probe_again_asks_nothing_and_says_the_same(filled: Worlds) -> None:
    here = filled("noise=0.2")
    first = probe_report(here)
    calls = len(here.model.packs)

    again = probe_report(here)

    assert again == first
    assert len(here.model.packs) == calls
    with here.engine.ledger.snapshot() as tx:
        assert tx.runs.list_runs(99) == here.engine.queries.runs(99)
    assert len(here.engine.runs(99)) == 6


def test_another_seed_asks_about_other_blocks(filled: Worlds) -> None:
    here = filled()
    planned = [
        plan_probe(here.engine, ProbeSpec(sample=20, seed=seed), schema=METADATA, model=MODEL)
        for seed in (0, 0, 1)
    ]

    assert planned[0].blocks == planned[1].blocks != planned[2].blocks


def test_sizes_whose_answers_drift_are_not_recommended(filled: Worlds) -> None:
    here = filled("drift=0.5,drift_above=10")

    report = probe_report(here)

    assert [trial.comparison.fields.hits > 10 for trial in report.trials] == [
        False,
        False,
        True,
        True,
    ]
    assert [report.verdict(trial) for trial in report.trials][2:] == [Parity.BEYOND] * 2
    assert report.size == 10
    assert report.noise.fields.hits == 0
    assert report.trials[3].comparison.by_field["/word_count"] > 10


def test_noise_is_told_beside_the_mismatches_and_not_held_against_packs(filled: Worlds) -> None:
    here = filled("noise=0.3")

    report = probe_report(here, sample=100)

    assert report.noise.fields.hits > 30
    for trial in report.trials:
        assert trial.comparison.noise == report.noise.fields
        assert trial.comparison.fields.share > 0.1
        assert abs(trial.comparison.excess.share) < trial.comparison.fields.share / 2


def test_the_ceiling_of_the_schema_binds(filled: Worlds) -> None:
    here = filled()
    schema = {**METADATA, "title": "few", "prompt_config": {"max_batch_size": 17}}

    planned = plan_probe(here.engine, ProbeSpec(), schema=schema, model=MODEL)

    assert [(turn.size, turn.turn) for turn in planned.turns] == [
        *((1, 1), (1, 2)),
        *((5, 1), (10, 1), (17, 1)),
    ]


def test_no_larger_pack_is_recommended_than_fits(filled: Worlds) -> None:
    here = filled()

    wanted = ProbeSpec(sizes=(10, 30, 50))

    report = probe(here.engine, wanted, schema=METADATA, model="simulated/small")

    assert [trial.size for trial in report.trials] == [10, 30]  # at 50, packs would be the same
    assert (report.size, report.trials[-1].spend.largest_call) == (25, 25)


def test_fewer_blocks_than_asked_for_are_all_taken(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(7))

    report = probe_report(here)

    assert (report.blocks, [trial.size for trial in report.trials]) == (7, [5, 7])


def test_a_block_that_fits_no_call_is_not_drawn(world: Worlds) -> None:
    here = world()
    here.ingest([*sentences(5), "word " * 200_000])

    report = probe_report(here)

    assert (report.blocks, report.available) == (5, 5)


@pytest.mark.parametrize(
    ("texts", "config", "says"),
    [
        (sentences(1), {}, "only one block"),
        (sentences(9), {"max_batch_size": 1}, "max_batch_size is 1"),
        (["word " * 200_000], {}, "no block fits a call to simulated/large"),
        (["word " * 60_000] * 3, {}, "no two of these blocks fit one call"),
    ],
)
def test_where_nothing_can_be_probed_one_line_says_why(
    world: Worlds, texts: list[str], config: dict[str, int], says: str
) -> None:
    here = world()
    here.ingest(texts)

    with pytest.raises(UsageError, match=says):
        probe(here.engine, ProbeSpec(), schema={**METADATA, "prompt_config": config}, model=MODEL)
    assert here.engine.runs() == []


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"sample": 1}, "a sample of 1 shows nothing"),
        ({"sizes": ()}, "from 2 to 50, not none"),
        ({"sizes": (5, 51)}, "from 2 to 50, not 5,51"),
        ({"sizes": (1,)}, "from 2 to 50"),
        ({"tolerance": 1.0}, "a share from 0 to 1"),
    ],
)
def test_a_probe_that_makes_no_sense_is_refused(how: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        ProbeSpec(**how)  # type: ignore[arg-type]


def test_a_held_run_stops_the_probe_which_then_goes_on(filled: Worlds) -> None:
    here = filled()
    planned = plan_probe(here.engine, ProbeSpec(sizes=(5,)), schema=METADATA, model=MODEL)

    def pause(turn: ProbeTurn, run: RunId) -> Progress:
        if turn.turn == 1:
            return here.engine.drive(run)
        here.engine.pause(run)
        return here.engine.progress(run)

    stopped = run_probe(here.engine, planned, pause)
    with pytest.raises(Conflict, match=r"run 2 of the probe is held \(user\).*`quire resume 2`"):
        probe_report(here, sizes=(5,))
    left = unfinished_turns(here.engine, planned)
    here.engine.resume(RunId(2))
    report = probe_report(here, sizes=(5,))

    assert (stopped.report, stopped.stopped and stopped.stopped.run_id) == (None, 2)
    assert left == list(planned.turns[1:])
    assert unfinished_turns(here.engine, planned) == []
    assert report.runs == (1, 2, 3)
    assert len(here.model.packs) == 110


def test_a_cancelled_run_stops_the_probe(filled: Worlds) -> None:
    here = filled()
    planned = plan_probe(here.engine, ProbeSpec(sizes=(5,)), schema=METADATA, model=MODEL)

    def cancel(_turn: ProbeTurn, run: RunId) -> Progress:
        here.engine.cancel(run)
        return here.engine.drive(run)

    stopped = run_probe(here.engine, planned, cancel)

    assert stopped.stopped
    assert stopped.stopped.state == "cancelled"
    assert probe_report(here, sizes=(5,)).runs == (2, 3, 4)


def test_a_run_takes_the_size_that_the_newest_probe_recommends(filled: Worlds) -> None:
    here = filled("drift=0.5,drift_above=10")
    probe_report(here)

    taken = with_probed_size(here.engine.ledger, order_of(here, "probed"))

    assert taken.policy.policy.pack_size == 10
    assert taken.policy.as_json()["pack_size"] == {"value": 10, "source": "probe"}
    here.model.faults = replace(here.model.faults, rates={})
    probe_report(here, seed=1)
    assert with_probed_size(here.engine.ledger, taken) == taken
    later = with_probed_size(here.engine.ledger, order_of(here, "probed"))
    assert later.policy.policy.pack_size == 50


def test_a_number_is_taken_as_it_is(filled: Worlds) -> None:
    here = filled()
    here.engine.add_schema(METADATA)

    told = order_of(here, 7)

    assert with_probed_size(here.engine.ledger, told) == told


def test_without_a_probe_of_the_same_question_the_way_to_one_is_told(filled: Worlds) -> None:
    here = filled()
    here.engine.add_schema(METADATA)
    says = "no probe of metadata with simulated/large yet: `quire probe --schema metadata --model"

    with pytest.raises(UsageError, match=says):
        with_probed_size(here.engine.ledger, order_of(here, "probed"))
    probe_report(here, sizes=(5,))
    with pytest.raises(UsageError, match=says):
        with_probed_size(here.engine.ledger, order_of(here, "probed", temperature=0.5))
