"""How values of results are shown in a table."""

from pathlib import Path

import pytest

from quire.cli.results import _print_notes, field_text
from tests.pipeline.scripted_model import let_model_say
from tests.world import World


@pytest.mark.parametrize(
    ("value", "shown"),
    [(2020, "2020"), ([2020, 1999], "2020, 1999"), (True, "yes"), (None, "–"), (1.5, "1.5")],
)
def test_numbers_of_results_are_shown_as_they_are(value: object, shown: str) -> None:
    assert field_text(value) == shown


def test_what_was_read_in_another_form_is_told_below_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here = World(str(tmp_path / "quire.db"))
    here.ingest(["One.", "Two."])
    let_model_say(here, lambda _: {"word_count": "3", "first_40_chars": "", "has_question": False})
    run = here.run(lenient=True)
    _print_notes(here.engine.queries.sample(run.id, "all", 10))
    here.close()

    assert capsys.readouterr().out.splitlines()[2] == '  task 1: /word_count: "3" is read as 3'
