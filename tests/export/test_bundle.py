"""Bundles: a folder with a file a table, whose keys join, and a manifest of what is in it."""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pandas
import pytest

from quire import read_export
from quire.domain.errors import Conflict, UsageError
from quire.engine import RunHandle
from quire.export.bundle import TABLES
from tests.export.test_result_rows import FACTS, PAGE, run_recipe, two_documents
from tests.world import World, sentences

Worlds = Callable[..., World]

KEYS = {
    "request_id": "requests",
    "attempt_id": "attempts",
    "stage_id": "run_stages",
    "run_id": "runs",
    "result_id": "results",
    "task_id": "rows",
}


@pytest.fixture
def run(world: Worlds) -> RunHandle:
    here = world(faults="wrong@MARK")
    here.ingest(sentences(5, mark=2))
    made = here.run(pack_size=3, max_tries=2)
    made.approve(int(str(made.rows()[0]["task_id"])), who="Ada")
    return made


def test_a_bundle_has_every_table_and_its_keys_find_their_rows(
    run: RunHandle, tmp_path: Path
) -> None:
    folder = tmp_path / "deep" / "out"

    assert run.export(f"{folder}/") == 5

    tables = read_export(str(folder))
    assert set(tables) == set(TABLES)
    pandas.testing.assert_frame_equal(tables["rows"], run.to_pandas())
    for name, frame in tables.items():
        for key, other in KEYS.items():
            if key in frame and other != name:
                assert set(frame[key].dropna()) <= set(tables[other][key]), (name, key)
    assert tables["responses"]["text"].str.contains("block_uid", na=False).all()
    assert set(tables["messages"]["role"]) == {"system", "user"}
    assert tables["messages"]["content"].str.contains("Block 3").any()
    assert list(tables["reviews"]["reviewer"]) == ["Ada"]
    assert str(tables["attempts"]["sent_at"].dtype) == "datetime64[us, UTC]"


def test_the_manifest_says_what_is_in_each_file_and_when_that_last_changed(
    run: RunHandle, tmp_path: Path
) -> None:
    run.export(f"{tmp_path}/out/", form="bundle")
    page = tmp_path / "out" / "manifest.json"
    first = json.loads(page.read_text())

    run.export(f"{tmp_path}/out/")
    same = json.loads(page.read_text())
    run.approve(int(str(run.rows()[1]["task_id"])))
    run.export(f"{tmp_path}/out/")
    third = json.loads(page.read_text())

    assert same == first
    assert third["content_hash"] != first["content_hash"]
    assert third["last_updated"] > first["last_updated"]
    assert (first["format"], first["format_version"], first["run"]) == ("quire-bundle", 1, run.id)
    for table in third["tables"]:
        raw = (tmp_path / "out" / table["file"]).read_bytes()
        assert sha256(raw).hexdigest() == table["sha256"]


def test_only_what_is_named_is_written_and_what_was_there_before_goes(
    run: RunHandle, tmp_path: Path, world: Worlds
) -> None:
    here = world()
    run.export(f"{tmp_path}/out/")
    (tmp_path / "out" / "mine.csv").write_text("mine")

    report = here.engine.export(run.id, f"{tmp_path}/out/", tables="rows, reviews")

    assert (report.rows, report.form) == (5, "bundle")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        *("manifest.json", "mine.csv", "reviews.csv", "rows.csv"),
    ]
    with pytest.raises(UsageError, match="--tables takes all, or some of rows, runs"):
        here.engine.export(run.id, f"{tmp_path}/out/", tables="nope")
    with pytest.raises(UsageError, match="add --format bundle"):
        here.engine.export(run.id, f"{tmp_path}/out.csv", tables="rows")
    (tmp_path / "out" / "manifest.json").write_text("{}")
    with pytest.raises(Conflict, match="is not a bundle's"):
        run.export(f"{tmp_path}/out/")


def test_a_recipe_has_a_table_of_rows_for_every_stage(world: Worlds, tmp_path: Path) -> None:
    here = world()
    two_documents(here)
    run = run_recipe(here, FACTS, PAGE)

    run.export(f"{tmp_path}/out/")

    tables = read_export(f"{tmp_path}/out/")
    assert (len(tables["rows_facts"]), len(tables["rows_page"])) == (7, 2)
