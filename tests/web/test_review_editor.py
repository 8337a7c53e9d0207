"""The editor of the review page in a real browser: what is typed, null, mistakes, what is left."""

from pathlib import Path

from playwright.sync_api import Page, expect

from quire.domain.data import Json
from quire.domain.ids import TaskId
from tests.server.review_sites import CLAUSE, answer_texts, clauses, record_of
from tests.web.browser import axe_violations, serve_site
from tests.web.review_steps import open_review, press, wait_saved


def test_counts_follow_the_decisions_and_a_link_opens_the_editor(
    tmp_path: Path, page: Page
) -> None:
    tasks = answer_texts(tmp_path, clauses(4))
    with serve_site(tmp_path, workers=0) as site:
        with site.engine.ledger.transaction() as tx:
            tx.inbox.rank_criticised([(TaskId(task), 2, 300) for task in tasks[:3]])
        open_review(page, site, "Ann", f"?item={tasks[0]}&edit=1")
        expect(page.get_by_label("kind")).to_be_focused()
        page.keyboard.press("Escape")
        expect(page.locator('[data-count="low_score"]')).to_have_text("3")
        press(page, "a", tasks[1])
        expect(page.locator('[data-count="low_score"]')).to_have_text("2")
        expect(page.locator("#wanting")).to_have_text("2")
        expect(page.locator("#item-source")).to_have_attribute("href", f"/v1/tasks/{tasks[1]}")
        press(page, "u", tasks[0])
        expect(page.locator('[data-count="low_score"]')).to_have_text("3")
        page.keyboard.press("f")
        expect(page.locator("#filter")).to_be_focused()
        page.keyboard.press("Escape")
        page.keyboard.press("/")
        expect(page.locator("#jump")).to_be_focused()


def test_lists_and_objects_can_be_made_null_and_filled(tmp_path: Path, page: Page) -> None:
    properties: dict[str, Json] = {
        "terms": {"type": ["array", "null"], "items": {"type": "string"}},
        "sum": {
            "type": ["object", "null"],
            "properties": {"amount": {"type": "integer"}},
            "required": ["amount"],
            "additionalProperties": False,
        },
    }
    schema = {**CLAUSE, "properties": properties, "required": ["terms", "sum"]}
    (task, *_) = answer_texts(tmp_path, clauses(2), schema=schema)
    with serve_site(tmp_path, workers=0) as site:
        site.engine.review.edit(task, {"terms": ["May"], "sum": None}, "Bo")
        open_review(page, site, "Ann", f"?filter=review%3Dany&item={task}&edit=1")
        page.get_by_role("switch", name="null: no terms").click()
        page.get_by_role("switch", name="null: no sum").click()
        page.get_by_label("amount").fill("7")
        page.keyboard.press("Enter")
        wait_saved(page)
        expect(page.locator(".edit-form")).to_have_count(0)

        assert site.engine.review.item(task).data == {"terms": None, "sum": {"amount": 7}}


def test_tab_goes_to_the_next_field_a_key_makes_null_and_what_was_saved_is_said(
    tmp_path: Path, page: Page
) -> None:
    tasks = answer_texts(tmp_path, clauses(3))
    with serve_site(tmp_path, workers=0) as site:
        before = record_of(site.engine, tasks[0])
        open_review(page, site, "Ann")
        messages = page.locator("#messages")
        for times, task in ((2, tasks[1]), (1, tasks[2])):
            page.keyboard.press("e")
            page.get_by_role("textbox", name="party").fill("the Landlord")
            for _ in range(times):
                page.keyboard.press("Alt+0")
            page.keyboard.press("Tab")
            expect(page.get_by_role("textbox", name="terms 1")).to_be_focused()
            page.keyboard.press("Alt+-")
            expect(page.get_by_role("textbox", name="terms 1")).to_have_count(0)
            page.get_by_role("button", name="Add to terms").focus()
            page.keyboard.press("Tab")
            expect(page.get_by_label("words")).to_be_focused()
            press(page, "Enter", task)
            wait_saved(page)
        expect(messages).to_contain_text(f"#{tasks[0]} saved: party {before['party']} → the Land")
        expect(messages).to_contain_text('→ null; terms ["')

        parties = [record_of(site.engine, task)["party"] for task in tasks[:2]]
        assert parties == ["the Landlord", None]
        assert isinstance(before["terms"], list)
        assert record_of(site.engine, tasks[0])["terms"] == before["terms"][1:]


def test_an_edit_with_a_mistake_stays_open_and_says_so_at_its_field(
    tmp_path: Path, page: Page
) -> None:
    tasks = answer_texts(tmp_path, clauses(4))
    with serve_site(tmp_path, workers=0) as site:
        before = record_of(site.engine, tasks[0])
        open_review(page, site, "Ann")
        page.keyboard.press("e")
        expect(page.get_by_label("kind")).to_be_focused()
        page.keyboard.press("Tab")
        page.keyboard.press("Control+a")
        page.keyboard.type("x" * 81)
        page.get_by_role("switch", name="null: no party").click()
        page.get_by_label("words").fill("many")
        page.keyboard.press("Enter")
        expect(page.get_by_text("must be a whole number")).to_be_visible()
        page.get_by_label("words").fill("7")
        page.keyboard.press("Enter")
        headline = page.get_by_label("headline")
        expect(headline).to_have_attribute("aria-invalid", "true")
        expect(headline).to_be_focused()
        assert axe_violations(page) == []
        headline.fill("Rent")
        page.get_by_role("button", name="Add to terms").click()
        page.keyboard.type("May")
        press(page, "Enter", tasks[1])

        item = site.engine.review.item(tasks[0])

    assert isinstance(before["terms"], list)
    assert item.data == {
        **before,
        "headline": "Rent",
        "party": None,
        "words": 7,
        "terms": [*before["terms"], "May"],
    }
    assert item.review_state == "edited"


def test_what_was_written_survives_leaving_the_editor(tmp_path: Path, page: Page) -> None:
    first, second, _ = answer_texts(tmp_path, clauses(3))
    with serve_site(tmp_path, workers=0) as site:
        open_review(page, site, "Ann")
        page.keyboard.press("e")
        page.get_by_label("headline").fill("half")
        page.keyboard.press("Escape")
        expect(page.locator(".edit-form")).to_have_count(0)
        page.keyboard.press("e")
        expect(page.get_by_label("headline")).to_have_value("half")

        page.locator(f'#lines li[data-task="{second}"]').click()  # as by a key: kept, and said
        expect(page.locator("#messages")).to_contain_text(f"#{first} is not changed; what you")
        line = page.locator(f'#lines li[data-task="{first}"]')
        expect(line).to_contain_text("written, not saved")
        page.once("dialog", lambda dialog: dialog.dismiss())
        page.evaluate("location.href = '/'")  # asks, and stays
        line.click()
        page.keyboard.press("e")

        expect(page.get_by_label("headline")).to_have_value("half")
