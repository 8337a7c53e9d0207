"""CPU of reading documents, a MB of their text, beside pandoc and markitdown on the same files."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from html import escape
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from docx import Document

from tests.sources.sample_documents import make_pdf

ROUNDS = 3
CHAPTERS = 400
WORDS = "The tenant keeps the workshop clean and insures the machines against fire and flood. " * 4
READ = (
    "import sys; from pathlib import Path; from quire.sources.source_reader import read_source;"
    " print(sum(len(block.content) for block in read_source(Path(sys.argv[1])).blocks))"
)
MARKITDOWN = "import sys; from markitdown import MarkItDown; MarkItDown().convert(sys.argv[1])"
PYTHON_OF_MARKITDOWN = "MARKITDOWN_PYTHON"  # of a venv of its own, where there is one
MOST = {"pandoc": {"html": 1.0, "docx": 1.0}}  # times the rival's CPU, at most


def write_files(folder: Path) -> dict[str, Path]:
    """The same chapters as html, docx and pdf."""
    chapters = [
        (f"Chapter {number}", [WORDS + str(line) for line in range(6)])
        for number in range(CHAPTERS)
    ]
    page = "".join(
        f"<h1>{title}</h1>" + "".join(f"<p>{escape(text)}</p>" for text in texts)
        for title, texts in chapters
    )
    (folder / "a.html").write_text(f"<!doctype html><title>t</title>{page}")
    document = Document()
    for title, texts in chapters:
        document.add_heading(title, 1)
        for text in texts:
            document.add_paragraph(text)
    document.save(str(folder / "a.docx"))
    lines = [
        text[start : start + 85]
        for _, texts in chapters[:40]
        for text in texts
        for start in range(0, len(text), 85)
    ]
    pages = [lines[start : start + 45] for start in range(0, len(lines), 45)]
    placed = [[(72, 72 + 14 * row, 10, line) for row, line in enumerate(page)] for page in pages]
    (folder / "a.pdf").write_bytes(make_pdf(placed))
    return {form: folder / f"a.{form}" for form in ("html", "docx", "pdf")}


def cpu_seconds(command: list[str]) -> float:
    """CPU seconds of a command, the least of some; its output goes nowhere."""
    spent = []
    for _ in range(ROUNDS):
        before = getrusage(RUSAGE_CHILDREN)
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        after = getrusage(RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(spent)


def rivals(form: str, path: Path) -> Mapping[str, list[str] | None]:
    """The commands of others for a file; None where they are not here, or do not read it."""
    pandoc = shutil.which("pandoc") if form != "pdf" else None
    other = os.environ.get(PYTHON_OF_MARKITDOWN)
    return {
        "pandoc": [pandoc, "-t", "markdown", str(path)] if pandoc else None,
        "markitdown": [other, "-c", MARKITDOWN, str(path)] if other else None,
    }


def main() -> int:
    """Print the ratios; 1 if one is too high."""
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        print(f"CPU s of a fresh process a MB of text, least of {ROUNDS}; and times the rival's")
        for form, path in write_files(Path(folder)).items():
            own = [sys.executable, "-c", READ, str(path)]
            text = int(subprocess.run(own, capture_output=True, check=True).stdout) / 1e6
            spent = cpu_seconds(own)
            print(f"{form:5} quire {spent / text:6.2f}  ({text:.2f} MB of text)")
            for name, command in rivals(form, path).items():
                if command is None:
                    print(f"{form:5} {name} is not installed, or does not read it")
                    continue
                theirs = cpu_seconds(command)
                ratio, most = spent / theirs, MOST.get(name, {}).get(form)
                bound = f"  (at most {most:g})" if most else ""
                figures = f"{theirs / text:6.2f}, quire takes {ratio:.2f} times that{bound}"
                print(f"{form:5} {name} {figures}")
                missed += bool(most and ratio > most)
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main())
