"""Lineage: results know where they come from, and stages are expanded over pairs and lineages."""

from collections.abc import Callable

import pytest

from quire.domain.recipes import Recipe, Stage
from quire.domain.states import RunState
from quire.engine import RunHandle
from tests.pipeline.recipe_stages import recipe, task_states, text_stage
from tests.world import World, sentences

Worlds = Callable[..., World]
MODELS = ("simulated/small", "simulated/large", "simulated/small-2026-01-01")


def all_of(name: str) -> str:
    """A template that reads all results of a stage."""
    return f"{{% for each in inputs.{name} %}}{{{{ each.text }}}} {{% endfor %}}"


def chain() -> Recipe:
    """Thesis, critiques, pairs, lineages, one for each model, and two that read their own."""
    return recipe(
        text_stage("thesis", "all_to_one", "Answer.", all_models=True),
        text_stage(
            "antithesis", "each_result", "{{ inputs.thesis.text }}", of="thesis", all_models=True
        ),
        text_stage(
            "pairwise",
            "pairs_by_origin",
            "{{ inputs.thesis.text }} {{ inputs.antithesis.text }}",
            of="antithesis",
            needs=("thesis",),
            all_models=True,
        ),
        text_stage(
            "reduced",
            "by_lineage",
            "{{ inputs.thesis.text }} " + all_of("pairwise"),
            of="pairwise",
            needs=("thesis",),
            all_models=True,
        ),
        text_stage("synthesis", "each_model", all_of("reduced"), needs=("reduced",)),
        own_stage("parenthesis", "synthesis"),
        own_stage("paralysis", "parenthesis"),
    )


def own_stage(name: str, above: str) -> Stage:
    """A stage of which each model reads its own result of another."""
    prompt = f"{{{{ inputs.{above}.text }}}}"
    return text_stage(name, "each_model", prompt, needs=(above,), own_model=("*",))


def start(here: World, count: int, asked: Recipe | None = None, **policy: object) -> RunHandle:
    """Start the chain with so many models."""
    here.ingest(sentences(2))
    return here.engine.run(recipe=asked or chain(), models=MODELS[:count], **policy)  # type: ignore[arg-type]


COUNTS = [
    (1, (1, 1, 1, 1, 1, 1, 1)),
    (2, (2, 4, 8, 4, 2, 2, 2)),
    (3, (3, 9, 27, 9, 3, 3, 3)),
]
MODES = ("best_effort", "exact", "throughput")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("models", "counts"), COUNTS)
def test_the_chain_of_a_dialectic_has_its_stated_counts(
    world: Worlds, models: int, counts: tuple[int, ...], mode: str
) -> None:
    here = world()

    run = start(here, models, completion_mode=mode)
    ended = run.wait()

    assert ended.state == RunState.FINISHED
    names = [stage.name for stage in chain().stages]
    assert task_states(here.engine, run) == {
        name: {"done": count} for name, count in zip(names, counts, strict=True)
    }
