"""Lists of batches that have no end, and batches under names that were given up."""

from pathlib import Path
from typing import Any

import pytest

from quire.domain.batches import Found
from quire.providers.searching import MOST_PAGES
from tests.providers.desks import Answer, run, sought
from tests.providers.exchanges.openai_batches import BATCH
from tests.providers.scripted import Heard, Scripted
from tests.providers.test_openai_batches import SOUGHT, looking, pages
from tests.providers.test_vertex_batches import PATH as VERTEX_PATH
from tests.providers.test_vertex_batches import batches as vertex
from tests.providers.test_vertex_batches import desk as vertex_desk
from tests.providers.test_vertex_batches import job as vertex_job


def test_batches_of_earlier_submissions_are_told_apart_from_the_last() -> None:
    old = {**BATCH, "id": "batch_0", "metadata": {"quire": "qretired234"}, "input_file_id": "f"}
    retiring = SOUGHT._replace(retired=frozenset(["qretired234"]))
    alone = Scripted(**{"GET /batches": pages(120, old)})
    both = Scripted(**{"GET /batches": (200, {"data": [BATCH, old], "has_more": False})})

    assert alone.during(looking(retiring)) == Found(earlier=("batch_0",))
    assert alone.during(looking()) == Found()
    assert both.during(looking(retiring)) == Found("batch_1", earlier=("batch_0",))


@pytest.mark.parametrize("length", [1, 2, 7])
def test_a_listing_that_goes_round_in_circles_is_left_and_proves_nothing(length: int) -> None:
    made = {"created_at": BATCH["created_at"], "metadata": None, "input_file_id": "f"}

    def answer(heard: Heard) -> tuple[int, Any]:
        after = int(heard.query.get("after", "b0")[1:])
        page = [{"id": f"b{after % length + 1}", **made}]
        return 200, {"data": page, "has_more": True}

    server = Scripted(**{"GET /batches": answer})

    found = server.during(looking())

    assert not found.ref
    assert "openai's list of batches goes round in circles" in found.unsure
    assert len(server.heard) == length + 1


def test_a_listing_without_an_end_is_left_and_proves_nothing() -> None:
    made = {"created_at": BATCH["created_at"], "metadata": None, "input_file_id": "f"}

    def answer(heard: Heard) -> tuple[int, Any]:
        after = int(heard.query.get("after", "b0")[1:])
        return 200, {"data": [{"id": f"b{after + 1}", **made}], "has_more": True}

    server = Scripted(**{"GET /batches": answer})

    found = server.during(looking())

    assert found.unsure == f"openai's list of batches does not end: {MOST_PAGES} pages were read"
    assert len(server.heard) == MOST_PAGES


def test_jobs_of_earlier_names_are_asked_for_one_by_one(tmp_path: Path) -> None:
    old = vertex_job(displayName="qretired234", name="jobs/old")
    there = vertex_desk(
        {f"GET {VERTEX_PATH}": [Answer({}), Answer({"batchPredictionJobs": [old]})]}
    )
    mine, names = vertex(tmp_path), frozenset(["qretired234"])

    found = run(there, lambda on: mine.find(on.door, on.account, sought()._replace(retired=names)))

    assert found == Found(earlier=("jobs/old",))
    assert there.asked[1].query["filter"] == 'display_name="qretired234"'


def test_a_list_that_goes_round_in_circles_is_left_and_proves_nothing(tmp_path: Path) -> None:
    pages = [Answer({"nextPageToken": token}) for token in ("p2", "p3", "p2", "p3", "p2")]
    there, mine = vertex_desk({f"GET {VERTEX_PATH}": pages}), vertex(tmp_path)

    assert "circles" in run(there, lambda on: mine.find(on.door, on.account, sought())).unsure
    assert len(there.asked) == 3
