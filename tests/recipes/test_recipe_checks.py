"""Recipes made in Python are held to the same rules as files."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from quire.domain.data import JsonObject
from quire.domain.errors import RecipeInvalid
from quire.domain.groupings import Driver, DriverItem, GroupingContext, Part
from quire.domain.models import Params
from quire.domain.recipes import GateUse, HistoryEntry, Recipe, Stage
from quire.recipes.plugin_registry import builtin_registry
from quire.recipes.recipe_checks import check_recipe, validate_recipe
from quire.recipes.stage_graph import ancestors, find_cycle, topological_order
from quire.recipes.user_schemas import load_schema
from tests.recipes.examples import recipe

REGISTRY = builtin_registry()
TEXT_GATE = (GateUse("text"),)


def make(name: str, about: str = "each_document", **fields: object) -> Stage:
    """A stage that answers in text."""
    stage = Stage(
        name=name,
        about=about,
        schema=None,
        instructions="",
        prompt="Go.",
        params=Params(),
        gates=TEXT_GATE,
        templated=True,
    )
    return replace(stage, **fields)  # type: ignore[arg-type]


def mistakes_of(*stages: Stage, **fields: object) -> list[str]:
    """What is wrong with a recipe of these stages."""
    made = replace(Recipe(name="r", stages=stages), **fields)  # type: ignore[arg-type]
    return list(map(str, check_recipe(made, REGISTRY)))


def test_a_recipe_from_a_file_passes_again_as_a_value() -> None:
    assert check_recipe(recipe(), REGISTRY) == []
    assert validate_recipe(recipe(), REGISTRY) == recipe()


def test_mistakes_carry_a_pointer_and_the_line_of_a_template() -> None:
    assert mistakes_of(make("a", prompt="x\n{{ y")) == [
        "/stages/0/prompt: line 2: template: unexpected end of template, expected"
        " 'end of print statement'."
    ]


def test_a_refusal_holds_every_mistake() -> None:
    stages = (make("A"), make("b", about="nothing"), make("c", needs=("d",)))

    with pytest.raises(RecipeInvalid, match="r: 3 mistakes") as caught:
        validate_recipe(Recipe(name="r", stages=stages), REGISTRY)

    assert len(caught.value.mistakes) == 3


def test_stages_are_put_in_order_and_their_policy_is_settled() -> None:
    made = Recipe(
        name="r",
        stages=(make("b", needs=("a",)), make("a", policy={"packing": "off", "max_attempts": 2})),
    )

    found = validate_recipe(made, REGISTRY).stages

    assert [stage.name for stage in found] == ["a", "b"]
    assert found[0].policy == {"packing": False, "max_tries": 2}


def test_texts_that_are_no_templates_are_left_alone() -> None:
    assert mistakes_of(make("a", prompt="{{ x", templated=False)) == []


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        ((make("a", samples=0),), "samples must be"),
        ((make("a", gates=()),), "needs a gate"),
        ((make("a", params=Params(top_p=2.0)),), "top_p must be"),
        ((make("a", params=Params(stop=("",))),), "stop must be"),
        ((make("a", models=("",)),), "needs a name"),
        ((make("a", policy={"pack_size": "probed"}),), "whole run"),
        ((make("a", policy={"completion_mode": "exact"}),), "whole run"),
        ((make("a", policy={"deadline": "2h"}),), "whole run"),
        ((make("a", policy={"route": "batch"}),), 'may only be "paced"'),
        ((make("a"), make("c", "each_result", of="a", critic="both")), "mode must be"),
        ((make("a", "each_result", of="a"),), "own results"),
        ((make("a", gates=(GateUse("rules", {"rules": [{"field": "x"}]}),)),), "come after"),
        ((make("a", "all_to_one", settings={"document": True}),), "no setting"),
    ],
)
def test_values_that_no_file_could_hold_are_refused(
    stages: tuple[Stage, ...], message: str
) -> None:
    assert any(message in name for name in mistakes_of(*stages)), mistakes_of(*stages)


# What may read what: by grouping, and how the stage that is read comes about.
BLOCKS, DOCUMENTS = make("blocks", "each_block"), make("documents")
DRAWS, ALL = make("draws", "samples", samples=3), make("all", "all_to_one")
ECHO = make("echo", "each_result", of="documents")
ECHO_BLOCK = make("echo_block", "each_result", of="blocks")
EVERY = (BLOCKS, DOCUMENTS, DRAWS, ALL, ECHO, ECHO_BLOCK)


@pytest.mark.parametrize(
    ("about", "of", "may"),
    [
        ("each_block", "", {"blocks", "documents", "all", "echo"}),
        ("each_document", "", {"blocks", "documents", "all", "echo"}),
        ("all_to_one", "", {"blocks", "documents", "draws", "all", "echo", "echo_block"}),
        ("samples", "", {"blocks", "documents", "draws", "all", "echo", "echo_block"}),
        ("each_result", "echo", {"echo", "documents", "all"}),
        ("samples", "echo", {"echo", "documents", "all"}),
        ("each_result", "draws", {"draws", "all"}),
    ],
)
def test_a_stage_reads_only_what_belongs_to_its_tasks(about: str, of: str, may: set[str]) -> None:
    reads = {
        stage.name: mistakes_of(*EVERY, make("reader", about, of=of, needs=(stage.name,)))
        for stage in EVERY
    }

    assert {name for name, wrong in reads.items() if not wrong} == may
    assert all("unrelated" in text for wrong in reads.values() for text in wrong)


class Bundles:
    """A plugin's grouping: every result with documents beside it."""

    name = "bundles"
    driver = Driver.RESULT
    wants_documents = True

    def mistakes(self, context: GroupingContext) -> Sequence[str]:
        """It needs a size, and cannot do with a word."""
        if context.settings.get("size") == "large":
            raise RuntimeError("no\nwords")
        return [] if "size" in context.settings else ["bundles need a size"]

    def fan(self, driven: DriverItem, context: GroupingContext) -> Iterator[Part]:
        """One each."""
        yield Part(model=driven.model)

    def count(self, driven: int, context: GroupingContext) -> int:
        """One each."""
        return driven


