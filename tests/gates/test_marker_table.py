"""The table of what models write at the end of an answer: read as a person reads it, or refused."""

from collections.abc import Mapping, Sized

import pytest

from quire.domain.data import Json
from quire.domain.gates import Judgement
from tests.gates import marker_doubts, marker_strangers, marker_vendors
from tests.gates.marker_answers import LETTERS, REASONING, decode
from tests.gates.marker_table import (
    ABSTAINS,
    AGREEMENTS,
    ONE_OF_THREE,
    ONE_OPAQUE,
    OPAQUE_NAMES,
    QUALITIES,
    REFUSE,
    RUBRICS,
    SOME_OF_THREE,
    Reading,
)

VERDICT: dict[str, Json] = {"kind": "verdict", "method": "single", "scale_size": 3}
ABSTENTION_ALLOWED: dict[str, Json] = {**VERDICT, "abstain": True}


def _reading(text: str, params: Mapping[str, Json], labels: Mapping[str, Json]) -> Reading:
    verdict = decode(f"{REASONING}\n\n{text}", params, labels)
    if verdict.judgement is not Judgement.ACCEPT:
        assert verdict.reasons[0], "a refusal says why"
        return REFUSE
    assert isinstance(verdict.data, dict)
    return ABSTAINS if verdict.data["abstained"] else verdict.data["decoded_scores"]


def _fields(text: str, kind: str, *names: str) -> tuple[Json, ...] | str:
    verdict = decode(f"{REASONING}\n\n{text}", {"kind": kind})
    if verdict.judgement is not Judgement.ACCEPT:
        return REFUSE
    assert isinstance(verdict.data, dict)
    return tuple(verdict.data[name] for name in names)


@pytest.mark.parametrize(("text", "reading"), [*ONE_OF_THREE, *marker_doubts.ONE_OF_THREE])
def test_one_of_three(text: str, reading: Reading) -> None:
    assert _reading(text, VERDICT, LETTERS) == reading


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        *SOME_OF_THREE,
        *marker_doubts.SOME_OF_THREE,
        *marker_strangers.SOME_OF_THREE,
        *marker_vendors.SOME_OF_THREE,
    ],
)
def test_some_of_three(text: str, reading: Reading) -> None:
    assert _reading(text, {**ABSTENTION_ALLOWED, "method": "subset"}, LETTERS) == reading


@pytest.mark.parametrize(("text", "reading"), [*ONE_OPAQUE, *marker_doubts.ONE_OPAQUE])
def test_one_of_three_opaque_identifiers(text: str, reading: Reading) -> None:
    assert _reading(text, ABSTENTION_ALLOWED, OPAQUE_NAMES) == reading


@pytest.mark.parametrize(
    ("text", "reading"), [*marker_strangers.ONE_OF_THREE, *marker_vendors.ONE_OF_THREE]
)
def test_one_of_three_or_an_abstention(text: str, reading: Reading) -> None:
    assert _reading(text, ABSTENTION_ALLOWED, LETTERS) == reading


@pytest.mark.parametrize(("text", "reading"), marker_strangers.ONE_OPAQUE)
def test_one_of_three_other_opaque_identifiers(text: str, reading: Reading) -> None:
    assert _reading(text, ABSTENTION_ALLOWED, marker_strangers.OPAQUE_NAMES) == reading


@pytest.mark.parametrize(("text", "reading"), marker_vendors.REPEATED_LINES)
def test_lines_of_a_scale_that_are_repeated(text: str, reading: Reading) -> None:
    params = {**ABSTENTION_ALLOWED, "stages": marker_vendors.SCALE}

    assert _reading(text, params, LETTERS) == reading


@pytest.mark.parametrize(("text", "reading"), marker_vendors.REPEATED_LINES_OF_SOME)
def test_several_lines_of_a_scale_that_are_repeated(text: str, reading: Reading) -> None:
    params = {**ABSTENTION_ALLOWED, "method": "subset", "stages": marker_vendors.SCALE}

    assert _reading(text, params, LETTERS) == reading


@pytest.mark.parametrize(
    ("text", "share"),
    [
        *AGREEMENTS,
        *marker_doubts.AGREEMENTS,
        *marker_strangers.AGREEMENTS,
        *marker_vendors.AGREEMENTS,
    ],
)
def test_agreements(text: str, share: float | str) -> None:
    found = _fields(text, "agreement", "expert_agreement_prob")

    assert found == (share if share == REFUSE else (share,))


@pytest.mark.parametrize(
    ("text", "scores"),
    [
        *QUALITIES,
        *marker_doubts.QUALITIES,
        *marker_strangers.QUALITIES,
        *marker_vendors.QUALITIES,
    ],
)
def test_qualities(text: str, scores: tuple[float, float] | str) -> None:
    assert _fields(text, "quality", "observability_score", "discriminability_score") == scores


@pytest.mark.parametrize(
    ("text", "stages"), [*RUBRICS, *marker_strangers.RUBRICS, *marker_vendors.RUBRICS]
)
def test_rubrics(text: str, stages: str) -> None:
    params: dict[str, Json] = {"kind": "rubric", "scale_size": 3}
    verdict = decode(f"{REASONING}\n\n" + text.replace("|", "\n"), params)
    found = REFUSE
    if verdict.judgement is Judgement.ACCEPT:
        assert isinstance(verdict.data, dict)
        read = verdict.data["stages"]
        found = ", ".join(f"{stage['label']} {stage['criteria'][0]}" for stage in read)

    assert found == stages


def test_the_table_is_as_long_as_was_promised() -> None:
    tables: tuple[Sized, ...] = (
        ONE_OF_THREE,
        SOME_OF_THREE,
        ONE_OPAQUE,
        AGREEMENTS,
        QUALITIES,
        RUBRICS,
    )

    assert sum(len(table) for table in tables) >= 250
