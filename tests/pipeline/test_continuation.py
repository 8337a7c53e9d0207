"""Answers that do not fit one call come in pieces, and are judged as one."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from quire.domain.data import Json
from quire.domain.models import Params, StructuredOutput
from quire.domain.recipes import GateUse, Recipe, Stage
from quire.domain.requests import Call, Role, Stop
from quire.engine import RunHandle
from tests.pipeline.continued_model import let_model_speak, record
from tests.pipeline.recipe_stages import SMALL, recipe, record_stage, text_stage
from tests.world import METADATA, World, sentences, until_rest

Worlds = Callable[..., World]

WORDS = " ".join(f"word{n}" for n in range(120))
PROMPT = "Write about 300 words.\nOutline:\n# Report\n## First\n## Second\n\n{{ document.text }}"
END, LENGTH = Stop.END, Stop.LENGTH


def limited(stage: Stage, limit: int) -> Stage:
    return replace(stage, params=Params(max_tokens=limit))


def essay(limit: int, *others: Stage, **more: Any) -> Recipe:
    return recipe(limited(text_stage("essay", "each_document", PROMPT, **more), limit), *others)


def run_recipe(here: World, stages: Recipe, **policy: Any) -> RunHandle:
    run = here.engine.run(recipe=stages, model=SMALL, **policy)
    until_rest(run)
    return run


def rows_of(run: RunHandle, stage: str | None = None) -> list[dict[str, Any]]:
    return [dict(row) for row in run.rows(stage=stage)]


def kinds(here: World, run: RunHandle) -> list[str]:
    return [line.kind for line in here.engine.queries.requests(run.id)]


def tasks(here: World, run: RunHandle) -> list[tuple[str, int, int, int]]:
    """State, version, tries and calls of each task."""
    with here.engine.ledger.snapshot() as tx:
        found = [
            task
            for stage in tx.runs.stages_of_run(run.id)
            for task in tx.results.outcomes_of_run(run.id)
            if task.stage == stage.name
        ]
        versions = {
            row.id: row.version
            for row in tx.subjects.subjects_of_tasks([task.task_id for task in found])
        }
        return [(str(task.state), versions[task.task_id], task.tries, task.calls) for task in found]


def first_error(here: World, run: RunHandle) -> str:
    return here.engine.queries.failures(run.id)[0].failures[0].error


def whole_text(world: Worlds) -> str:
    here = world()
    here.ingest([WORDS])
    return str(rows_of(run_recipe(here, essay(4000)))[0]["text"])


def say_in_pieces(*pieces: str, stop: Stop = END) -> Callable[[Call], tuple[str, Stop]]:
    """Say these one after the other, each cut but the last; then nothing."""

    def say(call: Call) -> tuple[str, Stop]:
        said = len("".join(pieces[:0]))
        so_far = call.turns[-1].text if call.turns else ""
        for number, piece in enumerate(pieces):
            if len(so_far) <= said:
                return piece, (stop if number == len(pieces) - 1 else LENGTH)
            said += len(piece)
        return "", END

    return say


@pytest.mark.parametrize("faults", ["", "preamble=1", "repeat_tail=1"])
def test_an_answer_cut_four_times_is_equal_to_the_uncut_one(world: Worlds, faults: str) -> None:
    whole = whole_text(world)
    here = world(faults)
    here.ingest([WORDS])
    limit = -(-len(whole.encode()) // 4 // 4) - 4  # tokens, so that it is cut four times

    run = run_recipe(here, essay(limit), max_continuations=9)

    row = rows_of(run)[0]
    assert row["text"] == whole
    assert row["notes"] is None
    assert kinds(here, run).count("continuation") >= 4
    assert tasks(here, run) == [("done", 1, 0, 1)]


def test_a_call_that_goes_on_says_exactly_three_messages(world: Worlds) -> None:
    here = world()
    here.ingest([WORDS])
    model = let_model_speak(here, say_in_pieces("It began. ", "It went on. ", "It ended."))

    run = run_recipe(here, essay(50))

    first, second, third = model.asked
    assert first.turns == ()
    assert [(turn.role, turn.text) for turn in third.turns] == [
        (Role.USER, first.user),
        (Role.ASSISTANT, "It began. It went on. "),
    ]
    assert second.system == third.system == first.system
    assert third.user.startswith("Continue")
    assert {call.params.max_tokens for call in model.asked} == {50}
    assert rows_of(run)[0]["text"] == "It began. It went on. It ended."


def test_an_answer_that_never_ends_stops_at_the_cap_and_is_marked(world: Worlds) -> None:
    here = world()
    here.ingest([WORDS])
    model = let_model_speak(here, lambda call: (f"Part {call.attempt_id} of many. ", LENGTH))

    run = run_recipe(here, essay(50))

    row = rows_of(run)[0]
    assert len(model.asked) == 6
    assert row["text"].count("Part") == 6
    assert [(note["kind"], note["written"]) for note in row["notes"]] == [("incomplete", "length")]
    assert tasks(here, run) == [("done", 1, 0, 1)]


def test_an_answer_that_is_not_whole_is_never_taken_by_another_run(world: Worlds) -> None:
    here = world()
    here.ingest([WORDS])
    cut = let_model_speak(here, lambda call: (f"Part {call.attempt_id} of many. ", LENGTH))
    run_recipe(here, essay(50))
    whole = let_model_speak(here, lambda call: ("It ended.", END))

    second = run_recipe(here, essay(50), new=True)
    third = run_recipe(here, essay(50), new=True)

    assert (len(cut.asked), len(whole.asked)) == (6, 1)
    assert [rows_of(run)[0]["text"] for run in (second, third)] == ["It ended."] * 2


@pytest.mark.parametrize(
    "last",
    [("", END), ("", LENGTH), ("x", LENGTH), ("A line that stands there, of many words.", LENGTH)],
)
def test_pieces_that_bring_nothing_end_it_early(world: Worlds, last: tuple[str, Stop]) -> None:
    here = world()
    here.ingest([WORDS])
    begun = "A line that stands there, of many words.\nAnother one."
    model = let_model_speak(here, lambda call: last if call.turns else (begun, LENGTH))

    run = run_recipe(here, essay(50))

    row = rows_of(run)[0]
    assert len(model.asked) == 2
    assert row["text"].startswith(begun)
    assert row["notes"][0]["kind"] == "incomplete"


RECORD: dict[str, Json] = {
    "title": "long",
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "text": {"type": "string"},
        "rows": {"type": "array", "items": {"type": "integer"}},
        "finish": {"type": "boolean"},
    },
    "required": ["text", "rows"],
}


def long_record(here: World, **more: Any) -> Recipe:
    here.ingest([WORDS])
    return recipe(record_stage("long", "each_document", "Read {{ document.text }}", RECORD, **more))


def test_a_record_cut_by_length_goes_on_in_the_middle(world: Worlds) -> None:
    here = world()
    stages = long_record(here)

    def say(call: Call) -> tuple[str, Stop]:
        whole = record(call, text=WORDS, rows=list(range(50)))
        so_far = call.turns[-1].text if call.turns else ""
        end = len(so_far) + 300
        return whole[len(so_far) : end], (LENGTH if end < len(whole) else END)

    model = let_model_speak(here, say)

    run = run_recipe(here, stages)

    assert rows_of(run)[0]["text"] == WORDS
    assert rows_of(run)[0]["rows"] == list(range(50))
    assert [call.wire.structured is StructuredOutput.TEXT for call in model.asked[1:]] == [True] * 3
    assert tasks(here, run) == [("done", 1, 0, 1)]


def test_a_record_that_stops_by_itself_in_the_middle_goes_on_too(world: Worlds) -> None:
    here = world()
    here.ingest([WORDS])
    here.model.script = ["stop_silently=1"]

    run = run_recipe(here, recipe(record_stage("facts", "each_document", "{{ document.text }}")))

    assert "continuation" in kinds(here, run)
    assert run.progress().done == 1


def test_a_record_that_says_it_is_not_complete_is_gone_on_with(world: Worlds) -> None:
    here = world()
    stages = long_record(here)

    def say(call: Call) -> tuple[str, Stop]:
        if not call.turns:
            return record(call, text="One.", rows=[1], finish=False), END
        return record(call, text=" Two.", rows=[2, 3], finish=True), END

    model = let_model_speak(here, say)

    run = run_recipe(here, stages)

    row = rows_of(run)[0]
    assert (row["text"], row["rows"], row["finish"]) == ("One. Two.", [1, 2, 3], True)
    assert model.asked[1].wire.structured is not StructuredOutput.TEXT
    assert tasks(here, run) == [("done", 1, 0, 1)]


def test_missing_fields_are_asked_for_by_name(world: Worlds) -> None:
    here = world()
    stages = long_record(here)

    def say(call: Call) -> tuple[str, Stop]:
        return (record(call, rows=[1]) if call.turns else record(call, text="One.")), END

    model = let_model_speak(here, say)

    run = run_recipe(here, stages)

    row = rows_of(run)[0]
    assert (row["text"], row["rows"]) == ("One.", [1])
    assert "missing in your answer: rows." in model.asked[1].user


def test_a_record_that_is_not_whole_at_the_cap_fails(world: Worlds) -> None:
    here = world()
    stages = long_record(here)

    def say(call: Call) -> tuple[str, Stop]:
        return (
            f"more and more {call.attempt_id} " if call.turns else '{"results":[{"text":"'
        ), LENGTH

    model = let_model_speak(here, say)

    run = run_recipe(here, stages)

    assert len(model.asked) == 6
    assert tasks(here, run) == [("failed", 1, 1, 1)]
    assert first_error(here, run) == (
        "answer was cut off; it is not whole after 6 calls: more max_tokens or max_continuations"
        " help"
    )


def test_an_answer_of_which_nothing_came_is_not_paid_again_at_the_same_limit(
    world: Worlds,
) -> None:
    here = world()
    model = let_model_speak(here, lambda call: ("{}", LENGTH))  # a tool's call that was cut off

    run = run_recipe(here, long_record(here))

    limits = [call.params.max_tokens or 0 for call in model.asked]
    assert limits == sorted(set(limits))  # each with more room than the one before
    assert first_error(here, run) == (
        f"answer was cut off at {limits[-1]:,} tokens, the most that a call may write here"
    )


def test_an_assembly_that_its_gate_refuses_costs_a_try_and_is_asked_anew(world: Worlds) -> None:
    here = world()
    here.ingest([WORDS])
    gate = GateUse("text", {"must_not_match": "wrong"})
    pieces = iter([("It is ", LENGTH), ("all wrong.", END), ("It is ", LENGTH), ("right.", END)])
    let_model_speak(here, lambda call: next(pieces))

    run = run_recipe(here, essay(50, gates=(gate,)))

    assert rows_of(run)[0]["text"] == "It is right."
    assert tasks(here, run) == [("done", 2, 1, 2)]


def test_a_refused_call_goes_on_once_more_and_at_last_what_is_there_counts(world: Worlds) -> None:
    here = world()
    here.ingest([WORDS])
    model = let_model_speak(
        here, lambda call: ("No.", Stop.REFUSAL) if call.turns else ("It began there.", LENGTH)
    )

    run = run_recipe(here, essay(50))

    assert len(model.asked) == 4  # three tries of the call that goes on
    assert rows_of(run)[0]["text"] == "It began there."
    assert rows_of(run)[0]["notes"][0]["kind"] == "incomplete"


def test_without_continuations_an_answer_is_asked_for_again(world: Worlds) -> None:
    here = world()
    here.ingest([WORDS])
    model = let_model_speak(here, lambda call: ("It began there.", LENGTH))

    run = run_recipe(here, essay(50), max_continuations=0)

    assert not any(call.turns for call in model.asked)
    assert run.progress().failed == 1
    assert "cut off at 50 tokens, the most that a call may write here" in first_error(here, run)


def test_what_no_longer_fits_is_assembled(world: Worlds) -> None:
    here = world()
    here.ingest([WORDS])
    facts = replace(
        here.engine.orders.resolve(recipe=essay(50), model=SMALL, policy={}).facts, window=800
    )
    order = here.engine.orders.resolve(recipe=essay(50), model=SMALL, policy={})
    let_model_speak(here, lambda call: (f"{call.attempt_id} {WORDS}"[:600], LENGTH))

    run = here.engine.start(replace(order, facts=facts))
    until_rest(run)

    assert kinds(here, run).count("continuation") in (1, 2)
    assert rows_of(run)[0]["notes"][0]["kind"] == "incomplete"


def test_a_critic_and_what_reads_it_see_the_assembly_only(world: Worlds) -> None:
    here = world()
    here.ingest([WORDS])
    critic = text_stage(
        "judge", "each_result", "Judge: {{ judged.answer }}", of="essay", critic="record"
    )
    reader = text_stage("reader", "each_result", "Read: {{ inputs.essay.text }}", of="essay")
    model = let_model_speak(here, _essay_or_usual)

    run_recipe(here, essay(50, critic, reader))

    asked = [call.user for call in model.asked if call.user.startswith(("Judge:", "Read:"))]
    assert sorted(asked) == ["Judge: It began. It ended.", "Read: It began. It ended."]


def _essay_or_usual(call: Call) -> tuple[str, Stop] | None:
    if call.user.startswith(("Judge:", "Read:")):
        return None
    return ("It ended.", END) if call.turns else ("It began. ", LENGTH)


def test_regate_judges_the_assembly(world: Worlds) -> None:
    here = world()
    here.ingest([WORDS])
    let_model_speak(here, say_in_pieces("It began. ", "It ended."))
    run = run_recipe(here, essay(50, gates=(GateUse("text", {"min_length": 12}),)))

    report = here.engine.commands.regate(run.id)[0]

    assert report.counts["same"] == 1
    assert report.difference_count == 0


def test_a_rerun_in_the_midst_of_a_chain_ends_it(world: Worlds) -> None:
    here = world()
    here.ingest([WORDS])
    told: list[str] = []

    def say(call: Call) -> tuple[str, Stop]:
        if call.turns and not told:
            told.append("now")
            here.engine.commands.rerun(run.id, "essay")
        return ("It ended.", END) if call.turns else ("It began. ", LENGTH)

    model = let_model_speak(here, say)
    run = here.engine.run(recipe=essay(50), model=SMALL)
    until_rest(run)

    assert [bool(call.turns) for call in model.asked] == [False, True, False, True]
    assert tasks(here, run)[0][:2] == ("done", 2)
    assert rows_of(run)[0]["text"] == "It began. It ended."


def test_a_pack_that_is_cut_is_split_as_before(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(8))
    here.model.script = ["truncate=1"]

    run = here.run(pack_size=8)

    assert run.progress().done == 8
    assert "continuation" not in kinds(here, run)
    assert here.model.packs[0] == 8


def test_a_lone_block_that_is_cut_goes_on(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(1))
    here.model.script = ["truncate=1"]

    run = here.run(METADATA, packing="off")

    assert kinds(here, run) == ["answer", "continuation"]
    assert here.task_tries(run.id) == [("done", 0, "")]
