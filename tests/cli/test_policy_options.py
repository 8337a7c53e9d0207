"""The options of a policy are the same wherever they may be typed."""

import re
from dataclasses import fields

import pytest

from quire.cli.options import POLICY_OPTIONS
from quire.domain.policy import Policy
from quire.recipes.setting_rules import POLICY_ALIASES
from tests.cli.conftest import Quire

WIDE = "200"


def test_every_part_of_a_policy_has_its_option() -> None:
    named = {POLICY_ALIASES.get(name, name) for name in POLICY_OPTIONS}
    assert named == {field.name for field in fields(Policy)}


def test_the_flags_of_a_policy_reach_the_run(ready: Quire) -> None:
    ready(
        *("run", "-s", "clauses", "--detach", "--route", "paced", "--deadline", "2h"),
        *("--min-batch-size", "7", "--batch-wait", "1.5"),
    )

    policy = ready.json("status", "--policy")["policy"]
    assert {name: item["value"] for name, item in policy.items() if item["source"] == "flag"} == {
        "route": "paced",
        "deadline": 7200,
        "min_batch_size": 7,
        "batch_wait": 1.5,
    }


@pytest.mark.parametrize(
    ("flag", "value", "message"),
    [
        ("--route", "train", "route must be direct, batch, auto or paced"),
        ("--deadline", "soon", "deadline must be a time such as 90s, 30m or 2h"),
        ("--deadline", "-5", "deadline must be a time"),
        ("--min-batch-size", "0", "min_batch_size must be"),
        ("--batch-wait", "-1", "batch_wait must be"),
    ],
)
def test_a_wrong_value_is_refused_in_one_line(
    ready: Quire, flag: str, value: str, message: str
) -> None:
    result = ready("run", "-s", "clauses", flag, value, code=2)

    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_deadline_may_be_a_number_of_seconds(ready: Quire) -> None:
    ready("run", "-s", "clauses", "--detach", "--deadline", "90")

    assert ready.json("status", "--policy")["policy"]["deadline"]["value"] == 90


def panel(quire: Quire, monkeypatch: pytest.MonkeyPatch, command: str) -> list[str]:
    """The lines about policy in a command's help."""
    monkeypatch.setenv("COLUMNS", WIDE)
    text = quire(*command.split(), "--help").stdout
    found = re.search(r"─ Policy ─+╮\n(.*?)╰", text, re.DOTALL)
    assert found
    return [" ".join(line.strip(" │").split()) for line in found[1].splitlines()]


def test_planning_running_and_rehearsing_take_the_same(
    quire: Quire, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = panel(quire, monkeypatch, "run")
    kept = [line for line in run if not line.startswith("--ledger-bodies")]

    assert len(run) == len(POLICY_OPTIONS)
    assert panel(quire, monkeypatch, "plan") == run
    assert panel(quire, monkeypatch, "rehearse run") == kept  # nothing of a rehearsal is kept


def test_probing_takes_what_concerns_it(quire: Quire, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = panel(quire, monkeypatch, "probe")

    assert [line.split()[0] for line in lines] == [
        *("--temperature", "--effort", "--concurrency", "--call-timeout", "--caching"),
    ]
