"""What became of a recipe's tasks: shown, written out, and told why where it is nothing."""

import json
from pathlib import Path

from tests.cli.conftest import Quire

MODEL = ("--model", "simulated/small")


def test_results_are_shown_and_written_of_any_stage(notes: Quire, folder: Path) -> None:
    notes("run", "--recipe", "notes.toml", *MODEL)

    shown = notes("show", "--stage", "points").stdout
    assert "all 4 tasks of points, run 1 · simulated" in shown
    assert [item["subject"]["sample"] for item in notes.json("show", "--stage", "points")] == [
        *(0, 1, 0, 1)
    ]
    (digest,) = map(json.loads, notes("export").stdout.splitlines())
    assert digest["stage"] == "digest"
    assert len(digest["subject"]["inputs"]) == 4
    printed = notes.json("export", "--stage", "all", "-o", folder / "out.jsonl")
    assert printed["lines"] == 9
    assert "no stage 'nope'" in notes("export", "--stage", "nope", code=2).stderr


def test_all_blocks_of_a_limited_stage_are_counted_where_they_are_shown(quire: Quire) -> None:
    Path("long.txt").write_text("\n\n".join(f"Sentence {number}." for number in range(12)))
    Path("mood.toml").write_text("""
name = "mood"
[[stages]]
name = "mood"
about = "each_block"
prompt = "What mood? {{ block.text }}"
schema = { type = "object", required = ["glad"], properties = { glad = { type = "boolean" } } }
[[stages]]
name = "worst"
about = "all_to_one"
needs = ["mood"]
prompt = "Sum up: {% for it in inputs.mood %}{{ it.text }}{% endfor %}"
""")
    quire("ingest", "long.txt")
    quire("run", "--recipe", "mood.toml", *MODEL, "--limit", 3)

    assert "the first 10 of 12 blocks of mood, run 1" in quire("show", "--stage", "mood").stdout
    every = quire("show", "--stage", "mood", "--limit", 20).stdout
    assert "all 12 blocks of mood, run 1" in every
    assert every.count("pending") == 9


def test_what_failed_is_shown_with_its_error_and_what_it_is_about(notes: Quire) -> None:
    notes(
        "run", "--recipe", "notes.toml", *MODEL, "--max-tries", 1, code=1, faults="refuse@Point 1"
    )

    said = notes("show", "--stage", "points").stdout.splitlines()
    assert said[0].split()[:5] == ["task", "about", "sample", "status", "error"]
    assert ["failed" in name and "refused" in name for name in said[2:6]] == [
        *(False, True, False, True)
    ]


def test_blocks_and_samples_of_one_document_are_told_apart(notes: Quire) -> None:
    Path("one.toml").write_text("""
name = "one"
[[stages]]
name = "says"
about = "each_block"
prompt = "Sum up: {{ block.text }}"
[[stages]]
name = "draws"
about = "samples"
of = "says"
samples = 2
prompt = "Again: {{ inputs.says.text }}"
""")
    notes("run", "--recipe", "one.toml", *MODEL, "--document", "second.txt")

    blocks = notes("show", "--stage", "says").stdout
    draws = notes("show", "--stage", "draws").stdout
    assert "second.txt, block 0" in blocks
    assert "second.txt, block 1" in blocks
    assert draws.splitlines()[0].split()[:3] == ["task", "about", "sample"]


def test_a_run_of_several_models_is_listed_with_how_many_more(notes: Quire) -> None:
    recipe = Path("notes.toml").read_text()
    Path("notes.toml").write_text(
        recipe.replace('about = "samples"', 'about = "samples"\nmodels = ["simulated/large"]')
    )
    notes("run", "--recipe", "notes.toml", *MODEL, "--detach")

    assert "simulated/small +1 " in notes("runs").stdout


def test_failures_are_told_by_stage_and_what_they_block_apart(notes: Quire) -> None:
    order = ("run", "--recipe", "notes.toml", *MODEL, "--max-tries", 1)
    notes(*order, code=1, faults="refuse@second.txt")

    said = notes("failures").stdout
    assert said.splitlines()[2].split()[:2] == ["summary", "1"]
    assert "2 more are blocked by these: quire failures 1 --blocked" in said
    blocked = notes("failures", "--blocked").stdout
    assert "points      2  summary task 2 failed: " in blocked
    (group,) = notes.json("failures")
    assert (group["stage"], group["failures"][0]["about"]) == ("summary", "second.txt")
    assert group["failures"][0]["block_uid"] is None
    (held,) = notes.json("failures", "--blocked")
    assert held["failures"][0]["about"].endswith(
        f"result of task {group['failures'][0]['task_id']}"
    )
    assert "points: 2 blocked, because summary failed" in notes("status").stdout


def test_what_is_blocked_through_others_names_those_that_failed(notes: Quire) -> None:
    recipe = Path("notes.toml").read_text()
    Path("notes.toml").write_text(f"""{recipe}
[[stages]]
name = "more"
about = "each_result"
of = "points"
prompt = "More: {{{{ inputs.points.text }}}}"
""")
    order = ("run", "--recipe", "notes.toml", *MODEL, "--max-tries", 1)
    notes(*order, code=1, faults="refuse@.txt")

    groups = notes.json("failures", "--blocked")
    assert groups[0]["cause"].startswith("summary tasks 1, 2 failed: ")
    notes("retry", 1)
    assert "asked again" in notes.json("failures", "--blocked")[0]["cause"]
    said = notes("status").stdout
    assert "points: 4 blocked until what they read is answered, which is asked again" in said
    assert "quire retry" not in said


def test_only_what_was_purged_is_called_so(notes: Quire) -> None:
    order = ("run", "--recipe", "notes.toml", *MODEL, "--max-tries", 1)
    notes(*order, code=1, faults="refuse@second.txt")
    notes("purge", "second.txt", "--yes")

    (group,) = notes.json("failures")
    assert group["failures"][0]["block_uid"] == "(purged)"


def test_what_was_asked_is_shown_for_every_stage(notes: Quire) -> None:
    notes("run", "--recipe", "notes.toml", *MODEL)
    tasks = [json.loads(line) for line in notes("export", "--stage", "all").stdout.splitlines()]

    for task in tasks:
        view = notes.json("prompt", task["task_id"])
        assert view["stage"] == task["stage"]
        assert not view["user"].startswith("(")
    critic = next(task for task in tasks if task["stage"] == "check")
    said = notes("prompt", critic["task_id"]).stdout
    assert f"result of task {critic['subject']['inputs'][0]}" in said
    assert "Is it so? In 5 words" in said
    first = notes.json("ledger")[0]["id"]
    assert notes.json("ledger", "--request", first)["user"].startswith("In 5 words")


def test_what_waits_says_why_it_cannot_be_shown_yet(notes: Quire) -> None:
    order = ("run", "--recipe", "notes.toml", *MODEL, "--completion-mode", "throughput")
    notes(*order, "--max-tries", 1, code=1, faults="refuse@second.txt")
    blocked = notes.json("failures", "--blocked")[0]["failures"][0]["task_id"]

    assert "cannot be put into words yet" in notes("prompt", blocked).stdout
