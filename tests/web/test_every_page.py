"""Every page of the demo, looked at: for everybody, within a phone's width, and kept as pictures.

`make pictures` keeps them: in light and dark at 1280 pixels, and at 390.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page

from quire.engine import Engine, open_engine
from quire.web.demo import fill_demo
from tests.web.browser import ServedSite, axe_violations, serve_site, take_pictures

FAILING = "refuse@rent,wrong@deposit,seed=7"  # a part of a run that stands beside the demo's
SCREENS: dict[int, Literal["light", "dark"]] = {1280: "light", 390: "dark"}
PAGES = {
    "home": "/",
    "documents": "/documents",
    "document": "/documents/1",
    "new_run": "/new?schema=clauses&model=simulated/small",
    "runs": "/runs",
    "run": "/runs/1",
    "run_of_recipe": "/runs/2",
    "run_under_way": "/runs/4",
    "run_with_failures": "/runs/5/failures",
    "run_calls": "/runs/5/calls",
    "run_batches": "/runs/1/batches",
    "run_events": "/runs/1/events",
    "run_policy": "/runs/1/policy",
    "task": "/runs/1/results/5",
    "review_inbox": "/runs/2/review",
    "decisions": "/runs/1/decisions",
    "audits": "/runs/1/audits",
    "audit_item": "/audits/1",
    "call": "/calls/1",
    "recipes": "/recipes",
    "recipe": "/recipes/extract_checked",
    "experiments": "/experiments",
    "experiment": "/experiments/3",
    "spend": "/spend",
    "settings": "/settings",
    "sign_in": "/signin",
    "search": "/jump?q=lease",
}


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[ServedSite]:
    """The demo's site, with failures, a decision, an audit and a wallet."""
    with serve_site(tmp_path, workers=0) as site:
        fill_demo(site.engine)
        _add_what_went_on(site.engine, tmp_path)
        yield site


def _add_what_went_on(engine: Engine, folder: Path) -> None:
    with open_engine(str(folder / "quire.db"), environment={}, faults=FAILING) as failing:
        failing.run(schema="clauses", model="simulated/medium", reuse=False).wait()
    engine.review.approve(1, "Ann")
    engine.review.start_audit(1, size=10, who="Ann")
    engine.wallets.create("team", 5)


def _look(page: Page) -> list[str]:
    """What keeps people from using a page, and whether it is wider than a screen or a phone."""
    wide: dict[int, int] = {}
    for width, scheme in SCREENS.items():
        page.set_viewport_size({"width": width, "height": 844})
        page.emulate_media(color_scheme=scheme)
        wide[width] = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    too_wide = [f"{more} pixels wider than {width}" for width, more in wide.items() if more > 0]
    return [*axe_violations(page), *too_wide]  # on a phone, and in the dark


def test_every_page_is_for_everybody_and_fits_a_phone(
    demo: ServedSite, page: Page, pictures: Path | None
) -> None:
    page.add_init_script("location.protocol === 'http:' && (localStorage.reviewer ??= 'Ann')")
    problems: list[str] = []
    seen = set[str]()
    for name, path in PAGES.items():
        page.goto(demo.url + path)
        if page.url not in seen:  # a search may lead to a page that was looked at
            problems += [f"{name}: {found}" for found in _look(page)]
        seen.add(page.url)
        take_pictures(page, name, pictures)

    assert "\n".join(problems) == ""
