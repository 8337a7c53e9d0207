"""Batches on record: every row, what it is billed, and who made which batch."""

from pathlib import Path

import orjson
import pytest

from quire.rehearsal.file_store import array_to_lines, count_lines, lines_of
from quire.rehearsal.server import rehearsal_server
from quire.rehearsal.vendor_protocol import ApiProblem
from tests.rehearsal.batch_requests import (
    body,
    lines,
    order,
    read,
    retrieve,
    row,
    rows,
    server_and_client,
)
from tests.rehearsal.clients import GPT, KEY, MODELS, openai_client, respond
from tests.rehearsal.plain_http import BEARER, ask


def test_every_row_is_in_the_log_with_its_batch() -> None:
    with server_and_client() as (server, client):
        done = retrieve(client, order(client, lines(rows(30))).id)
        output = read(client, done.output_file_id)
        found = [record for record in server.log() if record["route"] == "batch"]
        stats = server.stats()

    billed = sum(record["usage"]["input"] + record["usage"]["output"] for record in found)
    assert len(found) == len(output) == 30
    assert {(record["batch"], record["tag"], record["key"]) for record in found} == {
        (done.id, "qabc", KEY[-4:])
    }
    assert {(record["path"], record["status"], record["model"]) for record in found} == {
        ("/v1/responses", 200, f"openai/{GPT}")
    }
    assert billed == done.usage.total_tokens
    model = stats["models"][f"openai/{GPT}"]
    assert model["batch"] == {"answered": 30, "tokens": model["tokens"]}
    assert stats["endpoints"]["responses"] == 30


def test_rows_count_against_no_limit_of_a_minute() -> None:
    with server_and_client(limit="requests=5") as (server, client):
        done = retrieve(client, order(client, lines(rows(40))).id)
        respond(client)
        stats = server.stats()

    assert done.request_counts.completed == 40
    model = stats["models"][f"openai/{GPT}"]
    assert (model["answered"], model["most_in_a_minute"]["requests"]) == (41, 1)
    assert stats["most_in_flight"] == 1


def test_every_batch_is_listed_with_its_tag() -> None:
    with server_and_client(latency="10s") as (server, client):
        order(client, lines(rows(3)), "qone")
        order(client, lines(rows(2)), "qtwo")
        server.advance(11)
        got = ask(server.url, "/_rehearsal/batches").json
        stats = ask(server.url, "/_rehearsal/stats").json

    assert got["creates"] == {"qone": 1, "qtwo": 1}
    first = got["batches"][0]
    assert (first["vendor"], first["tag"], first["rows"], first["end"]) == (
        "openai",
        "qone",
        3,
        "completed",
    )
    assert first["counts"] == {"answered": 3}
    assert first["digest"] != got["batches"][1]["digest"]
    assert stats["batches"] == {
        "created": 2,
        "refused": 0,
        "rows": 5,
        "ends": {"completed": 2},
        "faults": {},
    }


def test_a_batch_that_nobody_asks_about_is_carried_out_and_billed() -> None:
    with server_and_client() as (server, client):
        order(client, lines(rows(4)))
        assert server.stats()["answered"] == 4


def test_a_log_file_has_a_line_for_every_row(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with server_and_client(log=str(log)) as (server, client):
        order(client, lines(rows(4)))
        server.settle()

    routes = [orjson.loads(line)["route"] for line in log.read_bytes().splitlines()]
    assert routes.count("batch") == 4


def test_two_thousand_rows_are_written_and_nothing_stays_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with server_and_client() as (server, client):
        made = order(client, lines(rows(2_000)))
        server.settle()
        done = retrieve(client, made.id)
        assert [*tmp_path.glob("quire-rehearsal-*/*")]
        assert len(read(client, done.output_file_id)) == 2_000

    assert [*tmp_path.iterdir()] == []


def test_the_latency_of_batches_has_the_forms_of_the_other() -> None:
    with rehearsal_server(batch_latency="uniform:100s-200s", models=MODELS) as server:
        with openai_client(server.url) as client:
            for number in range(10):
                order(client, lines(rows(1)), f"q{number}")
        server.advance(99)
        early = {batch["phase"] for batch in server.batches()}
        server.advance(102)
        spans = {round(batch["ended_at"] - batch["created_at"]) for batch in server.batches()}

    assert early == {"running"}
    assert len(spans) > 3
    assert 100 <= min(spans) <= max(spans) <= 200


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"nothing", "multipart/form-data"),
        (b"--x\r\nhalf", "multipart/form-data; boundary=x"),
        (b"{}", "application/json"),
        (b"", "multipart/form-data; boundary=x"),
    ],
)
def test_a_form_that_is_none_is_refused(content: bytes, kind: str) -> None:
    with server_and_client() as (server, _):
        got = ask(server.url, "/v1/files", content, {**BEARER, "content-type": kind})

    assert got.status == 400
    assert "error" in got.json


def test_an_array_is_written_to_lines_whatever_its_strings_have(tmp_path: Path) -> None:
    odd = [{"a": '"]}{[\\"', "b": [1, {"c": "\n"}]}, {"requests": [{"x": 1}]}, {}]
    content = {"before": {"requests": [1]}, "requests": odd, "after": ["]", "x" * 300]}
    source, target = tmp_path / "body", tmp_path / "lines"
    source.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2))

    count = array_to_lines(source, "requests", target)

    assert count == count_lines(target) == 3
    assert [orjson.loads(line) for line in lines_of(target)] == odd


@pytest.mark.parametrize("content", [b"", b"[", b'{"requests": [{"a": 1}', b'"text"'])
def test_an_array_that_breaks_off_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "body").write_bytes(content)

    with pytest.raises(ApiProblem):
        array_to_lines(tmp_path / "body", "requests", tmp_path / "lines")


def test_a_row_that_no_model_takes_is_an_error_and_not_the_servers_end() -> None:
    batch_rows = [
        row("q-1", body(input=[])),
        row("q-2", {"model": GPT, "nonsense": "x"}),
        row("q-3"),
    ]
    with server_and_client() as (_, client):
        done = retrieve(client, order(client, lines(batch_rows)).id)

    assert (done.request_counts.completed, done.request_counts.failed) == (1, 2)
