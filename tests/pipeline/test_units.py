"""One record per document, section or page: a schema asked of more than single blocks."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quire.domain.data import Json
from quire.domain.errors import UsageError
from quire.engine import RunHandle
from quire.planning.lexical_ranking import LexicalRanker
from quire.simulated.fault_scripts import NO_FAULTS
from tests.crash.test_recipe_simulation import FAULTS, MANY, drive_until_the_end
from tests.crash.test_simulation import Mortal
from tests.pipeline.test_purge import everything_on_disk
from tests.sources.sample_documents import make_pdf
from tests.world import METADATA, World, until_rest

Worlds = Callable[..., World]

LEASE = (
    "# Lease\n\nMade today.\n\n## Rent\n\nTen coins.\n\nEach month.\n\n## Term\n\nThree years.\n"
)
SALE = "# Sale\n\n## Price\n\nForty coins.\n\n## Term\n\nThree years.\n"
SMALL = "simulated/small"


@pytest.fixture
def contracts(tmp_path: Path) -> Path:
    folder = tmp_path / "contracts"
    folder.mkdir()
    (folder / "lease.md").write_text(LEASE)
    (folder / "sale.md").write_text(SALE)
    return folder


def ask(here: World, per: str, **policy: Any) -> RunHandle:
    """A schema asked of documents, sections or pages, to the end."""
    run = here.engine.run(schema=METADATA, model=SMALL, per=per, **policy)
    until_rest(run)
    return run


WHOLE = ["# Lease Made today. ## Rent Ten coins", "# Sale ## Price Forty coins. ## Term"]
SECTIONS = [
    "# Lease Made today.",
    "## Rent Ten coins. Each month.",
    "## Term Three years.",
    "# Sale ## Price Forty coins.",
    "## Term Three years.",
]


@pytest.mark.parametrize(
    ("per", "records"),
    [("document", WHOLE), ("section", SECTIONS), ("section:1", WHOLE), ("block", None)],
)
def test_a_record_is_of_what_was_asked_for(
    world: Worlds, contracts: Path, per: str, records: list[str] | None
) -> None:
    here = world()
    here.engine.ingest(contracts)
    planned = here.engine.plan(schema=METADATA, model=SMALL, per=per)

    run = ask(here, per)

    now = run.progress()
    assert (now.noun, now.total, now.done) == (per.partition(":")[0], planned.tasks, planned.tasks)
    if records is not None:
        assert [" ".join(str(row["first_40_chars"]).split()) for row in run.rows()] == records


@pytest.mark.parametrize("per", ["document", "section"])
def test_a_row_says_what_its_record_is_of(world: Worlds, contracts: Path, per: str) -> None:
    here = world()
    here.engine.ingest(contracts)

    run = ask(here, per)

    shown = [" ".join(str(row["text"]).split()) for row in run.rows()]
    if per == "document":
        assert shown == [" ".join(text.split()) for text in (LEASE, SALE)]
    else:
        assert shown == SECTIONS
    run.export(contracts / "out.jsonl")
    lines = map(json.loads, (contracts / "out.jsonl").read_text().splitlines())
    assert [line["subject"]["text"] for line in lines] == [row["text"] for row in run.rows()]


def test_small_documents_share_a_call_and_the_same_section_is_asked_once(
    world: Worlds, contracts: Path
) -> None:
    here = world()
    here.engine.ingest(contracts)

    run = ask(here, "section")

    now = run.progress()
    assert (now.calls, now.done, now.reused, here.model.blocks) == (1, 5, 1, 4)
    assert [row["headings"] for row in run.rows()][1:3] == ["Lease › Rent", "Lease › Term"]
    again = ask(here, "section", new=True).progress()
    assert (again.calls, again.done, again.reused) == (0, 5, 5)


def test_pages_are_those_of_the_file(world: Worlds, tmp_path: Path) -> None:
    here = world()
    pages = [[(72.0, 72.0, 11.0, f"Page {number} has its own words.")] for number in (1, 2, 3)]
    (tmp_path / "three.pdf").write_bytes(make_pdf(pages))
    here.engine.ingest(tmp_path / "three.pdf")

    rows = ask(here, "page").rows()

    assert [row["page"] for row in rows] == [1, 2, 3]
    assert [str(row["first_40_chars"])[:6] for row in rows] == ["Page 1", "Page 2", "Page 3"]


def test_what_has_no_pages_is_refused_before_anything_is_begun(
    world: Worlds, contracts: Path
) -> None:
    here = world()
    here.engine.ingest(contracts)

    with pytest.raises(UsageError, match="none of these documents has pages"):
        here.engine.run(schema=METADATA, model=SMALL, per="page")

    assert here.engine.runs() == []


@pytest.mark.parametrize("per", ["chapter", "section:0", "document:2", ""])
def test_what_nobody_can_divide_by_is_told(world: Worlds, contracts: Path, per: str) -> None:
    here = world()
    here.engine.ingest(contracts)

    with pytest.raises(UsageError, match="per takes block, document, section, page or section:2"):
        here.engine.plan(schema=METADATA, model=SMALL, per=per)


def test_a_document_larger_than_the_window_is_compressed_and_the_plan_says_so(
    world: Worlds, tmp_path: Path
) -> None:
    here = world()
    here.engine.context.choose_ranker = LexicalRanker
    long = [f"Sentence {number} says that pears ripen late in the year." for number in range(4000)]
    (tmp_path / "long.txt").write_text("\n\n".join(long))
    (tmp_path / "short.txt").write_text("Short.")
    here.engine.ingest(tmp_path / "long.txt", tmp_path / "short.txt")

    (stage,) = here.engine.plan(schema=METADATA, model=SMALL, per="document").stages
    run = ask(here, "document")

    assert (stage.tasks, stage.compressed, stage.oversized) == (2, 1, 0)
    assert run.progress().done == 2
    assert [bool(row["notes"]) for row in run.rows()] == [True, False]


def test_a_section_that_failed_is_asked_again_and_a_person_may_decide_about_one(
    world: Worlds, contracts: Path
) -> None:
    here = world(faults="wrong@Ten")
    here.engine.ingest(contracts)
    run = ask(here, "section", max_tries=1)
    (failed,) = [row for row in run.rows() if row["status"] == "failed"]
    here.model.faults = NO_FAULTS

    run.retry()
    run.wait()

    assert (run.progress().done, run.progress().failed) == (5, 0)
    task = int(str(failed["task_id"]))
    edited: dict[str, Json] = {"word_count": 7, "first_40_chars": "mine", "has_question": True}
    run.edit(task, edited)
    row = next(row for row in run.rows() if row["task_id"] == task)
    assert (row["word_count"], row["review"]) == (7, "edited")


def test_a_purge_erases_the_headings_too(world: Worlds, tmp_path: Path) -> None:
    here = world()
    (tmp_path / "secret.md").write_text("# A\n\n## Zanzibar\n\nOne.\n\n## B\n\nTwo.\n")
    here.engine.ingest(tmp_path / "secret.md")
    ask(here, "section")
    assert b"Zanzibar" in everything_on_disk(here)

    here.engine.purge("secret.md")

    assert b"Zanzibar" not in everything_on_disk(here)


def test_killing_at_any_point_ends_with_one_record_for_each_section(
    world: Worlds, tmp_path: Path
) -> None:
    runtime = Mortal(0, chance=0.1)
    here = world(faults=FAULTS, runtime=runtime)
    for number in range(3):
        sections = [f"## Part {number}.{part}\n\nIts words.\n\n" for part in range(6)]
        (tmp_path / f"{number}.md").write_text(f"# Book {number}\n\n" + "".join(sections))
    here.engine.ingest(tmp_path)
    run = here.engine.run(schema=METADATA, model=SMALL, per="section", **MANY)

    drive_until_the_end(here, run.id, runtime)

    assert runtime.deaths
    assert run.progress().counts == {"done": 18}
    assert len({str(row["part"]) + str(row["title"]) for row in run.rows()}) == 18


def test_only_blocks_of_some_types_are_asked_about(world: Worlds, contracts: Path) -> None:
    here = world()
    here.engine.ingest(contracts)
    asked: dict[str, Any] = {"schema": METADATA, "model": SMALL, "block_types": ["heading"]}

    planned = here.engine.plan(**asked)
    run = here.engine.run(**asked)
    run.wait()

    assert (planned.tasks, run.progress().total, here.model.blocks) == (6, 6, 5)  # Term is twice
    assert {row["block_type"] for row in run.rows()} == {"heading"}
    assert here.engine.run(**asked).goes_on
    assert not here.engine.run(**{**asked, "block_types": ["paragraph,heading"]}).goes_on


def test_what_a_person_wrote_of_a_section_arrives_at_that_section_alone(
    world: Worlds, tmp_path: Path
) -> None:
    twice = tmp_path / "twice.md"
    twice.write_text("# Signed\n\nBy hand.\n\n# Signed\n\nBy hand.\n")
    here = world()
    here.engine.ingest(twice)
    run = ask(here, "section")
    first, second = run.rows()
    written: Json = {"word_count": 2, "first_40_chars": "By ada.", "has_question": False}
    run.edit(int(str(first["task_id"])), written, who="ada")

    again = ask(here, "section", new=True).rows()

    assert [row["status"] for row in again] == ["confirmed", "accepted"]
    assert [row["first_40_chars"] for row in again] == ["By ada.", second["first_40_chars"]]
