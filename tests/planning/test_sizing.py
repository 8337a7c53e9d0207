"""Sizes of texts, answers and calls, against numbers computed by hand."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quire.domain.data import Json
from quire.domain.policy import Policy
from quire.domain.requests import OutputSample
from quire.planning.rendering import FRAMING_BYTES
from quire.planning.sizing import (
    ENVELOPE_TOKENS,
    OutputPercentiles,
    OutputShape,
    bound_tokens,
    call_budget,
    forecast_tokens,
    is_text_heavy,
    learn_output,
    max_tokens,
    most_prompt_bytes,
    output_estimate,
    output_shape,
    pack_cap,
    reserved_output,
)
from tests.planning.examples import NUMBER, REVISION, TEXT, make_facts, make_schema, make_stage


def test_a_forecast_token_is_four_bytes_rounded_up() -> None:
    assert [forecast_tokens(n) for n in (0, 1, 4, 5, 8, 9)] == [0, 1, 1, 2, 2, 3]


def test_a_bound_token_is_three_bytes_rounded_up() -> None:
    assert [bound_tokens(n) for n in (0, 1, 3, 4, 6, 7)] == [0, 1, 1, 2, 2, 3]


def test_the_output_of_the_revision_schema_is_sized_as_by_hand() -> None:
    # 120 + 5 × 40 = 320; final +80, checks +60, diff_summary +25 +140; final.content restates.
    assert output_shape(make_schema(REVISION), floor=250) == OutputShape(625, 1)


def test_a_small_schema_is_sized_by_the_floor() -> None:
    assert output_shape(make_schema({"score": NUMBER}), floor=250) == OutputShape(250, 0)


def test_a_schema_of_many_fields_passes_the_floor() -> None:
    many: dict[str, Json] = {f"n{i}": NUMBER for i in range(10)}

    assert output_shape(make_schema(many), floor=250) == OutputShape(520, 0)


@pytest.mark.parametrize(
    ("field", "extra"),
    [
        ({"type": "array", "items": NUMBER}, 60),
        ({"type": ["array", "null"], "items": NUMBER}, 60),
        ({"type": "object", "properties": {}}, 80),
        ({"$ref": "#/$defs/Place"}, 80),
        ({"type": "string"}, 25),
        ({"type": ["string", "null"]}, 25),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 25),
        ({"type": "string", "enum": ["a", "b"]}, 0),
        ({"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]}, 0),
        ({"type": "string", "const": "a"}, 0),
        ({"type": "boolean"}, 0),
    ],
)
def test_each_kind_of_field_adds_its_own_tokens(field: Json, extra: int) -> None:
    assert output_shape(make_schema({"x": field}), floor=0).fixed == 160 + extra


@pytest.mark.parametrize(
    "key", ["content", "Summary", "analysis", "reasoning", "rewrite", "revised"]
)
def test_a_key_that_promises_prose_adds_140(key: str) -> None:
    assert output_shape(make_schema({key: NUMBER}), floor=0).fixed == 300


@pytest.mark.parametrize(
    ("properties", "count"),
    [
        ({"revised_content": TEXT}, 1),
        ({"revised": TEXT, "rewrite": TEXT}, 2),
        ({"final": {"type": "object", "properties": {"content": TEXT}}}, 1),
        ({"edits": {"type": "array", "items": {"properties": {"rewrite": TEXT}}}}, 1),
        ({"revised_lines": {"type": "array", "items": TEXT}}, 1),
        ({"content_type": {"type": "string", "enum": ["a"]}}, 0),
        ({"content_words": NUMBER}, 0),
        ({"content_hint": {"type": "string", "maxLength": 560}}, 0),
        ({"content_long": {"type": "string", "maxLength": 561}}, 1),
        ({"summary": TEXT}, 0),
    ],
)
def test_free_strings_that_give_the_content_again_are_counted(
    properties: dict[str, Json], count: int
) -> None:
    assert output_shape(make_schema(properties), floor=0).restated == count


def test_restated_fields_behind_a_reference_are_counted() -> None:
    schema = make_schema(
        {"answer": {"$ref": "#/$defs/Answer"}},
        {"$defs": {"Answer": {"type": "object", "properties": {"rewrite": TEXT}}}},
    )

    assert output_shape(schema, floor=0).restated == 1


def test_an_unlearned_estimate_adds_the_block_for_every_restated_field() -> None:
    assert output_estimate(OutputShape(300, 2), 900, None, 8_192) == 300 + 2 * 300


def test_an_estimate_never_passes_what_the_model_can_write() -> None:
    assert output_estimate(OutputShape(300, 1), 90_000, None, 8_192) == 8_192


def test_what_was_learned_per_task_replaces_the_formula() -> None:
    learned = OutputPercentiles(per_task=41.2, per_byte=0.5)

    assert output_estimate(OutputShape(300, 0), 9_000, learned, 8_192) == 42


def test_a_learned_restating_answer_grows_with_its_block() -> None:
    learned = OutputPercentiles(per_task=400.0, per_byte=0.5)

    assert output_estimate(OutputShape(300, 1), 4_000, learned, 8_192) == 2_000


def test_a_tiny_block_of_a_learned_restating_stage_keeps_its_fixed_part() -> None:
    learned = OutputPercentiles(per_task=400.0, per_byte=0.5)

    assert output_estimate(OutputShape(300, 1), 10, learned, 8_192) == 300


def test_a_tiny_block_is_not_sized_above_what_tasks_really_took() -> None:
    learned = OutputPercentiles(per_task=90.0, per_byte=0.5)

    assert output_estimate(OutputShape(300, 1), 10, learned, 8_192) == 90


def sample(output_tokens: int, tasks: int, content_bytes: int) -> OutputSample:
    """An answer whose input does not matter here."""
    return OutputSample(100, output_tokens, tasks, content_bytes)


def test_four_samples_teach_nothing() -> None:
    assert learn_output([sample(output_tokens=10, tasks=1, content_bytes=10)] * 4) is None


def test_samples_without_tasks_do_not_count() -> None:
    useful = [sample(output_tokens=10, tasks=1, content_bytes=10)] * 4

    assert learn_output([*useful, sample(output_tokens=9, tasks=0, content_bytes=1)]) is None


def test_the_ninth_of_ten_samples_is_learned() -> None:
    samples = [sample(output_tokens=n * 20, tasks=2, content_bytes=100) for n in range(1, 11)]

    assert learn_output(samples) == OutputPercentiles(per_task=90.0, per_byte=1.8)


def test_of_five_samples_the_largest_is_learned() -> None:
    samples = [sample(output_tokens=n, tasks=1, content_bytes=1) for n in (3, 1, 5, 2, 4)]

    assert learn_output(samples) == OutputPercentiles(per_task=5.0, per_byte=5.0)


@pytest.mark.parametrize(
    ("properties", "heavy"),
    [
        ({"topic": TEXT}, False),
        ({"final": NUMBER}, True),
        ({"finalist": NUMBER}, False),
        ({"one": {"type": "object", "properties": {"two_summary": TEXT}}}, True),
        ({"one": {"type": "array", "items": {"properties": {"reason": TEXT}}}}, True),
    ],
)
def test_a_schema_is_text_heavy_if_any_field_asks_for_prose(
    properties: dict[str, Json], heavy: bool
) -> None:
    assert is_text_heavy(make_schema(properties)) is heavy


@pytest.mark.parametrize(
    ("properties", "policy", "max_batch_size", "cap"),
    [
        ({"topic": TEXT}, Policy(), None, 10),
        (REVISION, Policy(), None, 6),
        (REVISION, Policy(pack_size=20), None, 20),
        ({"topic": TEXT}, Policy(pack_size=40), None, 40),
        ({"topic": TEXT}, Policy(pack_size=60), None, 50),
        ({"topic": TEXT}, Policy(pack_size=40), 30, 30),
        ({"topic": TEXT}, Policy(pack_size=20), 4, 4),
        ({"topic": TEXT}, Policy(), 50, 10),
        ({"topic": TEXT}, Policy(pack_size=20, packing=False), None, 1),
        ({"topic": TEXT}, Policy(pack_size=0), None, 1),
    ],
)
def test_the_cap_is_the_tightest_of_class_policy_and_schema(
    properties: dict[str, Json], policy: Policy, max_batch_size: int | None, cap: int
) -> None:
    assert pack_cap(make_stage(properties, max_batch_size=max_batch_size), policy) == cap


def test_stages_answered_in_plain_text_are_never_packed() -> None:
    assert pack_cap(replace(make_stage(), schema=None), Policy(pack_size=10)) == 1


def test_samples_are_never_packed() -> None:
    assert pack_cap(replace(make_stage(), samples=2), Policy(pack_size=10)) == 1


def test_critics_are_never_packed() -> None:
    assert pack_cap(make_stage(critic="record"), Policy(pack_size=10)) == 1


def test_the_budget_of_a_call_is_computed_as_by_hand() -> None:
    framing_bytes = 300 - FRAMING_BYTES  # so that prompt and framing are 100 tokens together

    found = call_budget(make_facts(), 3_000, framing_bytes, 8_192, 10)

    room = 200_000 - 8_192 - 1_000 - 100 - ENVELOPE_TOKENS
    assert (found.input, found.output, found.cap) == (room * 85 // 100, 6_963, 10)


def test_a_call_without_room_still_has_a_budget_of_one() -> None:
    assert call_budget(make_facts(window=1_000), 9_000, 100, 300, 10).input == 1


@given(
    window=st.integers(2_000, 300_000),
    max_output=st.integers(1, 100_000),
    prefix_bytes=st.integers(0, 3_000),
)
def test_a_full_call_fits_the_window(window: int, max_output: int, prefix_bytes: int) -> None:
    facts = make_facts(window=window, max_output=max_output)

    found = call_budget(facts, prefix_bytes, 90, reserved_output(facts), 10)

    prompt = bound_tokens(90 + FRAMING_BYTES)
    answer = max_tokens([found.output], facts, None, 0)
    assert bound_tokens(prefix_bytes) + prompt + found.input + answer <= window


def test_a_small_window_keeps_two_thirds_for_the_input() -> None:
    assert reserved_output(make_facts(window=9_000, max_output=8_192)) == 3_000


def test_the_output_limit_leaves_a_margin_over_the_estimates() -> None:
    assert max_tokens([850, 850], make_facts(), None, 0) == 2_000


def test_the_output_limit_is_at_least_512() -> None:
    assert max_tokens([10], make_facts(), None, 0) == 512


def test_the_output_limit_never_passes_the_model() -> None:
    assert max_tokens([9_000], make_facts(), 20_000, 30_000) == 8_192


def test_a_single_task_gets_its_tokens_per_block() -> None:
    assert max_tokens([100], make_facts(), 3_000, 0) == 3_000


def test_a_pack_does_not_get_the_tokens_of_a_single_block() -> None:
    assert max_tokens([100, 100], make_facts(), 3_000, 0) == 512


def test_the_output_floor_lifts_the_limit() -> None:
    assert max_tokens([100, 100], make_facts(), None, 4_000) == 4_000


def test_a_model_that_writes_little_is_not_asked_for_more() -> None:
    assert max_tokens([100], replace(make_facts(), max_output=200), None, 0) == 200


def test_a_guessed_window_proves_of_no_prompt_that_it_does_not_fit() -> None:
    stated = make_facts(window=8_192, max_output=2_048)

    assert most_prompt_bytes(stated) == 4 * (8_192 - 512)
    assert most_prompt_bytes(replace(stated, max_input=5_000)) == 20_000
    assert most_prompt_bytes(stated, per_byte=0.125) == 8 * (8_192 - 512)
    assert most_prompt_bytes(replace(stated, window_guessed=True)) > 10**12
