"""Recipes are listed, checked, shown, drawn and started from the command line."""

from pathlib import Path

import pytest

from tests.cli.conftest import Quire
from tests.plugin_packages import Packages
from tests.recipes.examples import SOUND

DEBATE = """
[[stages]]
name = "thesis"
about = "each_document"
models = "all"
prompt = "{{ document.text }}"
[[stages]]
name = "review"
about = "each_result"
of = "thesis"
models = "all"
prompt = "{{ inputs.thesis.text }}"
[[stages]]
name = "pair"
about = "pairs_by_origin"
of = "review"
needs = ["thesis"]
models = "all"
prompt = "{{ inputs.thesis.text }} {{ inputs.review.text }}"
[[stages]]
name = "line"
about = "by_lineage"
of = "pair"
prompt = "{{ inputs.pair|length }}"
models = "all"
[[stages]]
name = "fact"
about = "each_block"
prompt = "{{ block.text }}"
"""
COMMANDS = ["recipe", *(f"recipe {item}" for item in ("list", "check", "show", "graph", "new"))]


@pytest.fixture
def sound(folder: Path) -> Path:
    """A sound recipe in the folder."""
    path = folder / "sound.toml"
    path.write_text(SOUND)
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_example_in_its_help(quire: Quire, command: str) -> None:
    assert f"Example: quire {command}" in " ".join(quire(*command.split(), "--help").stdout.split())


def test_the_built_in_recipes_are_listed(quire: Quire) -> None:
    text = quire("recipe", "list").stdout
    listed = {item["name"]: item for item in quire.json("recipe", "list")}

    assert "summarise" in text
    assert listed["summarise"]["stages"] == 2
    assert "summar" in listed["summarise"]["description"]


def test_a_sound_recipe_has_no_mistakes(quire: Quire, sound: Path) -> None:
    assert quire("recipe", "check", "sound.toml", "summarise").stdout.splitlines() == [
        "sound.toml: 5 stages, no mistakes",
        "summarise: 2 stages, no mistakes",
    ]
    assert quire("-q", "recipe", "check", sound).stdout == ""
    assert quire.json("recipe", "check", "sound.toml") == [{"file": "sound.toml", "mistakes": []}]


def test_all_mistakes_of_all_files_are_told_with_their_lines(quire: Quire, folder: Path) -> None:
    (folder / "one.toml").write_text(SOUND.replace("each_block", "each_blok"))
    (folder / "two.toml").write_text("name = 'two'\nstage = 1\n")

    lines = quire(
        "recipe", "check", "one.toml", "two.toml", "gone.toml", code=2
    ).stdout.splitlines()

    assert lines == [
        "one.toml:21: the grouping 'each_blok' is not known; did you mean each_block?",
        "two.toml:1: a recipe needs at least one stage: [[stages]]",
        "two.toml:2: stage is not known; did you mean stages?",
        "gone.toml:1: there is no such file",
    ]
    (printed,) = quire.json("recipe", "check", "one.toml", code=2)
    assert printed["mistakes"][0]["line"] == 21


@pytest.mark.parametrize(
    "content", [b"\xff\xfe", b"\x00", b"a = [", b"[[stages]]\nname = 1979-01-01"]
)
def test_bad_bytes_are_mistakes_too(quire: Quire, folder: Path, content: bytes) -> None:
    (folder / "bad.toml").write_bytes(content)

    assert quire("recipe", "check", "bad.toml", code=2).stdout.startswith("bad.toml:")


def test_a_folder_is_no_recipe(quire: Quire, folder: Path) -> None:
    (folder / "sub.toml").mkdir()

    assert "no such file" in quire("recipe", "check", "sub.toml", code=2).stdout


def test_a_recipe_is_shown(quire: Quire, sound: Path) -> None:
    text = quire("recipe", "show", "sound.toml").stdout
    printed = quire.json("recipe", "show", "sound.toml")

    assert "Reads, checks and sums up." in text
    assert "how deep; one of 1, 2, 3" in text
    assert "critic of facts, gate" in " ".join(text.split())
    assert printed["stages"][0]["name"] == "facts"
    assert printed["parameters"]["depth"]["default"] == 2


def test_a_recipe_says_what_prompt_and_attach_give(quire: Quire) -> None:
    said = " ".join(quire("recipe", "show", "report").stdout.split())

    assert "inputs material (--attach PATH fills it)" in said
    assert "--prompt FILE gives it" in said


def test_a_stage_without_models_asks_whoever_gave_the_result_it_is_about(
    quire: Quire, folder: Path
) -> None:
    text = SOUND.replace('model = "same"\n', "")
    text += (
        '\n[[stages]]\nname = "judge"\ncritic = true\nof = "echo"\nprompt = "{{ judged.answer }}"\n'
    )
    (folder / "sound.toml").write_text(text)

    rows = [line.split() for line in quire("recipe", "show", "sound.toml").stdout.splitlines()]
    said = {row[0]: " ".join(row[1:]) for row in rows if row}

    assert "same" in said["echo"]
    assert "same" in said["judge"]
    assert "the run's model" in said["check"]


