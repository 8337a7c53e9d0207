"""Reading answers: whole, wrapped, broken and cut at every point."""

import json
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quire.domain.data import Json
from quire.gates.records import parse_records, salvage_records

NASTY = ['"', "\\", "}", "{", "]", '"}]}', "```", "\n```\n", '{"block_uid":"1a"}', "\u2028", "😀"]
texts = st.one_of(st.sampled_from(NASTY), st.text(st.characters(exclude_categories=["Cs"])))
numbers = st.one_of(st.integers(), st.integers(10**20, 10**40), st.floats(allow_nan=False))
scalars = st.one_of(st.none(), st.booleans(), numbers.filter(lambda n: abs(n) < 1e300), texts)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)
records = st.builds(
    lambda uid, fields: {**fields, "block_uid": uid}, texts, st.dictionaries(texts, values)
)


def _id_of(record: dict[str, Json]) -> str:
    return str(record["block_uid"])


class Answer(NamedTuple):
    text: str
    ends: list[int]  # where each record is closed
    records: list[dict[str, Json]]


@st.composite
def answers(draw: st.DrawFn) -> Answer:
    """Write an answer by hand, so that it is known where every record ends."""
    wrapping = draw(
        st.sampled_from(
            [
                ('{"results":[', "]}"),
                ('\n { "results" : [ ', " ] } \n"),
                ('{"note":"[{]","results":[', '],"done":true}'),
                ("[", "]"),
                ('```json\n{"results":[', "]}\n```"),
                ('Here you are:\n```\n{"results":[', "]}\n```\nThat is all."),
                ('{"results":[', "]}\nThat is all."),
            ]
        )
    )
    given_records = draw(st.lists(records, min_size=1, max_size=4, unique_by=_id_of))
    indent = draw(st.sampled_from([None, 1]))
    text, ends = wrapping[0], []
    for place, record in enumerate(given_records):
        text += ("," if place else "") + json.dumps(
            record, indent=indent, ensure_ascii=draw(st.booleans())
        )
        ends.append(len(text))
    return Answer(text + wrapping[1], ends, given_records)


@given(answers())
def test_a_whole_answer_is_read_exactly(answer: Answer) -> None:
    parsed = parse_records(answer.text)

    assert parsed.complete
    assert [record.value for record in parsed.records] == answer.records
    assert not any(record.flaw for record in parsed.records)


