"""Results as documents: a run reads what another wrote, each result once, and purge follows."""

import json
from collections.abc import Callable

import pytest

from quire.domain.documents import Document
from quire.domain.errors import NotFound, UsageError
from quire.engine import RunHandle
from quire.engine.result_documents import add_documents
from quire.export.result_rows import task_rows
from quire.export.result_selection import ACCEPTED_ROWS, find_result_source
from tests.ledger.test_postgres_locks import meanwhile
from tests.pipeline.recipe_stages import NOTED, SMALL, recipe, record_stage, sent_texts, text_stage
from tests.pipeline.test_purge import everything_on_disk
from tests.time_limits import PATIENCE
from tests.world import NOW, World

Worlds = Callable[..., World]
LARGE = "simulated/large"
THESIS = text_stage("thesis", "each_document", "Argue: {{ document.text }}", models=(SMALL, LARGE))
NOTES = record_stage("notes", "each_document", "Note: {{ document.text }}", NOTED)
READER = recipe(text_stage("reading", "each_document", "Read: {{ document.text }}"))


def theses(here: World, *texts: str) -> RunHandle:
    """A run that wrote a thesis and notes of each text."""
    for no, text in enumerate(texts or ("Bread rises.",)):
        here.ingest([text], name=f"source {no}")
    run = here.engine.run(recipe=recipe(THESIS, NOTES), model=SMALL)
    run.wait()
    return run


def known_documents(here: World) -> dict[int, Document]:
    return {document.id: document for document in here.engine.documents()}


def test_a_run_reads_the_texts_that_another_wrote(world: Worlds) -> None:
    here = world()
    run = theses(here)

    documents = run.documents("thesis")
    later = here.engine.run(recipe=READER, model=SMALL, over=documents, reuse=False)
    later.wait()

    texts = [row["text"] for row in run.rows(stage="thesis")]
    assert sorted(sent_texts(here.engine, later, "reading")) == sorted(
        f"Read: {text}" for text in texts
    )
    assert len(texts) == 2


def test_a_result_is_one_document_with_a_name_that_says_which(world: Worlds) -> None:
    here = world()
    run = theses(here)

    first, second = run.documents("thesis"), run.documents("thesis")

    assert first == second
    known = known_documents(here)
    titles = {known[document].title for document in first}
    assert {title.rpartition(", result")[0] for title in titles} == {
        f"thesis by {SMALL}",
        f"thesis by {LARGE}",
    }
    assert all(known[one].source_locator.startswith(f"run:{run.id}/thesis/") for one in first)


def test_a_record_is_a_document_of_readable_json(world: Worlds) -> None:
    here = world()
    run = theses(here)

    (document,) = run.documents("notes")

    (data,) = (row["word_count"] for row in run.rows(stage="notes"))
    with here.engine.ledger.snapshot() as tx:
        text = tx.subjects.document_texts([document])[document]
    assert json.loads(text)["word_count"] == data
    assert text == json.dumps(json.loads(text), indent=2, sort_keys=True, ensure_ascii=False)


def test_documents_of_results_are_only_for_the_runs_that_name_them(world: Worlds) -> None:
    here = world()
    run = theses(here)

    documents = run.documents("thesis")

    assert set(documents) <= here.engine.library.documents_aside()


def test_equal_texts_of_two_results_are_two_documents(world: Worlds) -> None:
    here = world()
    run = theses(here)

    assert len({str(row["text"]) for row in run.rows(stage="thesis")}) == 1
    assert len(set(run.documents("thesis"))) == 2


def test_a_result_that_took_the_place_of_another_is_another_document(world: Worlds) -> None:
    here = world()
    run = theses(here)
    (before,) = run.documents("notes")
    (row,) = run.rows(stage="notes")
    assert isinstance(row["task_id"], int)
    run.edit(row["task_id"], {"approved": True, "word_count": 77})

    (after,) = run.documents("notes")

    assert after != before


def test_what_has_no_results_says_so_in_a_line(world: Worlds) -> None:
    here = world()
    here.ingest(["One.", "Two."], name="source")
    idle = here.engine.run(recipe=recipe(THESIS, NOTES), model=SMALL)
    refused = here.engine.run(
        recipe=recipe(text_stage("thesis", "each_document", "Try: {{ document.text }}")),
        model=SMALL,
        max_tries=1,
    )

    with pytest.raises(UsageError, match=r"thesis of run 1 is not finished: 0 results so far"):
        idle.documents("thesis")
    with pytest.raises(UsageError, match="has no stage 'synthesis'; stages: thesis, notes"):
        idle.documents("synthesis")
    with pytest.raises(NotFound, match="there is no run 77"):
        here.engine.library.result_documents(77, "thesis")
    here.model.script = ["refuse=1"]
    refused.wait()
    with pytest.raises(UsageError, match="thesis of run 2 has no results: its task came to none"):
        refused.documents("thesis")


def test_purging_a_source_purges_what_was_made_of_it_in_every_run(world: Worlds) -> None:
    here = world()
    run = theses(here, "Zanzibar-7731 is the word.", "Nothing of it here.")
    later = here.engine.run(recipe=READER, model=SMALL, over=run.documents("thesis"))
    later.wait()
    third = here.engine.run(recipe=READER, model=SMALL, over=later.documents("reading"))
    third.wait()
    assert b"Zanzibar-7731" in everything_on_disk(here)

    _, purged = here.engine.purge("source 0")

    assert b"Zanzibar-7731" not in everything_on_disk(here)
    assert purged.documents == 1 + 2 + 2
    assert sum(bool(row["text"]) for row in third.rows()) == 2


def test_a_document_of_a_result_is_purged_alone_and_made_again(world: Worlds) -> None:
    here = world()
    run = theses(here)
    (document,) = run.documents("notes")

    here.engine.purge(str(document))

    assert document not in known_documents(here)
    (row,) = run.rows(stage="notes")
    assert row["status"] == "accepted"
    assert row["word_count"] is not None
    (again,) = run.documents("notes")
    assert again != document


def test_a_purge_waits_for_who_makes_documents_of_its_results(world: Worlds) -> None:
    here = world()
    if "://" not in here.url:
        pytest.skip("on SQLite there is one writer")
    run = theses(here, "Zanzibar-7731 is the word.")
    ledger = here.engine.ledger
    with ledger.snapshot() as tx:
        source = find_result_source(tx, run.id)
        rows = [*task_rows(tx, source, source.recipe.stages[0], ACCEPTED_ROWS)]

    with ledger.transaction() as tx:
        made = add_documents(tx, source, rows, NOW)
        with meanwhile(ledger, lambda: here.engine.purge("source 0")) as purge:
            pass
    _, purged = purge.result(PATIENCE)

    assert purged.documents == 1 + len(made)
    assert b"Zanzibar-7731" not in everything_on_disk(here)
