"""The home page: a first visit, what needs somebody, and the runs."""

import re
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

from markupsafe import escape

from quire.domain.access import AccessRole
from quire.domain.data import Json
from quire.domain.policy import Policy
from quire.domain.runs import HeldError
from quire.engine import open_engine
from quire.engine.examples import load_example
from quire.server.site import Site
from quire.web.policy_words import FUND_WORDS, POLICY_WORDS
from quire.web.run_lines import read_run_line
from tests.server.counted_statements import counted_statements
from tests.server.review_sites import sign_in
from tests.server.sites import open_site, start_run

HOSTILE = '"><script>alert(1)</script>\u202egpj.exe'


def test_a_first_visit_offers_the_simulated_model_and_a_key(tmp_path: Path) -> None:
    with open_site(tmp_path) as client:
        first = client.get("/").text
        loaded = client.post("/v1/examples")

        after = client.get("/").text

    assert "simulated model" in first
    assert 'data-post="/v1/examples"' in first
    assert "Add a key" in first
    assert loaded.json() == {"documents": [1, 2, 3], "schema_name": "clauses"}
    assert "There are 3 documents here already" in after


def test_runs_are_shown_with_what_they_cost_and_what_they_need(tmp_path: Path) -> None:
    with open_engine(str(tmp_path / "quire.db"), environment={}) as engine:
        load_example(engine)
        engine.run(schema="clauses", model="simulated/small").wait()
        engine.run(schema="clauses", model="simulated/small", new=True)
        poor = engine.run(schema="clauses", model="simulated/large", budget_usd="0.000001")
        with suppress(HeldError):
            poor.wait()
        line = read_run_line(engine, poor.id)

    assert line.left_words == ""  # nobody can tell
    assert line._replace(seconds_left=240.0).left_words == "4 min left"
    with open_site(tmp_path) as client:
        page, running = client.get("/").text, client.get("/?show=running").text
        needs, odd = client.get("/?show=needs").text, client.get("/?show=odd")

    assert '<tr data-key="1">' in page
    assert "52 of 52" in re.sub("<.*?>", "", page)
    assert "(forecast $" in page
    assert "run 3 is held: " in page
    assert "Raise its budget" in page
    assert "`" not in page
    assert "Nothing needs you" not in page
    assert 'data-key="1"' not in running
    assert 'data-key="2"' in running
    assert 'data-key="3"' in needs
    assert 'data-key="2"' not in needs
    assert odd.status_code == 422


def test_who_signed_in_finds_the_runs_that_they_started(tmp_path: Path) -> None:
    with open_site(tmp_path) as client:
        client.post("/v1/examples")
        alone = client.get("/").text
        sign_in(client, "ann", AccessRole.OPERATOR)
        start_run(client, schema="clauses", documents=[1])
        sign_in(client, "bo", AccessRole.OPERATOR)
        start_run(client, schema="clauses", documents=[2])
        page, mine = client.get("/").text, client.get("/?show=mine").text
        sign_in(client, "cy", AccessRole.VIEWER)
        none = client.get("/?show=mine").text

    assert "?show=mine" not in alone
    assert "No run was started by you" in none
    assert re.findall(r'<tr data-key="(\d+)"', page) == ["2", "1"]
    assert re.findall(r'<tr data-key="(\d+)"', mine) == ["2"]


def test_names_of_others_are_shown_as_text(tmp_path: Path) -> None:
    body: dict[str, Json] = {
        "title": HOSTILE,
        "type": "object",
        "additionalProperties": False,
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
    }
    with open_engine(str(tmp_path / "quire.db"), environment={}) as engine:
        load_example(engine)
        engine.run(schema=engine.add_schema(body), model="simulated/small")

    with open_site(tmp_path) as client:
        pages = [client.get(path).text for path in ("/", f"/jump?q={HOSTILE}", "/jump?q=a")]

    for page in pages:
        assert "<script>alert" not in page


def test_the_search_field_goes_where_somebody_means(tmp_path: Path) -> None:
    with open_engine(str(tmp_path / "quire.db"), environment={}) as engine:
        load_example(engine)
        engine.run(schema="clauses", model="simulated/small")

    with open_site(tmp_path) as client:
        places = {
            words: client.get("/jump", params={"q": words}, follow_redirects=False)
            for words in ("1", "run 1", "document 2", "call 421", "lease", "99", "clauses", "")
        }

    gone = {words: answer.headers.get("location") for words, answer in places.items()}
    assert gone["1"] == gone["run 1"] == "/runs/1"
    assert gone["document 2"] == "/documents/2"
    assert gone["call 421"] == "/calls/421"
    assert gone["lease"] == "/documents/1"
    assert "Nothing here has that name" in places["99"].text
    assert "/new?schema=clauses" in places["clauses"].text
    assert "a part of a name" in places[""].text


