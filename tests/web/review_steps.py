"""Steps of tests of the review page: opened, steered by keys, waited for."""

from playwright.sync_api import Page, expect

from tests.web.browser import ServedSite

REVIEW = "/runs/1/review"


def open_review(page: Page, site: ServedSite, who: str, query: str = "") -> None:
    """Open the inbox of run 1, and say who one is if that is asked."""
    page.add_init_script(f"location.protocol === 'http:' && (localStorage.reviewer ??= '{who}')")
    page.goto(site.url + REVIEW + query)
    wait_ready(page)


def wait_ready(page: Page) -> None:
    page.wait_for_selector("#review[data-ready]")


def open_task(page: Page) -> int:
    """The task whose item is open."""
    return int(page.locator("article.item").get_attribute("data-task") or 0)


def press(page: Page, key: str, task: int) -> None:
    """Press a key that leads to another item, and wait until that is there."""
    page.keyboard.press(key)
    expect(page.locator(f'article.item[data-task="{task}"]')).to_be_visible()


def wait_saved(page: Page) -> None:
    expect(page.locator("#saving")).to_be_empty()