def test_a_plugins_grouping_is_asked_and_may_read_what_its_documents_became() -> None:
    registry = replace(REGISTRY, groupings={**REGISTRY.groupings, "bundles": Bundles()})
    told: JsonObject = {"size": 2}
    reader = make("r", "bundles", of="draws", needs=("echo",), prompt="{{ documents|length }}")

    def found(stage: Stage) -> list[str]:
        made = Recipe(name="r", stages=(*EVERY, stage))
        return [mistake.message for mistake in check_recipe(made, registry)]

    assert found(reader) == ["bundles need a size"]
    assert found(replace(reader, settings=told)) == []
    assert found(replace(reader, settings={"size": "large"})) == [
        "grouping bundles could not be asked what is wrong (RuntimeError: no words)"
    ]


def test_a_circle_is_named_in_its_order() -> None:
    stages = (make("a", needs=("b",)), make("b", needs=("c",)), make("c", needs=("a",)), make("d"))

    assert find_cycle(stages) == ("a", "b", "c", "a")
    assert any("a → b → c → a" in name for name in mistakes_of(*stages))
    assert find_cycle((make("a"), make("b", needs=("a",)))) == ()


def test_a_very_long_chain_is_no_circle() -> None:
    stages = [make("s0"), *(make(f"s{no}", needs=(f"s{no - 1}",)) for no in range(1, 3000))]

    assert find_cycle(stages[::-1]) == ()
    assert len(ancestors("s2999", {stage.name: stage for stage in stages})) == 2999


def judge(name: str, of: str, *needs: str) -> Stage:
    """A critic that reads other stages besides."""
    return make(name, "each_result", of=of, needs=needs, critic="record")


def test_a_circle_through_a_critic_is_named() -> None:
    stages = (
        make("duty", "each_block"),
        judge("check", "duty", "digest"),
        make("summary", needs=("duty",)),
        make("digest", "all_to_one", needs=("summary",)),
    )

    assert find_cycle(stages) == ("check", "digest", "summary", "check")
    assert mistakes_of(*stages) == [
        "/stages/1: stages go in a circle: check → digest → summary → check;"
        " summary reads duty, so it waits for the critic check"
    ]


def test_critics_of_one_stage_do_not_wait_for_each_other() -> None:
    stages = (make("a"), judge("one", "a"), judge("two", "a"), make("b", needs=("a",)))

    assert find_cycle(stages) == ()