def test_places_are_suggested_by_as_many_statements_however_much_there_is(tmp_path: Path) -> None:
    words = ("run 1", "1", "call 4", "lea", "CLAU", "nothing", "")
    with open_engine(str(tmp_path / "quire.db"), environment={}) as engine:
        load_example(engine)
        engine.run(schema="clauses", model="simulated/small")
        with open_site(tmp_path) as client, counted_statements() as few:
            found = {word: client.get("/jump/places", params={"q": word}).text for word in words}
        for _ in range(3):
            engine.run(schema="clauses", model="simulated/small", new=True)
        with open_site(tmp_path) as client, counted_statements() as many:
            more = client.get("/jump/places?q=clauses").text

    assert found["run 1"].count("<li") == found["call 4"].count("<li") == 1
    assert 'data-href="/runs/1"' in found["1"]
    assert 'data-href="/calls/4"' in found["call 4"]
    assert 'data-href="/documents/1"' in found["lea"]
    assert found["CLAU"].index("/new?schema=clauses") < found["CLAU"].index("/runs/1")
    assert found["nothing"].strip() == found[""].strip() == ""
    assert more.count("/runs/") == 4
    assert sorted(few) == sorted(many)  # seven texts, and one


def test_results_that_want_a_person_are_told_with_their_reasons(tmp_path: Path) -> None:
    place = str(tmp_path / "quire.db")
    with open_engine(place, environment={}, faults="stranger=1") as engine:
        load_example(engine)
        engine.run(schema="clauses", model="simulated/small").wait()

    with open_site(tmp_path) as client:
        page, needs = client.get("/").text, client.get("/?show=needs").text

    assert "52 results of run 1 want a person: 52 of packs with stray ids" in page
    assert "nobody has looked at" not in page
    assert 'href="/runs/1/review"' in page
    assert 'data-key="1"' in needs


def test_money_and_what_nobody_looked_at_are_called_what_they_are(tmp_path: Path) -> None:
    with open_engine(str(tmp_path / "quire.db"), environment={}) as engine:
        load_example(engine)
        engine.run(schema="clauses", model="simulated/small").wait()

    with open_site(tmp_path) as client:
        home, spend = (" ".join(client.get(path).text.split()) for path in ("/", "/spend"))

    assert "no result is in doubt. 52 results were never looked at by a person" in home
    assert re.search(r"\$0 today<span[^>]*> \+ \$0\.\d+ simulated</span>", home)
    assert "<dt>spent</dt><dd>$0</dd>" in spend
    assert re.search(r"<dt>simulated: no money</dt><dd>\$0\.\d+</dd>", spend)
    assert "100 %</td>" in spend  # of one run: all of it


def test_errors_of_pages_are_pages_even_those_that_nobody_expected(tmp_path: Path) -> None:
    page = {"Accept": "text/html"}
    with open_site(tmp_path) as client:
        site: Site = client.app.state.site  # type: ignore[attr-defined]  # it is ours
        nowhere, no_run = (client.get(path, headers=page) for path in ("/nowhere", "/runs/99"))
        site.answers = None  # type: ignore[assignment]  # so that a page stumbles
        ours = client.get("/runs", headers=page)
        program = client.get("/runs")

    assert (nowhere.status_code, no_run.status_code, ours.status_code) == (404, 404, 500)
    assert "There is no page at this address." in nowhere.text
    assert 'href="/runs">All runs</a>' in no_run.text
    assert "<h1>Something went wrong</h1>" in ours.text
    assert "Content-Security-Policy" in ours.headers
    assert program.json()["error"]["kind"] == "InternalError"


def test_every_policy_value_says_what_it_does_and_what_it_takes(tmp_path: Path) -> None:
    with open_site(tmp_path) as client:
        client.put("/v1/policy", json={"policy": {"pack_size": 7}})

        page = client.get("/settings").text

    assert list(POLICY_WORDS) == [item.name for item in fields(Policy)]
    for name, words in {**POLICY_WORDS, **FUND_WORDS}.items():
        assert f"<code>{name}</code>" in page
        assert str(escape(words.does)) in page
    assert 'data-policy-back="pack_size"' in page
    assert page.count("data-policy-back") == 1
