"""From key to the next item painted, on the review page, measured in a real browser.

`python -m benchmarks.bench_review_page [DECISIONS]`: approves results one by one with the key, and
prints the median and the 95th percentile of the browser's own marks.
"""

import json
import sys
import tempfile
from pathlib import Path
from statistics import quantiles

from playwright.sync_api import Page, expect, sync_playwright

from tests.server.review_sites import answer_texts, clauses
from tests.web.browser import ServedSite, run_chromium, serve_site

MOST = 100.0  # milliseconds at the 95th percentile
DECISIONS = 200
PAINTED = "(count) => performance.getEntriesByName('next item').length >= count"
TOOK = "() => performance.getEntriesByName('next item').map((entry) => entry.duration)"


def measure(decisions: int) -> list[float]:
    """Milliseconds from each key until the next item was painted."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        answer_texts(folder, clauses(decisions + 20))
        with (
            serve_site(folder, workers=0) as site,
            run_chromium() as chromium,
            sync_playwright() as playwright,
        ):
            page = playwright.chromium.connect_over_cdp(chromium).new_page()
            return _approve(page, site, decisions)


def _approve(page: Page, site: ServedSite, decisions: int) -> list[float]:
    page.add_init_script("location.protocol === 'http:' && (localStorage.reviewer ??= 'Ann')")
    page.goto(f"{site.url}/runs/1/review")
    page.wait_for_selector("#review[data-ready]")
    page.wait_for_load_state("networkidle")
    for count in range(1, decisions + 1):
        page.keyboard.press("a")
        page.wait_for_function(PAINTED, arg=count)
    found: list[float] = page.evaluate(TOOK)
    expect(page.locator("#saving")).to_be_empty()
    return found


def main(arguments: list[str]) -> int:
    """Measure, and say whether it is quick enough."""
    took = measure(int(arguments[0]) if arguments else DECISIONS)
    cuts = quantiles(took, n=100)
    figures = {
        "decisions": len(took),
        "median_ms": round(cuts[49], 1),
        "p95_ms": round(cuts[94], 1),
        "longest_ms": round(max(took), 1),
        "most_ms": MOST,
    }
    print(json.dumps(figures))
    return 0 if cuts[94] <= MOST else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
