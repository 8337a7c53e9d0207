"""A run in a real browser: its strip fills, keys pause it, and its export is the file."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from playwright.sync_api import Page, expect

from quire.domain.reasons import HoldKind
from quire.domain.runs import HeldError
from quire.engine import RunHandle
from quire.engine.examples import load_example
from quire.web.result_grid import ROWS
from tests.web.browser import axe_violations, serve_site, take_pictures
from tests.world import World, sentences

PACKS, EACH = 12, 5


class Gate:
    """Lets so many answers through, and keeps the others back."""

    def __init__(self) -> None:
        """Let none through."""
        self.open_for = 0

    def holds(self, number: int) -> bool:
        """Whether an answer has to wait."""
        return number > self.open_for


@contextmanager
def working(here: World) -> Iterator[None]:
    """A worker, until the end."""
    ended = threading.Event()
    thread = threading.Thread(target=here.engine.work, args=(ended.is_set,), name="worker")
    thread.start()
    try:
        yield
    finally:
        ended.set()
        here.model.hold = lambda number: False
        here.engine.stop()
        thread.join()


def test_a_run_is_watched_paused_resumed_and_exported(
    tmp_path: Path, page: Page, pictures: Path | None
) -> None:
    gate = Gate()
    here = World(str(tmp_path / "quire.db"))
    here.model.hold = gate.holds
    here.ingest(sentences(PACKS * EACH))
    run = here.start(pack_size=EACH, concurrency=2)
    legend, state = page.locator(".legend"), page.locator("[data-live=state] .state")
    with serve_site(tmp_path, workers=0) as site, working(here):
        page.goto(f"{site.url}/runs/{run.id}")
        expect(legend).to_contain_text("in flight")
        gate.open_for = 4
        expect(legend).to_contain_text("4 done")  # nobody loaded the page again
        expect(page.locator(".standing")).to_contain_text("sending: 2 calls out")
        page.keyboard.press("p")
        expect(state).to_have_text("paused")
        assert [hold.kind for hold in run.progress().holds] == [HoldKind.USER]
        gate.open_for = 1000
        expect(legend).to_contain_text("6 done")  # what was out is still collected
        take_pictures(page, "run_held", pictures)
        page.set_viewport_size({"width": 1280, "height": 844})

    expect(page.locator("#away")).to_be_visible()  # the server is gone
    with serve_site(tmp_path, workers=0, port=site.port), working(here):
        expect(page.locator("#away")).to_be_hidden()
        page.get_by_role("button", name="Resume p").click()
        expect(state).to_have_text("finished")
        expect(legend).to_contain_text(f"{PACKS} done")
        _check_looks(page)
        _check_export(page, run, tmp_path / "own.csv")
        page.locator(".strip a").nth(2).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Call 3")
    here.close()


def test_the_grid_of_a_run_fills_while_one_watches(tmp_path: Path, page: Page) -> None:
    here = World(str(tmp_path / "quire.db"))
    here.ingest(sentences(PACKS * EACH))
    rows = page.locator("[data-live-rows=results] > tr")
    with serve_site(tmp_path, workers=0) as site:
        run = here.start(pack_size=EACH, limit=3)
        page.goto(f"{site.url}/runs/{run.id}")
        expect(page.get_by_text("No results yet.")).to_be_visible()
        with working(here):
            expect(rows).to_have_count(3)  # nobody loaded the page again
            expect(page.get_by_text("No results yet.")).to_have_count(0)
            here.start(pack_size=EACH)  # the same order without a limit: the run grows
            expect(rows).to_have_count(ROWS)
            expect(page.locator(".news")).to_have_count(0)
            page.get_by_role("link", name="next ›").click()
            expect(rows).to_have_count(PACKS * EACH - ROWS)
    here.close()


def _check_looks(page: Page) -> None:
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        assert axe_violations(page) == []


def _check_export(page: Page, run: RunHandle, own: Path) -> None:
    """What is downloaded is what the command line writes."""
    run.export(str(own))
    page.get_by_role("button", name="Export…").click()
    page.get_by_label("format").select_option("csv")
    expect(page.locator("[data-export-command]")).to_contain_text(".csv")
    with page.expect_download() as coming:
        page.get_by_role("button", name="Download").click()
    assert coming.value.path().read_bytes() == own.read_bytes()
    page.locator("#export").get_by_role("button", name="Cancel").click()


def test_resume_beside_a_used_up_budget_asks_for_the_amount(tmp_path: Path, page: Page) -> None:
    with serve_site(tmp_path, workers=0) as site:
        load_example(site.engine)
        run = site.engine.run(schema="clauses", model="simulated/large", budget_usd="0.000001")
        with suppress(HeldError):
            run.wait()
        page.goto(f"{site.url}/runs/{run.id}")

        page.get_by_role("button", name="Resume p").click()

        expect(page.locator("form[data-act-form] input")).to_be_focused()
        expect(page.locator("#messages")).to_contain_text("say here what it may spend in all")
        assert run.progress().held


def test_keys_open_the_tabs_and_a_failure_is_counted_while_one_watches(
    tmp_path: Path, page: Page
) -> None:
    here = World(str(tmp_path / "quire.db"), faults="wrong=1")
    here.ingest(sentences(PACKS))
    with serve_site(tmp_path, workers=0) as site:
        run = here.start(pack_size=1, max_tries=1)
        page.goto(f"{site.url}/runs/{run.id}")
        failures = page.get_by_role("link", name="Failures")
        expect(failures).to_have_text("Failures")
        with working(here):
            expect(failures).to_have_text(f"Failures {PACKS}")  # nobody loaded the page again
            expect(page.locator("[data-live-rows=results] > tr[data-key='2']")).to_be_visible()
        page.keyboard.press("2")
        expect(page).to_have_url(f"{site.url}/runs/{run.id}/failures")
        page.keyboard.press("1")
        expect(page).to_have_url(f"{site.url}/runs/{run.id}")
    here.close()
