"""Finding files by name, folder and glob."""

import os
from pathlib import Path

import pytest

from quire.sources.source_files import find_sources


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a bit of everything."""
    for name in ("b.md", "a.txt", "x.exe", "noending", ".hidden.md", "sub/c.csv", ".git/d.md"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("text")
    return tmp_path


def names(folder: Path, *named: str | Path) -> list[str]:
    """Find, and name what was found as seen from the folder."""
    return [str(path.relative_to(folder)) for path in find_sources(named).paths]


def test_a_folder_gives_its_known_files_in_order_and_counts_the_others(folder: Path) -> None:
    found = find_sources([folder])

    assert names(folder, folder) == ["a.txt", "b.md", "sub/c.csv"]
    assert [path.rpartition("/")[2] for path, *_ in found.left_out] == ["noending", "x.exe"]
    assert found.problems == ()


def test_files_come_in_the_order_they_were_named(folder: Path) -> None:
    assert names(folder, folder / "b.md", folder / "a.txt") == ["b.md", "a.txt"]


def test_a_file_named_twice_is_found_once(folder: Path) -> None:
    assert names(folder, folder / "b.md", folder, folder / "sub" / ".." / "b.md") == [
        "b.md",
        "a.txt",
        "sub/c.csv",
    ]


def test_a_hidden_file_is_found_when_it_is_named(folder: Path) -> None:
    assert names(folder, folder / ".hidden.md") == [".hidden.md"]


def test_a_named_file_of_unknown_type_is_a_problem(folder: Path) -> None:
    found = find_sources([folder / "x.exe", folder / "b.md"])

    assert found.problems == (f"{folder / 'x.exe'}: unknown type of file",)
    assert len(found.paths) == 1


def test_a_missing_file_is_a_problem_and_the_others_are_found(folder: Path) -> None:
    found = find_sources([folder / "z.md", folder / "b.md"])

    assert found.problems == (f"{folder / 'z.md'}: there is no such file or folder",)
    assert len(found.paths) == 1


def test_a_glob_gives_its_matches_in_order(folder: Path) -> None:
    assert names(folder, str(folder / "*.[mt]*")) == ["a.txt", "b.md"]


def test_a_glob_looks_into_the_folders_it_matches(folder: Path) -> None:
    assert names(folder, str(folder / "s*")) == ["sub/c.csv"]


def test_a_deep_glob_finds_files_at_every_depth(folder: Path) -> None:
    found = find_sources([str(folder / "**")])

    assert names(folder, str(folder / "**")) == ["a.txt", "b.md", "sub/c.csv"]
    assert [path.rpartition("/")[2] for path, *_ in found.left_out] == ["noending", "x.exe"]


def test_a_file_with_a_star_in_its_name_is_not_a_glob(folder: Path) -> None:
    (folder / "a*.md").write_text("text")

    assert names(folder, folder / "a*.md") == ["a*.md"]


def test_a_glob_without_matches_is_a_problem(folder: Path) -> None:
    pattern = str(folder / "*.jsonl")

    assert find_sources([pattern]).problems == (f"{pattern}: matches no file of a known type",)


def test_a_folder_without_known_files_is_a_problem(tmp_path: Path) -> None:
    assert find_sources([tmp_path]).problems == (f"{tmp_path}: has no file of a known type",)


def test_links_in_a_circle_come_to_an_end(folder: Path) -> None:
    os.symlink(folder, folder / "sub" / "again")

    assert names(folder, folder) == ["a.txt", "b.md", "sub/c.csv"]


@pytest.mark.parametrize("name", ["\0.md", "x" * 5_000 + ".md"])
def test_a_name_that_cannot_be_looked_up_is_a_problem(name: str) -> None:
    assert len(find_sources([name]).problems) == 1
