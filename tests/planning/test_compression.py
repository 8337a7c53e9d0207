"""Compression: which texts shrink, how far, and what is never touched."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.extracts import ShownText, TextKind
from quire.planning.compression import Extractor, compress, text_hash
from quire.planning.lexical_ranking import LexicalRanker
from quire.planning.passages import LONGEST_PASSAGE, MARK, cut_passages, make_extract

PROMPT = "Which harbour does the ferry leave from?"
FACT = "The ferry leaves from the harbour of Vardø at noon."


def filler(words: str, sentences: int = 60) -> str:
    return " ".join(f"Sentence {no} says that {words} once more." for no in range(sentences))


def document(name: str, text: str, relevance: float = 1.0) -> ShownText:
    return ShownText(name, TextKind.DOCUMENT, text, relevance)


def measure_of(texts: Sequence[ShownText], fixed: int = 500):  # type: ignore[no-untyped-def]
    def measure(extracts: Mapping[bytes, str]) -> int:
        said = [extracts.get(text_hash(shown.text), shown.text) for shown in texts]
        return fixed + sum(len(text.encode()) for text in said)

    return measure


def extractor() -> Extractor:
    return Extractor(LexicalRanker(), PROMPT)


def test_the_least_useful_document_shrinks_first_and_others_stay_whole() -> None:
    near = document("documents/1", filler("a ferry left the harbour"))
    far = document("documents/2", filler("pears ripen late"))
    texts = [near, far]

    done = compress(texts, 5_000, measure_of(texts), extractor())

    assert [found.shown.name for found in done.extracts.values()] == ["documents/2"]
    assert done.size <= 5_000 < done.before
    assert done.over == 0


def test_declared_relevance_counts_for_more_than_a_small_difference_in_words() -> None:
    near = document("documents/1", filler("a ferry left the harbour"), relevance=0.0)
    far = document("documents/2", filler("pears ripen late"))
    texts = [near, far]

    done = compress(texts, 5_000, measure_of(texts), extractor())

    assert [found.shown.name for found in done.extracts.values()] == ["documents/1"]


def test_an_extract_keeps_what_the_prompt_asks_for() -> None:
    text = f"{filler('pears ripen late')} {FACT} {filler('apples ripen early')}"
    texts = [document("document", text)]

    done = compress(texts, 1_600, measure_of(texts), extractor())

    (found,) = done.extracts.values()
    assert FACT in found.text
    assert "[…]" in found.text


def test_turns_shrink_oldest_first() -> None:
    turns = [ShownText(f"history/{no}", TextKind.TURN, filler(f"topic {no}")) for no in range(4)]

    done = compress(turns, 9_000, measure_of(turns), extractor())

    assert [found.shown.name for found in done.extracts.values()] == ["history/0"]


def test_no_piece_falls_below_a_quarter_before_every_other_was_tried() -> None:
    texts = [document(f"documents/{no}", filler(f"thing {no}", 100)) for no in range(4)]
    whole = sum(len(shown.text) for shown in texts)

    done = compress(texts, whole * 2 // 5, measure_of(texts), extractor())

    assert done.over == 0
    assert len(done.extracts) == 4
    assert all(found.size >= len(found.shown.text) // 4 for found in done.extracts.values())


def test_what_cannot_fit_says_by_how_much_and_what_was_tried() -> None:
    texts = [document("document", filler("pears ripen late"))]

    done = compress(texts, 300, measure_of(texts, fixed=1_000), extractor())

    assert done.over == done.size - 300 >= 700
    assert len(done.extracts) == 1


def test_a_step_that_saves_nothing_is_not_taken() -> None:
    texts = [document("document", filler("pears ripen late"))]

    done = compress(texts, 300, lambda extracts: 5_000, extractor())

    assert done.extracts == {}
    assert done.over == 4_700


def test_what_was_made_before_is_not_ranked_again() -> None:
    class Costly(LexicalRanker):
        asked = 0

        def scores(self, prompt: str, passages: Sequence[str]) -> list[float]:
            self.asked += 1
            return super().scores(prompt, passages)

    texts, ranker = [document("document", filler("pears ripen late"))], Costly()
    first = Extractor(ranker, PROMPT)
    compress(texts, 1_600, measure_of(texts), first)
    again = Extractor(ranker, PROMPT, first.made)

    done = compress(texts, 1_610, measure_of(texts), again)

    assert ranker.asked == 1
    assert done.over == 0


@given(st.text(alphabet=st.sampled_from("ab .!?\n。é🎈"), max_size=2_000))
def test_passages_are_short_and_together_are_the_text(text: str) -> None:
    spans = cut_passages(text)

    assert "".join(text[slice(*span)] for span in spans) == text
    assert all(0 < span.end - span.start <= LONGEST_PASSAGE for span in spans)


@given(st.text(alphabet=st.sampled_from("ab .\né🎈"), max_size=1_500), st.integers(0, 2_000))
def test_an_extract_is_never_larger_than_it_may_be(text: str, size: int) -> None:
    spans = cut_passages(text)

    made = make_extract(text, spans, [1.0] * len(spans), size)

    assert len(made.encode()) <= size or made == ""
    assert all(part.strip("\n") in text for part in made.split(MARK.strip()) if part.strip())


@pytest.mark.parametrize("word", ["harbours", "HARBOUR", "harboured"])
def test_words_are_told_apart_by_more_than_their_endings(word: str) -> None:
    near, far = LexicalRanker().scores(PROMPT, [f"One {word} there.", "A pear tree there."])

    assert near > far
