"""What tests of pages may ask for: a browser's page, and where pictures of pages are kept."""

import os
from asyncio import AbstractEventLoop, _set_running_loop, get_running_loop
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.time_limits import load
from tests.web.browser import PICTURES, run_chromium

# What a browser says of a server that is away, and of refusals that a page shows to the person.
EXPECTED = (
    *("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED_ENCODING"),
    *("status of 409", "status of 422"),
)
WAIT = 30_000  # milliseconds, of an idle machine, until something that must come is given up


@pytest.fixture(scope="session")
def chromium() -> Iterator[str]:
    """One Chromium for this test process."""
    with run_chromium() as address:
        yield address


@pytest.fixture(scope="session")
def steering(chromium: str) -> Iterator[tuple[Browser, AbstractEventLoop]]:
    """What steers it, a process that takes most of a second to start, and its event loop.

    The loop runs in this thread as long as it lives, but only tests of pages see it: to all others
    no loop is running, so that they may have their own.
    """
    with sync_playwright() as playwright:
        browser, loop = playwright.chromium.connect_over_cdp(chromium), get_running_loop()
        _set_running_loop(None)
        yield browser, loop
        _set_running_loop(loop)


@pytest.fixture
def browser(steering: tuple[Browser, AbstractEventLoop]) -> Iterator[Browser]:
    """The browser, for a test during which its event loop is the one that runs."""
    browser, loop = steering
    _set_running_loop(loop)
    yield browser
    _set_running_loop(None)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page of a browser that has never been anywhere; what goes wrong in it fails the test."""
    problems: list[str] = []
    context = browser.new_context(
        viewport={"width": 1280, "height": 844}, accept_downloads=True, color_scheme="light"
    )
    context.set_default_timeout(WAIT * load())
    expect.set_options(timeout=WAIT * load())  # of itself it waits 5 seconds, however busy
    made = context.new_page()
    made.on("pageerror", lambda error: problems.append(str(error)))
    made.on("console", lambda said: problems.extend([said.text] * (said.type == "error")))
    yield made
    context.close()
    assert [problem for problem in problems if not any(map(problem.count, EXPECTED))] == []


@pytest.fixture
def pictures() -> Path | None:
    """Where pictures of pages go, if anywhere."""
    named = os.environ.get(PICTURES)
    return Path(named) if named else None
