"""What a task asks, as a fingerprint: all that is sent is in it, and nothing else."""

from typing import Any

import pytest

from quire.domain.ids import fingerprint, hash_number
from quire.domain.models import Params
from quire.domain.recipes import Recipe
from quire.domain.requests import Role, Turn
from quire.planning.questions import (
    HALF,
    block_content,
    drawn_by,
    rendered_content,
    stage_question,
)
from tests.pipeline.recipe_stages import text_stage


def test_each_half_of_a_question_has_a_fixed_length() -> None:
    assert len(stage_question(b"p", "q", "m", Params())) == HALF
    assert len(block_content("paragraph", "text")) == HALF


def test_a_block_is_named_as_ledgers_have_it() -> None:
    assert block_content("other", "Grüße 👋") == fingerprint("other", "Grüße 👋")


@pytest.mark.parametrize("position", range(4))
def test_any_other_part_makes_another_question(position: int) -> None:
    parts: list[Any] = [b"p", "q", "m", Params()]
    changed: list[Any] = [b"P", "Q", "M", Params(seed=3)]

    other = [*parts[:position], changed[position], *parts[position + 1 :]]

    assert stage_question(*other) != stage_question(*parts)


def test_a_limit_of_output_that_a_stage_states_is_part_of_the_question() -> None:
    limited = stage_question(b"p", "q", "m", Params(max_tokens=512))

    assert limited != stage_question(b"p", "q", "m", Params())


def test_a_block_in_words_asks_what_the_block_asks() -> None:
    assert rendered_content("paragraph", "text") == block_content("paragraph", "text")


def test_turns_experiment_and_sample_are_part_of_what_is_asked() -> None:
    said = (Turn(Role.USER, "Hello."),)
    found = {
        rendered_content("", "text"),
        rendered_content("", "text", said),
        rendered_content("", "text", (), b"experiment"),
        rendered_content("", "text", (), b"experiment", 1),
        rendered_content("", "text", (), b"another", 1),
    }

    assert len(found) == 5


def test_a_number_fits_where_the_ledger_keeps_it() -> None:
    assert hash_number(b"\xff" * HALF) == 2**63 - 1
    assert hash_number(b"\0" * HALF) == 0


def test_whatever_comes_from_samples_belongs_to_its_experiment() -> None:
    plain = text_stage("plain", "each_document", "Say.")
    drawn = text_stage("drawn", "samples", "Draw.", samples=3)
    told = text_stage("told", "each_result", "Tell.", of="drawn")
    recipe = Recipe(name="one", stages=(plain, drawn, told))
    other = Recipe(name="other", stages=(plain, drawn, told))

    assert drawn_by(recipe, plain) == b""
    assert drawn_by(recipe, drawn) == drawn_by(recipe, told) != b""
    assert drawn_by(other, drawn) != drawn_by(recipe, drawn)


def test_more_samples_are_the_same_experiment_and_another_seed_is_another() -> None:
    def drawn(samples: int, seed: int) -> bytes:
        settings = {"seed": seed}
        stage = text_stage("drawn", "samples", "Draw.", samples=samples, settings=settings)
        return drawn_by(Recipe(name="one", stages=(stage,)), stage)

    assert drawn(3, 7) == drawn(30, 7) == drawn(1, 7)
    assert drawn(3, 7) != drawn(3, 8)
