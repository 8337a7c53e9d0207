"""A stage's history stands between its system text and its prompt, turn by turn."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from quire.domain.accounts import KEYLESS_ACCOUNT, Account
from quire.domain.ids import TaskId
from quire.domain.recipes import HistoryEntry, Stage
from quire.domain.requests import Call, Role, Turn
from quire.planning.lexical_ranking import LexicalRanker
from quire.providers.protocol import RawResponse
from tests.pipeline.recipe_stages import SMALL, recipe, record_stage, text_stage
from tests.world import OneProvider, Scripted, World, sentences

Worlds = Callable[..., World]

USER, ASSISTANT = "user", "assistant"
FIXED = (
    HistoryEntry(USER, "You will be shown {{ parameters.what }}."),
    HistoryEntry(ASSISTANT, "Understood."),
)


class Listening(Scripted):
    """The simulated model, which remembers every call."""

    def __init__(self) -> None:
        """Start with none."""
        super().__init__()
        self.heard: list[Call] = []

    async def send(self, call: Call, account: Account = KEYLESS_ACCOUNT) -> RawResponse:
        """Remember the call, and answer as usual."""
        self.heard.append(call)
        return await super().send(call, account)


def ask(here: World, *stages: Stage, **more: Any) -> list[Call]:
    """Carry out a recipe; returns its calls."""
    here.engine.context.choose_ranker = LexicalRanker
    model = here.model = Listening()
    here.engine.context.providers = OneProvider(model)
    here.engine.run(recipe=recipe(*stages, what="reports"), model=SMALL, **more).wait()
    return model.heard


def test_turns_stand_between_system_and_prompt_and_their_stable_head_is_marked(
    world: Worlds,
) -> None:
    here = world()
    here.ingest(["A word."])
    about = HistoryEntry(USER, "It is called {{ document.title }}.")
    stage = text_stage("ask", "each_document", "Go on: {{ document.text }}")

    (call,) = ask(here, replace(stage, history=(*FIXED, about)))

    assert call.turns == (
        Turn(Role.USER, "You will be shown reports."),
        Turn(Role.ASSISTANT, "Understood."),
        Turn(Role.USER, "It is called doc."),
    )
    assert call.stable_turns == 2
    assert call.user == "Go on: A word."


@pytest.mark.parametrize("bodies", ["lean", "full"])
def test_what_was_said_before_is_rendered_again_with_what_was_sent(
    world: Worlds, bodies: str
) -> None:
    here = world(faults="500@1")
    here.ingest(["A word."])
    stage = text_stage("ask", "each_document", "Go on: {{ document.text }}", history=FIXED)

    call = ask(here, stage, ledger=bodies)[-1]

    view = here.engine.queries.prompt(TaskId(1))
    assert (view.turns, view.user) == (call.turns, call.user)


def test_results_of_a_stage_are_turns_of_the_assistant(world: Worlds) -> None:
    here = world()
    here.ingest(["A word."])
    first = text_stage("draft", "each_document", "Write about {{ document.text }}")
    told = (HistoryEntry(USER, "Write."), HistoryEntry(ASSISTANT, inputs="draft"))
    second = text_stage("mend", "each_document", "Shorter.", needs=("draft",), history=told)

    _, call = ask(here, first, second)

    assert [turn.role for turn in call.turns] == [Role.USER, Role.ASSISTANT]
    assert call.turns[1].text == "simulated: Write about A word."


def test_records_with_a_history_are_asked_one_by_one(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(3))

    calls = ask(here, record_stage("read", "each_block", "Read.", history=FIXED))

    assert [call.turns[0].text for call in calls] == ["You will be shown reports."] * 3


def test_the_middle_of_a_long_history_shrinks_oldest_first_and_its_ends_stay(
    world: Worlds,
) -> None:
    here = world()
    here.ingest(["A word."])
    long = "{% for no in range(300) %}Turn NO says it once more, {{ no }}. {% endfor %}"
    roles = [USER, ASSISTANT] * 6
    told = tuple(HistoryEntry(role, long.replace("NO", str(no))) for no, role in enumerate(roles))
    stage = text_stage("ask", "each_document", "Go on: {{ document.text }}", history=told)

    (call,) = ask(here, stage)

    marked = [no for no, turn in enumerate(call.turns) if "[…]" in turn.text]
    assert marked
    assert marked == list(range(2, 2 + len(marked)))
    assert marked[-1] < 8
    assert here.engine.queries.prompt(TaskId(1)).turns == call.turns
