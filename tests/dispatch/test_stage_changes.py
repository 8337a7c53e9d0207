"""A stage begins as soon as it may: nobody rests while there is something to do."""

from collections.abc import Callable

from tests.pipeline.recipe_stages import recipe, text_stage
from tests.world import Calm, World, sentences


class Counting(Calm):
    """The real world, in which it is counted how often a worker found nothing to do."""

    def __init__(self) -> None:
        """Nobody has rested yet."""
        self.rests = 0

    def rest(self, wait: Callable[[float], None], seconds: float) -> None:
        """Count, and rest."""
        self.rests += 1
        super().rest(wait, seconds)


def test_no_stage_waits_for_a_sweep_when_the_one_above_is_over(world: Callable[..., World]) -> None:
    runtime = Counting()
    here = world(runtime=runtime)
    here.ingest(sentences(3))
    asked = recipe(
        text_stage("each", "each_block", "{{ block.text }}"),
        text_stage("again", "each_result", "{{ inputs.each.text }}", of="each"),
        text_stage("all", "all_to_one", "Sum up. {{ inputs.again }}", needs=("again",)),
        text_stage("last", "all_to_one", "Name it. {{ inputs.all }}", needs=("all",)),
    )

    ended = here.engine.run(recipe=asked, model="simulated/small").wait()

    assert (ended.done, ended.total) == (8, 8)
    assert runtime.rests == 0
