"""Review in a real browser: by keyboard, by two people at once, and on a server that goes away."""

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.server.review_sites import answer_texts, clauses, record_of
from tests.time_limits import load
from tests.web.browser import axe_violations, serve_site, take_pictures
from tests.web.review_steps import REVIEW, open_review, open_task, press, wait_ready, wait_saved


def test_the_name_is_asked_for_once_and_a_result_is_decided_by_one_key(
    tmp_path: Path, page: Page
) -> None:
    tasks = answer_texts(tmp_path, clauses(6))
    with serve_site(tmp_path, workers=0) as site:
        page.goto(site.url + REVIEW)
        page.get_by_label("Your name").fill("Ann  Marsh")
        page.keyboard.press("Enter")
        wait_ready(page)
        press(page, "a", tasks[1])
        press(page, "j", tasks[2])
        press(page, "k", tasks[1])
        press(page, "s", tasks[2])
        wait_saved(page)
        page.reload()
        wait_ready(page)

        expect(page.get_by_role("dialog")).to_have_count(0)
        assert open_task(page) == tasks[2]
        assert f"item={tasks[2]}" in page.url
        assert [
            (kept.task_id, kept.move, kept.who)
            for kept in site.engine.review.decisions(1).decisions
        ] == [(tasks[0], "approve", "Ann Marsh")]
        expect(page.locator("#left")).to_have_text("5")


def test_who_only_looks_gives_no_name_and_is_asked_at_the_first_decision(
    tmp_path: Path, page: Page
) -> None:
    tasks = answer_texts(tmp_path, clauses(6), name="lease.md")
    with serve_site(tmp_path, workers=0) as site:
        page.goto(site.url + REVIEW)
        who = page.get_by_role("dialog", name="Who decides?")
        expect(who).to_be_visible()
        page.keyboard.type("?")
        page.keyboard.press("Enter")  # no name
        expect(who).to_be_visible()
        page.keyboard.press("Escape")
        wait_ready(page)
        expect(page.locator(".subject.formatted mark").first).to_be_visible()
        page.keyboard.press("x")
        press(page, "j", tasks[1])
        expect(page.locator(".subject.formatted")).to_be_hidden()
        expect(page.locator(".subject.as-written mark").first).to_be_visible()
        assert page.evaluate("localStorage.reviewer ?? null") is None
        assert [line.held_by for line in site.engine.review.inbox(1).lines] == [None] * 6
        page.keyboard.press("a")
        expect(who).to_be_visible()
        page.keyboard.press("Escape")
        expect(who).to_be_hidden()
        assert site.engine.review.decisions(1).decisions == ()
        assert open_task(page) == tasks[1]
        page.keyboard.press("a")
        page.keyboard.type("Ann")
        press(page, "Enter", tasks[2])
        wait_saved(page)

        assert [
            (kept.task_id, kept.move, kept.who)
            for kept in site.engine.review.decisions(1).decisions
        ] == [(tasks[1], "approve", "Ann")]


def test_a_name_is_taken_where_the_dialog_opens_before_its_closing_was_told(
    tmp_path: Path, page: Page
) -> None:
    tasks = answer_texts(tmp_path, clauses(3))
    with serve_site(tmp_path, workers=0) as site:
        page.goto(site.url + REVIEW)
        page.keyboard.press("Escape")
        wait_ready(page)
        page.keyboard.press("a")
        page.evaluate(
            "document.getElementById('who').close();"
            "document.dispatchEvent(new KeyboardEvent('keydown', {key: 'a'}))"
        )
        page.keyboard.type("Ann")
        press(page, "Enter", tasks[1])
        wait_saved(page)

        assert [kept.task_id for kept in site.engine.review.decisions(1).decisions] == [tasks[0]]


def test_what_one_was_at_a_moment_ago_is_opened_first_and_never_taken_for_others(
    tmp_path: Path, page: Page
) -> None:
    tasks = answer_texts(tmp_path, clauses(4))
    with serve_site(tmp_path, workers=0) as site:
        for task in tasks[:2]:
            site.engine.review.hold(task, "Ann")
        open_review(page, site, "Ann")
        expect(page.locator(f'article.item[data-task="{tasks[0]}"]')).to_be_visible()

        for task in tasks:
            site.engine.review.hold(task, "Ann")
        page.goto(site.url + REVIEW)
        wait_ready(page)
        expect(page.locator(f'article.item[data-task="{tasks[0]}"]')).to_be_visible()
        press(page, "a", tasks[1])


