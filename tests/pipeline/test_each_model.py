"""Several models in one stage: what one of them teaches, or costs, is not another's."""

from collections.abc import Callable

import pytest

from quire.domain.data import JsonObject
from quire.domain.models import Usage
from quire.domain.pricing import price_call
from quire.domain.requests import Reply, Stop
from quire.pipeline.calls import learn
from quire.providers.catalog import CATALOG
from tests.ledger.raw import Raw
from tests.pipeline.recipe_stages import recipe, record_stage, task_states
from tests.world import OneProvider, Scripted, World, sentences, until_rest

Worlds = Callable[..., World]
BOTH = ("simulated/large", "simulated/small")  # windows of 200,000 and of 32,000 tokens

READ = Usage(input=1000, output=100)


def test_packs_fit_the_window_of_the_model_that_reads_them(
    world: Worlds, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learn, "LEARN_AFTER", 100)  # soon, and often
    here = world()
    here.ingest([f"{number}: {'word and another ' * 400}" for number in range(150)])

    stage = record_stage("facts", "each_block", "Read.", models=BOTH)
    run = here.engine.run(recipe=recipe(stage), pack_size=25, concurrency=2)
    ended = run.wait()

    assert task_states(here.engine, run) == {"facts": {"done": 300}}
    with here.engine.ledger.snapshot() as tx:
        sent = [
            (attempt.model, attempt.state, line.tasks)
            for line in tx.views.list_requests(run.id, 0, 1000)
            for attempt in tx.views.attempts_of_request(line.id)
        ]
    assert {state for _, state, _ in sent} == {"settled"}
    large, small = (max(tasks for model, _, tasks in sent if model == name) for name in BOTH)
    assert large == 25
    assert small <= 12  # a window of 32,000 tokens, with room to answer
    assert ended.calls == len(sent)


@pytest.mark.parametrize("models", [(), BOTH])
@pytest.mark.parametrize("about", ["each_document", "each_block"])
def test_a_stage_without_templates_may_be_about_anything(
    world: Worlds, about: str, models: tuple[str, ...]
) -> None:
    here = world()
    here.ingest(sentences(3))
    stage = record_stage("facts", about, "Read.", models=models, templated=False)

    run = here.engine.run(recipe=recipe(stage), model="simulated/small")
    run.wait()

    tasks = {"each_document": 1, "each_block": 3}[about] * max(1, len(models))
    assert task_states(here.engine, run) == {"facts": {"done": tasks}}


def test_an_answer_that_is_read_later_costs_what_its_own_model_costs(world: Worlds) -> None:
    here = world()
    here.ingest(sentences(2))
    here.model.script = ["garbage=1", "garbage=1"]
    stage = record_stage("facts", "each_block", "Read.", models=BOTH)
    run = here.engine.run(recipe=recipe(stage), pack_size=2)
    until_rest(run)
    later = world()
    later.engine.context.providers = OneProvider(Mended())

    later.engine.get(run.id).wait()

    raw = Raw(later.url)
    kept = raw.rows("SELECT model, cost FROM attempts WHERE output_tokens = 100 ORDER BY model")
    raw.close()
    assert kept == [(name, price_call(CATALOG[name], READ)) for name in sorted(BOTH)]


class Mended(Scripted):
    """Knows what older decoders could not read, as an answer that helps nobody."""

    decoder_version = 2

    def decode(self, raw: bytes, body: JsonObject | None = None) -> Reply:
        """Read what is no answer."""
        if b"no answer" in raw:
            return Reply("{}", Stop.END, READ)
        return super().decode(raw, body)
