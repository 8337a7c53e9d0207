"""Review over HTTP: the inbox, leases, decisions, and who may do what."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from quire.review import leases
from quire.server.access import AccessRole
from tests.server.review_sites import answer_texts, clauses, sign_in
from tests.server.sites import open_site, start_run

ANN: Mapping[str, Any] = {"who": "Ann"}
BO: Mapping[str, Any] = {"who": "Bo"}


@pytest.fixture
def tasks(tmp_path: Path) -> list[int]:
    """The tasks of run 1, answered."""
    return answer_texts(tmp_path, clauses(8))


@pytest.fixture
def client(tmp_path: Path, tasks: list[int]) -> Iterator[TestClient]:
    with open_site(tmp_path) as client:
        yield client


def post(client: TestClient, path: str, code: int = 200, key: str = "", **body: Any) -> Any:
    headers = {"Idempotency-Key": key} if key else {}
    answer = client.post(path, json=body, headers=headers)
    assert answer.status_code == code, answer.text
    return answer.json()


def get(client: TestClient, path: str, code: int = 200, **query: Any) -> Any:
    answer = client.get(path, params=query)
    assert answer.status_code == code, answer.text
    return answer.json()


def test_the_inbox_comes_in_pages_and_takes_a_filter(client: TestClient, tasks: list[int]) -> None:
    first = get(client, "/v1/runs/1/inbox", limit=5)
    rest = get(client, "/v1/runs/1/inbox", limit=5, cursor=first["next"])
    narrow = get(client, "/v1/runs/1/inbox", filter="document=1 text=$300")

    assert [line["task_id"] for line in first["items"] + rest["items"]] == tasks
    assert rest["next"] is None
    assert [line["task_id"] for line in narrow["items"]] == [tasks[3]]
    assert first["items"][0]["excerpt"].startswith("The Tenant of house 0")
    assert get(client, "/v1/runs/1/inbox/counts")["left"] == 8


def test_two_reviewers_are_given_different_items(client: TestClient, tasks: list[int]) -> None:
    anns = post(client, "/v1/runs/1/inbox/next", **ANN, count=3)["items"]
    bos = post(client, "/v1/runs/1/inbox/next", **BO, count=3)["items"]
    again = post(client, "/v1/runs/1/inbox/next", **ANN, count=3)["items"]

    assert [line["task_id"] for line in anns] == tasks[:3]
    assert [line["task_id"] for line in bos] == tasks[3:6]
    assert [line["task_id"] for line in again] == tasks[:3]
    assert {lease["who"] for lease in get(client, "/v1/runs/1/leases")["items"]} == {"Ann", "Bo"}


def test_an_item_that_another_holds_is_neither_leased_nor_decided(
    client: TestClient, tasks: list[int]
) -> None:
    post(client, f"/v1/tasks/{tasks[0]}/lease", **ANN)

    refused = post(client, f"/v1/tasks/{tasks[0]}/lease", 409, **BO)
    both = post(client, "/v1/runs/1/leases", **BO, tasks=tasks[:2])
    decided = post(client, f"/v1/tasks/{tasks[0]}/approve", 409, **BO)

    assert "Ann" in refused["error"]["message"]
    assert both["tasks"] == [tasks[1]]
    assert [(line["task_id"], "Ann" in line["message"]) for line in both["refused"]] == [
        (tasks[0], True)
    ]
    assert "Ann" in decided["error"]["message"]


def test_what_is_given_back_goes_to_others(client: TestClient, tasks: list[int]) -> None:
    post(client, "/v1/runs/1/leases", **ANN, tasks=tasks[:3])

    one = post(client, f"/v1/tasks/{tasks[0]}/release", **ANN)
    two = post(client, "/v1/runs/1/leases/release", **ANN, tasks=tasks[1:3])

    assert (one["released"], two["released"]) == (1, 2)
    assert post(client, f"/v1/tasks/{tasks[0]}/lease", **BO)["who"] == "Bo"


def test_a_decision_sent_twice_acts_once_and_is_kept(client: TestClient, tasks: list[int]) -> None:
    path = f"/v1/tasks/{tasks[0]}/approve"

    first = post(client, path, key="once", **ANN, note="seen")
    second = post(client, path, key="once", **ANN, note="seen")
    third = post(client, path, 409, key="other", **ANN)

    assert (first["changed"], second["changed"]) == (True, False)
    assert "approved" in third["error"]["message"]
    (kept,) = get(client, "/v1/runs/1/decisions")["items"]
    assert (kept["move"], kept["who"], kept["note"]) == ("approve", "Ann", "seen")
    assert (
        get(client, "/v1/runs/1/inbox", filter="review=approved")["items"][0]["reviewer"] == "Ann"
    )


def test_an_edit_tells_every_mistake_at_its_field(client: TestClient, tasks: list[int]) -> None:
    path = f"/v1/tasks/{tasks[0]}/edit"
    changes = {"kind": "rent", "words": -1}

    refused = post(client, path, 422, **ANN, changes=changes)["error"]
    both = post(client, path, 422, **ANN, changes={}, data={})["error"]

    assert refused["kind"] == "EditInvalid"
    assert {mistake["pointer"] for mistake in refused["mistakes"]} == {"/kind", "/words"}
    assert "not both" in both["message"]
    assert get(client, f"/v1/tasks/{tasks[0]}")["review_state"] == "unreviewed"


def test_an_edit_changes_what_it_names_and_keeps_the_rest(
    client: TestClient, tasks: list[int]
) -> None:
    before = get(client, f"/v1/tasks/{tasks[0]}")["data"]

    post(client, f"/v1/tasks/{tasks[0]}/edit", **ANN, changes={"party": "Tenant"})

    item = get(client, f"/v1/tasks/{tasks[0]}")
    assert item["data"] == {**before, "party": "Tenant"}
    assert item["review_state"] == "edited"
    assert item["decisions"][0]["before"] == before
    assert item["decisions"][0]["after"]["party"] == "Tenant"
    assert [version["origin"] for version in item["versions"]] == ["person", "model"]


def test_a_rejection_needs_a_note_and_can_be_taken_back(
    client: TestClient, tasks: list[int]
) -> None:
    path = f"/v1/tasks/{tasks[0]}"
    cost = get(client, path)["reject_cost"]
    data = get(client, path)["data"]

    silent = post(client, f"{path}/reject", 422, **ANN, note=" ")
    post(client, f"{path}/reject", **ANN, note="the owner pays")
    asked_again = get(client, path)
    post(client, f"{path}/undo", **ANN)
    restored = get(client, path)

    assert cost["cost_usd"] == cost["cost_pico"] / 10**12 > 0
    assert "what is wrong" in silent["error"]["message"]
    assert asked_again["result_id"] is None or asked_again["review_state"] != "unreviewed"
    assert (restored["data"], restored["review_state"]) == (data, "unreviewed")
    assert [kept["move"] for kept in restored["decisions"]] == ["undo", "reject"]


def test_many_are_decided_about_after_five_were_seen(client: TestClient, tasks: list[int]) -> None:
    post(client, f"/v1/tasks/{tasks[0]}/lease", **BO)
    preview = get(client, "/v1/runs/1/bulk", filter="text=Tenant", seed=3)
    again = get(client, "/v1/runs/1/bulk", filter="text=Tenant", seed=3)

    body = {**ANN, "move": "approve", "filter": "text=Tenant"}
    done = post(client, "/v1/runs/1/bulk", key="all", **body)
    repeated = post(client, "/v1/runs/1/bulk", key="all", **body)

    assert (preview["count"], len(preview["sample"])) == (8, 5)
    assert preview == again
    assert (done["decided"], done["skipped"]) == (7, 1)
    assert repeated["changed"] is False
    assert get(client, "/v1/runs/1/inbox/counts")["left"] == 1


def test_what_was_decided_at_once_is_taken_back_at_once(
    client: TestClient, tasks: list[int]
) -> None:
    done = post(client, "/v1/runs/1/bulk", **ANN, move="approve", filter="")
    path, any_of_them = "/v1/runs/1/bulk/undo", done["decision"] + 3
    undone = post(client, path, key="u", **BO, decision=any_of_them)
    repeated = post(client, path, key="u", **BO, decision=any_of_them)
    again = post(client, path, 409, **BO, decision=any_of_them)
    decisions = get(client, "/v1/runs/1/decisions")["items"]

    assert (done["decided"], undone["decided"], undone["skipped"]) == (8, 8, 0)
    assert (repeated["changed"], again["error"]["kind"]) == (False, "IllegalMove")
    assert [it["who"] for it in decisions] == ["Bo"] * 8 + ["Ann"] * 8
    assert {it["bulk"] for it in decisions[8:]} == {done["decision"]}
    assert get(client, "/v1/runs/1/inbox/counts")["left"] == 8
    post(client, "/v1/runs/2/bulk/undo", 404, **BO, decision=any_of_them)


def test_decisions_about_a_task_are_those_of_the_run_that_is_named(
    client: TestClient, tasks: list[int]
) -> None:
    post(client, f"/v1/tasks/{tasks[0]}/approve", **ANN)
    other = start_run(client, new=True)

    assert len(get(client, "/v1/runs/1/decisions", task=tasks[0])["items"]) == 1
    assert get(client, f"/v1/runs/{other}/decisions", task=tasks[0])["items"] == []


def test_what_is_wrong_with_a_request_is_said_in_one_line(
    client: TestClient, tasks: list[int]
) -> None:
    nameless = post(client, f"/v1/tasks/{tasks[0]}/approve", 422)
    unknown = post(client, "/v1/tasks/999/approve", 404, **ANN)
    strange = post(client, f"/v1/tasks/{tasks[0]}/approve", 422, **ANN, colour="red")
    move = post(client, "/v1/runs/1/bulk", 422, **ANN, move="burn", filter="")
    filtered = get(client, "/v1/runs/1/inbox", 422, filter="colour=red")

    assert "say who decides" in nameless["error"]["message"]
    signs = post(client, f"/v1/tasks/{tasks[0]}/approve", 422, who=" ?!")
    assert "with a letter or a digit" in signs["error"]["message"]
    assert "999" in unknown["error"]["message"]
    assert strange["error"]["message"].startswith("colour")
    assert move["error"]["message"].startswith("move")
    assert "reason=" in filtered["error"]["fix"]
    for path, code in (("/v1/runs/99/inbox", 404), ("/v1/runs/0/inbox", 422)):
        assert get(client, path, code)["error"]["message"]
    get(client, f"/v1/tasks/{2**63}", 422)
    get(client, "/v1/runs/1/inbox", 422, limit=501)
    get(client, "/v1/runs/1/inbox", 422, cursor="nowhere")


@pytest.mark.parametrize(
    "words",
    ["document=inf", "document=nan", "document=1e30", "score>=nan", "field.=1", "a\x00b", "=", '"'],
)
def test_no_filter_breaks_the_server(client: TestClient, words: str) -> None:
    answer = client.get("/v1/runs/1/inbox", params={"filter": words})
    bulk = client.get("/v1/runs/1/bulk", params={"filter": words})

    assert {answer.status_code, bulk.status_code} <= {200, 400, 422}


def test_a_viewer_looks_and_decides_nothing(client: TestClient, tasks: list[int]) -> None:
    sign_in(client, "Vi", AccessRole.VIEWER)

    for path in ("inbox", "inbox/counts", "leases", "bulk", "decisions", "audits"):
        get(client, f"/v1/runs/1/{path}")
    get(client, f"/v1/tasks/{tasks[0]}")
    for move in ("approve", "edit", "reject", "undo", "lease", "release"):
        post(client, f"/v1/tasks/{tasks[0]}/{move}", 403, note="n")
    for path in ("inbox/next", "leases", "leases/release", "bulk", "audits"):
        body: dict[str, Any] = {"tasks": [1], "move": "approve", "filter": ""}
        post(client, f"/v1/runs/1/{path}", 403, **body)


def test_people_who_signed_in_decide_as_themselves(client: TestClient, tasks: list[int]) -> None:
    sign_in(client, "Rae", AccessRole.REVIEWER)

    other = post(client, f"/v1/tasks/{tasks[0]}/approve", 422, **ANN)
    post(client, f"/v1/tasks/{tasks[0]}/approve")

    assert "signed in as Rae" in other["error"]["message"]
    assert get(client, "/v1/runs/1/decisions")["items"][0]["who"] == "Rae"


@pytest.mark.parametrize("move", ["approve", "edit", "reject"])
def test_an_answer_that_was_not_seen_is_not_decided_about(
    client: TestClient, tasks: list[int], move: str
) -> None:
    path, said = f"/v1/tasks/{tasks[0]}", {"approve": {}, "edit": {"changes": {"party": "Tenant"}}}
    body = {**ANN, **said.get(move, {"note": "the tenant pays"})}
    seen = get(client, path)["result_id"]
    post(client, f"{path}/edit", **ANN, changes={"headline": "Another"})
    now = get(client, path)

    refused = post(client, f"{path}/{move}", 409, key="k", **body, result=seen)["error"]

    assert "look at it again" in refused["message"]
    assert get(client, path)["result_id"] == now["result_id"]
    if move != "approve":  # what was edited is not approved again
        taken = post(client, f"{path}/{move}", key="l", **body, result=now["result_id"])
        assert taken["changed"] is True


def test_an_answer_that_was_seen_is_approved(client: TestClient, tasks: list[int]) -> None:
    path = f"/v1/tasks/{tasks[0]}"
    seen = get(client, path)["result_id"]

    assert post(client, f"{path}/approve", **ANN, result=seen)["changed"] is True


def test_a_reviewer_holds_a_bounded_number_and_an_admin_takes_one_away(
    client: TestClient, tasks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "MOST_HELD", 3)

    held = post(client, "/v1/runs/1/leases", **ANN, tasks=tasks[:5])
    again = post(client, "/v1/runs/1/leases", **ANN, tasks=tasks[:3])  # for longer
    full = post(client, "/v1/runs/1/inbox/next", 409, **ANN, count=1)
    broken = client.delete(f"/v1/tasks/{tasks[0]}/lease").json()
    taken = post(client, f"/v1/tasks/{tasks[0]}/lease", **BO)

    assert held["tasks"] == again["tasks"] == tasks[:3]
    assert "nobody holds more than 3" in held["refused"][0]["message"]
    assert "Ann holds 3 items" in full["error"]["message"]
    assert broken == {"released": 1}
    assert taken["who"] == "Bo"


def test_items_are_leased_in_the_run_that_they_are_of(client: TestClient, tasks: list[int]) -> None:
    other = start_run(client, limit=1, new=True)

    assert post(client, "/v1/runs/99999/leases", 404, **ANN, tasks=tasks[:1])
    wrong = post(client, f"/v1/runs/{other}/leases", **ANN, tasks=tasks[:1])

    assert wrong["tasks"] == []
    assert wrong["refused"][0]["message"] == f"run {other} has no task {tasks[0]}"
