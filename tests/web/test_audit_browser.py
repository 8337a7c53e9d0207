"""An audit in a real browser, by keys, to its end; its numbers are computed here once more."""

from collections.abc import Callable
from math import comb
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.server.review_sites import answer_texts, clauses
from tests.web.browser import axe_violations, serve_site, take_pictures

SIZE = 20
ALL_OF_THEM = "These are all: what you find is how they are, and nothing is estimated."
WRONG_PARTIES = {3, 11}  # items whose party is marked as wrong
UNSURE_PARTIES = {7}


def exact_interval(wrong: int, of: int) -> tuple[float, float]:
    """Clopper and Pearson's 95 % interval, found by halving on the binomial sums themselves."""
    return (
        _solve(lambda rate: 1 - _at_most(wrong - 1, of, rate) < 0.025) if wrong else 0.0,
        _solve(lambda rate: _at_most(wrong, of, rate) > 0.025) if wrong < of else 1.0,
    )


def _at_most(most: int, of: int, rate: float) -> float:
    return sum(comb(of, hits) * rate**hits * (1 - rate) ** (of - hits) for hits in range(most + 1))


def _solve(is_below: Callable[[float], bool]) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return low


def mark_item(page: Page, no: int) -> None:
    """Mark all fields of an item by keys, the party as it is to be."""
    expect(page.locator(f'article.item[data-no="{no}"]')).to_be_visible()
    if no in WRONG_PARTIES | UNSURE_PARTIES:
        page.keyboard.press("1")  # kind
        page.keyboard.press("1")  # headline
        page.keyboard.press("2" if no in WRONG_PARTIES else "3")  # party
    page.keyboard.press("a")


def look_half_way(page: Page, pictures: Path | None) -> None:
    """Rates are there after ten, for everybody, and none is called final."""
    expect(page.locator("#report")).to_have_attribute("data-marked", "10")
    expect(page.locator("#report")).not_to_contain_text("This is final")
    take_pictures(page, "audit", pictures)
    assert axe_violations(page) == []
    page.set_viewport_size({"width": 1280, "height": 844})
    page.emulate_media(color_scheme="dark")
    assert axe_violations(page) == []
    page.emulate_media(color_scheme="light")


def test_an_audit_of_twenty_is_marked_by_keys_to_its_end(
    tmp_path: Path, page: Page, pictures: Path | None
) -> None:
    answer_texts(tmp_path, clauses(40))
    page.add_init_script("location.protocol === 'http:' && (localStorage.reviewer ??= 'Ann')")
    with serve_site(tmp_path, workers=0) as site:
        page.goto(f"{site.url}/runs/1/audits")
        expect(page.get_by_label("Look at how many?")).to_have_value("40")  # there are no more
        expect(page.locator("#shows")).to_have_text(ALL_OF_THEM)
        page.get_by_label("Look at how many?").fill(str(SIZE))
        expect(page.get_by_text("If you find no error in 20, you can say")).to_be_visible()
        page.get_by_label("Errors you can live with").fill("40")
        assert axe_violations(page) == []
        page.get_by_role("button", name="Draw the sample").click()
        page.wait_for_selector("#audit[data-ready]")
        for no in range(SIZE):
            mark_item(page, no)
            if no == 9:
                look_half_way(page, pictures)
        expect(page.locator("#nothing")).to_contain_text("All 20 are marked")
        expect(page.get_by_role("button", name="All right")).to_be_disabled()
        expect(page.locator("#report[data-complete='1']")).to_contain_text("This is final")
        report = site.engine.review.audit_report(1)
        take_pictures(page, "audit_end", pictures)

    rates = {rate.field: rate for rate in report.fields}
    low, high = exact_interval(2, 19)
    assert (rates["party"].right, rates["party"].wrong, rates["party"].unsure) == (17, 2, 1)
    assert low < 2 / 40  # of forty, two are wrong for certain
    assert (rates["party"].low, rates["party"].high) == pytest.approx((2 / 40, high), abs=1e-6)
    assert (rates["kind"].low, rates["kind"].high) == pytest.approx(exact_interval(0, 20), abs=1e-6)
    row = page.locator('tr[data-field="party"]')
    expect(row).to_contain_text(f"5 % – {100 * high:.1f} %")
    expect(page.locator(".verdict")).to_contain_text("tolerance met")


def test_a_mark_can_be_mended_and_the_rates_follow(tmp_path: Path, page: Page) -> None:
    answer_texts(tmp_path, clauses(6))
    page.add_init_script("location.protocol === 'http:' && (localStorage.reviewer ??= 'Ann')")
    with serve_site(tmp_path, workers=0) as site:
        site.engine.review.start_audit(1, size=4, who="Ann")
        page.goto(f"{site.url}/audits/1")
        page.wait_for_selector("#audit[data-ready]")
        page.keyboard.press("a")
        expect(page.locator('article.item[data-no="1"]')).to_be_visible()
        page.keyboard.press("k")
        expect(page.locator('article.item[data-no="0"]')).to_be_visible()
        page.keyboard.press("2")
        page.keyboard.press("j")
        expect(page.locator('tr[data-field="kind"] td').nth(2)).to_have_text("1")

        assert site.engine.review.audit_report(1).fields[0].wrong == 1
        assert site.engine.review.audit_report(1).head.marked == 1


def test_marks_that_were_not_sent_survive_a_reload_and_a_server_that_is_away(
    tmp_path: Path, page: Page
) -> None:
    answer_texts(tmp_path, clauses(6))
    page.add_init_script("location.protocol === 'http:' && (localStorage.reviewer ??= 'Ann')")
    with serve_site(tmp_path, workers=0) as site:
        site.engine.review.start_audit(1, size=4, who="Ann")
        page.goto(f"{site.url}/audits/1")
        page.wait_for_selector("#audit[data-ready]")
        page.keyboard.press("1")
        page.keyboard.press("2")
        page.reload()
        page.wait_for_selector("#audit[data-ready]")
        expect(page.locator('.audit-field [data-mark="right"]').first).to_be_checked()
        expect(page.locator('.audit-field [data-mark="wrong"]').nth(1)).to_be_checked()
        page.wait_for_load_state("networkidle")
    page.keyboard.press("a")
    expect(page.locator("#saving")).to_contain_text("not saved yet")
    page.goto("about:blank")

    with serve_site(tmp_path, workers=0, port=site.port) as again:
        page.goto(f"{again.url}/audits/1")
        expect(page.locator("#marked")).to_have_text("1")

        rates = {rate.field: rate for rate in again.engine.review.audit_report(1).fields}
        assert (rates["kind"].right, rates["headline"].wrong, rates["party"].right) == (1, 1, 1)