def test_a_critic_comes_before_what_waits_for_it() -> None:
    stages = (make("b", needs=("a",)), judge("check", "a", "rules"), make("a"), make("rules"))

    assert [stage.name for stage in topological_order(stages)] == ["a", "rules", "check", "b"]


def test_stages_without_needs_keep_their_order() -> None:
    stages = (make("c", needs=("a",)), make("b"), make("a"))

    assert [stage.name for stage in topological_order(stages)] == ["b", "a", "c"]


def test_a_condition_on_a_text_critic_is_not_held_against_a_schema() -> None:
    markers = (GateUse("markers", {"kind": "quality"}),)
    judge = make("j", "each_result", of="a", critic="gate", accepts="answer.observability > 0.5")

    assert mistakes_of(make("a"), replace(judge, gates=markers)) == []


def test_a_gate_refers_to_results_that_its_stage_reads() -> None:
    gate = GateUse("markers", {"kind": "verdict", "method": "single", "stages": "inputs.a.data.x"})
    read, alone = (
        make("b", "each_result", of="a", gates=(gate,)),
        make("b", gates=(gate,)),
    )

    assert mistakes_of(make("a"), read) == []
    assert mistakes_of(make("a"), alone) == [
        "/stages/1/gates: gate markers: inputs.a.data.x is not of a stage that this one is of or"
        " needs"
    ]


FIELDS: JsonObject = {
    "score": {"type": ["number", "null"]},
    "sure": {"type": "boolean"},
    "maybe": {"type": ["boolean", "null"]},
    "kind": {"enum": ["a", "b"]},
    "code": {"type": "string", "pattern": "[a-z]{900}"},
    "notes": {
        "type": "array",
        "minItems": 4_000_000,
        "items": {"type": "object", "properties": {"why": {"type": "string"}}},
    },
}


@pytest.mark.parametrize(
    ("accepts", "wrong"),
    [
        ("answer.sure", ""),
        ("answer.score >= 0.7", ""),  # where it is not null
        ("answer.score is not none and answer.score >= 0.7", ""),
        ("answer.sure and answer.kind in ['a']", ""),
        ("answer.notes|length > 3 and answer.notes[0].why != ''", ""),
        ("answer.maybe", "not as null"),
        ("answer.kind", "not as a text"),
        ("answer.notes", "not as a list"),
        ("answer.sure or answer.code", "not as a text"),
        ("answer.notes[0].wy == ''", "there is no 'wy' here"),
    ],
)
def test_a_condition_is_tried_on_answers_as_the_schema_allows_them(
    accepts: str, wrong: str
) -> None:
    body: JsonObject = {"type": "object", "additionalProperties": False, "properties": FIELDS}
    critic = replace(
        make("j", "each_result", of="a", critic="gate", accepts=accepts),
        schema=load_schema(body, name="s"),
        gates=(GateUse("json"),),
    )

    found = mistakes_of(make("a"), critic)

    assert [wrong in name for name in found] == ([True] if wrong else [])


def test_a_condition_must_ask_for_a_field_of_the_critics_schema() -> None:
    schema = load_schema(
        {"type": "object", "additionalProperties": False, "properties": {"x": {"type": "number"}}},
        name="s",
    )
    judge = make("j", "each_result", of="a", critic="gate", accepts="answer.y > 1")
    judge = replace(judge, schema=schema, gates=(GateUse("json"),))

    assert any("answer.y is not known" in name for name in mistakes_of(make("a"), judge))


def test_relevance_is_declared_of_what_a_prompt_shows() -> None:
    stage = make("a", relevance={"document": 0.5, "b": 1.0})

    assert mistakes_of(stage, make("b")) == [
        "/stages/0/relevance/b: relevance of b is not known; known are document"
    ]


def test_a_history_is_checked_turn_by_turn_with_the_lines_of_its_templates() -> None:
    told = (
        HistoryEntry("assistant", "Hello,\n{{ block.text }}"),
        HistoryEntry("user", "{{ nobody }}"),
        HistoryEntry("assistant", inputs="b"),
    )

    found = mistakes_of(make("a", history=told))

    assert list(dict.fromkeys(problem.split(": ")[0] for problem in found)) == [
        "/stages/0/history/0",
        "/stages/0/history/0/content",
        "/stages/0/history/1/content",
        "/stages/0/history/2/inputs",
    ]
