"""The review page as it first comes: complete without a script, and harmless whatever is in it."""

import re
from contextlib import closing
from pathlib import Path

from quire.domain.reviews import InboxFilter
from quire.engine.examples import load_example
from quire.server.access import AccessRole
from tests.ledger.raw import Raw
from tests.server.review_sites import answer_texts, clauses, open_ledger_of, record_of, sign_in
from tests.server.sites import open_site

HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)> \"' \x1b[31mred \u202egnp.exe"
)


def test_the_page_comes_with_the_first_item_and_its_words_marked(tmp_path: Path) -> None:
    tasks = answer_texts(tmp_path, clauses(3))

    with open_site(tmp_path) as client:
        page = client.get("/runs/1/review").text

    assert f'data-task="{tasks[0]}"' in page
    assert '<b id="left">3</b> left of 3' in page
    assert '<div class="subject text" dir="auto">' in page
    assert '<mark data-field="' in page
    assert page.count("<li data-task=") == 4  # three lines, and the template of the open item
    assert "asks again for about" in page
    assert re.search(r'data-cost="\$[0-9.]+ simulated"', page)
    assert 'data-simulated="1"' in page
    assert 'style="' not in page


def test_a_critics_word_stands_above_the_fields_and_at_the_one_it_names(tmp_path: Path) -> None:
    with open_ledger_of(tmp_path) as engine:
        load_example(engine)
        run = engine.run(recipe="extract_checked", model="simulated/small")
        run.wait()
        task = next(
            line.task_id
            for line in engine.review.inbox(run.id, InboxFilter.parse("reason=low_score")).lines
        )
        item = engine.review.item(task)
    said = '{"score": 0.25, "why": "who is the Landlord, not the Tenant"}'
    with closing(Raw(str(tmp_path / "quire.db"))) as raw:
        raw.rows(
            "UPDATE results SET data = :said WHERE task_id IN"
            " (SELECT id FROM tasks WHERE judged_result_id = :result)",
            said=said,
            result=item.result_id,
        )

    with open_site(tmp_path) as client:
        page = client.get(f"/runs/1/review?item={task}").text

    shown = page.partition('aria-label="Fields"')[2].partition("</article>")[0]
    assert shown.index("who is the Landlord") < shown.index('<dl class="record">')
    who, rest = shown.partition('<div class="field" data-field="who"')[2].split("</div>", 1)
    assert "check speaks of it" in who
    assert "speaks of it" not in rest
    assert shown.count("0.25") == 1


def test_what_others_are_at_is_not_opened(tmp_path: Path) -> None:
    tasks = answer_texts(tmp_path, clauses(3))
    with open_ledger_of(tmp_path) as engine:
        engine.review.hold(tasks[0], "Ann")

    with open_site(tmp_path) as client:
        page = client.get("/runs/1/review").text
        named = client.get("/runs/1/review", params={"item": tasks[0]}).text

    assert f'aria-label="Task {tasks[1]} of' in page
    assert "Ann is at it" in page
    assert f'aria-label="Task {tasks[0]} of' in named


def test_an_address_holds_the_filter_and_a_wrong_one_is_said(tmp_path: Path) -> None:
    tasks = answer_texts(tmp_path, clauses(3))

    with open_site(tmp_path) as client:
        narrow = client.get("/runs/1/review", params={"filter": "text=$200"}).text
        wrong = client.get("/runs/1/review", params={"filter": "colour=red"})
        empty = client.get("/runs/1/review", params={"filter": "text=nowhere"}).text

    assert f'aria-label="Task {tasks[2]} of' in narrow
    assert 'value="text=$200"' in narrow
    assert wrong.status_code == 200
    assert "a filter knows no" in wrong.text
    assert "No result fits this filter" in empty


def test_the_form_adds_an_order_and_a_field_to_the_filter_in_the_address(tmp_path: Path) -> None:
    tasks = answer_texts(tmp_path, clauses(3))
    with open_ledger_of(tmp_path) as engine:
        changed = {**record_of(engine, tasks[1]), "party": None}
        engine.review.edit(tasks[1], changed, "Ann")

    with open_site(tmp_path) as client:
        newest = client.get("/runs/1/review", params={"order": "newest"})
        chosen = {"filter": "review=any", "field": "party", "value": "null", "order": "need"}
        null = client.get("/runs/1/review", params=chosen)
        wrong = client.get("/runs/1/review", params={"filter": "colour=red", "order": "newest"})

    assert newest.url.query == b"filter=order%3Dnewest"
    assert f'aria-label="Task {tasks[2]} of' in newest.text
    assert '<option value="newest" selected>' in newest.text
    assert null.url.query == b"filter=review%3Dany+field.party%3Dnull"
    assert f'aria-label="Task {tasks[1]} of' in null.text
    assert "a filter knows no" in wrong.text


def test_a_decided_run_says_what_to_do_next(tmp_path: Path) -> None:
    tasks = answer_texts(tmp_path, clauses(2))
    with open_ledger_of(tmp_path) as engine:
        for task in tasks:
            engine.review.approve(task, "Ann")

    with open_site(tmp_path) as client:
        page = client.get("/runs/1/review").text
        all_of_them = client.get("/runs/1/review", params={"filter": "review=any"}).text

    assert "all 2 are decided" in page
    assert "by Ann" in all_of_them


