"""A run over a sample asks about, counts and exports exactly those blocks; probes are kept."""

from datetime import timedelta

import pytest

from quire.domain.ids import RunId, WorkspaceId
from quire.domain.models import Params
from quire.ledger.ledger import Ledger, Transaction
from quire.ledger.tables.runs import ProbeQuestion, ProbeRecord
from quire.pipeline.answers.progress import progress
from quire.pipeline.commands.corpus import purge
from quire.pipeline.commands.start import BlockSample, Order, run_key, start
from quire.providers.catalog import find_model
from quire.recipes.policy_layers import resolve_policy
from quire.recipes.user_schemas import extraction_recipe
from tests.ledger.factories import MODEL, NOW, SCHEMA, add_document, expand_runs
from tests.ledger.raw import REFUSED, Raw

BLOCKS = ((0, 1), (1, 0), (1, 2))
QUESTION = ProbeQuestion("uid", "simulated/small", "{}")


def order(tx: Transaction, sample: BlockSample | None = None) -> Order:
    """Ask about the documents that are here."""
    return Order(
        recipe=extraction_recipe(SCHEMA, Params()),
        facts=find_model(MODEL),
        policy=resolve_policy([]),
        inputs=tx.documents.document_names(),
        sample=sample,
    )


def begin(ledger: Ledger, sample: BlockSample | None = None) -> RunId:
    """Start a run over two documents, or over a sample of them."""
    with ledger.transaction() as tx:
        if not tx.documents.document_names():
            add_document(tx, ["a0", "a1", "a2"], "a.txt")
            add_document(tx, ["b0", "b1", "b2"], "b.txt")
        return start(tx, order(tx, sample), NOW).run_id


def exported_rows(ledger: Ledger, run: RunId) -> list[tuple[str, str | None]]:
    """Content and state of every row of an export."""
    with ledger.snapshot() as tx:
        stage = tx.runs.stages_of_run(run)[0].id
        return [(row.content, row.state) for row in tx.results.export_rows(run, stage)]


def test_a_sampled_run_is_over_its_blocks_and_no_others(ledger: Ledger) -> None:
    run = begin(ledger, BlockSample(BLOCKS))
    before = exported_rows(ledger, run)

    added = expand_runs(ledger)

    assert before == [("a1", None), ("b0", None), ("b2", None)]
    assert added == 3
    assert exported_rows(ledger, run) == [("a1", "ready"), ("b0", "ready"), ("b2", "ready")]
    with ledger.snapshot() as tx:
        now = progress(tx, run)
    assert (now.total, now.expanded, now.counts) == (3, 3, {"ready": 3})


def test_a_run_beside_a_sampled_one_is_over_everything(ledger: Ledger) -> None:
    begin(ledger, BlockSample(BLOCKS))
    run = begin(ledger)

    expand_runs(ledger)

    assert len(exported_rows(ledger, run)) == 6
    with ledger.snapshot() as tx:
        assert progress(tx, run).total == 6


def test_a_sample_is_expanded_in_parts_like_any_other_input(ledger: Ledger) -> None:
    run = begin(ledger, BlockSample(BLOCKS))
    with ledger.transaction() as tx:
        subjects = [
            tx.documents.next_subjects(run, *place, 2) for place in ((0, -1), (1, 0), (1, 2))
        ]

    assert [[text[:2] for text in part] for part in subjects] == [[(0, 1), (1, 0)], [(1, 2)], []]


def test_a_limit_holds_for_a_sample(ledger: Ledger) -> None:
    run = begin(ledger, BlockSample(BLOCKS))
    with ledger.transaction() as tx:
        tx.runs.set_task_limit(run, 2)

    assert (expand_runs(ledger), expand_runs(ledger)) == (2, 0)
    with ledger.transaction() as tx:
        tx.runs.set_task_limit(run, None)
    assert expand_runs(ledger) == 1


def test_the_same_sample_goes_on_and_another_is_another_run(ledger: Ledger) -> None:
    first = begin(ledger, BlockSample(BLOCKS))

    assert begin(ledger, BlockSample(BLOCKS)) == first
    others = {
        begin(ledger),
        begin(ledger, BlockSample(BLOCKS, 2)),
        begin(ledger, BlockSample(BLOCKS[:2])),
    }
    assert len(others | {first}) == 4


def test_a_run_over_everything_is_named_as_before_there_were_samples(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        add_document(tx, ["a0"], "a.txt")
        key = run_key(order(tx))

        assert key == run_key(order(tx, None)) != run_key(order(tx, BlockSample(((0, 0),))))


def test_a_sampled_document_can_be_purged(ledger: Ledger) -> None:
    run = begin(ledger, BlockSample(BLOCKS))
    expand_runs(ledger)
    with ledger.transaction() as tx:
        purge(tx, tx.documents.match_documents("b.txt")[0].id, NOW)

    assert exported_rows(ledger, run) == [("a1", "ready")]
    with ledger.snapshot() as tx:
        assert progress(tx, run).total == 3


def test_others_see_nothing_of_a_sample(ledger: Ledger) -> None:
    run = begin(ledger, BlockSample(BLOCKS))
    theirs = Ledger(ledger._database, WorkspaceId("theirs"))
    with ledger.snapshot() as tx:
        documents = [document for document, _ in tx.documents.document_names()]

    with theirs.transaction() as tx:
        assert tx.runs.count_run_inputs(run) == (0, 0)
        assert tx.documents.next_subjects(run, 0, -1, 10) == []
        assert tx.documents.count_fitting_blocks(documents, 100) == []
        assert [*tx.documents.fitting_blocks(documents[0], 100)] == []


def test_a_sample_names_documents_of_its_run(ledger: Ledger, raw: Raw) -> None:
    run = begin(ledger)

    with pytest.raises(REFUSED):
        raw.rows("INSERT INTO run_blocks VALUES (:run, 7, 0)", run=run)


def test_blocks_are_counted_and_listed_by_what_fits(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        long = add_document(tx, ["a" * 50, "short", "b" * 50], "a.txt")
        other = add_document(tx, ["c" * 50], "b.txt")

        assert tx.documents.count_fitting_blocks([long, other], 52) == [(long, 3), (other, 1)]
        assert tx.documents.count_fitting_blocks([long, other], 51) == [(long, 1)]
        assert [*tx.documents.fitting_blocks(long, 51)] == [(1, 7)]


def test_the_newest_probe_of_a_question_counts(ledger: Ledger) -> None:
    later = NOW + timedelta(seconds=1)
    with ledger.transaction() as tx:
        assert tx.runs.newest_probe(QUESTION) is None
        tx.runs.add_probe(QUESTION, 25, {"big": 2**70}, NOW)
        tx.runs.add_probe(QUESTION, 10, {"share": 0.02}, later)

        assert tx.runs.newest_probe(QUESTION) == ProbeRecord(10, {"share": 0.02})


@pytest.mark.parametrize("other", [{"schema_uid": "b"}, {"model": "m"}, {"params": '{"seed":1}'}])
def test_a_probe_holds_for_its_own_question_only(ledger: Ledger, other: dict[str, str]) -> None:
    with ledger.transaction() as tx:
        tx.runs.add_probe(QUESTION, 25, {}, NOW)

        assert tx.runs.newest_probe(QUESTION._replace(**other)) is None
    with Ledger(ledger._database, WorkspaceId("theirs")).snapshot() as tx:
        assert tx.runs.newest_probe(QUESTION) is None
