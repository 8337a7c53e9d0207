"""A judge that repeats the line of the scale that it chose is read, whatever the line says."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from quire.domain.accounts import KEYLESS_ACCOUNT, Account
from quire.domain.requests import Call
from quire.kits.judge.experiment_runs import rows_of, start_experiment
from quire.kits.judge.recipe import SCORE_GEN, planned_tasks
from quire.providers.protocol import RawResponse
from tests.kits.judge.pilots import write_pilot
from tests.world import OneProvider, Scripted, World

Worlds = Callable[..., World]
DENIALS = [
    (f"Not {kind}", [f"no {kind} strike", f"never {kind} arrests", f"{kind} or calm"])
    for kind in ("one", "two", "three", "four", "five")
]
WRITTEN = "RUBRIC:\n" + "\n".join(
    f"{number}) {label} :: {'; '.join(criteria)}"
    for number, (label, criteria) in enumerate(DENIALS, 1)
)
GIVEN = "\n".join(
    f'[[rubric]]\nlabel = "{label}"\ncriteria = {json.dumps(criteria)}'
    for label, criteria in DENIALS
)


class Repeating(Scripted):
    """The simulated model, whose rubrics deny things, and which repeats lines that it chooses."""

    async def send(self, call: Call, account: Account = KEYLESS_ACCOUNT) -> RawResponse:
        """Answer as usual, with the line of the scale in the place of its identifier."""
        answer = await super().send(call, account)
        body = json.loads(answer.raw)
        text = re.sub(r"RUBRIC:\n.*", WRITTEN, body["text"], flags=re.DOTALL)
        lines = dict(re.findall(r"^\[(\w+)\] (.*)$", call.user, re.MULTILINE))
        body["text"] = re.sub(
            r"VERDICT: (\w+)$",
            lambda found: (
                f"VERDICT: [{found[1]}] {lines[found[1]]}" if found[1] in lines else found[0]
            ),
            text,
        )
        return answer._replace(raw=json.dumps(body).encode())


@pytest.mark.parametrize("given", [False, True])
def test_the_line_of_a_stage_takes_no_verdict_back(
    world: Worlds, tmp_path: Path, given: bool
) -> None:
    here = world()
    here.model = Repeating()
    here.engine.context.providers = OneProvider(here.model)
    path = write_pilot(tmp_path, "control", ("simulated/small",), samples=3, evidence=4)
    text = path.read_text()
    if given:  # labels are not shown, criteria are
        path.write_text(f"{text.replace('control', 'benchmark')}\n{GIVEN}\n")
    else:
        path.write_text(text.replace('"hide_label_text", ', ""))

    run = start_experiment(here.engine, path)
    run.wait()

    rows = rows_of(here.engine, run.id)
    scores = list(rows.tasks_of_stage(SCORE_GEN))
    assert [task.state for task in scores] == ["done"] * 12
    assert sum(f"] {'no' if given else 'Not'} " in str(task.answer) for task in scores) >= 6
    assert here.model.calls == sum(planned_tasks(rows.experiment).values())  # none asked twice
