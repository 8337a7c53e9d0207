"""A prompt with an outline is answered by a long text in it, of the asked length, always alike."""

from dataclasses import replace

import pytest

from quire.domain.ids import AttemptId
from quire.domain.models import Params
from quire.domain.requests import Call, Stop
from quire.simulated.call_outcomes import respond
from quire.simulated.fault_scripts import NO_FAULTS

PROMPT = """
Write the case for the bridge below, in about 600 words.

<document title="Bridge">
The ferry carries four hundred people a day across the sound.
Outline:
## Not asked for
A bridge would cost forty million and take six years.
</document>

Outline:
## Position
  What you hold, in one paragraph.
## Reasons
- the strongest first

### What speaks against it
That is all. Begin with the first heading.
## Not part of it
"""


def ask(user: str = PROMPT, *, model: str = "simulated/small", most: int | None = None) -> Call:
    return Call(
        attempt_id=AttemptId(1),
        model=model,
        system="You write.",
        user=user,
        output_schema=None,
        params=Params(max_tokens=most),
    )


def written(user: str = PROMPT, *, model: str = "simulated/small") -> str:
    return respond(ask(user, model=model), NO_FAULTS).text


def headings(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("#")]


def test_a_text_has_the_headings_of_its_outline_and_says_that_it_ends() -> None:
    text = written()

    assert headings(text) == ["## Position", "## Reasons", "### What speaks against it"]
    assert text.startswith("## Position\n\nsimulated: ")
    assert text.endswith("\n\nThis is the end of the text by simulated/small.")


@pytest.mark.parametrize(("asked", "words"), [("about 600", 600), ("About 2,500", 2500), ("", 240)])
def test_a_text_has_about_as_many_words_as_were_asked_for(asked: str, words: int) -> None:
    text = written(PROMPT.replace("about 600", asked))

    assert words <= len(text.split()) < words + 80


def test_a_text_is_made_of_its_material_and_says_nothing_twice() -> None:
    text = written()

    assert "ferry carries four hundred" in text
    assert "Begin with the first heading" not in text
    sentences = text.replace("\n", " ").split(". ")
    assert len({*sentences}) == len(sentences)


def test_texts_differ_by_model_and_by_prompt_and_not_by_attempt() -> None:
    again = respond(replace(ask(), attempt_id=AttemptId(9)), NO_FAULTS).text

    assert again == written()
    assert written(model="simulated/large") != written()
    assert written(PROMPT.replace("case for", "case against")) != written()


def test_a_text_is_cut_where_its_tokens_end() -> None:
    outcome = respond(ask(most=100), NO_FAULTS)

    assert outcome.stop is Stop.LENGTH
    assert written().startswith(outcome.text)
    assert len(outcome.text.encode()) in range(397, 401)


@pytest.mark.parametrize(
    "user",
    ["Summarise.", "Outline: none", "Outline:\nsome words\n## Later", "<a>\nOutline:\n## A\n</a>"],
)
def test_without_an_outline_a_question_is_answered_as_ever(user: str) -> None:
    assert written(user) == f"simulated: {' '.join(user.split())}"
