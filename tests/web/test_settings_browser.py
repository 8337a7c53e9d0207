"""Settings in a real browser: a secret that is shown this once is not lost."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.web.browser import axe_violations, serve_site


def test_a_new_token_stays_until_it_is_closed(tmp_path: Path, page: Page) -> None:
    with serve_site(tmp_path, workers=0) as site:
        page.goto(site.url + "/settings")
        page.get_by_label("for whom").fill("Ann")
        page.get_by_role("button", name="Make a token").click()
        secret = page.get_by_label("The new token: shown this once")
        expect(secret).to_have_value(re.compile("^qt_"))
        expect(page.locator('[data-live="tokens"]')).to_contain_text("Ann")
        expect(page.locator(".message.error")).to_have_count(0)
        token = secret.input_value()
        page.get_by_role("button", name="Copy", exact=True).click()
        expect(page.get_by_text(re.compile("^copied$|^press Ctrl C"))).to_be_visible()
        assert axe_violations(page) == []
        row = page.locator("[data-live=policy] tr", has=page.get_by_text("max_tries", exact=True))
        row.locator("summary").click()
        row.get_by_role("textbox").fill("7")
        row.get_by_role("button", name="Set", exact=True).click()
        expect(page.locator('[data-live="changes"]')).to_contain_text("max_tries = 7")
        expect(secret).to_have_value(token)
        page.get_by_role("button", name="Close", exact=True).click()
        expect(secret).to_have_count(0)
        page.set_viewport_size({"width": 390, "height": 844})  # its row is a card on a phone
        tokens = page.locator('[data-live="tokens"] .scroll')
        assert tokens.evaluate("(box) => box.scrollWidth <= box.clientWidth")

        assert [kept.name for kept in site.engine.access_tokens.list()] == ["Ann"]
