"""What all pages share: the header, keys, the theme, and numbers that stay true."""

from pathlib import Path

from playwright.sync_api import Page, expect

from quire.engine.examples import load_example
from tests.server.sites import open_site
from tests.web.browser import axe_violations, serve_site


def test_every_page_says_where_one_is_and_what_today_cost(tmp_path: Path) -> None:
    with open_site(tmp_path) as client:
        page = client.get("/").text

    assert "workspace: " in page
    assert "$0 today" in page
    assert "0 workers" in page
    assert 'style="' not in page


def test_keys_the_theme_and_a_server_that_was_away(tmp_path: Path, page: Page) -> None:
    with serve_site(tmp_path) as site:
        page.goto(site.url)
        page.keyboard.press("/")
        expect(page.locator("#jump")).to_be_focused()
        page.keyboard.type("se")
        expect(page.get_by_role("option").first).to_be_visible()
        assert axe_violations(page) == []
        page.keyboard.press("Escape")
        expect(page.get_by_role("option")).to_have_count(0)
        expect(page.locator("#jump")).to_be_focused()
        page.keyboard.type("t")
        expect(page.get_by_role("option", name="Settings")).to_be_visible()
        page.keyboard.press("ArrowDown")
        expect(page.locator("#jump")).to_have_attribute("aria-activedescendant", "jump-place-0")
        page.keyboard.press("Enter")
        expect(page).to_have_url(f"{site.url}/settings")
        page.goto(site.url)
        page.keyboard.press("?")
        expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
        page.keyboard.press("Escape")
        assert axe_violations(page) == []
        page.get_by_role("button", name="Light or dark").click()
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        assert axe_violations(page) == []
        expect(page.locator(".numbers")).to_contain_text("1 worker")

    page.evaluate("import('/static/quire.js').then(quire => quire.refresh())")
    expect(page.locator("#away")).to_be_visible()

    with serve_site(tmp_path, port=site.port, workers=0):
        expect(page.locator("#away")).to_be_hidden()
        expect(page.locator(".numbers")).to_contain_text("0 workers")


def test_new_rows_wait_until_somebody_wants_them(tmp_path: Path, page: Page) -> None:
    with serve_site(tmp_path, workers=0) as site:
        load_example(site.engine)
        site.engine.run(schema="clauses", model="simulated/small")
        page.goto(site.url)
        expect(page.locator("tbody tr")).to_have_count(1)

        site.engine.run(schema="clauses", model="simulated/small", new=True)

        news = page.get_by_role("button", name="1 new")
        expect(news).to_be_visible()
        expect(page.locator("tbody tr")).to_have_count(1)
        news.click()
        expect(page.locator("tbody tr")).to_have_count(2)


def test_an_error_is_a_page_for_people_and_json_for_programs(tmp_path: Path) -> None:
    page = {"Accept": "text/html"}
    with open_site(tmp_path) as client:
        missing = client.get("/documents/9<b>", headers=page)
        absent = client.get("/documents/9", headers=page)
        nowhere = client.get("/nowhere", headers=page)
        told = client.get("/documents/9")
        called = client.get("/v1/documents/9", headers=page)

    assert [missing.status_code, absent.status_code, nowhere.status_code] == [422, 404, 404]
    assert "There is no document 9" in absent.text
    assert "<code>quire documents</code>" in absent.text
    assert "Skip to the content" in nowhere.text
    assert told.json()["error"]["kind"] == called.json()["error"]["kind"] == "NotFound"
