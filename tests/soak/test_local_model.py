"""A real small language model, end to end: installed, served, asked through the engine."""

import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

import jsonschema_rs
import openai
import orjson
import pytest

import quire
from quire.domain.data import Json
from quire.domain.errors import NotFound
from quire.domain.recipes import GateUse, Recipe
from quire.local.install import installed_weights
from quire.recipes.plugin_registry import builtin_registry
from quire.recipes.recipe_files import load_recipe

pytestmark = pytest.mark.soak

QUIRE = [sys.executable, "-m", "quire"]
MODEL = "local/smollm2"
READY = re.compile(r"answers at (http://127\.0\.0\.1:\d+/v1)")
READY_SECONDS, ENDED_SECONDS = 120, 20  # on a busy machine
PACK = 3
SECTIONS = 3

DOCUMENT = """\
# Minutes of the garden society

The society met on 3 May in the town hall. Twelve members were present.

Who will water the roses in August?

The treasurer reports that 240 euros are left after the purchase of two spades.

- Anna brings seeds to the next meeting.
- Who brings the cake?

The next meeting is on 7 June.
"""
BLOCKS = 7
SCHEMA: dict[str, Any] = {
    "title": "Minutes",
    "type": "object",
    "additionalProperties": False,
    "required": ["kind", "topic"],
    "properties": {
        "kind": {"type": "string", "enum": ["question", "statement", "heading"]},
        "topic": {"type": "string", "maxLength": 60},
        "urgent": {"type": "boolean"},
    },
}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The model, served by a process of its own; gives its address."""
    try:
        installed_weights()
    except NotFound:
        subprocess.run([*QUIRE, "local", "install"], check=True)
    command = [*QUIRE, "local", "serve", "--port", "0", "--threads", "1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        found = READY.search(process.stdout.readline())
        assert found, process.communicate(timeout=READY_SECONDS)
        yield found.group(1)
    finally:
        process.send_signal(signal.SIGINT)
        _, output = process.communicate(timeout=ENDED_SECONDS)
    assert process.returncode == 0, output
    assert re.search(r"ended; \d+ calls answered", output), output


@pytest.fixture
def engine(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[quire.Engine]:
    """An empty ledger, with the model at hand."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QUIRE_LOCAL_URL", server)
    (tmp_path / "minutes.md").write_text(DOCUMENT)
    with quire.open(str(tmp_path / "work.db")) as opened:
        yield opened


@pytest.mark.parametrize(
    ("policy", "calls"),
    [({"pack_size": PACK}, -(-BLOCKS // PACK)), ({"packing": False}, BLOCKS)],
    ids=["packed", "single"],
)
def test_every_block_of_a_document_is_answered_in_the_form_that_was_asked(
    engine: quire.Engine, policy: dict[str, Any], calls: int, tell: Callable[[str], None]
) -> None:
    began = monotonic()

    run = engine.run(over=engine.ingest("minutes.md"), schema=SCHEMA, model=MODEL, **policy)
    run.wait()

    rows, progress = run.rows(), run.progress()
    assert [row["status"] for row in rows] == ["accepted"] * BLOCKS
    for row in rows:
        answer = {name: row[name] for name in SCHEMA["properties"] if row.get(name) is not None}
        jsonschema_rs.validate(SCHEMA, answer)
    assert calls <= progress.calls <= 3 * calls
    assert progress.packed_tasks >= BLOCKS
    assert progress.input_tokens > 50 * progress.calls
    assert progress.output_tokens > 5 * BLOCKS
    assert (progress.cost_pico, progress.presumed_pico, progress.holds) == (0, 0, ())
    tell(
        f"\n{MODEL}, {policy}: {BLOCKS} blocks in {progress.calls} calls, {progress.input_tokens:,}"
        f" tokens in, {progress.output_tokens:,} out, {monotonic() - began:.1f} s"
    )


def test_more_calls_at_once_than_it_can_answer_are_all_answered(
    engine: quire.Engine, tmp_path: Path
) -> None:
    (tmp_path / "many.txt").write_text("\n\n".join(f"Row {n} is short." for n in range(24)))

    run = engine.run(
        over=engine.ingest("many.txt"), schema=SCHEMA, model=MODEL, packing=False, concurrency=24
    )
    run.wait()

    assert {row["status"] for row in run.rows()} == {"accepted"}
    assert (run.progress().cost_pico, run.progress().presumed_pico) == (0, 0)


def test_a_strangers_client_is_answered_in_the_form_it_asks_for(server: str) -> None:
    form = {
        "type": "object",
        "properties": {"capital": {"type": "string", "maxLength": 30}},
        "required": ["capital"],
        "additionalProperties": False,
    }
    with openai.OpenAI(base_url=server, api_key="none") as client:
        completion = client.chat.completions.create(
            model="smollm2",
            messages=[{"role": "user", "content": "What is the capital of France?"}],
            max_tokens=60,
            response_format={
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": form, "strict": True},
            },
        )

    assert list(orjson.loads(completion.choices[0].message.content or "")) == ["capital"]
    assert completion.usage is not None
    assert completion.usage.completion_tokens > 0
    assert completion.model == "smollm2"


def local_report() -> Recipe:
    """The report as it comes with Quire, without its gates: a model so small keeps no headings."""
    brief = "The garden society must decide whether to buy a small greenhouse for 240 euros."
    given: dict[str, Json] = {"brief": brief, "sections": SECTIONS, "words": 240}
    recipe = load_recipe("report", builtin_registry(), given)
    stages = [
        replace(stage, gates=(GateUse("text"),), params=replace(stage.params, max_tokens=150))
        if stage.schema is None
        else stage
        for stage in recipe.stages
    ]
    return replace(recipe, stages=tuple(stages))


def test_a_report_of_three_sections_is_written_from_outline_to_document(
    engine: quire.Engine, tell: Callable[[str], None]
) -> None:
    began = monotonic()

    run = engine.run(
        recipe=local_report(),
        over={"material": engine.ingest("minutes.md")},
        model=MODEL,
        max_tries=9,
        max_continuations=2,
        call_timeout=300,
    )
    run.wait()

    rows = {name: run.rows(stage=name) for name in ("outline", "section", "report")}
    counts = {name: len(found) for name, found in rows.items()}
    assert counts == {"outline": 1, "section": SECTIONS, "report": 1}
    assert {row["status"] for found in rows.values() for row in found} == {"accepted"}
    sections = rows["outline"][0]["sections"]
    assert isinstance(sections, list)
    assert len(sections) == SECTIONS
    progress = run.progress()
    assert (progress.cost_pico, progress.holds) == (0, ())
    text = str(rows["report"][0]["text"])
    tell(
        f"\n{MODEL}: a report of {SECTIONS} sections, {len(text.split())} words, in"
        f" {progress.calls} calls, {progress.output_tokens:,} tokens out,"
        f" {monotonic() - began:.0f} s; it begins: {text[:200]!r}"
    )


def test_where_nothing_listens_the_run_is_held_and_says_what_to_type(
    engine: quire.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUIRE_LOCAL_URL", "http://127.0.0.1:9/v1")

    run = engine.run(over=engine.ingest("minutes.md"), schema=SCHEMA, model=MODEL)
    with pytest.raises(quire.HeldError):
        run.wait()

    (hold,) = run.progress().holds
    assert "start it with `quire local serve`" in hold.detail
