"""A new run from the page: documents, a schema drafted and mended, a plan, a try, a start."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from quire.engine.examples import load_example
from tests.server.sites import open_site
from tests.web.browser import axe_violations, serve_site, take_pictures

HOSTILE = "</script><script>alert(1)</script>"
LEASE = "".join(f"The Tenant pays the Landlord ${n},450 on {n} May 2026.\n\n" for n in range(1, 9))


def test_the_page_offers_what_is_here(tmp_path: Path) -> None:
    with open_site(tmp_path) as client:
        client.post("/v1/examples")
        client.post("/v1/documents", files={"files": (f"{HOSTILE}.md", b"# x")})
        client.post("/v1/wallets", json={"name": "team"})

        page = client.get("/new?documents=2,99,x,&schema=%22%3E%3Cscript%3E").text

    assert "All in use: 4 documents, 53 blocks" in page
    assert '<option value="schema:clauses">' in page
    assert '<option value="recipe:summarise">' in page
    assert '<option value="simulated/small">' in page
    assert "<option>team</option>" in page
    assert re.search(r'value="2"[^>]* checked', page)
    assert "<script>alert" not in page
    assert '"><script>' not in page


def test_from_dropped_files_to_a_started_run(
    tmp_path: Path, page: Page, pictures: Path | None
) -> None:
    (tmp_path / "lease.md").write_text(LEASE)
    with serve_site(tmp_path) as site:
        site.engine.wallets.create("team", 1)
        page.goto(f"{site.url}/new")
        page.set_input_files("#files", tmp_path / "lease.md")
        expect(page.locator("#documents-words")).to_have_text("1 document, 8 blocks")
        expect(page.get_by_label("All in use: 1 document, 8 blocks")).to_be_visible()
        expect(page.locator("#peek-blocks", has_text="The Tenant pays")).to_be_visible()

        page.get_by_role("button", name="simulated model").click()
        _draft(page, "kind of payment, amount and due date of every payment")
        expect(page.locator("#draft-words")).to_contain_text("nothing is kept yet")
        expect(page.get_by_label("Name of field 2")).to_have_value("amount")
        assert site.engine.schemas() == []
        _check_faces(page)
        assert axe_violations(page) == []

        page.get_by_role("button", name=re.compile(r"^Try on 3 blocks · about \$0\.0")).click()
        expect(page.locator(".trial")).to_have_count(3)
        expect(page.locator(".trial").first).to_contain_text("sum_due")
        take_pictures(page, "new", pictures)
        page.set_viewport_size({"width": 1280, "height": 844})
        page.emulate_media(color_scheme="dark")
        assert axe_violations(page) == []

        _look_at_money(page)
        page.locator("#start").click()
        page.wait_for_url("**/runs/*")
        run = site.engine.get(int(page.url.rsplit("/", 1)[1]))
        run.wait()
        rows = run.rows()
        assert len(rows) == 8
        assert all("sum_due" in row for row in rows)


def _look_at_money(page: Page) -> None:
    """A budget that covers no call is not started with; a wallet pays for simulated models."""
    expect(page.locator("#variants label")).to_have_count(2)
    expect(page.locator("#start")).to_have_text(re.compile(r"^Start · about \$0\.0\d+, at"))
    page.get_by_label("Budget, in dollars").fill("0.000001")
    expect(page.locator("#start-words")).to_contain_text("covers no call")
    expect(page.locator("#start")).to_be_disabled()
    page.get_by_label("Budget, in dollars").fill("")
    page.get_by_label("Wallet").select_option("team")
    expect(page.locator("#start-words")).to_contain_text("wallet team is charged")
    page.get_by_label("Wallet").select_option("")


def test_a_recipe_is_planned_with_its_parameters(tmp_path: Path, page: Page) -> None:
    with serve_site(tmp_path, workers=0) as site:
        page.goto(f"{site.url}/new?recipe=dialectic&model=simulated/small")
        expect(page.locator("#plan-words")).to_have_text("Fill in brief.")
        expect(page.locator("#plan-words")).not_to_have_class("problem")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

        page.get_by_label("brief (needed)").fill("Should the choir buy a bus?")
        page.get_by_label("words:").fill("200")
        page.get_by_label("Models, with commas").fill("simulated/small, simulated/medium")

        expect(page.locator("#plan-why")).to_contain_text("thesis")
        expect(page.locator("#start")).to_be_enabled()
        expect(page.locator("#question-words")).to_contain_text("only where you choose")
        assert "--models simulated/small,simulated/medium" in str(
            page.locator("#command").get_attribute("data-command")
        )
        assert axe_violations(page) == []


def test_what_cannot_be_read_is_refused_at_its_field(tmp_path: Path, page: Page) -> None:
    wrong = {
        "budget": ["5,00", "abc", "0", "-3", "1000001", "1e3"],
        "limit": ["x", "-3", "0", "2.5"],
        "deadline": ["soon", "-2h"],
    }
    with serve_site(tmp_path, workers=0) as site:
        load_example(site.engine)
        page.goto(f"{site.url}/new?schema=clauses&model=simulated/small&budget=abc")
        start = page.locator("#start")
        expect(page.locator("#budget-problem")).to_contain_text("a number of dollars, such as 5")
        expect(page.locator("#plan-words")).to_contain_text("Mend what is marked")
        page.fill("#budget", "")
        expect(start).to_be_enabled()

        for name, texts in wrong.items():
            for text in texts:
                page.fill(f"#{name}", text)
                expect(page.locator(f"#{name}-problem")).to_be_visible()
                expect(page.locator("#start-words")).to_contain_text("Mend what is marked")
                assert start.is_disabled()
                assert start.inner_text() == "Start"
            assert axe_violations(page) == []
            page.fill(f"#{name}", "")
            expect(start).to_be_enabled()

        page.fill("#budget", "$5")
        page.fill("#limit", "7")
        page.fill("#deadline", "2h")
        expect(start).to_be_enabled()
        with page.expect_request(lambda sent: sent.url.endswith("/v1/runs")) as sending:
            start.click()
        page.wait_for_url("**/runs/*")
    told = json.loads(sending.value.post_data or "")
    assert (told["budget_usd"], told["limit"], told["policy"]["deadline"]) == (5, 7, "2h")


def test_the_plan_accounts_for_every_block(tmp_path: Path, page: Page) -> None:
    with serve_site(tmp_path, workers=0) as site:
        load_example(site.engine)
        (tmp_path / "again.md").write_text("It is so.\n\nIt is not.\n\nIt is so.\n")
        page.goto(f"{site.url}/new?schema=clauses&model=simulated/small")
        page.set_input_files("#files", tmp_path / "again.md")
        expect(page.locator("#plan-words")).to_contain_text(
            "2 blocks asked in 1 call · 1 block more says"
        )
        expect(page.locator("#plan-why")).to_contain_text("priced for what is left to ask")
        alone = page.locator(".variant", has_text="one per call").first
        expect(alone).to_contain_text("2 calls")  # of the same two blocks as the way beside it
        rows = page.locator(".variant:has(input)")
        prices = rows.locator(".number:not(.quiet)").all_inner_texts()
        bars = rows.locator("rect").evaluate_all("all => all.map(one => one.width.baseVal.value)")
        costs = [float(price.removeprefix("$")) for price in prices]
        assert bars == pytest.approx([100 * cost / max(costs) for cost in costs], rel=0.1)


def test_a_broken_schema_takes_its_plan_and_price_along(tmp_path: Path, page: Page) -> None:
    with serve_site(tmp_path, workers=0) as site:
        load_example(site.engine)
        page.goto(f"{site.url}/new?question=new&model=simulated/small")
        start, text = page.locator("#start"), page.locator("#json")
        expect(start).to_be_enabled()
        page.get_by_role("tab", name="JSON").click()
        whole = text.input_value()

        for broken in ('{"title": "bad", "properties": {', whole.replace('"string"', '"sting"')):
            text.fill(broken)
            expect(page.locator("#start-words")).to_contain_text("The schema has a mistake")
            assert start.is_disabled()
            assert start.inner_text() == "Start"
            expect(page.locator("#variants label")).to_have_count(0)

        text.fill(whole)
        expect(start).to_be_enabled()
        expect(page.locator("#start-words")).to_be_empty()


def _draft(page: Page, wish: str) -> None:
    page.select_option("#question", "new")
    page.fill("#wish", wish)
    with page.expect_request("**/v1/schemas/draft") as sent:
        page.get_by_role("button", name="Draft it · for up to $0.25", exact=True).click()
    assert (sent.value.post_data_json or {})["max_cost_usd"] == 0.25


def _check_faces(page: Page) -> None:
    """What is done in one face stands in the other; while the text is no JSON, the form waits."""
    checked: list[str] = []
    page.on("request", lambda it: checked.append(it.post_data or "") if "check" in it.url else None)
    page.get_by_label("Name of field 2").fill("sum_due")
    page.get_by_label("Name of field 2").press("Tab")
    page.get_by_role("tab", name="JSON").click()
    text = page.locator("#json")
    expect(text).to_have_value(re.compile('"sum_due": {'))
    whole = text.input_value()

    text.fill(whole.replace('"type": "object",', '"type": "object"'))
    expect(page.locator("#json-problems")).to_contain_text("line 4 a comma or } is missing before")
    expect(page.locator("#start")).to_be_disabled()
    page.get_by_role("tab", name="Form").click()
    expect(page.locator("#form-face")).to_contain_text("The JSON has a mistake at line 4")

    page.get_by_role("tab", name="JSON").click()
    expect(page.locator("#json-problems")).to_contain_text("line 4 a comma or } is missing before")
    text.fill(whole.replace('"number"', '"nombre"'))
    expect(page.locator("#json-problems")).to_contain_text("/properties/sum_due/type: must be one")
    text.fill(whole)
    expect(page.locator("#schema-state")).to_have_text("✓ fine")
    page.get_by_role("tab", name="Form").click()
    expect(page.get_by_label("Name of field 2")).to_have_value("sum_due")
    assert all(json.loads(json.loads(body)["body"]) for body in checked)  # its mistakes are ours


def test_a_schema_file_is_kept_as_a_schema_or_opened_and_never_taken_for_a_document(
    tmp_path: Path, page: Page
) -> None:
    body = {"type": "object", "properties": {"party": {"type": "string", "description": "x" * 400}}}
    (tmp_path / "parties.json").write_text(json.dumps(body))
    with serve_site(tmp_path) as site:
        page.goto(f"{site.url}/new")
        page.set_input_files("#schema-file", tmp_path / "parties.json")
        expect(page.get_by_label("Title")).to_have_value("parties")
        assert site.engine.schemas() == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.get_by_role("tab", name="JSON").click()
        lines, text = page.locator("#lines"), page.locator("#json")
        assert text.evaluate("text => text.scrollWidth <= text.clientWidth")
        heights = [part.evaluate("part => part.scrollHeight") for part in (lines, text)]
        assert abs(heights[0] - heights[1]) < 10

        page.set_input_files("#files", tmp_path / "parties.json")
        assert axe_violations(page) == []
        page.get_by_role("button", name="Keep as a schema").click()
        expect(page.locator("#question")).to_have_value("schema:parties")
        assert [schema.ref for schema in site.engine.schemas()] == ["parties"]

        page.goto(f"{site.url}/documents")
        page.set_input_files("#files", tmp_path / "parties.json")
        page.get_by_role("button", name="Keep as a schema").click()
        expect(page.locator("#next-step a")).to_have_text("Ask with the schema parties")
        assert list(site.engine.documents()) == []
