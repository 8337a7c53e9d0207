"""Pages of calls, recipes, money and settings: what they say, and what they hide."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from quire.domain.accounts import Secret
from quire.domain.pricing import dollars
from quire.engine import Engine, open_engine
from quire.engine.curl_commands import curl_command
from quire.pipeline.calls.prepare import prepare
from quire.pipeline.contexts import Contexts
from quire.pipeline.stages.expand import expand
from tests.server.review_sites import answer_texts, clauses
from tests.server.sites import open_site
from tests.web.test_run_pages import start
from tests.world import METADATA, sentences

KEY = "sk-ant-" + "k" * 40 + "tail"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """An engine on the ledger that the site of this test shows, with a model that misbehaves."""
    environment = {"QUIRE_SIMULATED_FAULTS": "wrong=0.2"}
    with open_engine(str(tmp_path / "quire.db"), environment=environment) as opened:
        yield opened


@pytest.fixture
def client(tmp_path: Path, engine: Engine) -> Iterator[TestClient]:
    """Who looks at the site."""
    with open_site(tmp_path) as opened:
        yield opened


def test_a_call_shows_prompt_answer_and_verdicts(
    engine: Engine, client: TestClient, tmp_path: Path
) -> None:
    texts = [*sentences(11), "<script>alert('block')</script>"]
    run = start(engine, tmp_path, texts, pack_size=4, max_tries=2)
    run.wait()
    calls = engine.queries.requests(run.id)

    pages = [client.get(f"/calls/{call.id}") for call in calls]

    assert {page.status_code for page in pages} == {200}
    first = engine.queries.exchange(calls[0].id)
    assert f'wire-0">{first.members[0].wire_id}<' in pages[0].text
    assert first.attempts[0].cost_basis == "usage"
    assert "usage</td>" in pages[0].text
    assert f"{dollars(first.attempts[0].cost_pico or 0)} simulated</td>" in pages[0].text
    assert "tokens in</th>" in pages[0].text
    assert any("retry</span>" in page.text for page in pages)
    assert not any("<script>alert" in page.text for page in pages)
    assert any("&lt;script&gt;alert" in page.text for page in pages)
    assert "Copy as curl" not in pages[0].text  # nobody is called: it is simulated


def test_a_call_shows_what_was_answered_beside_what_was_asked_nulls_too(
    client: TestClient, tmp_path: Path
) -> None:
    answer_texts(tmp_path, clauses(10))

    page = client.get("/calls/1").text

    first = page.partition('<div class="asked">')[2].partition("</li>")[0]
    assert "The Tenant of house 0 pays" in first
    assert "headline" in first
    assert '<span class="null">null</span>' in page
    assert '<a href="/runs" aria-current="page">' in page


def test_a_task_leads_to_its_neighbours_its_document_and_its_correction(
    client: TestClient, tmp_path: Path
) -> None:
    tasks = sorted(answer_texts(tmp_path, clauses(3)))

    first, second, last = (client.get(f"/runs/1/results/{task}").text for task in tasks)

    assert 'rel="prev"' not in first
    assert f'href="/runs/1/results/{tasks[0]}"' in second
    assert f'href="/runs/1/results/{tasks[2]}"' in second
    assert 'rel="next"' not in last
    assert 'href="/documents/1?run=1#block-1"' in second
    review = f"/runs/1/review?filter=review%3Dany&amp;item={tasks[1]}"
    assert f'href="{review}"' in second
    assert f'href="{review}&amp;edit=1"' in second
    assert 'href="/calls/1"' in second


def test_a_call_can_be_made_by_hand_without_its_key(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    file.write_text("It is raining; isn't it?")
    engine.ingest(str(file))
    run = engine.run(schema=METADATA, model="anthropic/claude-haiku-5-5")
    contexts = Contexts(engine.registry)
    with engine.ledger.transaction() as tx:
        (stage,) = tx.runs.stages_of_run(run.id)
        expand(tx, contexts, stage)
        (lane,) = tx.requests.open_lanes(engine.runtime.now())
        prepare(tx, contexts, contexts.of_lane(tx, lane), engine.runtime.now())
    (line,) = engine.queries.requests(run.id)

    command = curl_command(engine.context, line.id)

    assert command.startswith("curl https://api.anthropic.com/")
    assert "$API_KEY" in command
    assert "It is raining" in command


def test_recipes_are_shown_by_name_and_files_are_not_read(client: TestClient) -> None:
    listed = client.get("/recipes").text
    shown = client.get("/recipes/dialectic").text
    secret = client.get("/recipes/pyproject.toml")

    assert 'href="/recipes/dialectic"' in listed
    assert "antithesis reads thesis" in shown
    assert "min_length" in shown
    assert secret.status_code == 404


def test_spend_is_shown_by_anything_and_wallets_beside_it(
    engine: Engine, client: TestClient, tmp_path: Path
) -> None:
    run = start(engine, tmp_path, sentences(8), pack_size=4)
    run.wait()
    engine.wallets.create("team", 5)

    pages = {by: client.get(f"/spend?by={by}") for by in ("run", "stage", "model", "day", "key")}
    wrong = client.get("/spend?by=colour")

    assert {page.status_code for page in pages.values()} == {200}
    assert "simulated/small" in pages["model"].text
    assert all(
        f"{dollars(run.progress().cost_pico)} simulated<" in it.text for it in pages.values()
    )
    assert "Forecast against actual" in pages["run"].text
    assert re.search(
        r"simulated</td><td class=\"number\" data-th=\"off\">[+-]\d+ %</td>", pages["run"].text
    )
    assert "team" in pages["run"].text
    assert wrong.status_code == 422


def test_what_a_run_under_way_took_so_far_is_not_held_against_its_forecast(
    engine: Engine, client: TestClient, tmp_path: Path
) -> None:
    start(engine, tmp_path, sentences(8), pack_size=4)

    page = client.get("/spend").text

    assert '$0 simulated so far</td><td class="number" data-th="off">–</td>' in page


def test_settings_show_the_last_four_of_keys_and_policy_with_its_source(
    engine: Engine, client: TestClient, tmp_path: Path
) -> None:
    engine.keys.add("anthropic", "mine", Secret(KEY))

    engine.access_tokens.create("ann <b>", "reviewer")
    engine.workspace_policy.set({"max_tries": 4}, "ann")

    page = client.get("/settings").text

    assert "…tail" in page
    assert "ann &lt;b&gt;" in page
    assert "workspace" in page
    assert KEY not in page
    assert "max_tries" in page
    assert "built-in" in page
    assert "anthropic/claude-haiku-5-5" in page
