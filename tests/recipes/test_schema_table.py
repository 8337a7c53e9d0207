"""Schemas of the kinds that people have: accepted in a form that vendors take, or told why not."""

import copy
from typing import Any

import pytest
from anthropic import transform_schema
from openai.lib._pydantic import _ensure_strict_json_schema

from quire.domain.errors import UsageError
from quire.domain.gates import Judgement
from quire.domain.models import Params
from quire.domain.recipes import Schema
from quire.engine.kept_schemas import read_schema_source
from quire.gates.shape import Shape
from quire.planning.rendering import render_prefix
from quire.providers.portable_schemas import SchemaDialect, portable_schema
from quire.providers.schema_limits import can_bind
from quire.recipes.user_schemas import extraction_recipe, load_schema
from quire.rehearsal.response_schemas import refuse_for_anthropic, refuse_for_openai
from quire.simulated.field_values import read_block_text
from quire.simulated.record_filler import compile_fields
from tests.recipes.class_cases import CLASSES
from tests.recipes.refused_cases import REFUSED, RefusedCase
from tests.recipes.schema_cases import (
    ANTHROPIC,
    HAND_WRITTEN,
    OPENAI,
    SchemaCase,
)

ACCEPTED = [*CLASSES, *HAND_WRITTEN]

CONDITIONAL = {"conditions", "conditions one after the other", "one of two fields", "contains"}


def read(case: SchemaCase | RefusedCase) -> Schema:
    return read_schema_source(case.source, None)


def by_name(case: SchemaCase | RefusedCase) -> str:
    return case.name


@pytest.mark.parametrize("case", ACCEPTED, ids=by_name)
def test_the_gate_tells_records_that_fit_from_those_that_do_not(case: SchemaCase) -> None:
    shape = Shape(read(case).record_schema)

    assert [shape.judge(record).reasons for record in case.good] == [()] * len(case.good)
    verdicts = [shape.judge(record).judgement for record in case.bad]
    assert verdicts == [Judgement.RETRY] * len(case.bad)


@pytest.mark.parametrize("case", ACCEPTED, ids=by_name)
def test_the_form_for_a_vendor_keeps_its_rules(case: SchemaCase) -> None:
    asked = render_prefix(extraction_recipe(read(case), Params()).stages[0]).output_schema
    openai: dict[str, Any] = portable_schema(asked, SchemaDialect.OPENAI)
    anthropic: dict[str, Any] = portable_schema(asked, SchemaDialect.ANTHROPIC)

    bound = (can_bind(openai, SchemaDialect.OPENAI), can_bind(anthropic, SchemaDialect.ANTHROPIC))
    assert bound == (OPENAI in case.bound, ANTHROPIC in case.bound)
    if bound[0]:
        refuse_for_openai(openai, "records", "place")
        strict = _ensure_strict_json_schema(copy.deepcopy(openai), path=(), root=openai)
        assert strict == openai
    if bound[1]:
        refuse_for_anthropic(anthropic, "place")
        assert transform_schema(anthropic) == anthropic


@pytest.mark.parametrize("case", ACCEPTED, ids=by_name)
def test_the_one_form_stays_as_it_is(case: SchemaCase) -> None:
    schema = read(case)

    assert load_schema(schema.body, name="again").body == schema.body


@pytest.mark.parametrize(
    "case", [case for case in ACCEPTED if case.name not in CONDITIONAL], ids=by_name
)
def test_the_simulated_model_can_answer(case: SchemaCase) -> None:
    schema = read(case)
    fill, shape = compile_fields(schema.record_schema), Shape(schema.record_schema)

    for text in ("", "Ada lives in Rome.", "On 2026-01-02 Tom paid 12.50 to Ann?"):
        assert shape.judge(fill(read_block_text(text))).reasons == ()


@pytest.mark.parametrize("case", REFUSED, ids=by_name)
def test_what_cannot_be_asked_for_is_refused_in_words(case: RefusedCase) -> None:
    with pytest.raises(UsageError) as refused:
        read(case)

    assert case.says in str(refused.value)
