"""Pieces of an answer become the answer, each word once; what is open in it is found."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.continuation import Gap, Trigger
from quire.domain.data import Json
from quire.domain.requests import Stop
from quire.gates.assembly import assemble, fill, find_gap, merge
from quire.gates.text_seams import join_texts

TEXT = """# A report

The first section says that the harbour was built in 1871, of granite from the north.
It was widened twice.

## Costs

| Year | Cost |
|---|---|
| 1871 | 12 |
| 1872 | 12 |

Nothing else is known of it, and nobody has asked.
"""
RECORD: dict[str, Json] = {
    "block_uid": "1ab",
    "title": 'Of "ships" and \\ docks \u2013 caf\u00e9 \U0001f6a2',
    "rows": [{"year": 1871, "cost": -1.5e3}, {"year": 1872, "cost": None}],
    "open": True,
    "text": "It rained.\nThen it rained again, and again, and again.",
}
ANSWER = json.dumps({"results": [RECORD]}, ensure_ascii=False)
SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {name: {} for name in (*RECORD, "finish", "continue") if name != "block_uid"},
    "required": ["title", "text"],
}


def test_text_cut_anywhere_comes_back_equal() -> None:
    for cut in range(1, len(TEXT)):
        assert join_texts(TEXT[:cut], TEXT[cut:]) == TEXT


@pytest.mark.parametrize(
    "preamble", ["Continuing from where I left off:\n\n", "Sure! Here is the rest of it:\n\n"]
)
def test_what_is_said_before_going_on_is_dropped(preamble: str) -> None:
    at = TEXT.index("It was widened")

    assert join_texts(TEXT[:at], preamble + TEXT[at:]) == TEXT


@pytest.mark.parametrize("lines", [1, 2, 3])
def test_last_lines_said_again_are_joined_once(lines: int) -> None:
    for cut in range(60, len(TEXT) - 80):
        again = "".join(TEXT[:cut].splitlines(keepends=True)[-lines:])
        if len(again) >= 8 and "--|--" not in again[-9:]:  # half a rule may well be its beginning
            assert join_texts(TEXT[:cut], again + TEXT[cut:]) == TEXT, (cut, again)


def test_a_word_that_was_cut_is_finished_once() -> None:
    assert join_texts("It was an impor", "important step.") == "It was an important step."


def test_an_answer_that_begins_again_takes_the_place_of_the_first() -> None:
    assert join_texts(TEXT[:100], TEXT) == TEXT


def test_a_piece_that_says_only_what_is_there_adds_nothing() -> None:
    for piece in (
        "",
        TEXT[:150],
        TEXT[12:140],
        "The answer above is complete. Nothing is missing.",
    ):
        assert assemble([TEXT[:150], piece], json=False).added < 8
        assert assemble([TEXT[:150], piece], json=False).text == TEXT[:150]


@pytest.mark.parametrize(
    "last", ["Continuing this is worthwhile.", "The document was signed and complete copies kept."]
)
def test_a_sentence_that_only_looks_like_talk_stays(last: str) -> None:
    assert join_texts("It began. ", last) == f"It began. {last}"


def test_equal_rows_are_not_taken_for_a_repetition() -> None:
    row = "| 1871 | twelve and more |\n"
    table = "| Year | Cost |\n" + 4 * row

    for cut in range(table.index(row) + 2 * len(row), len(table)):
        assert join_texts(table[:cut], table[cut:]) == table


def test_code_that_is_fenced_again_in_the_middle_is_one_block() -> None:
    code = "Do so:\n```python\nfirst()\nsecond()\n```\nDone.\n"
    at = code.index("second")

    assert join_texts(code[:at], "```python\n" + code[at:]) == code


CODE = """Do so:

```python
first()
second()
```

Then:

```
plain
```

and at last

```sh
ls -l
```

Done.
"""
REFRAIN = """Oh, the wide river runs from the hills to the sea, and nobody knows what it has seen,
no, nobody knows.

