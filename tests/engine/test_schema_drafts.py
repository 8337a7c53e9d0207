"""Schemas drafted by a model: from a wish and blocks, checked, mended once, never kept."""

import json
from collections.abc import Callable
from contextlib import suppress

import pytest

from quire.domain.data import Json
from quire.domain.errors import CostAboveLimit, Mistake, NotFound, UsageError
from quire.domain.pricing import to_usd
from quire.engine.schema_drafts import DraftFunds, draft_schema
from quire.recipes.draft_fields import proposal_mistakes, write_schema
from quire.recipes.user_schemas import load_schema
from tests.world import World

Worlds = Callable[..., World]
WISH = "party, amount and due date of every obligation"


def proposal(*fields: dict[str, Json]) -> dict[str, Json]:
    """What a model may answer."""
    usual: dict[str, Json] = {"type": "text", "description": "", "required": True, "choices": []}
    return {
        "title": "duty",
        "instructions": "Read closely.",
        "fields": [{**usual, **field} for field in fields],
    }


def field(kind: str, *, required: bool) -> dict[str, Json]:
    """A field that is called as its type is."""
    return {"name": kind, "type": kind, "required": required}


def test_a_wish_becomes_a_schema_that_can_be_kept_and_is_not(world: Worlds) -> None:
    here = world()
    here.ingest(["Too short.", "The Tenant pays a rent of $1,450 a month, in advance."])

    made = draft_schema(here.engine, WISH, "simulated/small")

    assert made.mistakes == ()
    assert made.blocks == 1  # the other is too short to show anything
    assert made.cost == sum(here.engine.progress(run).cost_pico for run in made.runs) > 0
    assert here.engine.schemas() == []
    schema = here.engine.add_schema(made.body)
    assert schema.ref == "obligation"
    assert [*schema.properties] == ["party", "amount", "due_date"]


def test_the_run_of_a_draft_is_in_no_list_that_did_not_ask_for_it(world: Worlds) -> None:
    here = world()
    here.ingest(["The Tenant pays a rent of $1,450 a month, in advance."])
    own = here.run().id
    (draft,) = draft_schema(here.engine, WISH, "simulated/small").runs

    assert [run.id for run in here.engine.runs()] == [own]
    assert [run.id for run in here.engine.listings.runs(10**9, 10)] == [own]
    assert here.engine.queries.newest_run() == own
    assert [run.id for run in here.engine.runs(drafts=True)] == [draft, own]
    assert [run.id for run in here.engine.listings.runs(10**9, 10, drafts=True)] == [draft, own]
    assert here.engine.get(draft).progress().state == "finished"


def test_the_same_wish_about_the_same_blocks_is_paid_for_once(world: Worlds) -> None:
    here = world()

    first = draft_schema(here.engine, WISH, "simulated/small")
    again = draft_schema(here.engine, f"  {WISH}\n", "simulated/small")

    assert again == first
    assert len(here.engine.runs(drafts=True)) == 1


def test_what_breaks_the_rules_is_asked_once_more_with_the_mistakes(world: Worlds) -> None:
    here = world()

    made = draft_schema(here.engine, "title, title", "simulated/small")
    assert made.mistakes == ()  # of one name there is one field

    spoilt = proposal({"name": "kind", "type": "choice"}, {"name": "kind"})
    assert proposal_mistakes(spoilt) == [
        Mistake("/fields/0/choices", "a choice needs two choices or more"),
        Mistake("/fields/1/name", "there are two fields kind"),
    ]


def test_a_draft_that_may_cost_too_much_is_refused_before_anything_is_sent(world: Worlds) -> None:
    here = world()

    with pytest.raises(UsageError, match="nothing was started"):
        draft_schema(here.engine, WISH, "simulated/small", funds=DraftFunds(max_cost_usd=0))

    assert here.engine.runs() == []


def test_both_calls_of_a_draft_together_cost_no_more_than_was_said(
    world: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, calls = world(), set()
    never_right = [Mistake("/fields/0", "this does not do")]
    monkeypatch.setattr("quire.engine.schema_drafts.proposal_mistakes", lambda draft: never_right)

    for step in range(200):
        if 2 in calls:
            break
        most = 0.0001 * 1.03**step
        with suppress(CostAboveLimit):
            funds = DraftFunds(max_cost_usd=most)
            made = draft_schema(here.engine, f"{WISH} {step:03}", "simulated/small", funds=funds)
            calls.add(len(made.runs))
            assert to_usd(made.cost) <= most

    assert calls == {1, 2}  # where there was no money for the second, the first is shown


@pytest.mark.parametrize("wish", ["", " \n", "x" * 2_001])
def test_a_wish_is_said_in_some_words(world: Worlds, wish: str) -> None:
    with pytest.raises(UsageError, match="say what you want to know"):
        draft_schema(world().engine, wish, "simulated/small")


def test_documents_that_are_not_there_are_told(world: Worlds) -> None:
    with pytest.raises(NotFound, match="there is no document 7"):
        draft_schema(world().engine, WISH, "simulated/small", [7])  # type: ignore[list-item]


def test_every_type_of_field_keeps_the_contract() -> None:
    body = write_schema(
        proposal(
            *[field(kind, required=False) for kind in ("text", "number")],
            *[field(kind, required=True) for kind in ("integer", "yes_no", "date", "list")],
            {"name": "kind", "type": "choice", "choices": ["a", "b", "a"], "required": False},
        )
    )

    assert load_schema(body, name="draft").body == json.loads(json.dumps(body))
    properties = body["properties"]
    assert isinstance(properties, dict)
    assert properties["kind"] == {
        "type": ["string", "null"],
        "enum": ["a", "b", None],
        "description": "",
    }