def test_the_tasks_of_a_run_are_counted_before_there_is_one(quire: Quire, folder: Path) -> None:
    (folder / "debate.toml").write_text(DEBATE)

    lines = quire("recipe", "show", "debate.toml", "--models", 3).stdout.splitlines()
    counts = {line.split()[0]: line.split()[1] for line in lines if " × " in line or "once" in line}
    printed = quire.json("recipe", "show", "debate.toml", "--documents", 4)["tasks"]

    assert counts == {"thesis": "3", "review": "9", "pair": "27", "line": "9"}
    assert lines[-1] == "48 tasks, and 1 for each block: with 3 models, 1 document"
    assert [(count["stage"], count["tasks"], count["per_block"]) for count in printed] == [
        *(("thesis", 4, False), ("review", 4, False), ("pair", 4, False), ("line", 4, False)),
        ("fact", 1, True),
    ]


def test_a_list_that_is_read_as_one_result_is_a_mistake_with_its_line(
    quire: Quire, folder: Path
) -> None:
    text = DEBATE.replace("{{ inputs.pair|length }}", "{{ inputs.pair.text }}")
    (folder / "debate.toml").write_text(text)

    (line,) = quire("recipe", "check", "debate.toml", code=2).stdout.splitlines()

    assert line.startswith("debate.toml:24: inputs.pair is a list here: write {% for")


def test_a_recipe_that_is_not_there_is_one_line(quire: Quire) -> None:
    for command in ("show", "graph"):
        said = quire("recipe", command, "sumarise", code=2).stderr
        assert said == (
            "quire: there is no file 'sumarise', and a recipe of that name is not known;"
            " did you mean summarise?\n"
        )


def test_a_graph_is_drawn_with_critics_beside_their_stage(quire: Quire, sound: Path) -> None:
    assert quire("recipe", "graph", "sound.toml").stdout.splitlines() == [
        "sound",
        "└─ facts  each_block · rules",
        "   │  ◇ check  critic of facts, gate",
        "   └─ summary  each_document × 2 models × 3 samples · text",
        "      ├─ digest  all_to_one · text  (also reads facts)",
        "      └─ echo  each_result of summary · text  (also reads facts)",
    ]


def test_a_graph_shows_what_else_a_critic_reads(quire: Quire, folder: Path) -> None:
    text = SOUND.replace('of = "facts"', 'of = "facts"\nneeds = ["scale"]')
    text += """
[[stages]]
name = "scale"
about = "all_to_one"
prompt = "What is good?"
"""
    (folder / "sound.toml").write_text(text)

    drawn = quire("recipe", "graph", "sound.toml").stdout.splitlines()

    assert drawn[1:5] == [
        "├─ facts  each_block · rules",
        "│  │  ◇ check  critic of facts, gate  (also reads scale)",
        "│  └─ summary  each_document × 2 models × 3 samples · text",
        "│     ├─ digest  all_to_one · text  (also reads facts)",
    ]
    assert drawn[-1] == "└─ scale  all_to_one · text"


def test_a_graph_is_drawn_for_other_programs(quire: Quire, sound: Path) -> None:
    mermaid = quire("recipe", "graph", "sound.toml", "--format", "mermaid").stdout
    dot = quire("recipe", "graph", "sound.toml", "--format", "dot").stdout
    printed = quire.json("recipe", "graph", "sound.toml")

    assert mermaid.startswith("flowchart TD\n")
    assert "    facts -.-> check\n" in mermaid
    assert "    facts --> summary\n" in mermaid
    assert dot.startswith('digraph "sound" {')
    assert "    facts -> check [style=dashed];" in dot
    assert {"from": "facts", "to": "check", "kind": "judged"} in printed["edges"]
    assert printed["stages"] == ["facts", "check", "summary", "digest", "echo"]


def test_a_graph_of_another_form_is_refused(quire: Quire) -> None:
    said = quire("recipe", "graph", "summarise", "--format", "png", code=2).stderr

    assert "--format must be text, mermaid or dot" in said


def test_a_new_recipe_is_sound_and_is_not_overwritten(quire: Quire, folder: Path) -> None:
    quire("recipe", "new", "mine")
    text = (folder / "mine.toml").read_text()

    assert quire("recipe", "check", "mine.toml").stdout == "mine.toml: 3 stages, no mistakes\n"
    assert "there already" in quire("recipe", "new", "mine", code=2).stderr
    assert (folder / "mine.toml").read_text() == text
    assert quire.json("recipe", "new", "other.toml") == {"file": "other.toml", "name": "other"}
    assert quire.json("recipe", "show", "other.toml")["name"] == "other"


def test_a_name_that_no_recipe_can_have_is_refused(quire: Quire, folder: Path) -> None:
    assert "no name for a recipe" in quire("recipe", "new", "My Recipe", code=2).stderr
    assert list(folder.iterdir()) == []


def test_a_broken_package_is_told_and_the_rest_works(
    quire: Quire, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Packages(folder).install("stranger", "[quire.gates]\ntheirs = no_such_module:gate\n", "")
    monkeypatch.syspath_prepend(str(folder))

    result = quire("recipe", "list")

    assert result.stderr.startswith("quire: package stranger: quire.gates theirs cannot be used")
    assert "summarise" in result.stdout
