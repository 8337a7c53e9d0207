"""Temperature and seed reach the simulated model, in every dialect and in batches."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from quire.kits.judge.experiment_runs import rows_of, start_experiment
from quire.providers.catalog import CATALOG
from quire.rehearsal.server import rehearsal_server
from tests.kits.judge.pilots import write_pilot
from tests.rehearsal.clients import FLASH, OLD_GPT
from tests.rehearsal.plain_http import ANTHROPIC, BEARER, GOOGLE, ask
from tests.rehearsed.rehearsed import BASES, KEYS, ByClock, QuickClock, Rehearsed
from tests.simulated.judge_calls import critic_prompt
from tests.time_limits import at_most

PROMPT = critic_prompt()
CHOOSABLE = ("openai/gpt-4.1", "anthropic/claude-haiku-4-5", "gemini/gemini-2.5-flash")
Ask = Callable[[str, dict[str, Any]], str]


def _chat(url: str, how: dict[str, Any]) -> str:
    body = {"model": OLD_GPT, "messages": [{"role": "user", "content": PROMPT}], **how}
    answer = ask(url, "/v1/chat/completions", body, BEARER)
    return str(answer.json["choices"][0]["message"]["content"])


def _messages(url: str, how: dict[str, Any]) -> str:
    said = [{"role": "user", "content": PROMPT}]
    body = {"model": "claude-3-haiku", "max_tokens": 500, "messages": said, **how}
    headers = {**ANTHROPIC, "anthropic-version": "2023-06-01"}  # later ones draw as they like
    answer = ask(url, "/v1/messages", body, headers)
    return str(answer.json["content"][0]["text"])


def _generate(url: str, how: dict[str, Any]) -> str:
    body = {"contents": [{"parts": [{"text": PROMPT}]}], "generationConfig": how}
    answer = ask(url, f"/v1beta/models/{FLASH}:generateContent", body, GOOGLE)
    return str(answer.json["candidates"][0]["content"]["parts"][0]["text"])


@pytest.mark.parametrize("answer", [_chat, _messages, _generate])
def test_temperature_zero_answers_alike_and_others_do_not(answer: Ask) -> None:
    with rehearsal_server() as server:
        cold = {answer(server.url, {"temperature": 0}) for _ in range(5)}
        warm = {answer(server.url, {"temperature": 1}) for _ in range(5)}

    assert len(cold) == 1
    assert len(warm) > 1


@pytest.mark.parametrize("answer", [_chat, _generate])
def test_the_same_seed_answers_alike(answer: Ask) -> None:
    with rehearsal_server() as server:
        same = {answer(server.url, {"seed": 7}) for _ in range(5)}
        others = {answer(server.url, {"seed": seed}) for seed in range(5)}

    assert len(same) == 1
    assert len(others) > 1


def test_two_experiments_at_temperature_zero_are_equal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_pilot(tmp_path, "control", CHOOSABLE, samples=2, evidence=2)
    path.write_text(f"temperature = 0\n{path.read_text()}")
    monkeypatch.setenv("NO_PROXY", "*")
    answers = []
    for name in ("one", "other"):
        clock = QuickClock(240)
        with rehearsal_server(models=CATALOG, clock=clock, batch_latency="20s") as server:
            for variable, base in BASES.items():
                monkeypatch.setenv(variable, server.url + base)
            for variable, key in KEYS.items():
                monkeypatch.setenv(variable, key)
            place, runtime = str(tmp_path / f"{name}.db"), ByClock(clock)
            with closing(Rehearsed(place, runtime=runtime, server=server, poll=clock.poll)) as here:
                run = start_experiment(here.engine, path, route="batch", min_batch_size=2)
                run.wait(at_most())
                tasks = rows_of(here.engine, run.id).tasks
                answers.append([(row.stage, row.model, row.sample, row.answer) for row in tasks])
            assert {entry.route for entry in server.entries()} >= {"batch"}

    assert answers[0] == answers[1]
