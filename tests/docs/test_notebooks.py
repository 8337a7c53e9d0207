"""The notebooks of the docs run from their first cell to the last, and show what they promise."""

from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT

PATIENCE = 600  # seconds for a cell, on a busy machine


def run_notebook(path: Path, folder: Path) -> list[Any]:
    """Run a notebook in a folder; returns what each cell of code gave."""
    import nbformat  # both take long: whoever runs no test here goes without
    from nbclient import NotebookClient

    notebook: Any = nbformat.reads(path.read_text("utf-8"), as_version=4)  # type: ignore[no-untyped-call]
    where = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=PATIENCE, resources=where).execute()
    return [cell["outputs"] for cell in notebook.cells if cell["cell_type"] == "code"]


def shown(outputs: list[Any], kind: str = "text/plain") -> str:
    """What a cell shows, of one kind."""
    found = [output["data"] for output in outputs if "data" in output]
    return "\n".join(str(data[kind]) for data in found if kind in data)


def test_the_tickets_run_again_for_nothing_and_an_added_row_asks_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    _, plan, first, again, more, edited, plot, objects, stream = run_notebook(
        ROOT / "docs" / "notebooks" / "tickets.ipynb", tmp_path
    )

    assert "3 tasks in 1 call" in shown(plan, "text/html")
    assert "run 1: 3 of 3 rows · 1 call" in shown(first, "text/html")
    assert shown(again).splitlines()[-1] == "0.0"
    assert "run 2: 4 of 4 rows · 3 were answered before · 1 call" in shown(more, "text/html")
    assert "run 3: 3 of 3 rows · 1 call" in shown(edited, "text/html")
    assert shown(plot, "image/png")
    assert "2: 'there is no text in this row'" in shown(objects)
    assert stream[0]["text"].startswith("T-3 skipped None")
    assert len(stream[0]["text"].splitlines()) == 4