def test_one_of_many_decisions_is_taken_back_under_decisions(tmp_path: Path, page: Page) -> None:
    tasks = answer_texts(tmp_path, clauses(3))
    with serve_site(tmp_path, workers=0) as site:
        open_review(page, site, "Ann")
        page.get_by_role("button", name="Decide about all of these").click()
        page.locator("#bulk-filter").fill("text=nowhere")
        expect(page.get_by_role("button", name="Reject 0", exact=True)).to_be_disabled()
        page.locator("#bulk-filter").fill("")
        page.get_by_role("button", name="Approve 3").click()
        page.get_by_text("3 approved; each can be taken back").get_by_role("link").click()
        page.get_by_role("button", name=f"Undo the decision about #{tasks[1]}").click()
        expect(page.get_by_text("(taken back since)")).to_be_visible()
        expect(page.get_by_role("button", name="Undo the decision")).to_have_count(2)
        assert axe_violations(page) == []

        last = site.engine.review.decisions(1).decisions[0]
        assert (last.task_id, last.move, last.who) == (tasks[1], "undo", "Ann")
        assert site.engine.review.item(tasks[1]).review_state == "unreviewed"


def test_a_rejection_says_its_cost_and_can_be_undone(tmp_path: Path, page: Page) -> None:
    tasks = answer_texts(tmp_path, clauses(4))
    with serve_site(tmp_path, workers=0) as site:
        open_review(page, site, "Ann")
        expect(page.locator('[data-act="reject"]')).to_contain_text("asks again for about $0.")
        page.keyboard.press("r")
        expect(page.get_by_role("dialog", name="Reject")).to_be_visible()
        page.keyboard.press("Enter")  # without a note it stays
        page.keyboard.type("the owner pays")
        press(page, "Enter", tasks[1])
        wait_saved(page)
        rejected = site.engine.review.item(tasks[0])
        press(page, "u", tasks[0])
        expect(page.get_by_label("Earlier")).to_contain_text("taken back by Ann")
        restored = site.engine.review.item(tasks[0])

    assert rejected.decisions[0].note == "the owner pays"
    assert rejected.result_id is None
    assert restored.review_state == "unreviewed"


def test_what_the_server_refuses_comes_back_with_the_reason(tmp_path: Path, page: Page) -> None:
    tasks = answer_texts(tmp_path, clauses(4))
    with serve_site(tmp_path, workers=0) as site:
        open_review(page, site, "Ann")
        site.engine.review.give_back("Ann")
        site.engine.review.approve(tasks[0], "Bo")
        page.keyboard.press("a")

        expect(page.locator(".message.error")).to_contain_text(f"#{tasks[0]} is not approved")
        expect(page.locator(f'article.item[data-task="{tasks[0]}"]')).to_contain_text(
            "approved by Bo"
        )
        assert len(site.engine.review.decisions(1).decisions) == 1


def test_decisions_wait_for_a_server_that_is_away_and_survive_a_closed_page(
    tmp_path: Path, page: Page
) -> None:
    tasks = answer_texts(tmp_path, clauses(5))
    with serve_site(tmp_path, workers=0) as site:
        open_review(page, site, "Ann")
        page.wait_for_load_state("networkidle")
    page.keyboard.press("a")
    expect(page.locator("#saving")).to_contain_text("not saved yet: 1")
    page.on("dialog", lambda question: question.accept())  # leave, though it is not saved
    page.goto("about:blank")

    with serve_site(tmp_path, workers=0, port=site.port) as again:
        page.goto(again.url + REVIEW)
        wait_ready(page)
        wait_saved(page)

        assert [kept.task_id for kept in again.engine.review.decisions(1).decisions] == [tasks[0]]


