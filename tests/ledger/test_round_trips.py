"""What goes into the ledger comes out of it, character for character and byte for byte."""

import json
import zlib
from dataclasses import replace
from random import Random

import pytest

from quire.domain.data import Json
from quire.domain.recipes import Schema
from quire.domain.requests import Stop
from quire.domain.states import TaskMove
from quire.ledger.ledger import Ledger
from quire.ledger.tables.attempts import COMPRESS_FROM, decompress
from quire.pipeline.calls.record import record_answers
from quire.pipeline.commands.corpus import add_blocks
from tests.ledger.factories import (
    NOW,
    SCHEMA,
    add_document,
    answer,
    block,
    parsed_document,
    reply,
    request_of,
    run_with_ready_tasks,
    send_all,
    tasks_of,
)
from tests.ledger.raw import Raw

NASTY = {
    "four bytes": "𝄞 clef, 🏴‍☠️ flag, \U0010ffff",
    "controls": "".join(map(chr, range(1, 32))) + "\x7f\x85",
    "separators": "a\u2028b\u2029c\ufeffd\r\n\te",
    "quotes": "it's \"quoted\" `so` \\ and '' too",
    "sql": "'); DROP TABLE tasks; -- :now %(now)s %s ?1 $1",
    "copy": "\\N\t\\.\n\\x41\\",
    "long": "ä" * 500_000,
    "empty": "",
    "combining": "e\u0301 is not é",
}
BIG = 2**200 + 1
TEXTS = list(NASTY.values())
DATA: list[object] = [
    *({"text": text} for text in TEXTS),
    {"nul": "\0", "a\0b": ["\0"]},
    {"big": BIG, "negative": -BIG, "wide": 2**63},
    {"float": 0.1, "small": 5e-324, "none": None, "deep": [[[{}]]]},
]


def test_a_block_keeps_its_content_in_every_reading(ledger: Ledger) -> None:
    place = run_with_ready_tasks(ledger, TEXTS)
    with ledger.snapshot() as tx:
        rows = list(tx.results.export_rows(place.run, place.stage))
        contents = [tx.tasks.task_content(row.task_id) for row in rows if row.task_id]
    with ledger.transaction() as tx:
        ready = tx.tasks.ready_tasks(place.stage, 50)

    assert [row.content for row in rows] == TEXTS
    assert [content and content.content for content in contents] == TEXTS
    assert [task.content for task in ready] == TEXTS


def test_blocks_can_be_listed_without_their_contents(ledger: Ledger) -> None:
    place = run_with_ready_tasks(ledger, TEXTS)
    with ledger.snapshot() as tx:
        full = list(tx.results.export_rows(place.run, place.stage))
        short = list(tx.results.export_rows(place.run, place.stage, contents=False))

    assert short == [row._replace(content="") for row in full]


