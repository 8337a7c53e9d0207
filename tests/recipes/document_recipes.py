"""Runs of the recipes that write documents, small enough for tests, and what came out of them."""

import json
import tomllib
from collections import Counter
from importlib.resources import files
from typing import Any

from quire.domain.data import Json
from quire.domain.ids import RunId
from quire.domain.states import TaskState
from quire.engine import Engine, RunHandle

BRIEF = "The council of Lund must decide by spring whether to renew the ferry or build a bridge."
MODELS = ("simulated/small", "simulated/medium", "simulated/large")
_BEGINNING = {"header": 3, "thesis": 3, "antithesis": 9}
_SYNTHESIS = {"pairwise": 27, "reduced": 9, "final": 3}
DIALECTIC_COUNTS = {**_BEGINNING, **_SYNTHESIS, "parenthesis": 3, "paralysis": 3}
SECTIONS = 3
# every answer is cut, and often goes on badly
CUT = "truncate_at=400,repeat_tail=0.2,preamble=0.2,seed=3"
REPORT_COUNTS = {"outline": 1, "section": SECTIONS, "report": 1}

Written = dict[str, list[tuple[str, int, str]]]  # stage -> model, sample, text; in order


def order_dialectic(engine: Engine, *models: str, **more: Any) -> RunHandle:
    """Order a dialectic of short texts by these models."""
    parameters: dict[str, Json] = {"brief": BRIEF, "words": 300}
    return engine.run(recipe="dialectic", models=models or MODELS, parameters=parameters, **more)


def order_report(engine: Engine, model: str = MODELS[1], **more: Any) -> RunHandle:
    """Order a report of three sections."""
    parameters: dict[str, Json] = {"brief": BRIEF, "words": 1200, "sections": SECTIONS}
    return engine.run(recipe="report", model=model, parameters=parameters, **more)


def stage_texts(engine: Engine, run: RunId) -> Written:
    """All that was written, stage by stage."""
    found: Written = {}
    models = [engine.queries.head(run).model.name, *engine.queries.head(run).models]
    with engine.ledger.snapshot() as tx:
        for outcome in tx.results.outcomes_of_run(run):
            assert outcome.state == TaskState.DONE, outcome
            data = json.loads(outcome.data or "null")
            text = data["text"] if [*data] == ["text"] else json.dumps(data, sort_keys=True)
            found.setdefault(outcome.stage, []).append(
                (models[outcome.model_no], outcome.sample, text)
            )
    return {stage: sorted(texts) for stage, texts in found.items()}


def stage_counts(written: Written) -> dict[str, int]:
    """How many results each stage has."""
    return {stage: len(texts) for stage, texts in written.items()}


def outline_of(recipe: str, stage: str) -> list[str]:
    """The headings that a stage of a built-in recipe asks for."""
    text = files("quire.recipes").joinpath("builtin", f"{recipe}.toml").read_text("utf-8")
    prompts = {item["name"]: item["prompt"] for item in tomllib.loads(text)["stages"]}
    below = prompts[stage].rpartition("\nOutline:\n")[2]
    return [line for line in below.splitlines() if line.startswith("## ")]


def assert_dialectic_is_whole(written: Written, *models: str) -> None:
    """Exactly the stated counts, by each model alike, and every text from first heading to end."""
    assert stage_counts(written) == DIALECTIC_COUNTS
    for stage, texts in written.items():
        by_model = Counter(model for model, _, _ in texts)
        assert set(by_model.values()) == {len(texts) // len(models)}
        assert len({text for _, _, text in texts}) == len(texts) or stage == "header"
    assert_texts_are_whole(written)


def assert_texts_are_whole(written: Written) -> None:
    """Every text of a dialectic has all headings of its outline, and ends as an uncut one does."""
    for stage, texts in written.items():
        for model, _, text in texts if stage != "header" else ():
            found = [line for line in text.splitlines() if line.startswith("#")]
            assert found == outline_of("dialectic", stage), (stage, model)
            assert text.endswith(f"This is the end of the text by {_wire_name(model)}.")


def _wire_name(model: str) -> str:
    """A model as it is called where it is asked."""
    return model if model.startswith("simulated/") else model.partition("/")[2]
