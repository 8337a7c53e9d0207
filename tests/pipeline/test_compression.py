"""Prompts too large for their model are compressed, and then asked; what cannot be fails unsent."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from quire.dispatch.runtime import COMPRESSION_POINTS
from quire.domain.embeddings import RANKERS
from quire.domain.ids import DocumentId, TaskId
from quire.domain.recipes import Stage
from quire.engine import RunHandle
from quire.ledger.tables.lineage import Subjects
from quire.pipeline.calls import reading_limits
from quire.pipeline.calls.compress import compress_task, store_compressed, take_oversized
from quire.pipeline.calls.prepare import prepare
from quire.pipeline.contexts import Contexts
from quire.pipeline.stages.advance import advance
from quire.planning.lexical_ranking import LexicalRanker
from quire.planning.sizing import LONGEST_PROMPT
from tests.ledger.raw import Raw
from tests.pipeline.recipe_stages import SMALL, recipe, text_stage
from tests.pipeline.scripted_model import let_model_say
from tests.world import NOW, Calm, World

Worlds = Callable[..., World]

FACT = "The ferry to Vardø leaves the harbour at noon."
QUESTION = "When does the ferry leave the harbour?"
BEFORE, AFTER = "Below is a report.", "Answer in one sentence, and name the source."
ASK = text_stage("ask", "each_document", f"{BEFORE}\n{{{{ document.text }}}}\n{QUESTION} {AFTER}")
WINDOW = 32_000  # tokens, of the small model
LONG = 2_400  # sentences, a quarter more than fit


def long_document(sentences: int = 6_000, subject: str = "pears") -> list[str]:
    """Blocks of a document that is three times the window of the small model."""
    half = [f"Sentence {no} says that {subject} ripen late in the year." for no in range(sentences)]
    said = [*half[: sentences // 2], FACT, *half[sentences // 2 :]]
    return [" ".join(said[at : at + 50]) for at in range(0, len(said), 50)]


class Asked:
    """What a run over some documents asked, word for word."""

    def __init__(self, here: World, *stages: Stage) -> None:
        """Carry the run out, ranking by shared words."""
        self.texts: list[str] = []
        here.engine.context.choose_ranker = LexicalRanker
        let_model_say(here, self._note)
        self.run: RunHandle = here.engine.run(recipe=recipe(*stages), model=SMALL)
        self.progress = self.run.wait()

    def _note(self, text: str) -> None:
        self.texts.append(text)


def test_a_prompt_three_times_the_window_is_compressed_and_asked(world: Worlds) -> None:
    here = world()
    here.ingest(long_document())

    asked = Asked(here, ASK)

    assert (asked.progress.done, asked.progress.failed) == (1, 0)
    (text,) = asked.texts
    assert FACT in text
    assert text.startswith(f"{BEFORE}\n")
    assert text.endswith(f"\n{QUESTION} {AFTER}")
    assert WINDOW < len(text.encode()) <= 3 * WINDOW


def test_a_document_longer_than_any_prompt_is_compressed_too(world: Worlds) -> None:
    here = world()
    here.ingest(long_document(LONGEST_PROMPT // 45))

    asked = Asked(here, ASK)

    assert (asked.progress.done, asked.progress.failed) == (1, 0)
    (text,) = asked.texts
    assert FACT in text
    assert text.startswith(f"{BEFORE}\n")
    assert len(text.encode()) <= 3 * WINDOW


def test_what_is_too_long_and_cannot_be_compressed_fails_unsent(world: Worlds) -> None:
    here = world()
    here.ingest(["A short text."])
    long = "{% for no in range(90000) %}far too long, and more than that {% endfor %}"

    asked = Asked(here, text_stage("ask", "each_document", f"{long}{{{{ document.text }}}}"))

    assert (asked.progress.failed, asked.texts) == (1, [])
    [group] = here.engine.queries.failures(asked.run.id)
    assert group.cause == "the prompt does not fit the model's window, and was not sent"


def test_what_was_sent_is_rendered_again_to_the_byte(world: Worlds) -> None:
    here = world()
    here.ingest(long_document(LONG))

    asked = Asked(here, ASK)

    assert here.engine.queries.prompt(TaskId(1)).user == asked.texts[0]


@pytest.mark.parametrize("about", ["each_document", "each_block"])
def test_what_cannot_be_compressed_fails_unsent_and_says_what_to_do(
    world: Worlds, about: str
) -> None:
    here = world()
    here.ingest(long_document(600) if about == "each_document" else ["far too long " * 12_000])
    long = "{% for no in range(12000) %}far too long {% endfor %}"
    body = "{{ block.text }}" if about == "each_block" else f"{long}\n{{{{ document.text }}}}"

    asked = Asked(here, text_stage("ask", about, body))

    assert (asked.progress.failed, asked.texts) == (1, [])
    [group] = here.engine.queries.failures(asked.run.id)
    assert group.cause == "the prompt does not fit the model's window, and was not sent"
    error = here.engine.queries.prompt(TaskId(1)).task.error or ""
    assert "has room for 31,488" in error
    assert "larger window" in error


def test_the_result_shows_what_was_compressed_and_from_how_much_to_how_much(world: Worlds) -> None:
    here = world()
    here.ingest(long_document())

    asked = Asked(here, ASK)

    notes: list[dict[str, str]] = asked.run.rows()[0]["notes"]  # type: ignore[assignment]
    (note,) = notes
    assert (note["kind"], note["path"]) == ("compressed", "document")
    assert int(note["written"]) > 2.5 * WINDOW
    assert 0.5 * WINDOW < int(note["read"]) < WINDOW


def test_ten_tasks_with_one_piece_and_one_prompt_rank_it_once(world: Worlds) -> None:
    ranked: list[str] = []

    class Counting(LexicalRanker):
        def scores(self, prompt: str, passages: Sequence[str]) -> list[float]:
            ranked.append(prompt)
            return super().scores(prompt, passages)

    here = world()
    here.engine.context.choose_ranker = Counting
    here.ingest(long_document(LONG))

    now = here.engine.run(recipe=recipe(replace(ASK, samples=10)), model=SMALL).wait()

    assert (now.done, len(ranked)) == (10, 1)


def test_what_is_declared_least_relevant_shrinks_and_the_rest_stays_whole(world: Worlds) -> None:
    here = world()
    here.ingest(["A word."])
    long = {name: " ".join(f"{name} {no} says it again." for no in range(3000)) for name in "ab"}
    both = text_stage(
        "both",
        "all_to_one",
        "Compare {{ inputs.a[0].text }} with {{ inputs.b[0].text }}",
        needs=("a", "b"),
        relevance={"a": 0.0},
    )
    said: list[str] = []

    def say(text: str) -> str | None:
        said.append(text)
        return long.get(text.strip().removeprefix("Write ").removesuffix("."))

    let_model_say(here, say)
    here.engine.context.choose_ranker = LexicalRanker
    stages = [text_stage(name, "all_to_one", f"Write {name}.") for name in "ab"]
    here.engine.run(recipe=recipe(*stages, both), model=SMALL).wait()

    assert long["b"] in said[-1]
    assert long["a"] not in said[-1]
    assert "a 0 says it again." in said[-1]


def stored_extracts(here: World) -> int:
    """How many extracts the ledger holds."""
    raw = Raw(here.url)
    try:
        return int(raw.rows("SELECT count(*) FROM extracts")[0][0])
    finally:
        raw.close()


def test_a_purge_erases_extracts_with_the_document_and_no_others(world: Worlds) -> None:
    here = world()
    here.ingest(long_document(LONG), "secret")
    here.ingest(long_document(LONG, "apples"), "open")
    asked = Asked(here, ASK)
    assert stored_extracts(here) == 2

    here.engine.purge("secret")

    assert stored_extracts(here) == 1
    assert here.engine.queries.prompt(TaskId(2)).user in asked.texts


def test_a_purge_while_a_worker_compresses_leaves_no_word_behind(world: Worlds) -> None:
    here = world()
    here.ingest(long_document(LONG), "secret")
    engine, contexts, ranker = here.engine, Contexts(), LexicalRanker()
    run = engine.start(engine.orders.resolve(recipe=recipe(ASK), model=SMALL, policy={}))
    with engine.ledger.transaction() as tx:
        worker = tx.workers.add_worker("h", 1, "1", NOW, None)
        advance(tx, contexts, NOW)
        (lane,) = tx.requests.lanes_of_run(run.id)
        prepare(tx, contexts, contexts.of_lane(tx, lane), NOW)
        (taken,) = take_oversized(tx, contexts, worker, dict.fromkeys(RANKERS, ranker.version), NOW)

    engine.purge("secret")

    with engine.ledger.transaction() as tx:
        assert store_compressed(tx, worker, [compress_task(taken, ranker)]) == []
    assert stored_extracts(here) == 0


def test_an_earlier_prompt_is_rendered_again_when_it_was_compressed_anew(world: Worlds) -> None:
    here = world()
    here.ingest(long_document(LONG))
    asked = Asked(here, ASK)
    with here.engine.ledger.transaction() as tx:  # as if its inputs had changed
        tx.extracts.count_compression(TaskId(1))

    view = here.engine.queries.exchange(here.engine.queries.requests(asked.run.id)[0].id)

    assert view.user == asked.texts[0]


class Died(BaseException):
    """A process ended in our midst."""


class DyingAt(Calm):
    """A world in which a process dies at one point, once, and others come an hour later."""

    def __init__(self, point: str) -> None:
        """Die there."""
        self._point = point
        self._ahead = timedelta()

    def now(self) -> datetime:
        """The present, or an hour later."""
        return super().now() + self._ahead

    def reach(self, point: str) -> None:
        """Die, the first time."""
        if point == self._point and not self._ahead:
            self._ahead = timedelta(hours=1)
            raise Died


@pytest.mark.parametrize("point", COMPRESSION_POINTS)
def test_a_worker_that_dies_while_it_compresses_loses_nothing(world: Worlds, point: str) -> None:
    here = world(runtime=DyingAt(point))
    here.ingest(long_document(LONG))
    here.engine.context.choose_ranker = LexicalRanker
    run = here.engine.run(recipe=recipe(ASK), model=SMALL)
    with pytest.raises((Died, BaseExceptionGroup)):
        run.wait()

    now = run.wait()

    assert (now.done, now.failed, here.model.calls) == (1, 0, 1)
    with here.engine.ledger.snapshot() as tx:
        assert len(tx.extracts.compressed_texts([TaskId(1)])[TaskId(1)]) == 1


def test_of_two_workers_one_compresses_and_the_late_one_changes_nothing(world: Worlds) -> None:
    here = world()
    here.ingest(long_document(LONG))
    engine, contexts, ranker = here.engine, Contexts(), LexicalRanker()
    run = engine.start(engine.orders.resolve(recipe=recipe(ASK), model=SMALL, policy={}))
    versions = dict.fromkeys(RANKERS, ranker.version)

    with engine.ledger.transaction() as tx:
        slow, quick = (tx.workers.add_worker("h", no, "1", NOW, None) for no in (1, 2))
        advance(tx, contexts, NOW)
        (lane,) = tx.requests.lanes_of_run(run.id)
        prepare(tx, contexts, contexts.of_lane(tx, lane), NOW)
        (first,) = take_oversized(tx, contexts, slow, versions, NOW)
        assert take_oversized(tx, contexts, quick, versions, NOW) == []
        tx.workers.end_workers([slow], NOW)
        tx.extracts.release_compressions()
        (second,) = take_oversized(tx, contexts, quick, versions, NOW)
        late = store_compressed(tx, slow, [compress_task(first, ranker)])
        stored = store_compressed(tx, quick, [compress_task(second, ranker)])

    assert (late, stored) == ([], [TaskId(1)])
    assert stored_extracts(here) == 1


@pytest.mark.parametrize("bodies", ["lean", "full"])
def test_a_result_with_nul_in_it_is_compressed_and_asked_about(world: Worlds, bodies: str) -> None:
    here = world()
    here.ingest(["A word."])
    here.engine.context.choose_ranker = LexicalRanker
    long = " ".join(f"Sentence {no} ends in a NUL\0." for no in range(4_500))
    let_model_say(here, lambda text: long if text.startswith("Write") else None)
    first = text_stage("first", "each_document", "Write about {{ document.text }}")
    second = text_stage("second", "each_result", "Read {{ inputs.first.text }}", of="first")

    now = here.engine.run(recipe=recipe(first, second), model=SMALL, ledger=bodies).wait()

    assert (now.done, now.failed) == (2, 0)
    assert "\0" not in (here.engine.queries.prompt(TaskId(2)).user or "\0")


def test_documents_are_read_some_at_a_time_however_many_there_are(
    world: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = world()
    for number in range(6):
        here.ingest(long_document(2_000, f"pears {number}"), f"doc{number}")
    monkeypatch.setattr(reading_limits, "MOST_TEXT", 150_000)  # of one document, and not of two
    most: list[int] = []
    read = Subjects.document_texts

    def noting(subjects: Subjects, ids: Sequence[DocumentId]) -> dict[DocumentId, str]:
        most.append(len(ids))
        return read(subjects, ids)

    monkeypatch.setattr(Subjects, "document_texts", noting)

    asked = Asked(here, ASK)

    assert (asked.progress.done, asked.progress.failed, max(most)) == (6, 0, 1)