def test_a_document_keeps_its_names(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        for number, text in enumerate(TEXTS):
            source = replace(parsed_document(str(number)), title=text, source_locator=text)
            key = tx.documents.add_document(source, NOW)
            tx.documents.set_document_counts(key, {text: 2, "table": 1}, 2**40)

        found = tx.documents.list_documents()
    assert (
        [document.title for document in found]
        == [document.source_locator for document in found]
        == TEXTS
    )
    assert [document.conv_block_type_freq for document in found] == [
        {e: 2, "table": 1} for e in TEXTS
    ]
    assert {(document.conv_total_blocks, document.conv_total_characters) for document in found} == {
        (3, 2**40)
    }
    assert {document.uploaded_at for document in found} == {NOW}


def test_a_block_keeps_its_locator_and_headings(ledger: Ledger, raw: Raw) -> None:
    expected = json.dumps(NASTY)
    new = block(0, "x")._replace(locator=expected, headings=json.dumps(TEXTS, ensure_ascii=False))
    with ledger.transaction() as tx:
        add_blocks(tx, add_document(tx, []), [new])

    ((locator, headings),) = raw.rows("SELECT locator, headings FROM blocks")
    assert (locator, json.loads(headings)) == (expected, TEXTS)


def test_a_schema_keeps_its_body(ledger: Ledger) -> None:
    properties: dict[str, Json] = {
        text: {"title": text, "const": "\0", "maximum": BIG} for text in TEXTS
    }
    schema = Schema(ref="nasty", uid="u", body={"properties": properties})
    with ledger.transaction() as tx:
        tx.schemas.add_schema(schema, NOW)

        assert tx.schemas.schema_by_ref("nasty") == tx.schemas.schema_by_uid("u") == schema
        assert tx.schemas.list_schemas() == [schema]


def test_a_name_means_the_version_added_or_gone_back_to_last(ledger: Ledger) -> None:
    first, second = (Schema(ref="a", uid=f"{no}", body={}, version=no) for no in (1, 2))
    with ledger.transaction() as tx:
        tx.schemas.add_schema(first, NOW)
        tx.schemas.add_schema(second, NOW)

        assert tx.schemas.schema_by_ref("a") == second
        tx.schemas.go_back_to_schema(first)
        assert tx.schemas.schema_versions("a") == [first, second]
        assert tx.schemas.schema_by_ref("a") == first


def test_a_run_keeps_what_it_was_told(ledger: Ledger) -> None:
    expected = ({"texts": TEXTS, "nul": "\0"}, {"big": BIG}, {"half": 0.5, "none": None})
    with ledger.transaction() as tx:
        run = tx.runs.get_run(tx.runs.add_run(b"\0key", expected, 5, NOW))

    assert run
    assert (run.recipe, run.model, run.policy) == expected
    assert run.task_limit == 5


def test_a_prefix_is_stored_once_as_it_is(ledger: Ledger, raw: Raw) -> None:
    text = "".join(TEXTS)
    with ledger.transaction() as tx:
        for _ in range(2):
            tx.requests.add_prefix(b"\0\xff" * 8, text, {"title": text})

    ((digest, system, expected),) = raw.rows("SELECT hash, system, output_schema FROM prefixes")
    assert (digest, system, json.loads(expected)) == (b"\0\xff" * 8, text, {"title": text})


def test_an_answer_keeps_its_text_and_reasoning(ledger: Ledger) -> None:
    place, attempts = send_all(ledger, ["one"] * 2 * len(TEXTS))
    said = [reply(f"\0{text}", stop=Stop.LENGTH, reasoning=f"{text}\0.") for text in TEXTS]
    with ledger.transaction() as tx:
        answers = [
            answer(place, attempt, text.encode(), item)
            for attempt, text, item in zip(attempts, TEXTS, said, strict=True)
        ]
        record_answers(tx, answers, NOW)
        judged = tx.attempts.take_answered(50)
        views = [
            tx.views.attempts_of_request(request_of(tx, attempt_id))[0] for attempt_id in attempts
        ]

    assert [(answered_attempt.text, answered_attempt.stop) for answered_attempt in judged] == [
        (item.text, item.stop) for item in said
    ]
    assert [view.raw for view in views] == TEXTS
    assert [view.decoded for view in views] == [item.text for item in said]
    assert [view.reasoning for view in views] == [item.reasoning for item in said]
    assert (views[0].input_tokens, views[0].output_tokens, views[0].cost_pico) == (3, 2, 7)


def test_a_raw_response_is_read_back_exactly(ledger: Ledger) -> None:
    sizes = [0, 1, 256, COMPRESS_FROM - 1, COMPRESS_FROM, 100_000]
    raws = [Random(size).randbytes(size) for size in sizes]
    place, attempts = send_all(ledger, ["one"] * 2 * len(sizes))
    with ledger.transaction() as tx:
        record_answers(tx, [answer(place, *item) for item in zip(attempts, raws, strict=True)], NOW)

        assert [
            (response.attempt_id, response.raw) for response in tx.attempts.undecoded_responses()
        ] == list(zip(attempts, raws, strict=True))
        assert tx.attempts.take_answered(50) == []


@pytest.mark.parametrize(("size", "codec"), [(4095, "plain"), (4096, "zlib"), (100_000, "zlib")])
def test_a_response_is_compressed_from_four_kibibytes_on(
    size: int, codec: str, ledger: Ledger, raw: Raw
) -> None:
    place, (attempt,) = send_all(ledger)
    with ledger.transaction() as tx:
        record_answers(tx, [answer(place, attempt, b"a" * size, reply("b" * 5000))], NOW)

    ((how, stored, decoded),) = raw.rows("SELECT codec, raw, decoded FROM responses")
    assert how == codec
    assert (len(stored) < size) == (codec == "zlib")
    assert (decompress(stored, how), decompress(decoded, how)) == (b"a" * size, b"b" * 5000)


@pytest.mark.parametrize("size", [0, 1, 70, 4095, 4096, 70_000])
def test_what_is_short_beside_a_long_response_is_kept_as_it_is_and_reads_as_zlib(
    size: int, ledger: Ledger, raw: Raw
) -> None:
    place, (attempt,) = send_all(ledger)
    with ledger.transaction() as tx:
        record_answers(tx, [answer(place, attempt, b"a" * 5000, reply("b" * size))], NOW)
        (judged,) = tx.attempts.take_answered(5)

    ((how, decoded),) = raw.rows("SELECT codec, decoded FROM responses")
    assert how == "zlib"
    assert judged.text == "b" * size
    assert zlib.decompress(decoded) == decompress(decoded, how) == b"b" * size
    assert decompress(zlib.compress(b"b" * size), how) == b"b" * size  # as older Quires wrote it


@pytest.mark.parametrize("size", [10, 5000])
def test_a_mended_decoder_puts_its_reading_beside_the_raw_response(
    size: int, ledger: Ledger
) -> None:
    place, (attempt,) = send_all(ledger)
    with ledger.transaction() as tx:
        record_answers(tx, [answer(place, attempt, b"?" * size)], NOW)
        tx.attempts.replace_decoded(attempt, reply("read", reasoning="why"), 2, 11)

        (judged,) = tx.attempts.take_answered(5)
        (view,) = tx.views.attempts_of_request(request_of(tx, attempt))
        assert tx.attempts.undecoded_responses() == []
    assert judged.text == view.decoded == "read"
    assert (view.raw, view.reasoning, view.cost_pico, view.cost_basis) == (
        "?" * size,
        "why",
        11,
        "usage",
    )


def test_a_result_keeps_its_data(ledger: Ledger) -> None:
    place, attempts = send_all(ledger, ["one"] * len(DATA))
    written = [json.dumps(item, ensure_ascii=False) for item in DATA]
    with ledger.transaction() as tx:
        tasks = tasks_of(tx, place)
        tx.results.add_results(
            [
                (task, 1, attempts[0], "json/1", data, (), place.stage, 0, 6)
                for task, data in zip(tasks, written, strict=True)
            ],
            NOW,
        )
        tx.tasks.move_tasks(TaskMove.ACCEPT, tasks)

    with ledger.snapshot() as tx:
        rows = list(tx.results.export_rows(place.run, place.stage))
    assert [row.data for row in rows] == written
    assert [json.loads(row.data or "") for row in rows] == DATA
    assert {(row.state, row.review_state, row.version) for row in rows} == {
        ("done", "unreviewed", 1)
    }


def test_half_a_surrogate_pair_in_an_answer_does_not_cost_the_answer(ledger: Ledger) -> None:
    place, (attempt,) = send_all(ledger)
    with ledger.transaction() as tx:
        record_answers(tx, [answer(place, attempt, b'"\\ud83d"', reply("\ud83d!"))], NOW)

        assert [answered_attempt.text for answered_attempt in tx.attempts.take_answered(5)] == [
            "?!"
        ]


def test_a_schema_is_found_by_no_other_name(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        tx.schemas.add_schema(SCHEMA, NOW)

        assert tx.schemas.schema_by_ref(SCHEMA.ref.upper()) is None
        assert tx.schemas.schema_by_uid(SCHEMA.uid[:-1]) is None
