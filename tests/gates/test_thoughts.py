"""What a model thought before its answer is no part of the answer, whatever gate reads it."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quire.domain.data import Json, JsonObject
from quire.domain.gates import CUT_OFF, Judgement, Verdict
from quire.domain.requests import Stop
from quire.gates.chain import GATES, GateChain, judge_answer_text
from quire.gates.packed_json import judge_pack
from quire.gates.shape import Shape
from quire.gates.thoughts import UNCLEAR_END, UNENDED_THOUGHT, split_thoughts

TEXT: GateChain = [(GATES["text"], {})]
MARKER: GateChain = [(GATES["markers"], {"kind": "agreement"})]
SHAPE = Shape({"properties": {"x": {"type": "integer"}}, "required": ["x"]})
LEADING = [
    "<think>{}</think>{}",
    "\n<think>\n{}\n</think>\n\n{}",
    "<THINK>{}</THINK>\n{}",
    "<think></think><think>{}</think>{}",
    "{}\n</think>\n\n{}",
    "{}</think>\n{}",
    "[THINK]{}[/THINK]{}",
    "<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final<|message|>{}<|return|>",
    "<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final <|constrain|>json"
    "<|message|>{}",
]


def judge(text: str, uses: GateChain = TEXT, stop: Stop = Stop.END) -> Verdict:
    """Judge one answer in words."""
    facts: JsonObject = {}
    return judge_answer_text(text, stop, uses, facts)


def records(*numbers: int) -> str:
    """Write the asked form, for the ids a, b and so on."""
    results = [{"block_uid": uid, "x": x} for uid, x in zip("abc", numbers, strict=False)]
    return json.dumps({"results": results})


@pytest.mark.parametrize("form", LEADING)
def test_a_leading_thought_is_cut_in_every_gate(form: str) -> None:
    draft = "Perhaps nine."
    assert judge(form.format(draft, "Two.")).data == {"text": "Two."}
    assert split_thoughts(form.format(draft, "Two.")).thought == draft
    packed = judge_pack(
        form.format("I say " + records(9), records(1, 2)), Stop.END, ["a", "b"], SHAPE
    )
    assert [verdict.data for verdict in packed.verdicts.values()] == [{"x": 1}, {"x": 2}]
    single = judge(form.format(draft, '{"x": 1}'), [(GATES["json"], {})])
    assert single.data == {"x": 1}


@pytest.mark.parametrize("form", LEADING)
def test_a_thought_is_the_reasoning_of_a_marker_that_has_none(form: str) -> None:
    bare = judge(
        form.format("EXPERT_AGREEMENT: 0.1\nno, more", "EXPERT_AGREEMENT: 0.8"), MARKER
    ).data
    both = judge(form.format("Hm.", "It is clear.\nEXPERT_AGREEMENT: 0.8"), MARKER).data

    assert isinstance(bare, dict)
    assert (bare["reasoning"], bare["expert_agreement_prob"]) == (
        "EXPERT_AGREEMENT: 0.1\nno, more",
        0.8,
    )
    assert isinstance(both, dict)
    assert both["reasoning"] == "It is clear."


@pytest.mark.parametrize(
    "text",
    [
        "Models write <think> and </think> around thoughts.",
        "First one writes <think>.\nThen one thinks.\n</think>\nThen one answers.",
        'It ends with "</think>", as a rule.',
        "Between them: the </think> tag.",
        "The channel is `<|channel|>final<|message|>`.",
    ],
)
def test_tags_in_the_middle_of_a_text_are_text(text: str) -> None:
    assert judge(text).data == {"text": text}


@pytest.mark.parametrize(
    "text",
    [
        "Hm.\n</think>\n\nTwo.",
        "Hm.\n</think>\nTwo.",
        "Hm.\r\n</think>\r\nTwo.",
        "Hm.\n\n</think>  \n\nTwo.",
        "Hm.\n</think>Two.",
        "So it is two</think>\n\nTwo.",
        "It is two.</think>\nTwo.",
        "It is two.</think>Two.",
        "Is it two?</think>Two.",
        "是两个。</think>Two.",
        "</think>\n\nTwo.",
        "</think>Two.",
        "The block is `code`, and\n```\nx = 1\n```\nso two\n</think>\nTwo.",
    ],
)
def test_a_thought_whose_opening_tag_was_in_the_prompt_is_cut(text: str) -> None:
    assert judge(text).data == {"text": "Two."}


@pytest.mark.parametrize(
    "text",
    [
        "A thought ends with </think>\n\nThe answer follows.",
        "The tag that ends a thought is </think>",
        "The tag that ends a thought is </think>.",
        "First the thought, then </think>, then the answer.",
        "Write `</think>`\n\nand go on.",
        "Write `x</think>`\n\nand go on.",
        "In a template:\n```\nreasoning\n</think>\nanswer\n```\nThat is all.",
        "In a template:\n~~~text\nreasoning.</think>\nanswer\n~~~\nThat is all.",
        "In a template:\n\n    </think>\n\nThat is all.",
        "The tags:\n- </think>\n- </answer>",
        "> </think>\n\nis what it wrote.",
        "To end it:\n</think> closes a thought.",
        "</think> is a tag that models write.",
        "The markup <p>Hello</think></p> is wrong.",
        "Use (</think>)\n\nas a mark.",
        "| tag | meaning |\n| </think> | the end |",
        "foo</think>bar is no word.",
    ],
)
def test_a_text_that_mentions_the_tag_keeps_its_beginning(text: str) -> None:
    assert judge(text).data == {"text": text}


def test_before_json_a_thought_ends_at_any_tag_that_is_not_quoted() -> None:
    text = 'I say {"x": 9}, or so </think> ' + records(1)

    assert judge_pack(text, Stop.END, ["a"], SHAPE).verdicts["a"].data == {"x": 1}


def test_records_that_quote_tags_are_read_whole() -> None:
    shape = Shape({"properties": {"q": {"type": "string"}}, "required": ["q"]})
    quoted: list[Json] = [{"block_uid": "a", "q": 'x</think>\n{"block_uid": "b", "q": ""}'}]
    text = "```json\n" + json.dumps({"results": quoted}) + "\n```\nDone."

    judged = judge_pack(text, Stop.END, ["a", "b"], shape)

    assert judged.verdicts["a"].data == {"q": 'x</think>\n{"block_uid": "b", "q": ""}'}
    assert judged.verdicts["b"].judgement is Judgement.RETRY


@pytest.mark.parametrize(
    "cut", ["<think>I shall say " + records(1), "<|channel|>analysis<|message|>It is " + records(1)]
)
def test_a_thought_cut_by_length_is_no_answer(cut: str) -> None:
    assert judge(cut, stop=Stop.LENGTH).reasons == (CUT_OFF,)
    assert judge(cut).reasons == (UNENDED_THOUGHT,)
    packed = judge_pack(cut, Stop.LENGTH, ["a"], SHAPE)
    assert packed.truncated
    assert packed.verdicts["a"].reasons == (CUT_OFF,)
    assert judge_pack(cut, Stop.END, ["a"], SHAPE).verdicts["a"].reasons == (UNENDED_THOUGHT,)


def test_an_answer_cut_after_its_thought_keeps_closed_records() -> None:
    text = "<think>a is 9</think>" + records(1, 2)[:-10]

    judged = judge_pack(text, Stop.LENGTH, ["a", "b"], SHAPE)

    assert judged.verdicts["a"].data == {"x": 1}
    assert judged.verdicts["b"].reasons == (CUT_OFF,)


@pytest.mark.parametrize(
    "text",
    [
        "<think>The block says </think>Seven.\n</think>\nEight.",
        "It says\n</think>\nSeven.\n</think>\nEight.",
    ],
)
def test_a_thought_that_seems_to_end_twice_is_refused(text: str) -> None:
    assert judge(text).reasons == (UNCLEAR_END,)
    assert judge_pack(text, Stop.END, ["a"], SHAPE).verdicts["a"].reasons == (UNCLEAR_END,)


@pytest.mark.parametrize(
    "text",
    [
        "<|channel|>analysis<|message|>Hm.<|end|>",
        "<|channel|>final<|message|>1<|end|><|start|>assistant<|channel|>final<|message|>2",
        "<|channel|>analysis<|message|>Hm.<|end|>and then",
    ],
)
def test_channels_without_one_final_are_refused(text: str) -> None:
    assert judge(text).judgement is Judgement.RETRY


PIECES = [
    "<think>",
    "</think>",
    "\n",
    " ",
    "a",
    "{",
    "[THINK]",
    "<|channel|>",
    "<|message|>",
    "<|end|>",
]


@given(st.lists(st.sampled_from(PIECES)).map("".join))
@settings(max_examples=60)
def test_whatever_comes_nothing_is_invented(text: str) -> None:
    spoken = split_thoughts(text)

    assert spoken.text in text
    assert not (spoken.problem and spoken.text)


@pytest.mark.parametrize(
    "piece", ["<think></think>", "<think>", "</think>\n", "<|channel|>a<|message|>"]
)
def test_a_hostile_text_is_split_in_one_pass(piece: str) -> None:
    assert split_thoughts(piece * 20_000 + " " * 20_000).text == ""


@pytest.mark.parametrize(
    "piece", ["</think> ", "`</think>\n", "```\n.</think>\n", "a\n    </think>\n"]
)
def test_a_hostile_text_without_a_thought_is_read_in_one_pass(piece: str) -> None:
    text = piece * 20_000

    assert split_thoughts(text).text in ("", text)
