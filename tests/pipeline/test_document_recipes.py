"""The recipes that write documents: exactly so many results, each of them whole, cut or not."""

from collections.abc import Callable

from tests.pipeline.recipe_stages import sent_texts
from tests.recipes.document_recipes import (
    DIALECTIC_COUNTS,
    MODELS,
    REPORT_COUNTS,
    SECTIONS,
    assert_dialectic_is_whole,
    order_dialectic,
    order_report,
    stage_counts,
    stage_texts,
)
from tests.world import World

Worlds = Callable[..., World]


def test_a_dialectic_of_three_models_has_exactly_its_counts_and_every_text_is_whole(
    world: Worlds,
) -> None:
    here = world()
    here.ingest(["The ferry carries four hundred people a day."], "ferry")
    run = order_dialectic(here.engine, over={"material": [1]})
    run.wait()

    written = stage_texts(here.engine, run.id)

    assert_dialectic_is_whole(written, *MODELS)
    for stage in ("header", "thesis", "antithesis"):
        assert all("four hundred people" in text for text in sent_texts(here.engine, run, stage))


def test_each_stage_reads_what_the_dialectic_says_it_reads(world: Worlds) -> None:
    here = world()
    run = order_dialectic(here.engine)
    run.wait()

    written = stage_texts(here.engine, run.id)
    texts = {stage: [text for _, _, text in found] for stage, found in written.items()}

    def times(stage: str, read: str) -> set[int]:
        sent = sent_texts(here.engine, run, stage)
        return {sum(text in prompt for text in texts[read]) for prompt in sent}

    assert times("antithesis", "thesis") == {1}
    assert times("pairwise", "thesis") == times("pairwise", "antithesis") == {1}
    assert times("reduced", "pairwise") == {9}
    assert times("final", "reduced") == {9}
    assert times("parenthesis", "final") == times("paralysis", "parenthesis") == {1}


def test_one_model_argues_with_itself(world: Worlds) -> None:
    here = world()
    run = order_dialectic(here.engine, MODELS[0])
    run.wait()

    assert stage_counts(stage_texts(here.engine, run.id)) == dict.fromkeys(DIALECTIC_COUNTS, 1)


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
