"""The pages of documents: the list, a document block by block, and hostile text in both."""

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from quire.engine import open_engine
from quire.engine.examples import load_example
from tests.server.sites import open_site, start_run, upload, work
from tests.web.browser import axe_violations, serve_site, take_pictures

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\u202egpj\u001b[31m red"


def test_a_document_is_shown_block_by_block_with_results_in_the_margin(tmp_path: Path) -> None:
    with open_site(tmp_path) as client:
        number = upload(client)
        run = start_run(client)
        work(client, run)

        listed = client.get("/documents").text
        page = client.get(f"/documents/{number}").text
        later = client.get(f"/documents/{number}?from=6").text
        missing = client.get("/documents/99")

    assert f'href="/documents/{number}"' in listed
    assert 'id="block-0"' in page
    assert "Clause 3: party 3 pays 3 dollars." in page
    assert page.count('<dt class="name">party</dt>') == 12
    assert f"/runs/{run}/results/" in page
    assert 'id="block-5"' not in later
    assert 'id="block-6"' in later
    assert missing.status_code == 404
    assert "there is no document 99" in missing.text


MARKDOWN = "# Lease\n\n## 1. Rent\n\n**Marrow** pays <b>$5</b>.\n\n## 2. Use\n\n- as a shop\n"


def test_markdown_is_shown_formatted_under_its_sections_or_as_it_is(tmp_path: Path) -> None:
    with open_site(tmp_path) as client:
        number = upload(client, "lease.md", MARKDOWN)
        plain = upload(client, "lease.txt", "**Marrow** pays.")

        page = client.get(f"/documents/{number}").text
        exact = client.get(f"/documents/{number}?exact=1").text
        text = client.get(f"/documents/{plain}").text

    assert "<strong>Marrow</strong> pays &lt;b&gt;$5&lt;/b&gt;." in page
    paths = [re.sub("<[^>]*>", "", path) for path in re.findall('<p class="path">(.*?)</p>', page)]
    assert paths == ["Lease › 1. Rent", "Lease › 2. Use"]
    assert "**Marrow** pays &lt;b&gt;$5&lt;/b&gt;." in exact
    assert f'href="/documents/{number}?exact=1"' in page
    assert "**Marrow** pays." in text


def test_a_document_is_put_aside_and_taken_back(tmp_path: Path) -> None:
    with open_site(tmp_path) as client:
        number = upload(client)
        aside = client.post(f"/v1/documents/{number}/aside", json={})
        page, listed = client.get(f"/documents/{number}").text, client.get("/documents").text
        offered = client.get("/new").text
        back = client.post(f"/v1/documents/{number}/aside", json={"aside": False})
        after = client.get(f"/v1/documents/{number}").json()
        missing = client.post("/v1/documents/99/aside", json={})

    assert aside.json() == {"document": number, "aside": True}
    assert "Take back" in page
    assert "take back" in listed
    assert "All in use: 0 documents" in offered
    assert (back.json()["aside"], after["use"]) == (False, "")
    assert missing.status_code == 404


def test_hostile_text_is_shown_as_text(tmp_path: Path) -> None:
    long = "x" * 1_000_000
    with open_site(tmp_path) as client:
        number = upload(client, f"{HOSTILE}.txt", f"{HOSTILE}\n\n{long}\n")

        pages = [client.get("/documents").text, client.get(f"/documents/{number}").text]

    for page in pages:
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert not set("\u001b\u202e") & set(page)
        assert len(page) < 100_000
    assert "&lt;script&gt;alert(1)" in pages[1]
    assert re.search(r"and 980,\d{3} characters more", pages[1])


def test_files_are_brought_in_read_and_purged(
    tmp_path: Path, page: Page, pictures: Path | None
) -> None:
    (tmp_path / "lease.md").write_text("# Lease\n\nThe Tenant pays $5.\n\n" * 120)
    (tmp_path / "broken.pdf").write_bytes(b"not a pdf")
    with serve_site(tmp_path, workers=0) as site:
        page.goto(f"{site.url}/documents")
        expect(page.get_by_text("No documents yet")).to_be_visible()

        page.set_input_files("#files", [tmp_path / "lease.md", tmp_path / "broken.pdf"])

        expect(page.locator("#refused li")).to_contain_text("broken.pdf")
        expect(page.locator("tbody tr")).to_have_count(1)
        expect(page.locator("#upload-words")).to_contain_text("1 of 2 files brought in, 240 blocks")
        expect(page.get_by_role("link", name="Ask about it")).to_have_attribute(
            "href", "/new?documents=1"
        )
        assert axe_violations(page) == []
        take_pictures(page, "documents", pictures)

        page.set_viewport_size({"width": 1280, "height": 844})
        page.goto(f"{site.url}/documents/1#block-150")
        expect(page.locator("#block-150")).to_be_visible()
        assert "from=150" in page.url
        assert axe_violations(page) == []

        page.get_by_role("button", name="Purge…").click()
        page.get_by_role("dialog").get_by_role("button", name="Purge…").click()
        expect(page.get_by_text("No documents yet")).to_be_visible()
        assert site.engine.documents() == []

        (tmp_path / "cafe.txt").write_bytes("The Café pays.\n".encode("latin-1"))
        page.set_input_files("#files", tmp_path / "cafe.txt")
        page.get_by_role("button", name="Read it as latin-1").click()
        expect(page.locator("tbody tr")).to_have_count(1)
        expect(page.locator("#refused li")).to_have_count(0)
        assert "Café" in site.engine.listings.blocks(2, -1, 1)[0].content


def test_a_document_looks_right_in_light_and_dark(
    tmp_path: Path, page: Page, pictures: Path | None
) -> None:
    with open_engine(str(tmp_path / "quire.db"), environment={}) as engine:
        load_example(engine)
        engine.run(schema="clauses", model="simulated/small").wait()
    with serve_site(tmp_path, workers=0) as site:
        page.goto(f"{site.url}/documents/1")
        take_pictures(page, "document", pictures)
        page.emulate_media(color_scheme="dark")
        assert axe_violations(page) == []
