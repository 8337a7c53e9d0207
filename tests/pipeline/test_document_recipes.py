"""The recipes that write documents: exactly so many results, each of them whole, cut or not."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.pipeline.recipe_stages import sent_texts
from tests.recipes.document_recipes import (
    CUT,
    DIALECTIC_COUNTS,
    MODELS,
    REPORT_COUNTS,
    SECTIONS,
    assert_dialectic_is_whole,
    assert_texts_are_whole,
    order_dialectic,
    order_report,
    stage_counts,
    stage_texts,
)
from tests.world import World

Worlds = Callable[..., World]


def test_a_dialectic_of_three_models_has_exactly_its_counts_and_reads_what_it_says(
    world: Worlds,
) -> None:
    here = world()
    here.ingest(["The ferry carries four hundred people a day."], "ferry")
    run = order_dialectic(here.engine, over={"material": [1]})
    run.wait()

    written = stage_texts(here.engine, run.id)
    texts = {stage: [text for _, _, text in found] for stage, found in written.items()}

    def times(stage: str, read: str) -> set[int]:
        sent = sent_texts(here.engine, run, stage)
        return {sum(text in prompt for text in texts[read]) for prompt in sent}

    assert_dialectic_is_whole(written, *MODELS)
    for stage in ("header", "thesis", "antithesis"):
        assert all("four hundred people" in text for text in sent_texts(here.engine, run, stage))
    assert times("antithesis", "thesis") == {1}
    assert times("pairwise", "thesis") == times("pairwise", "antithesis") == {1}
    assert times("reduced", "pairwise") == {9}
    assert times("final", "reduced") == {9}
    assert times("parenthesis", "final") == times("paralysis", "parenthesis") == {1}


def test_one_model_argues_with_itself_and_what_lacks_a_heading_is_asked_for_again(
    tmp_path: Path,
) -> None:
    here = World(str(tmp_path / "quire.db"), "stop_silently=0.4,seed=1")
    run = order_dialectic(here.engine, MODELS[0], max_tries=20)
    run.wait()

    written = stage_texts(here.engine, run.id)
    assert stage_counts(written) == dict.fromkeys(DIALECTIC_COUNTS, 1)
    assert run.progress().calls > len(DIALECTIC_COUNTS)
    assert_texts_are_whole(written)
    here.close()


HALVED = "truncate=0.3,repeat_tail=0.3,seed=5"  # some pieces are cut again and again


@pytest.mark.parametrize("faults", [CUT, pytest.param(HALVED, marks=pytest.mark.soak)])
def test_a_dialectic_whose_answers_are_cut_writes_what_it_writes_uncut(
    tmp_path: Path, faults: str
) -> None:
    calm, here = World(str(tmp_path / "calm.db")), World(str(tmp_path / "cut.db"), faults)
    uncut = order_dialectic(calm.engine)
    cut = order_dialectic(here.engine, max_continuations=20)
    for run in (uncut, cut):
        run.wait()

    assert stage_texts(here.engine, cut.id) == stage_texts(calm.engine, uncut.id)
    assert cut.progress().calls > uncut.progress().calls + 10
    calm.close()
    here.close()


def test_a_report_is_one_document_of_all_its_sections(world: Worlds) -> None:
    here = world()
    here.ingest(["The ferry carries four hundred people a day."], "ferry")
    run = order_report(here.engine, over={"material": [1]})
    run.wait()

    written = stage_texts(here.engine, run.id)

    assert stage_counts(written) == REPORT_COUNTS
    ((model, _, text),) = written["report"]
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert [line.partition(" ")[0] for line in headings] == ["#", *["##"] * SECTIONS]
    assert text.endswith(f"This is the end of the text by {model}.")
    sections = [text for _, _, text in written["section"]]
    assert [section.splitlines()[0] for section in sections] == headings[1:]
    (prompt,) = sent_texts(here.engine, run, "report")[:1]
    assert [prompt.index(section) for section in sections] == sorted(map(prompt.index, sections))
    for stage in ("outline", "section"):
        assert all("four hundred people" in text for text in sent_texts(here.engine, run, stage))


def test_a_report_whose_answers_are_cut_is_the_same(tmp_path: Path) -> None:
    calm, here = World(str(tmp_path / "calm.db")), World(str(tmp_path / "cut.db"), CUT)
    uncut, cut = order_report(calm.engine), order_report(here.engine)
    for run in (uncut, cut):
        run.wait()

    assert stage_texts(here.engine, cut.id) == stage_texts(calm.engine, uncut.id)
    calm.close()
    here.close()