def test_many_are_decided_about_after_the_number_and_five_were_seen(
    tmp_path: Path, page: Page
) -> None:
    answer_texts(tmp_path, clauses(9))
    with serve_site(tmp_path, workers=0) as site:
        open_review(page, site, "Ann", "?filter=text%3DTenant")
        page.get_by_role("button", name="Decide about all of these").click()
        page.get_by_label("Filter", exact=True).last.fill("colour=red")
        expect(page.locator("#bulk-count")).to_contain_text("a filter knows no 'colour'")
        expect(page.locator("#bulk-approve")).to_be_disabled()
        page.locator("#bulk-filter").fill("")
        page.keyboard.type("text=$2")  # applied while it is typed
        expect(page.locator("#bulk-approve")).to_have_text("Approve 1")
        page.locator("#bulk-filter").fill("text=Tenant")
        expect(page.locator("#bulk-count")).to_contain_text("9 results")
        expect(page.locator("#bulk-sample > li")).to_have_count(5)
        assert axe_violations(page) == []
        page.get_by_role("button", name="Approve 9").click()
        expect(page.locator(".message")).to_contain_text("9 approved")
        expect(page.get_by_text("all 9 are decided")).to_be_visible()  # no filter is left
        expect(page.locator('[data-act="approve"]')).to_be_disabled()

        assert site.engine.review.counts(1).left == 0


def test_two_reviewers_at_once_never_have_the_same_item(tmp_path: Path, page: Page) -> None:
    tasks = answer_texts(tmp_path, clauses(24))
    browser = page.context.browser
    assert browser is not None
    context = browser.new_context()
    context.set_default_timeout(30_000 * load())
    other = context.new_page()
    with serve_site(tmp_path, workers=0) as site:
        open_review(page, site, "Ann")
        open_review(other, site, "Bo")
        seen: dict[str, list[int]] = {"Ann": [], "Bo": []}
        while page.locator("#nothing").count() == 0 or other.locator("#nothing").count() == 0:
            for who, reviewer in (("Ann", page), ("Bo", other)):
                if reviewer.locator("article.item").count() == 0:
                    continue
                task = open_task(reviewer)
                seen[who].append(task)
                reviewer.keyboard.press("a")
                gone = f'#place > :not(article[data-task="{task}"], p)'
                reviewer.wait_for_selector(gone)
            if len(seen["Ann"]) + len(seen["Bo"]) > 100:
                break
        wait_saved(page)
        wait_saved(other)
        kept = site.engine.review.decisions(1, limit=100).decisions

    context.close()
    assert not set(seen["Ann"]) & set(seen["Bo"])
    assert sorted(seen["Ann"] + seen["Bo"]) == tasks
    assert {(one.task_id, one.who) for one in kept} == {
        (task, who) for who, done in seen.items() for task in done
    }


def test_the_next_item_waits_for_no_request(tmp_path: Path, page: Page) -> None:
    tasks = answer_texts(tmp_path, clauses(30))
    asked: list[str] = []
    with serve_site(tmp_path, workers=0) as site:
        open_review(page, site, "Ann")
        page.wait_for_load_state("networkidle")
        page.on("request", lambda request: asked.append(f"{request.method} {request.url}"))
        held = page.evaluate(
            """() => new Promise((done) => {
                const real = window.fetch;
                window.fetch = () => new Promise(() => {});
                document.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true }));
                requestAnimationFrame(() => {
                    window.fetch = real;
                    done(Number(document.querySelector("article.item").dataset.task));
                });
            })"""
        )
        assert held == tasks[1]  # though no request was answered
        page.reload()
        wait_ready(page)
        page.wait_for_load_state("networkidle")
        asked.clear()
        for _ in range(12):
            page.keyboard.press("a")
            wait_saved(page)
        took = page.evaluate("performance.getEntriesByName('next item').map((one) => one.duration)")

    decisions = [line for line in asked if line.endswith("/approve")]
    others = [line for line in asked if "/leases" in line or "/items" in line]
    assert len(decisions) == 12
    assert len(others) <= 12  # items come several at a time: two requests for every few
    print(f"from key to the next item painted: {sorted(took)[len(took) // 2]:.0f} ms")  # noqa: T201


def test_the_page_is_for_everybody_and_looks_as_it_should(
    tmp_path: Path, page: Page, pictures: Path | None
) -> None:
    tasks = answer_texts(tmp_path, clauses(12))
    with serve_site(tmp_path, workers=0) as site:
        site.engine.review.edit(
            tasks[3],
            {**record_of(site.engine, tasks[3]), "party": "Landlord"},
            "Bo",
        )
        open_review(page, site, "Ann", f"?filter=review%3Dany&item={tasks[3]}")
        assert axe_violations(page) == []
        page.emulate_media(color_scheme="dark")
        assert axe_violations(page) == []
        take_pictures(page, "review", pictures)
        assert axe_violations(page) == []
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 390
        page.goto(f"{site.url}/runs/1/decisions")
        assert axe_violations(page) == []