@settings(max_examples=settings().max_examples // 4)  # each tries some hundred cuts
@given(answers())
def test_every_cut_point_keeps_exactly_the_closed_records(answer: Answer) -> None:
    for cut in range(len(answer.text)):
        kept = parse_records(answer.text[:cut]).records

        closed = sum(end <= cut for end in answer.ends)
        assert [record.value for record in kept] == answer.records[:closed]


@given(answers())
def test_the_careful_path_reads_what_the_fast_path_reads(answer: Answer) -> None:
    start = min(answer.text.index(mark) for mark in "[{" if mark in answer.text)

    saved = salvage_records(answer.text, start)

    assert not saved.problem
    assert saved.records == parse_records(answer.text).records


@pytest.mark.parametrize(
    ("broken", "flaw"),
    [
        ('{"block_uid":"b","x":1,"x":2}', "same key twice"),
        ('{"block_uid":"b","x":{"y":1,"\\u0079":2}}', "same key twice"),
        ('{"block_uid":"b","x":NaN}', "NaN"),
        ('{"block_uid":"b","x":[-Infinity]}', "-Infinity"),
        ('{"block_uid":"b","x":1e400}', "too large"),
        ('{"block_uid":"b","x":' + "9" * 1001 + "}", "too large"),
        ('{"block_uid":"b","x":' + "9" * 9999 + "}", "too large"),
        ('{"block_uid":"b","x":"\\ud800"}', "surrogate"),
        ('{"block_uid":"b","\\udc00":1}', "surrogate"),
        ('{"block_uid":"b","x":"two\nlines"}', "control character"),
        ('{"block_uid":"b","x":' + "[" * 101 + "]" * 101 + "}", "nested"),
        ('{"block_uid":"b","x":' + "[" * 250 + "]" * 250 + "}", "nested"),
    ],
)
def test_a_broken_record_is_refused_by_name_and_spares_its_neighbours(
    broken: str, flaw: str
) -> None:
    parsed = parse_records(f'{{"results":[{{"block_uid":"a"}},{broken},{{"block_uid":"c"}}]}}')

    first, second, third = parsed.records
    assert parsed.complete
    assert (first.value, third.value) == ({"block_uid": "a"}, {"block_uid": "c"})
    assert not first.flaw
    assert not third.flaw
    assert flaw in second.flaw
    assert isinstance(second.value, dict)
    assert second.value["block_uid"] == "b"


def test_a_record_with_two_different_ids_belongs_to_nobody() -> None:
    parsed = parse_records('[{"block_uid":"a","block_uid":"b"}]')

    assert parsed.records[0].flaw
    assert parsed.records[0].value == {}


@pytest.mark.parametrize("depth", [2_000, 200_000])
def test_nesting_beyond_any_stack_is_skipped_and_spares_its_neighbours(depth: int) -> None:
    deep = '{"block_uid":"b","x":' + "[" * depth + '"]"' + "]" * depth + "}"

    parsed = parse_records(f'[{{"block_uid":"a"}},{deep},{{"block_uid":"c"}}]')

    assert [record.value for record in parsed.records] == [
        {"block_uid": "a"},
        None,
        {"block_uid": "c"},
    ]
    assert "nested" in parsed.records[1].flaw


@pytest.mark.parametrize("tail", ["", '"never closed', "]}"])
def test_nesting_that_never_closes_ends_the_salvage(tail: str) -> None:
    parsed = parse_records('[{"block_uid":"a"},{"x":' + "[" * 5_000 + tail)

    assert len(parsed.records) == 1
    assert not parsed.complete


def test_malformed_text_between_records_ends_the_salvage() -> None:
    parsed = parse_records('{"results":[{"block_uid":"a"} oops {"block_uid":"b"}]}')

    assert [record.value for record in parsed.records] == [{"block_uid": "a"}]
    assert not parsed.complete
    assert "'o'" in parsed.problem


def test_malformed_text_inside_a_record_ends_the_salvage() -> None:
    parsed = parse_records('[{"block_uid":"a"},{"block_uid":"b","x":tru},{"block_uid":"c"}]')

    assert [record.value for record in parsed.records] == [{"block_uid": "a"}]


def test_a_number_at_the_cut_may_be_half_a_number() -> None:
    assert len(parse_records('[{"block_uid":"a"},12').records) == 1
    assert len(parse_records('[{"block_uid":"a"},12,').records) == 2


def test_integers_beyond_64_bits_stay_exact() -> None:
    parsed = parse_records('[{"block_uid":"a","x":123456789012345678901234567890}]')

    value = parsed.records[0].value
    assert isinstance(value, dict)
    assert value["x"] == 123456789012345678901234567890


@pytest.mark.parametrize("end", ["", "}", "]", '], "more": "cut'])
def test_what_a_cut_record_calls_results_are_fields_of_its_own(end: str) -> None:
    inner = '"results": [{"block_uid": "2y", "words": 2}' + end

    for text in ('{"block_uid": "1x", ' + inner, f'{{{inner.removesuffix(end)}], "block_uid": "1'):
        found = parse_records(text)
        assert (found.records, found.complete) == ((), False)


def test_one_bare_record_is_understood() -> None:
    parsed = parse_records('{"block_uid":"a","x":1}')

    assert [record.value for record in parsed.records] == [{"block_uid": "a", "x": 1}]


def test_a_byte_order_mark_before_the_answer_does_no_harm() -> None:
    assert parse_records('\ufeff{"results":[{"block_uid":"a"}]}').complete


@pytest.mark.parametrize(
    "text",
    [
        '```json\n[{"block_uid":"a"}]\n```\nor rather\n```json\n[{"block_uid":"a","x":1}]\n```',
        '{"results":[{"block_uid":"a"}]}\n{"results":[{"block_uid":"a","x":1}]}',
        'A draft: {"block_uid":"a"}\n```json\n[{"block_uid":"a"}]\n```',
    ],
)
def test_two_answers_in_one_response_are_no_answer(text: str) -> None:
    parsed = parse_records(text)

    assert parsed.records == ()
    assert parsed.problem == "response holds more than one answer"


LINES = '{"block_uid":"a","x":"1\u2028"}\n\n{"block_uid":"b","x":{"block_uid":"a"}}\n'


@pytest.mark.parametrize("text", [LINES, LINES.replace("\n", "\r\n"), f"```json\n{LINES}```"])
def test_records_line_by_line_are_one_answer(text: str) -> None:
    parsed = parse_records(text, ["a", "b", "c"])

    assert parsed.complete
    assert [record.value for record in parsed.records] == [
        {"block_uid": "a", "x": "1\u2028"},
        {"block_uid": "b", "x": {"block_uid": "a"}},
    ]


@pytest.mark.parametrize(
    "more",
    [
        '{"block_uid":"a","x":2}',  # twice about one block
        '{"block_uid":"z","x":2}',  # about none that was asked about
        '{"block_uid":["c"]}',
        '{"results":[{"block_uid":"c"}]}',
        '{"block_uid":"c","x":',
        "or rather:",
    ],
)
def test_lines_that_can_be_read_in_two_ways_are_no_answer(more: str) -> None:
    parsed = parse_records(LINES + more, ["a", "b", "c"])

    assert (parsed.records, parsed.complete) == ((), False)


@pytest.mark.parametrize(
    "text", ["I cannot do that.", "", "{", "[1, 2", '"text"', "12", "```json\n"]
)
def test_text_without_records_says_what_is_wrong(text: str) -> None:
    parsed = parse_records(text)

    assert parsed.problem
    assert not parsed.complete


@pytest.mark.parametrize("text", ['{"a":1}', '{"results":{"block_uid":"a"}}', "null"])
def test_json_without_results_says_so(text: str) -> None:
    assert parse_records(text).problem == 'answer has no "results" array'


@given(st.text())
def test_no_text_whatever_raises(text: str) -> None:
    parse_records(text)
    parse_records('{"results":[' + text)
