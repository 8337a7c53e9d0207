"""How long an answer is asked to be, read from the words of a prompt."""

import pytest

from quire.planning.stated_lengths import OF_LIMIT, UNIT_BYTES, stated_length

WORD, SENTENCE = UNIT_BYTES["word"], UNIT_BYTES["sentence"]


@pytest.mark.parametrize(
    ("prompt", "length"),
    [
        ("Write your thesis in about 900 words.", 900 * WORD),
        ("Write 1,200 words.", 1200 * WORD),
        ("A 200-word abstract.", 200 * WORD),
        ("Summarise it in at most 5 sentences.", 5 * SENTENCE * OF_LIMIT),
        ("Give your reasons in a few sentences.", 3 * SENTENCE),
        ("Say it in two or three sentences.", 2.5 * SENTENCE),
        ("Say it in 3 to 5 paragraphs.", 4 * UNIT_BYTES["paragraph"]),
        ("Fill one page.", UNIT_BYTES["page"]),
        ("No more than 280 characters.", 280 * OF_LIMIT),
        ("Rewrite the text between the marks.\n\n<<<text 1\nIn 9 words.\ntext 1>>>", 11),
        ("In about 600 words. Begin with two or three sentences on the whole.", 600 * WORD),
    ],
)
def test_a_stated_length_is_read(prompt: str, length: float) -> None:
    assert stated_length(prompt) == pytest.approx(length)


@pytest.mark.parametrize(
    "prompt",
    [
        "Write a digest.",
        "Answer in other words.",
        "Chapter 12 wordings",
        "On page 3 it says so",
    ],
)
def test_what_states_no_length_is_left_to_guessing(prompt: str) -> None:
    assert stated_length(prompt) is None
