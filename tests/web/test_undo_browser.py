"""Decisions taken back in a real browser: many at once, and none that nobody saw."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.server.review_sites import answer_texts, clauses, record_of
from tests.web.browser import axe_violations, serve_site
from tests.web.review_steps import REVIEW, open_review, press, wait_ready, wait_saved


@pytest.mark.parametrize("way", ["u", "Undo", "Undo all at once"])
def test_what_was_decided_at_once_is_taken_back_by_one_act(
    tmp_path: Path, page: Page, way: str
) -> None:
    answer_texts(tmp_path, clauses(7))
    with serve_site(tmp_path, workers=0) as site:
        open_review(page, site, "Ann")
        page.get_by_role("button", name="Decide about all of these").click()
        page.get_by_role("button", name="Approve 7").click()
        expect(page.locator(".message")).to_contain_text("7 approved")
        wait_ready(page)
        if way == "u":
            page.keyboard.press("u")
        elif way == "Undo":
            page.locator(".message").get_by_role("button", name="Undo").click()
        else:
            page.get_by_text("each can be taken back").get_by_role("link").click()
            assert axe_violations(page) == []
            expect(page.get_by_label(re.compile(r"quire undo --bulk \d+$"))).to_be_visible()
            page.get_by_role("button", name="Undo all that was decided at once").click()
            expect(page.get_by_text("(taken back since)")).to_have_count(7)
            page.goto(site.url + REVIEW)
        if way != "Undo all at once":
            expect(page.locator(".message")).to_contain_text("7 taken back")
        expect(page.locator("#left")).to_have_text("7")

        assert site.engine.review.counts(1).left == 7


def test_an_undo_takes_back_no_decision_that_was_not_seen(tmp_path: Path, page: Page) -> None:
    tasks = answer_texts(tmp_path, clauses(3))
    with serve_site(tmp_path, workers=0) as site:
        open_review(page, site, "Ann")
        press(page, "a", tasks[1])
        wait_saved(page)
        site.engine.review.edit(tasks[0], {**record_of(site.engine, tasks[0]), "words": 3}, "Bo")
        page.keyboard.press("u")
        expect(page.locator(".message")).to_contain_text("overtaken by decision 2 by Bo")

        assert site.engine.review.item(tasks[0]).review_state == "edited"
