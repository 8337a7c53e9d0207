"""Results as files: readable, written once, and nobody else's file is ever touched."""

import json
import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.errors import Conflict, UsageError
from quire.engine import RunHandle
from quire.export.file_names import stage_folders, subject_number, words_in_name
from tests.pipeline.recipe_stages import NOTED, SMALL, recipe, record_stage, text_stage
from tests.world import World

LARGE = "simulated/large"
RECIPE = recipe(
    text_stage("thesis", "each_document", "Argue: {{ document.text }}", models=(SMALL, LARGE)),
    record_stage("con", "each_document", "Note: {{ document.text }}", NOTED),
)


@pytest.fixture
def here(tmp_path: Path) -> Iterator[World]:
    made = World(str(tmp_path / "quire.db"))
    made.ingest(["Bread *rises* in the night."], name="A brief/of [mine]: Ünïcode")
    made.ingest(["Water boils."], name="con")
    yield made
    made.close()


@pytest.fixture
def run(here: World) -> RunHandle:
    run = here.engine.run(recipe=RECIPE, model=SMALL)
    run.wait()
    return run


def files(folder: Path) -> dict[str, bytes]:
    """What is there, but for the journal."""
    found = (path for path in folder.rglob("*.*") if path.suffix in (".md", ".json"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def first_text(folder: Path) -> Path:
    return folder / "run_1" / "thesis" / "small_2-1_con.md"


def test_a_run_becomes_a_readable_tree_with_an_index(run: RunHandle, tmp_path: Path) -> None:
    tree = run.write_results(tmp_path / "out")

    found = files(tmp_path / "out")
    assert sorted(found) == [
        "run_1/con_/small_1-1_a-brief-of-mine-unicode.json",
        "run_1/con_/small_2-1_con.json",
        "run_1/index.md",
        "run_1/thesis/large_1-2_a-brief-of-mine-unicode.md",
        "run_1/thesis/large_2-2_con.md",
        "run_1/thesis/small_1-1_a-brief-of-mine-unicode.md",
        "run_1/thesis/small_2-1_con.md",
    ]
    assert (tree.results, tree.written, tree.unchanged, tree.left) == (6, 6, 0, ())
    text = found["run_1/thesis/small_2-1_con.md"].decode()
    assert text == "simulated: Argue: Water boils.\n"
    assert "word_count" in json.loads(found["run_1/con_/small_2-1_con.json"])
    index = found["run_1/index.md"].decode()
    assert index.startswith("# example, run 1\n\n## thesis\n\n- [")
    line = next(line for line in index.splitlines() if "small_1-1" in line)
    assert line.startswith(r"- [A brief/of \[mine\]: Ünïcode](thesis/small_1-1_a-brief")
    assert line.endswith(") · simulated/small · result 1")


def test_what_has_not_changed_is_not_written_again(run: RunHandle, tmp_path: Path) -> None:
    run.write_results(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run_1").rglob("*")}

    tree = run.write_results(tmp_path)

    assert (tree.written, tree.unchanged, tree.removed) == (0, 6, 0)
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_a_new_result_changes_only_its_file_and_the_index(run: RunHandle, tmp_path: Path) -> None:
    run.write_results(tmp_path)
    before = files(tmp_path)
    task = run.rows(stage="thesis")[0]["task_id"]
    assert isinstance(task, int)
    run.edit(task, {"text": "# Bread, again\n\nIt rises."})

    tree = run.write_results(tmp_path)

    after = files(tmp_path)
    assert (tree.written, tree.unchanged) == (1, 5)
    assert len([path for path in after if after[path] != before[path]]) == 2
    assert b"- [Bread, again](thesis/" in after["run_1/index.md"]


def test_a_file_that_a_person_changed_is_left_and_told(run: RunHandle, tmp_path: Path) -> None:
    run.write_results(tmp_path)
    mine = first_text(tmp_path)
    mine.write_text("my own words\n")
    strange = tmp_path / "run_1" / "thesis" / "notes.md"
    strange.write_text("not of a run\n")
    task = run.rows(stage="thesis")[0]["task_id"]
    assert isinstance(task, int)
    run.edit(task, {"text": "New."})

    tree = run.write_results(tmp_path)

    assert tree.left == (str(mine.relative_to(tmp_path / "run_1")),)
    assert mine.read_text() == "my own words\n"
    assert strange.read_text() == "not of a run\n"


def test_a_file_that_was_there_before_is_never_written_over(run: RunHandle, tmp_path: Path) -> None:
    taken = tmp_path / "run_1" / "thesis" / "small_2-1_con.md"
    taken.parent.mkdir(parents=True)
    taken.write_text("somebody's\n")
    (tmp_path / "run_1" / "index.md").mkdir()

    first, second = run.write_results(tmp_path), run.write_results(tmp_path)

    assert first.left == second.left == ("thesis/small_2-1_con.md", "index.md")
    assert taken.read_text() == "somebody's\n"


def test_the_file_of_a_result_that_is_gone_goes_too_unless_it_was_changed(
    here: World, run: RunHandle, tmp_path: Path
) -> None:
    run.write_results(tmp_path)
    kept = tmp_path / "run_1" / "thesis" / "small_2-1_con.md"
    kept.write_text("mine now\n")
    here.engine.purge("con")

    tree = run.write_results(tmp_path)

    assert (tree.results, tree.removed, tree.left) == (3, 2, ("thesis/small_2-1_con.md",))
    assert not (tmp_path / "run_1" / "con_" / "small_2-1_con.json").exists()
    assert kept.read_text() == "mine now\n"


def test_one_stage_is_written_alone_and_others_stay(run: RunHandle, tmp_path: Path) -> None:
    run.write_results(tmp_path, stage="thesis")
    assert {path.split("/")[1] for path in files(tmp_path)} == {"thesis", "index.md"}

    tree = run.write_results(tmp_path, stage="con")

    assert (tree.results, tree.written, tree.removed) == (2, 2, 0)
    index = (tmp_path / "run_1" / "index.md").read_text()
    assert index.count("- [") == 6
    with pytest.raises(UsageError, match="has no stage 'nope'"):
        run.write_results(tmp_path, stage="nope")


def test_a_process_that_died_in_between_knows_its_files_again(
    run: RunHandle, tmp_path: Path
) -> None:
    def die(path: str) -> None:
        if path.startswith("con_"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.write_results(tmp_path, watch=die)
    journal = tmp_path / "run_1" / ".quire-results.jsonl"
    journal.write_bytes(journal.read_bytes()[:-9])  # and its last line was cut off

    tree = run.write_results(tmp_path)

    assert tree.left == ()
    assert (tree.written + tree.unchanged, len(files(tmp_path))) == (6, 7)


def test_no_line_of_a_journal_leads_out_of_the_folder(run: RunHandle, tmp_path: Path) -> None:
    run.write_results(tmp_path / "out")
    precious = tmp_path / "precious.md"
    precious.write_text("mine")
    digest = sha256(b"mine").hexdigest()
    with (tmp_path / "out" / "run_1" / ".quire-results.jsonl").open("a") as journal:
        for path in ("thesis/../../../precious.md", str(precious), "thesis/gone.md"):
            journal.write(json.dumps({"path": path, "sha256": digest}) + "\n")
        journal.write('{"path": "thesis/odd.md"}\n' + "[" * 100_000 + "\n")

    tree = run.write_results(tmp_path / "out")

    assert precious.read_text() == "mine"
    assert (tree.written, tree.removed, tree.left) == (0, 1, ())


def test_nothing_is_written_through_a_link(run: RunHandle, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "out" / "run_1").mkdir(parents=True)
    (tmp_path / "out" / "run_1" / "thesis").symlink_to(elsewhere)

    tree = run.write_results(tmp_path / "out")

    assert list(elsewhere.iterdir()) == []
    assert len(tree.left) == 4
    assert tree.written == 2


def test_a_folder_of_another_ledgers_run_is_refused(
    here: World, run: RunHandle, tmp_path: Path
) -> None:
    run.write_results(tmp_path)
    journal = tmp_path / "run_1" / ".quire-results.jsonl"
    journal.write_text(journal.read_text().replace('"run": 1', '"run": 9', 1))

    with pytest.raises(Conflict, match="another ledger's run"):
        run.write_results(tmp_path)


def test_a_place_that_cannot_be_written_is_told_in_a_line(run: RunHandle, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(UsageError, match="cannot be written"):
        run.write_results(tmp_path / "file")


@given(st.sets(st.binary(min_size=1, max_size=40), max_size=20))
def test_no_two_subjects_have_one_number(subjects: set[bytes]) -> None:
    placed = [(1).to_bytes(8, "big") + no.to_bytes(4, "big") for no in range(3)]
    blocks = [b"%016x" % number for number in (1, 2, 2**40)]

    every = subjects.union(placed, blocks)

    assert len({subject_number(subject) for subject in every}) == len(every)


@given(st.text(max_size=200))
def test_a_name_is_safe_on_every_file_system(title: str) -> None:
    name = words_in_name(title)

    assert len(name) <= 40
    assert not set(name) - set("abcdefghijklmnopqrstuvwxyz0123456789-")


def test_folders_of_stages_are_no_devices_and_apart() -> None:
    folders = stage_folders(["con", "con_", "thesis"])

    assert len({os.path.normcase(folder) for folder in folders.values()}) == 3
    assert folders["con"] not in ("con", "con_")
    assert folders["thesis"] == "thesis"


def test_what_is_about_no_document_is_named_by_its_stage(here: World, tmp_path: Path) -> None:
    stages = recipe(
        text_stage("thesis", "each_document", "Argue: {{ document.text }}"),
        text_stage("end_of_it", "all_to_one", "{{ inputs.thesis|length }}", needs=("thesis",)),
    )
    run = here.engine.run(recipe=stages, model=SMALL)
    run.wait()

    run.write_results(tmp_path, stage="end_of_it")

    assert "run_1/end_of_it/small_1-1_end-of-it.md" in files(tmp_path)
