"""The page of the HTTP API: its examples are requests that a server takes."""

from pathlib import Path

from tests.docs.http_page import example_body, http_page, read_document, routes
from tests.server.sites import open_site, upload

OUTWARD = ("/v1/keys", "/v1/me/keys", "/v1/webhooks")  # that reach beyond the ledger


def test_the_page_tells_of_every_route_and_of_fields_that_may_be_left_out_together() -> None:
    page = http_page()
    named = [route.title for route in routes(read_document()) if f"### {route.title}\n" in page]
    _, _, resuming = page.partition("### POST /v1/runs/{run}/resume\n")

    assert len(named) == len(list(routes(read_document()))) > 80
    assert "| `budget_usd` | body | Number above 0 up to 1,000,000." in resuming.split("###")[0]


def test_a_server_takes_the_examples(tmp_path: Path) -> None:
    document = read_document()
    answers: dict[str, int] = {}
    with open_site(tmp_path) as client:
        upload(client)
        client.post("/v1/examples")
        for route in routes(document):
            body = example_body(document, route)
            if body is not None and route.path not in OUTWARD and "{" not in route.path:
                answers[route.title] = client.request(
                    route.method, route.path, json=body
                ).status_code

    assert {"POST /v1/plans", "POST /v1/runs", "POST /v1/tokens", "PUT /v1/policy"} <= set(answers)
    assert {title: status for title, status in answers.items() if status not in {200, 201}} == {}