def test_runs_and_items_that_are_not_there_are_not_found(tmp_path: Path) -> None:
    tasks = answer_texts(tmp_path, clauses(1))
    answer_texts(tmp_path, clauses(2), name="other.txt")

    with open_site(tmp_path) as client:
        codes = [
            client.get(path).status_code
            for path in (
                "/runs/9/review",
                f"/runs/2/review?item={tasks[0]}",
                "/runs/1/review/items?tasks=999",
                "/runs/9/decisions",
            )
        ]

    assert codes == [404, 404, 404, 404]


def test_the_script_is_given_items_and_lines_in_the_same_html(tmp_path: Path) -> None:
    tasks = answer_texts(tmp_path, clauses(3))

    with open_site(tmp_path) as client:
        path = f"/runs/1/review/items?tasks={tasks[1]},{tasks[2]},{tasks[1]}"
        items = client.get(path).text
        lines = client.get("/runs/1/review/lines").text

    assert items.count("<article") == 2
    assert "<html" not in items + lines
    assert lines.count("<li data-task=") == 3


def test_hostile_text_is_shown_as_text_everywhere(tmp_path: Path) -> None:
    tasks = answer_texts(tmp_path, [f"The Tenant pays {HOSTILE}", "Another."])
    with open_ledger_of(tmp_path) as engine:
        changed = {**record_of(engine, tasks[0]), "party": HOSTILE, "terms": [HOSTILE]}
        engine.review.edit(tasks[0], changed, f"Ann {HOSTILE}", note=HOSTILE)
        engine.review.reject(tasks[0], HOSTILE, "Bo")
        engine.review.undo(tasks[0], "Bo")

    with open_site(tmp_path) as client:
        pages = [
            client.get(path).text
            for path in (
                f"/runs/1/review?item={tasks[0]}&filter=review%3Dany",
                "/runs/1/decisions",
                f"/runs/1/review/items?tasks={tasks[0]}",
                "/runs/1/review/lines?filter=review%3Dany",
            )
        ]
        filtered = client.get("/runs/1/review", params={"filter": HOSTILE}).text
        quoted = client.get("/runs/1/review", params={"filter": "text=';reboot"}).text

    for page in (*pages, filtered):
        assert "\u202e" not in page
        assert "<script>alert" not in page
        assert "<img src=x" not in page
    assert "\x1b" not in "".join(pages)
    assert "text=&#39;&#34;&#39;&#34;&#39;;reboot" in quoted  # what is copied is quoted for a shell


def test_a_viewer_is_shown_no_buttons(tmp_path: Path) -> None:
    answer_texts(tmp_path, clauses(2))

    with open_site(tmp_path) as client:
        sign_in(client, "Vi", AccessRole.VIEWER)
        page = client.get("/runs/1/review").text

    assert 'data-act="approve"' not in page
    assert 'data-may-decide=""' in page


def test_decisions_say_who_when_before_and_after(tmp_path: Path) -> None:
    tasks = answer_texts(tmp_path, clauses(2))
    with open_ledger_of(tmp_path) as engine:
        data = record_of(engine, tasks[0])
        engine.review.edit(tasks[0], {**data, "party": "Landlord"}, "Ann", note="as it says")
        engine.review.edit(tasks[0], {**data, "words": 3}, "Bo")

    with open_site(tmp_path) as client:
        page = client.get("/runs/1/decisions").text
        other = client.get(f"/runs/1/decisions?task={tasks[1]}").text

    assert "edited" in page
    assert '<b class="name">Ann</b>' in page
    assert "as it says" in page
    assert "Landlord" in page
    assert "Nobody has decided" in other
    assert re.findall('data-undo="([0-9]+)"', page) == ["2"]  # the other was overtaken, and says so
    assert page.count(">overtaken<") == 1


def test_numbers_that_no_ledger_holds_are_refused(tmp_path: Path) -> None:
    answer_texts(tmp_path, clauses(1))
    large = "9" * 30

    with open_site(tmp_path) as client:
        codes = {
            path: client.get(path).status_code
            for path in (
                f"/runs/1/review?item={large}",
                f"/runs/1/decisions?task={large}",
                f"/runs/1/decisions?cursor={large}",
                f"/v1/runs/1/decisions?cursor={large}",
                f"/audits/1?no={large}",
            )
        }
        items = client.get(f"/runs/1/review/items?tasks={large}")

    assert set(codes.values()) == {422}, codes
    assert (items.status_code, items.text.strip()) == (200, "")


def test_an_audit_says_no_share_over_unsure_ones_and_a_missed_one_is_on_the_home_page(
    tmp_path: Path,
) -> None:
    answer_texts(tmp_path, clauses(5))
    with open_ledger_of(tmp_path) as engine:
        head = engine.review.start_audit(1, size=5, tolerance=0.1, who="Ada")
        right = {field.name: "right" for field in engine.review.audit_item(head.id, 0).fields}
        for no in range(5):
            marks = right | ({"kind": "wrong"} if no == 0 else {"party": "unsure"})
            engine.review.mark(head.id, no, marks, "Ada")

    with open_site(tmp_path) as client:
        audit, home = (" ".join(client.get(path).text.split()) for path in ("/audits/1", "/"))

    assert "nothing is estimated. <b" in audit
    assert "wrong in more than 10 % of the results. All 5 are marked." in audit
    assert '<b class="name">kind</b> is 80 % right.' in audit
    assert '<b class="name">party</b> is between 20 % and 100 % right: 4 of 5 are unsure' in audit
    assert "is 100 % right (" not in audit
    assert "audit 1 of run 1 missed its tolerance of 10 %: extract is wrong too often" in home
    assert "in kind (at least 20 %)" in home
    assert 'href="/audits/1"' in home
