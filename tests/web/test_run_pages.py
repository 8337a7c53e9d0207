"""Pages of runs: what they say, filters in their addresses, and hostile text shown as text."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import orjson
import pytest
from fastapi.testclient import TestClient

from quire.domain.data import Json
from quire.engine import Engine, RunHandle, open_engine
from quire.engine.examples import load_example
from quire.server.access import AccessRole, Principal, find_principal
from quire.server.shared_answers import SharedAnswers
from quire.server.site import Site
from quire.web.site_app import make_site_app
from tests.server.counted_statements import counted_statements
from tests.server.sites import OWN_HOST, open_site
from tests.world import METADATA, sentences

HOSTILE = (
    "<script>alert('text')</script>",
    '"><img src=x onerror=alert(1)>',
    "</textarea></pre><b>bold</b>",
    "right to left \u202e evil \u2066 marks",
    "escape \x1b[31m red",
    '=HYPERLINK("http://evil.example","click")',
    "{{ 7 * 7 }} {% raw %}",
    "x" * 1_000_000,
)
TABS = ("", "/failures", "/calls", "/batches", "/events", "/policy")


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """An engine on the ledger that the site of this test shows."""
    with open_engine(str(tmp_path / "quire.db"), environment={}) as opened:
        yield opened


@pytest.fixture
def client(tmp_path: Path, engine: Engine) -> Iterator[TestClient]:
    """Who looks at the site."""
    with open_site(tmp_path) as opened:
        yield opened


def start(engine: Engine, folder: Path, texts: list[str], **policy: Json) -> RunHandle:
    """Order a run over one file of rows."""
    file = folder / "rows.jsonl"
    file.write_bytes(b"".join(_json_line(text) for text in texts))
    engine.ingest(str(file), text_column="text")
    return engine.run(schema=METADATA, model="simulated/small", **policy)  # type: ignore[arg-type]


def _json_line(text: str) -> bytes:
    return orjson.dumps({"text": text}) + b"\n"


def test_a_run_says_how_it_stands_in_every_tab(
    engine: Engine, client: TestClient, tmp_path: Path
) -> None:
    run = start(engine, tmp_path, sentences(20), pack_size=5)
    run.wait()

    pages = {tab: client.get(f"/runs/{run.id}{tab}") for tab in TABS}

    assert {page.status_code for page in pages.values()} == {200}
    for page in pages.values():
        assert "20</strong> of 20 rows done" in page.text or "20</strong> of 20 blocks" in page.text
        assert "4 done" in page.text
        assert 'style="' not in page.text
    assert "word_count" in pages[""].text
    assert "Nothing failed" in pages["/failures"].text
    assert "No batches" in pages["/batches"].text
    assert "pack_size" in pages["/policy"].text
    assert f'href="/runs/{run.id}"' in client.get("/runs").text
    assert "No run is held" in client.get("/runs?state=held").text


def test_pages_and_filters_of_the_grid_are_in_the_address(
    engine: Engine, client: TestClient, tmp_path: Path
) -> None:
    run = start(engine, tmp_path, [*sentences(59), "Is this the needle?"], pack_size=20)
    run.wait()

    first = client.get(f"/runs/{run.id}").text
    following = re.search(r'rel="next" href="([^"]+)"', first)
    assert following
    second = client.get(unescape(following[1])).text
    found = client.get(f"/runs/{run.id}?field.has_question=yes&q=NEEDLE").text
    none = client.get(f"/runs/{run.id}?only=failed").text

    assert first.count("<tr data-key") == 50
    assert second.count("<tr data-key") == 10
    assert found.count("<tr data-key") == 1
    assert "Is this the needle?" in found
    assert "No result fits this filter" in none


def test_the_same_page_is_in_the_api(engine: Engine, client: TestClient, tmp_path: Path) -> None:
    run = start(engine, tmp_path, sentences(12), pack_size=6)
    run.wait()

    first = client.get(f"/v1/runs/{run.id}/results?limit=5").json()
    rest = client.get(f"/v1/runs/{run.id}/results?limit=50&cursor={first['next']}").json()
    strip = client.get(f"/v1/runs/{run.id}/strip").json()
    wrong = client.get(f"/v1/runs/{run.id}/results?cursor=%25%25")

    assert (len(first["items"]), len(rest["items"]), rest["next"]) == (5, 7, None)
    assert first["fields"] == ["word_count", "first_40_chars", "has_question"]
    assert strip["counts"]["done"] == strip["packs"] == 2
    assert wrong.status_code == 422
    assert "no cursor" in wrong.json()["error"]["message"]


def test_hostile_text_is_shown_as_text(engine: Engine, client: TestClient, tmp_path: Path) -> None:
    run = start(engine, tmp_path, list(HOSTILE), pack_size=1, max_tries=1)
    run.wait()
    tasks = [row["task_id"] for row in run.rows()]

    grid = client.get(f"/runs/{run.id}?q=%3Cscript%3Ealert(1)%3C/script%3E")
    pages = [
        client.get(f"/runs/{run.id}"),
        grid,
        client.get(f"/runs/{run.id}/failures"),
        *(client.get(f"/runs/{run.id}/results/{task}") for task in tasks),
    ]

    for page in pages:
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        assert "<img src=x" not in page.text
        assert "<b>bold</b>" not in page.text
        assert not set("\x1b\u202e\u2066") & set(page.text)
    assert len(pages[0].text) < 100_000  # a cell of a megabyte is clipped
    whole = next(page.text for page in pages[3:] if len(page.text) > 1_000_000)
    assert "x" * 1_000_000 in whole


def test_two_hundred_viewers_ask_the_ledger_what_one_does(
    engine: Engine, client: TestClient, tmp_path: Path
) -> None:
    run = start(engine, tmp_path, sentences(6), pack_size=3)
    run.wait()
    site: Site = client.app.state.site  # type: ignore[attr-defined]  # it is ours
    site.answers = SharedAnswers(lambda: 0.0)  # as long as no time passes

    with counted_statements() as alone:
        client.get(f"/runs/{run.id}")
    with counted_statements() as many:
        pages = [client.get(f"/runs/{run.id}") for _ in range(200)]

    assert {page.status_code for page in pages} == {200}
    of_the_run = {"strip_bins", "outcomes_after", "count_run_inputs", "spend_groups"}
    assert of_the_run <= set(alone)
    assert not of_the_run & set(many)


def test_who_may_only_look_is_shown_no_buttons_that_steer(
    engine: Engine, client: TestClient, tmp_path: Path
) -> None:
    run = start(engine, tmp_path, sentences(3), pack_size=3)
    looker = Principal("ann", AccessRole.VIEWER, "local")
    site: Site = client.app.state.site  # type: ignore[attr-defined]  # it is ours
    app = make_site_app(site)
    app.dependency_overrides[find_principal] = lambda: looker

    steers = client.get(f"/runs/{run.id}").text  # nobody works on it: there is nothing to pause
    looks = TestClient(app, base_url=OWN_HOST).get(f"/runs/{run.id}").text

    assert f"/v1/runs/{run.id}/cancel" in steers
    assert f"/v1/runs/{run.id}/cancel" not in looks
    assert f"/v1/runs/{run.id}/pause" not in steers + looks


def read_words(page: str) -> str:
    """What a page says, without its marks."""
    return " ".join(unescape(re.sub("<[^>]*>", " ", page)).split())


def test_a_run_at_its_limit_offers_to_go_on_and_nothing_to_pause(
    engine: Engine, client: TestClient, tmp_path: Path
) -> None:
    run = start(engine, tmp_path, sentences(6), pack_size=3, limit=3)
    run.wait()

    page = client.get(f"/runs/{run.id}").text

    words = read_words(page)
    assert "It was limited to 3 blocks, and stopped there." in words
    assert "limited to 3 of 6" not in words
    assert "Go on with the other 3 · about $" in words
    assert "at rest" not in words
    assert "s left" not in words
    assert f"/v1/runs/{run.id}/pause" not in page
    assert "1 pack ·" in words


def test_money_of_simulated_models_is_called_simulated_and_never_spent(
    engine: Engine, client: TestClient, tmp_path: Path
) -> None:
    run = start(engine, tmp_path, sentences(6), pack_size=3)
    run.wait()

    words = read_words(client.get(f"/runs/{run.id}").text)

    assert re.search(r"\$0\.\d+ simulated · forecast", words)
    assert "spent" not in words.replace("no money is spent", "")


def test_a_paused_run_is_paused_and_names_no_command(
    engine: Engine, client: TestClient, tmp_path: Path
) -> None:
    run = start(engine, tmp_path, sentences(3), pack_size=3)
    run.pause()

    page = client.get(f"/runs/{run.id}").text

    words = read_words(page)
    assert "paused" in words
    assert "held" not in words
    assert "`" not in words
    assert "quire resume" not in words  # it is behind the sign beside the button
    assert f'data-command="quire resume {run.id}"' in page


def test_a_run_that_has_just_begun_says_why_its_time_left_is_unknown(
    engine: Engine, client: TestClient, tmp_path: Path
) -> None:
    run = start(engine, tmp_path, ["One clause.", "Another clause."], limit=1)
    with engine.ledger.transaction() as tx:
        tx.workers.add_worker("elsewhere", 1, "0", engine.runtime.now())

    words = read_words(client.get(f"/runs/{run.id}").text)

    assert "limited to 1 of 2" in words
    assert "time left: unknown: nothing is answered yet" in words
    told = client.get(f"/v1/runs/{run.id}").json()["time_left"]
    assert told["unknown"] == "nothing_answered"


def test_each_cause_is_retried_by_itself_with_its_number(
    tmp_path: Path, client: TestClient
) -> None:
    with open_engine(str(tmp_path / "quire.db"), environment={}, faults="wrong=1") as engine:
        run = start(engine, tmp_path, sentences(3), pack_size=1, max_tries=1)
        run.wait()

    page = client.get(f"/runs/{run.id}/failures").text
    body = re.search(r"data-body='([^']+)'>Retry these 3 · about \$[0-9.]+ simulated", page)
    assert body
    said = client.post(f"/v1/runs/{run.id}/retry", json=orjson.loads(unescape(body[1])))

    assert said.json()["changed"] == 3


def test_the_grid_says_how_many_rows_there_are(
    engine: Engine, client: TestClient, tmp_path: Path
) -> None:
    run = start(engine, tmp_path, [*sentences(59), "Is this the needle?"], pack_size=20)
    run.wait()
    client.post(f"/v1/tasks/{run.rows()[0]['task_id']}/approve", json={"who": "Ann"})

    words = {
        asked: read_words(client.get(f"/runs/{run.id}{asked}").text)
        for asked in ("", "?only=failed", "?only=confirmed", "?q=needle")
    }

    assert "Filter 60 rows task" in words[""]
    assert "0 of 60 rows" in words["?only=failed"]
    assert "1 of 60 rows" in words["?only=confirmed"]
    assert "1 of 60 rows" in words["?q=needle"]


def test_exports_are_counted_by_stage_and_standing(
    engine: Engine, client: TestClient, tmp_path: Path
) -> None:
    load_example(engine)
    run = engine.run(recipe="extract_checked", model="simulated/small")
    run.wait()
    task = next(iter(run.rows(stage="facts")))["task_id"]
    client.post(f"/v1/tasks/{task}/approve", json={"who": "Ann"})

    page = client.get(f"/runs/{run.id}").text

    counted = re.search("data-counts='([^']+)'", page)
    assert counted
    counts = orjson.loads(unescape(counted[1]))
    assert counts["page"]["all"] == {"rows": 3, "exact": True}
    assert counts["facts"]["confirmed"] == {"rows": 1, "exact": True}
    assert counts["facts"]["accepted"]["rows"] == counts["facts"]["all"]["rows"] == 52


def test_results_of_several_models_say_whose_they_are(
    engine: Engine, client: TestClient, tmp_path: Path
) -> None:
    models = ["simulated/small", "simulated/large"]
    brief = {"brief": "Should the choir buy a bus?"}
    engine.run(recipe="dialectic", models=models, parameters=brief, stop_after="header").wait()

    words = read_words(client.get("/runs/1?stage=header").text)
    nothing = client.get("/runs/1").text  # of the last stage

    assert "where model state" in words
    assert "Results so far: header 2 ." in read_words(nothing)
    lows = [int(low) for low in re.findall(r'class="edge" d="M\d+ 64 C\d+ (\d+) ', nothing)]
    assert len(lows) == 5  # where a stage reads one that is not its neighbour
    assert min(lows) > 64 + 20  # below the boxes between them


def test_a_value_of_the_policy_stands_as_it_is_typed(
    engine: Engine, client: TestClient, tmp_path: Path
) -> None:
    run = start(engine, tmp_path, sentences(1))

    words = read_words(client.get(f"/runs/{run.id}/policy").text)

    assert "false: one true built-in" in words


def test_rows_of_tables_are_shown_by_their_values(
    engine: Engine, client: TestClient, tmp_path: Path
) -> None:
    file = tmp_path / "tickets.jsonl"
    file.write_bytes(b'{"id": "7", "subject": "printer", "text": "It is on fire."}\n')
    engine.ingest(str(file))
    run = engine.run(schema=METADATA, model="simulated/small")
    run.wait()

    words = read_words(client.get(f"/runs/{run.id}").text)

    assert "7 · printer · It is on fire." in words
