"""The pages keep their word: links lead somewhere, commands exist, every example runs."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer import Context
from typer.core import TyperGroup
from typer.main import get_command

from quire.cli import app
from tests.docs.pages import ROOT, Block, Command, anchors, blocks, commands, links, name, pages
from tests.server.served import serve
from tests.time_limits import PATIENCE

PAGES = pages()
PROGRAM = get_command(app)
README = ROOT / "README.md"
SERVER_PAGE, SERVER_ADDRESS = ROOT / "docs" / "server.md", "http://localhost:8321"
RUN_AS_WRITTEN = [
    ROOT / "docs" / f"{item}.md" for item in ("tutorial", "howto", "providers", "rehearsal")
]
GLOBAL_OPTIONS = {"--ledger", "--quiet", "-q", "--version", "--help", "-h"}
PYTHON_PAGES = ("python", "why", "reference", "notifications")
RUNS_PYTHON = [README, *(ROOT / "docs" / f"{item}.md" for item in PYTHON_PAGES)]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_inside_the_project_leads_somewhere(page: Path) -> None:
    assert [link for link in links(page) if not _leads_somewhere(page, link)] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_command_on_a_page_exists_with_its_options(page: Path) -> None:
    assert [command.words for command in commands(page) if not _exists(command)] == []


@pytest.mark.parametrize("page", RUN_AS_WRITTEN, ids=name)
def test_a_page_of_commands_runs_as_it_is_written(
    page: Path, tmp_path: Path, warm: list[str]
) -> None:
    here = _folder(tmp_path, warm)
    said = ""
    for block in blocks(page):
        if block.language == "text":
            assert _missing_lines(block.text, said) == [], said
        elif block.language:
            said = _run_block(block, here)


def test_the_readme_shows_what_the_demo_prints(tmp_path: Path, warm: list[str]) -> None:
    here = _folder(tmp_path, warm)
    shutil.copytree(ROOT / "scripts", here / "scripts")
    shown = [block.text for block in blocks(README) if block.language == "text"]

    said = _run_block(Block("sh", 0, "scripts/demo.sh"), here)

    assert shown
    assert _missing_lines("\n".join(shown), said) == [], said
    busy = said[said.index("5. The same with a model that skips") :]
    assert "97 of 97 blocks done, 0 failed" in busy, busy
    assert re.search(r"[1-9]\d* sent again · [1-9]\d* splits? ·", busy), busy


@pytest.mark.parametrize("page", RUNS_PYTHON, ids=name)
def test_the_python_on_a_page_runs_and_prints_what_is_shown(
    page: Path, tmp_path: Path, warm: list[str]
) -> None:
    """Blocks of python run alone; blocks of py go on after all that stands above them."""
    here = _folder(tmp_path, warm)
    said = above = ""
    for block in blocks(page):
        if block.language in ("python", "py"):
            above += block.text
            alone = block.language == "python"
            said = _run_block(block if alone else Block("python", block.code, above), here)
        elif block.language == "text" and said:
            assert _missing_lines(block.text, said) == [], said


def test_the_page_of_the_server_runs_against_a_server(tmp_path: Path, warm: list[str]) -> None:
    """A block of bash goes on until somebody stops it: what it says first is enough."""
    here = _folder(tmp_path, warm)
    refusing = tmp_path / "bin" / "curl"
    refusing.write_text(f'#!/bin/sh\nexec {shutil.which("curl")} -sS --fail-with-body "$@"\n')
    refusing.chmod(0o755)
    found = [block for block in blocks(SERVER_PAGE) if block.language]
    assert {"sh", "bash", "python"} == {block.language for block in found}
    with serve(str(here / "quire.db")) as address:
        for block in found:
            asked = block._replace(text=block.text.replace(SERVER_ADDRESS, address))
            if block.language == "bash":
                assert _first_line(asked.text, here).startswith("data: ")
            else:
                _run_block(asked, here)
    assert (here / "out.csv").read_text().count("\n") > 1
    assert (here / "out.parquet").exists()


def _leads_somewhere(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return target.exists() and (not anchor or anchor in anchors(target))


def _exists(command: Command) -> bool:
    """Walk from the program to the command, then look for its options."""
    found = PROGRAM
    words = [text for text in command.words if not text.startswith("-")]
    options = {text.partition("=")[0] for text in command.words if text.startswith("-")}
    for word in words:
        if not isinstance(found, TyperGroup):
            break
        inside = found.get_command(Context(found), word)  # those of kits come in when asked for
        if inside is None:
            return word.isupper() or word == "…"  # `quire COMMAND --help`, `quire …`
        found = inside
    known = {item for param in found.params for item in (*param.opts, *param.secondary_opts)}
    return options <= known | GLOBAL_OPTIONS | {"-"}


def _folder(tmp_path: Path, warm: list[str]) -> Path:
    """A folder with the examples in it, and on its path this `quire` and this `python`."""
    here = tmp_path / "tour"
    shutil.copytree(ROOT / "examples", here / "examples")
    (tmp_path / "bin").mkdir()
    starts = {"quire": [*warm, "quire.cli"], "python": [sys.executable], "warm_python": warm}
    for called, start in starts.items():
        shim = tmp_path / "bin" / called
        shim.write_text(f'#!/bin/sh\nexec {shlex.join(start)} "$@"\n')
        shim.chmod(0o755)
    return here


def _environment(here: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("QUIRE_")}
    kept.pop("COLUMNS", None)
    return kept | {"PATH": f"{here.parent / 'bin'}:{os.environ['PATH']}"}


def _first_line(command: str, here: Path) -> str:
    """What a command says first, which is stopped then."""
    words = shlex.split(command, comments=True)
    shim = str(here.parent / "bin" / words[0])
    with subprocess.Popen(
        [shim, *words[1:]], cwd=here, env=_environment(here), stdout=subprocess.PIPE, text=True
    ) as going:
        assert going.stdout is not None
        said = going.stdout.readline()
        going.kill()
    return said


def _run_block(block: Block, here: Path) -> str:
    """Run a block as a reader would, and insist on how it ends; returns all that was printed."""
    programs = {"sh": ["bash", "-e", "-c"], "python": ["warm_python", "-c"]}
    ended = subprocess.run(
        [*programs[block.language], block.text],
        cwd=here,
        env=_environment(here),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ended.returncode == block.code, f"{block.text}\n{ended.stdout}"
    return ended.stdout


def _missing_lines(shown: str, said: str) -> list[str]:
    """The lines a page shows that were not printed; `…` stands for anything."""
    printed = [" ".join(line.split()) for line in said.splitlines()]
    patterns = {
        line: ".*".join(re.escape(part.strip()) for part in " ".join(line.split()).split("…"))
        for line in shown.splitlines()
        if line.strip()
    }
    return [
        line
        for line, pattern in patterns.items()
        if not any(re.fullmatch(pattern, text.strip()) for text in printed)
    ]