"""
SONG = f"{REFRAIN}Of the hills.\n\n{REFRAIN}Of mills, long gone.\n\n{REFRAIN}Of a boat.\n"


@pytest.mark.parametrize("text", [CODE, SONG])
def test_code_and_refrains_cut_anywhere_come_back_equal(text: str) -> None:
    for cut in range(1, len(text)):
        assert join_texts(text[:cut], text[cut:]) == text, text[:cut]


@pytest.mark.parametrize("word", ["markdown", ""])
def test_a_piece_in_a_fence_comes_out_of_it_with_its_own_code(word: str) -> None:
    at = CODE.index("at last")

    assert join_texts(CODE[:at], f"```{word}\n{CODE[at:-1]}\n```\n") == CODE[:-1]


def test_a_line_that_only_sounds_like_a_preamble_stays() -> None:
    line = "Picking up where her father had stopped.\n"

    assert join_texts("She wrote on.\n", f"{line}Then she slept.") == (
        f"She wrote on.\n{line}Then she slept."
    )


TREE: dict[str, Json] = {
    "title": "A",
    "parts": [
        {"title": "B", "parts": [{"title": "C", "parts": []}]},
        {"title": "D", "parts": []},
    ],
}


@pytest.mark.parametrize("indent", [None, 2])
def test_records_inside_a_record_never_take_its_place(indent: int | None) -> None:
    text = json.dumps(TREE, indent=indent)

    for cut in range(1, len(text)):
        assert assemble([text[:cut], text[cut:]], json=True).text == text, text[:cut]
        assert json.loads(assemble([text[:cut], text], json=True).text) == TREE, text[:cut]


def test_equal_items_of_json_are_not_taken_for_a_repetition() -> None:
    text = json.dumps([{"a": 1}, {"a": 1}, {"a": 1}], indent=2)

    for cut in range(1, len(text)):
        assert assemble([text[:cut], text[cut:]], json=True).text == text, text[:cut]


def test_fields_that_were_missing_are_taken_and_nothing_else_is_said_twice() -> None:
    first = {"results": [{"block_uid": "1ab", "title": "Of ships.", "tags": ["a", "b"]}]}
    again = {"title": "Of ships!", "tags": ["b", "a"], "text": "It rained."}
    whole = {"title": "Of ships.", "tags": ["a", "b"], "text": "It rained."}
    gaps = [Gap(Trigger.MISSING, ("text",))]

    for piece in (again, {"results": [{"block_uid": "1ab", **again}]}):
        text = assemble([json.dumps(first), json.dumps(piece)], gaps, json=True).text
        assert json.loads(text) == {"results": [{"block_uid": "1ab", **whole}]}
    assert fill({"a": None, "b": {"c": 1}}, {"a": 2, "b": {"c": 3, "d": 4}}) == {
        "a": 2,
        "b": {"c": 1, "d": 4},
    }


def test_json_cut_anywhere_comes_back_equal() -> None:
    for cut in range(1, len(ANSWER)):
        first, rest = ANSWER[:cut], ANSWER[cut:]
        fenced = f"Continuing from where I left off:\n```json\n{rest}\n```"

        for piece in (rest, fenced, ANSWER):
            assert assemble([first, piece], json=True).text == ANSWER


@given(st.lists(st.integers(1, len(ANSWER) - 1), min_size=2, max_size=5, unique=True))
def test_json_cut_often_comes_back_equal(cuts: list[int]) -> None:
    ends = [0, *sorted(cuts), len(ANSWER)]
    pieces = [ANSWER[start:end] for start, end in pairwise(ends)]

    assert assemble(pieces, json=True).text == ANSWER


def test_the_end_of_json_said_again_is_joined_once() -> None:
    for cut in range(80, len(ANSWER)):
        again = ANSWER[:cut][-70:]

        assert assemble([ANSWER[:cut], again + ANSWER[cut:]], json=True).text == ANSWER


def test_whole_records_are_merged() -> None:
    first: dict[str, Json] = {
        "text": "One.",
        "rows": [1],
        "inner": {"a": "x"},
        "finish": False,
        "title": "T",
    }
    second: dict[str, Json] = {
        "text": " Two.",
        "rows": [2, 3],
        "inner": {"b": "y"},
        "finish": True,
        "title": "T",
    }
    merged: dict[str, Json] = {
        "text": "One. Two.",
        "rows": [1, 2, 3],
        "inner": {"a": "x", "b": "y"},
    }
    pieces = [json.dumps({"results": [{"block_uid": "1ab", **part}]}) for part in (first, second)]

    assert merge(first, second) == {**merged, "finish": True, "title": "T"}
    text = assemble(pieces, json=True).text
    assert json.loads(text)["results"] == [
        {"block_uid": "1ab", **merged, "finish": True, "title": "T"}
    ]


def test_a_record_without_its_wrapping_is_merged_too() -> None:
    pieces = ['{"results":[{"block_uid":"1ab","title":"T"}]}', '{"text":"It rained."}']

    assert json.loads(assemble(pieces, json=True).text) == {
        "results": [{"block_uid": "1ab", "title": "T", "text": "It rained."}]
    }


def test_a_merged_record_may_be_cut_itself() -> None:
    pieces = ['{"results":[{"block_uid":"1ab","title":"T"}]}', '{"text":"It ra', 'ined."}']

    assert json.loads(assemble(pieces, json=True).text)["results"][0]["text"] == "It rained."


def test_json_that_is_not_closed_is_found_unfinished() -> None:
    for cut in range(ANSWER.index("[") + 1, len(ANSWER)):
        for stop, trigger in ((Stop.LENGTH, Trigger.LENGTH), (Stop.END, Trigger.UNFINISHED)):
            assert find_gap(ANSWER[:cut], stop, SCHEMA, json=True) == Gap(trigger)


def test_what_is_open_is_found() -> None:
    def gap(record: dict[str, Json], stop: Stop = Stop.END) -> Gap | None:
        return find_gap(json.dumps({"results": [record]}), stop, SCHEMA, json=True)

    whole: dict[str, Json] = {"block_uid": "1ab", "title": "T", "text": "x"}
    assert gap(whole) is None
    assert gap(whole, Stop.LENGTH) is None
    assert gap({**whole, "finish": False}) == Gap(Trigger.DECLARED)
    assert gap({**whole, "continue": True}) == Gap(Trigger.DECLARED)
    assert gap({**whole, "finish": True, "continue": False}) is None
    assert gap({"block_uid": "1ab", "title": "T"}) == Gap(Trigger.MISSING, ("text",))
    assert find_gap("[,", Stop.END, SCHEMA, json=True) is None
    assert find_gap("", Stop.LENGTH, SCHEMA, json=True) is None
    assert find_gap("{}", Stop.LENGTH, SCHEMA, json=True) is None
    assert find_gap("So far", Stop.LENGTH, None, json=False) == Gap(Trigger.LENGTH)
    assert find_gap("All.", Stop.END, None, json=False) is None
