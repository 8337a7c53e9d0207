"""The whole way in a real browser: from a dropped file to a reviewed, audited export."""

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.server.review_sites import clauses
from tests.web.browser import ServedSite, serve_site
from tests.web.review_steps import open_task, press, wait_ready, wait_saved

SIZE = 12


def test_from_a_dropped_file_to_a_reviewed_and_audited_export(tmp_path: Path, page: Page) -> None:
    (tmp_path / "lease.txt").write_text("\n\n".join(clauses(SIZE)))
    with serve_site(tmp_path) as site:
        _start(page, site, tmp_path / "lease.txt")
        run = int(page.url.rsplit("/", 1)[1])
        expect(page.locator("[data-live=state] .state")).to_have_text("finished")
        expect(page.locator(".legend")).to_contain_text("done")  # the strip has filled
        _review(page)
        _audit(page)
        site.engine.get(run).export(str(tmp_path / "own.csv"))
        page.goto(f"{site.url}/runs/{run}")
        _compare_export(page, tmp_path / "own.csv")


def _start(page: Page, site: ServedSite, file: Path) -> None:
    """Upload, let a schema be drafted, plan, start."""
    page.goto(f"{site.url}/new")
    page.set_input_files("#files", file)
    expect(page.locator("#documents-words")).to_have_text(f"1 document, {SIZE} blocks")
    page.get_by_label("What is asked of every block").select_option("new")
    page.locator("#wish").fill("party, amount and due date of every payment")
    page.locator("#draft-button").click()
    expect(page.locator("#draft-words")).to_contain_text("nothing is kept yet")
    expect(page.locator("#start")).to_contain_text("at most $")
    page.locator("#start").click()
    page.wait_for_url("**/runs/*")


def _review(page: Page) -> None:
    """Approve one by key, take it back, approve it again and the next one, too."""
    page.get_by_role("link", name="Review").click()
    page.get_by_label("Your name").fill("Ann")
    page.keyboard.press("Enter")
    wait_ready(page)
    first = open_task(page)
    press(page, "a", first + 1)
    wait_saved(page)
    press(page, "u", first)
    expect(page.locator("#left")).to_have_text(str(SIZE))
    press(page, "a", first + 1)
    press(page, "a", first + 2)
    wait_saved(page)


def _audit(page: Page) -> None:
    page.get_by_role("link", name="Audit").click()
    page.get_by_label("Look at how many?").fill("3")
    page.get_by_role("button", name="Draw the sample").click()
    page.wait_for_selector("#audit[data-ready]")
    for no in range(3):
        expect(page.locator(f'article.item[data-no="{no}"]')).to_be_visible()
        page.keyboard.press("a")
    expect(page.locator("#nothing")).to_contain_text("All 3 are marked")


def _compare_export(page: Page, own: Path) -> None:
    """What is downloaded is what the command line writes, the decisions in it."""
    page.get_by_role("button", name="Export…").click()
    page.get_by_label("format").select_option("csv")
    with page.expect_download() as coming:
        page.get_by_role("button", name="Download").click()
    downloaded = coming.value.path().read_text()
    assert downloaded == own.read_text()
    assert downloaded.count("confirmed") == 2
