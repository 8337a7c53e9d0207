"""Documents over HTTP: uploaded, listed page by page, read, erased; hostile names and bodies."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from quire.server.site import SiteSettings
from quire.server.upload_folders import clear_left_over, upload_folder
from tests.server.sites import open_site, start_run, upload, work


def test_an_upload_is_listed_and_read(tmp_path: Path, ledger_url: str) -> None:
    with open_site(tmp_path, place=ledger_url) as client:
        number = upload(client)
        listed = client.get("/v1/documents").json()
        blocks = client.get(f"/v1/documents/{number}/blocks?limit=5").json()
        rest = client.get(f"/v1/documents/{number}/blocks?cursor={blocks['next']}").json()

    assert [item["title"] for item in listed["items"]] == ["lease.md"]
    assert listed["items"][0]["source_locator"] == "upload://lease.md"
    assert listed["next"] is None
    indexes = [block["block_index"] for block in (*blocks["items"], *rest["items"])]
    assert indexes == list(range(12))
    assert rest["next"] is None


def test_documents_are_listed_page_by_page_the_newest_first(tmp_path: Path) -> None:
    with open_site(tmp_path) as client:
        numbers = [upload(client, f"{name}.txt", f"text {name}") for name in "abcde"]
        seen, cursor = [], ""
        while cursor is not None:
            page = client.get("/v1/documents", params={"limit": 2, "cursor": cursor or None}).json()
            seen += [item["id"] for item in page["items"]]
            cursor = page["next"]

    assert seen == numbers[::-1]


def test_a_bad_file_is_refused_with_its_name_and_the_rest_goes_in(tmp_path: Path) -> None:
    files = [("files", ("good.txt", b"text")), ("files", ("bad.bin", b"\0\1"))]
    with open_site(tmp_path) as client:
        answer = client.post("/v1/documents", files=files)

    assert [item["title"] for item in answer.json()["documents"]] == ["good.txt"]
    assert [item["name"] for item in answer.json()["refused"]] == ["bad.bin"]
    assert str(tmp_path) not in answer.text
    assert "quire-upload" not in answer.text


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../etc/passwd.txt", "passwd.txt"),
        ("C:\\\\secret\\\\a.txt", "a.txt"),
        ("a\u202etxt.md", "atxt.md"),
        ("<b>.txt", "_b_.txt"),
        ("x" * 400 + ".txt", "x" * 196 + ".txt"),
    ],
)
def test_a_name_names_no_folder_and_steers_nothing(tmp_path: Path, given: str, kept: str) -> None:
    with open_site(tmp_path) as client:
        answer = client.post("/v1/documents", files={"files": (given, b"text")})

    assert [item["title"] for item in answer.json()["documents"]] == [kept]


def test_too_many_bytes_are_refused(tmp_path: Path) -> None:
    with open_site(tmp_path, SiteSettings(max_upload=1000)) as client:
        said = client.post("/v1/documents", files={"files": ("a.txt", b"x" * 2000)})

        def stream() -> Iterator[bytes]:
            yield from (b"x" * 100 for _ in range(50))

        kind = {"Content-Type": "multipart/form-data; boundary=abc"}
        streamed = client.post("/v1/documents", content=stream(), headers=kind)
        after = client.get("/v1/documents").json()

    assert (said.status_code, streamed.status_code) == (413, 413)
    assert "1,000 bytes" in said.json()["error"]["message"]
    assert after["items"] == []


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", b"{}"),
        ("multipart/form-data", b"--x--"),
        ("multipart/form-data; boundary=x", b"no form"),
        ("multipart/form-data; boundary=x", b"--x\r\nA: b\r\n\r\nc\r\n--x--\r\n"),
    ],
)
def test_what_is_no_form_is_told_so(tmp_path: Path, kind: str, body: bytes) -> None:
    with open_site(tmp_path) as client:
        answer = client.post("/v1/documents", content=body, headers={"Content-Type": kind})

    assert answer.status_code == 422, answer.text
    assert answer.json()["error"]["kind"] == "UsageError"


def test_the_same_name_again_takes_the_place_of_what_it_had(tmp_path: Path) -> None:
    with open_site(tmp_path) as client:
        first = upload(client, "a.txt", "one")
        second = upload(client, "a.txt", "two")
        uses = {item["id"]: item["use"] for item in client.get("/v1/documents").json()["items"]}

    assert uses == {second: "", first: "replaced"}


def test_a_purged_document_is_gone(tmp_path: Path) -> None:
    with open_site(tmp_path) as client:
        number = upload(client)
        erased = client.delete(f"/v1/documents/{number}")
        answers = [client.get(f"/v1/documents/{number}{rest}") for rest in ("", "/blocks")]

    assert erased.json()["title"] == "lease.md"
    assert [answer.status_code for answer in answers] == [404, 404]


def test_a_form_without_its_last_boundary_is_cut_off_and_nothing_of_it_is_kept(
    tmp_path: Path,
) -> None:
    part = b'--B\r\nContent-Disposition: form-data; name="files"; filename="a.md"\r\n\r\nhello'
    kind = {"Content-Type": "multipart/form-data; boundary=B"}

    with open_site(tmp_path) as client:
        cut = client.post("/v1/documents", content=part, headers=kind)
        after_part = client.post("/v1/documents", content=part + b"\r\n--B\r\n", headers=kind)
        whole = client.post("/v1/documents", content=part + b"\r\n--B--\r\n", headers=kind)
        listed = client.get("/v1/documents").json()["items"]

    assert [cut.status_code, after_part.status_code, whole.status_code] == [422, 422, 201]
    assert "cut off" in cut.json()["error"]["message"]
    assert len(listed) == 1


def test_folders_of_uploads_that_a_killed_server_left_are_cleared_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    lost = tmp_path / "quire-upload-7-f00d"
    (lost / "0").mkdir(parents=True)
    (lost / "0" / "half.md").write_text("words")
    (tmp_path / "quire-upload-7-f00d.lock").touch()  # which nobody holds
    (tmp_path / "quire-upload-of-an-older-version").mkdir()

    with upload_folder() as living:
        cleared = clear_left_over()
        left = sorted(path.name for path in tmp_path.iterdir())

    assert cleared == 2
    assert left == [living.name, f"{living.name}.lock"]
    assert [*tmp_path.iterdir()] == []


def test_what_was_erased_is_on_no_page_a_moment_later(tmp_path: Path) -> None:
    with open_site(tmp_path) as client:
        document = upload(client, text="The Secretive party pays 7 dollars.\n")
        work(client, start_run(client))
        before = client.get("/runs/1/results").text
        client.delete(f"/v1/documents/{document}")
        after = client.get("/runs/1/results").text

    assert "Secretive" in before
    assert "Secretive" not in after
