"""What goes into the ledger comes out of it, character for character and byte for byte."""

import json
from dataclasses import replace
from random import Random

import pytest

from quire.domain.ids import AttemptId
from quire.domain.recipes import Schema
from quire.domain.requests import Stop
from quire.ledger.ledger import Ledger
from quire.ledger.tables.attempts import COMPRESS_FROM, expand
from quire.ledger.tables.results import NewResult
from quire.pipeline.record import record_answers
from tests.ledger.making import (
    NOW,
    SCHEMA,
    Place,
    add_document,
    answer,
    block,
    owing,
    parsed,
    reply,
    request_of,
    sent,
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

nasty = pytest.mark.parametrize("text", NASTY.values(), ids=NASTY.keys())


@nasty
def test_a_block_keeps_its_content_in_every_reading(text: str, ledger: Ledger) -> None:
    place = owing(ledger, [text])
    with ledger.snapshot() as tx:
        (row,) = tx.results.export(place.run, place.stage)
        assert row.content == text
        assert row.task_id
        view = tx.tasks.content(row.task_id)
        assert view
        assert view.content == text
    with ledger.transaction() as tx:
        assert [each.content for each in tx.tasks.ready(place.stage, 5)] == [text]


@nasty
def test_a_document_keeps_its_names(text: str, ledger: Ledger) -> None:
    source = replace(parsed(), title=text, source_locator=f"/{text}", parsing_tool=text)
    with ledger.transaction() as tx:
        key = tx.documents.add(source, NOW)
        tx.documents.set_counts(key, {text: 2, "table": 1}, 2**40)

        (document,) = tx.documents.all()
        assert (document.title, document.source_locator) == (text, f"/{text}")
        assert document.conv_parsing_tool == text
        assert document.conv_block_type_freq == {text: 2, "table": 1}
        assert (document.conv_total_blocks, document.conv_total_characters) == (3, 2**40)
        assert document.uploaded_at == NOW


@nasty
def test_a_block_keeps_its_locator_and_headings(text: str, ledger: Ledger, raw: Raw) -> None:
    told = json.dumps({"sheet": text})
    with ledger.transaction() as tx:
        document = add_document(tx, [])
        tx.documents.add_blocks(
            document, [block(0, "x")._replace(locator=told, headings=json.dumps([text]))]
        )

    ((locator, headings),) = raw.rows("SELECT locator, headings FROM blocks")
    assert (locator, json.loads(headings)) == (told, [text])


@nasty
def test_a_schema_keeps_its_body(text: str, ledger: Ledger) -> None:
    body = {"properties": {f"{text}!": {"title": text, "const": "\0"}}, "maximum": BIG}
    schema = Schema(ref="nasty", uid="u", body=body)
    with ledger.transaction() as tx:
        tx.schemas.add(schema, NOW)

        assert tx.schemas.by_ref("nasty") == tx.schemas.by_uid("u") == schema
        assert tx.schemas.all() == [schema]


def test_a_run_keeps_what_it_was_told(ledger: Ledger) -> None:
    told = ({"text": NASTY["sql"], "nul": "\0"}, {"big": BIG}, {"half": 0.5, "none": None})
    with ledger.transaction() as tx:
        run = tx.runs.get(tx.runs.add(b"\0key", told, 5, NOW))

    assert run
    assert (run.recipe, run.model, run.policy) == told
    assert run.task_limit == 5


@nasty
def test_a_prefix_is_stored_once_as_it_is(text: str, ledger: Ledger, raw: Raw) -> None:
    with ledger.transaction() as tx:
        for _ in range(2):
            tx.requests.add_prefix(b"\0\xff" * 8, text, {"title": text})

    ((digest, system, told),) = raw.rows("SELECT hash, system, output_schema FROM prefixes")
    assert (digest, system, json.loads(told)) == (b"\0\xff" * 8, text, {"title": text})


@nasty
def test_an_answer_keeps_its_text_and_reasoning(text: str, ledger: Ledger) -> None:
    said = reply(f"\0{text}", stop=Stop.LENGTH, reasoning=f"{text}\0.")
    place, (attempt,) = sent(ledger)
    with ledger.transaction() as tx:
        record_answers(tx, [answer(place, attempt, text.encode(), said)], NOW)
        (judged,) = tx.attempts.answered(5)
        (view,) = tx.views.attempts(request_of(tx, attempt))

    assert (judged.text, judged.stop) == (said.text, Stop.LENGTH)
    assert (view.raw, view.decoded, view.reasoning) == (text, said.text, said.reasoning)
    assert (view.input_tokens, view.output_tokens, view.cost) == (3, 2, 7)


@pytest.mark.parametrize("size", [0, 1, 256, COMPRESS_FROM - 1, COMPRESS_FROM, 100_000])
def test_a_raw_response_is_read_back_exactly(size: int, ledger: Ledger) -> None:
    raw = Random(size).randbytes(size)
    place, (attempt,) = sent(ledger)
    with ledger.transaction() as tx:
        record_answers(tx, [answer(place, attempt, raw)], NOW)

        (unread,) = tx.attempts.undecoded(2, 5)
        assert (unread.attempt_id, unread.raw) == (attempt, raw)
        assert tx.attempts.answered(5) == []


@pytest.mark.parametrize(("size", "codec"), [(1023, "plain"), (1024, "zlib"), (100_000, "zlib")])
def test_a_response_is_compressed_from_one_kibibyte_on(
    size: int, codec: str, ledger: Ledger, raw: Raw
) -> None:
    place, (attempt,) = sent(ledger)
    with ledger.transaction() as tx:
        record_answers(tx, [answer(place, attempt, b"a" * size, reply("b" * 5000))], NOW)

    ((how, stored, decoded),) = raw.rows("SELECT codec, raw, decoded FROM responses")
    assert how == codec
    assert (len(stored) < size) == (codec == "zlib")
    assert (expand(stored, how), expand(decoded, how)) == (b"a" * size, b"b" * 5000)


@pytest.mark.parametrize("size", [10, 5000])
def test_a_mended_decoder_puts_its_reading_beside_the_raw_response(
    size: int, ledger: Ledger
) -> None:
    place, (attempt,) = sent(ledger)
    with ledger.transaction() as tx:
        record_answers(tx, [answer(place, attempt, b"?" * size)], NOW)
        tx.attempts.redecode(attempt, reply("read", reasoning="why"), 2, 11)

        (judged,) = tx.attempts.answered(5)
        (view,) = tx.views.attempts(request_of(tx, attempt))
        assert tx.attempts.undecoded(3, 5) == []
    assert judged.text == view.decoded == "read"
    assert (view.raw, view.reasoning, view.cost, view.cost_basis) == (
        "?" * size,
        "why",
        11,
        "usage",
    )


@pytest.mark.parametrize(
    "data",
    [
        *({"text": text} for text in NASTY.values()),
        {"nul": "\0", "a\0b": ["\0"]},
        {"big": BIG, "negative": -BIG, "wide": 2**63},
        {"float": 0.1, "small": 5e-324, "none": None, "deep": [[[{}]]]},
    ],
)
def test_a_result_keeps_its_data(data: object, ledger: Ledger) -> None:
    place, (attempt,) = sent(ledger)
    written = json.dumps(data, ensure_ascii=False)
    _accept(ledger, place, attempt, written)

    with ledger.snapshot() as tx:
        (row,) = tx.results.export(place.run, place.stage)
    assert row.data == written
    assert json.loads(row.data) == data
    assert (row.state, row.review_state, row.version) == ("done", "unreviewed", 1)


def test_half_a_surrogate_pair_in_an_answer_does_not_cost_the_answer(ledger: Ledger) -> None:
    place, (attempt,) = sent(ledger)
    with ledger.transaction() as tx:
        record_answers(tx, [answer(place, attempt, b'"\\ud83d"', reply("\ud83d!"))], NOW)

        assert [each.text for each in tx.attempts.answered(5)] == ["?!"]


def test_a_schema_is_found_by_no_other_name(ledger: Ledger) -> None:
    with ledger.transaction() as tx:
        tx.schemas.add(SCHEMA, NOW)

        assert tx.schemas.by_ref(SCHEMA.ref.upper()) is None
        assert tx.schemas.by_uid(SCHEMA.uid[:-1]) is None


def _accept(ledger: Ledger, place: Place, attempt: AttemptId, data: str) -> None:
    with ledger.transaction() as tx:
        (task,) = tasks_of(tx, place)
        tx.results.add([NewResult(task, 1, attempt, "json/1", data)], NOW)
        tx.tasks.move("accept", [task])
