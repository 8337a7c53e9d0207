"""A run reads slips of form where it is told to, or where no schema binds the model's answers."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from quire.domain.models import StructuredOutput
from quire.domain.policy import Policy
from quire.pipeline.contexts import is_lenient
from tests.pipeline.scripted_model import let_model_say
from tests.planning.examples import make_facts
from tests.world import METADATA, World

Worlds = Callable[..., World]
SLIP = {"word_count": "3", "first_40_chars": "", "has_question": "false", "mood": "fine"}


def test_slips_of_form_are_read_and_noted_beside_the_verdict(world: Worlds) -> None:
    here = world()
    here.ingest(["One."])
    let_model_say(here, lambda _: SLIP)
    run = here.engine.run(schema=METADATA, model="simulated/small", lenient=True)
    run.wait()

    (row,) = run.rows()
    assert (row["word_count"], row["has_question"]) == (3, False)
    (line,) = here.engine.queries.requests(run.id)
    (member,) = here.engine.queries.exchange(line.id).members
    assert member.verdict == "accept"
    assert member.reasons == (
        '/word_count: "3" is read as 3; /has_question: "false" is read as false;'
        " /mood: is dropped, nobody asked for it"
    )


def test_what_was_read_in_another_form_stays_with_the_result(world: Worlds, tmp_path: Path) -> None:
    here = world()
    here.ingest(["One."])
    let_model_say(here, lambda _: SLIP)
    run = here.engine.run(schema=METADATA, model="simulated/small", lenient=True)
    run.wait()
    run.export(str(tmp_path / "out.jsonl"))

    notes = [
        {"kind": "converted", "path": "/word_count", "written": '"3"', "read": "3"},
        {"kind": "converted", "path": "/has_question", "written": '"false"', "read": "false"},
        {"kind": "dropped", "path": "/mood", "written": '"fine"', "read": ""},
    ]
    line = json.loads((tmp_path / "out.jsonl").read_text())
    assert line["user_defined"]["notes"] == notes
    (row,) = run.rows()
    assert row["notes"] == notes


def test_a_result_that_was_written_as_asked_has_no_notes(world: Worlds) -> None:
    here = world()
    here.ingest(["One."])
    run = here.run(lenient=True)

    assert run.rows()[0]["notes"] is None


def test_a_whole_number_with_a_fraction_of_nothing_is_whole(world: Worlds) -> None:
    here = world()
    here.ingest(["One."])
    let_model_say(here, lambda _: {"word_count": 3.0, "first_40_chars": "", "has_question": False})
    run = here.run()

    (row,) = run.rows()
    assert (row["word_count"], type(row["word_count"])) == (3, int)


def test_without_leave_they_are_refused(world: Worlds) -> None:
    here = world()
    here.ingest(["One."])
    let_model_say(here, lambda _: SLIP)
    run = here.engine.run(schema=METADATA, model="simulated/small", lenient=False, max_tries=1)

    assert run.wait().failed == 1


@pytest.mark.parametrize("way", StructuredOutput)
def test_leniency_follows_from_what_binds_the_answer(way: StructuredOutput) -> None:
    facts = make_facts()
    facts = replace(facts, wire=replace(facts.wire, structured=way))

    unbound = way in (StructuredOutput.JSON, StructuredOutput.TEXT)
    assert is_lenient(Policy(), facts.wire.structured) is unbound
    assert is_lenient(Policy(lenient=False), facts.wire.structured) is False
    assert is_lenient(Policy(lenient=True), facts.wire.structured) is True
