"""Reading experiment.toml: everything that it can say, and every mistake at once."""

from pathlib import Path

import pytest

from quire.domain.errors import RecipeInvalid, UsageError
from quire.kits.judge.experiment import GroundTruth, ScaleStage, shared_truth
from quire.kits.judge.experiment_file import read_experiment
from tests.kits.judge.examples import TOML, write

SETTINGS = """samples = 3
scale_size = 3
method = "subset"
abstain_enabled = false
evidence_view = "l2"
randomizations = ["hide_label_text", "anonymize_stages"]
evidence_bundle_size = 2
bundle_strategy = "random_bundle"
swaps = "all"
temperature = 1
ground_truth = { source = "experts", value = 3, label = "high" }
"""
PLACES = """
[[windows]]
name = "fr"
start_date = "2025-02-01"
end_date = "2025-02-28"
country = "FR"
concept = "ordre civil"

[[evidence]]
folder = "articles"
window = "fr"

[[evidence]]
file = "notes.txt"
title = "Notes"
window = "us"
truth = 1

[[evidence]]
table = "more.csv"
"""
WRONG = """\
experiment_tag = "no spaces please"
task_type = "poll"
models = ["m", "m"]
scale_size = 1
method = "most"
evidence_bundle_size = 0
bundle_strategy = "semantic_cluster"
sede = 3
swaps = [
  ["m", "other"],
]

[ground_truth]
value = 9

[[windows]]
start_date = 2025-02-20T10:00:00
end_date = "soon"
country = "US"

[[evidence]]
file = "missing.txt"
window = "us"

[[evidence]]
title = "nothing"
"""


def _mistakes(folder: Path, text: str) -> list[str]:
    path = write(folder, text)
    with pytest.raises(RecipeInvalid) as refused:
        read_experiment(path)
    return [str(mistake).removeprefix(f"{path}:") for mistake in refused.value.mistakes]


def test_a_short_file_leaves_the_rest_to_defaults(tmp_path: Path) -> None:
    read = read_experiment(write(tmp_path, TOML))

    assert read.experiment_tag == "order-pilot"
    assert (read.scale_size, read.method, read.abstain_enabled) == (4, "single", True)
    assert (read.evidence_view, read.views) == ("raw", ())
    assert (read.evidence_bundle_size, read.bundle_strategy) == (1, "window_round_robin")
    assert (read.randomizations, read.swaps, read.rubric) == ((), (), ())
    assert read.windows[0].start_date == "2025-01-01"
    assert read.windows[0].concept == "civil order"
    assert read.evidence[0].title == "The march ended without arrests."


def test_a_long_file_says_everything(tmp_path: Path) -> None:
    (tmp_path / "articles").mkdir()
    (tmp_path / "articles" / "b.md").write_text("# Second\n\nText.")
    (tmp_path / "articles" / "a.txt").write_text("First.")
    (tmp_path / "notes.txt").write_text("Third.")
    (tmp_path / "more.csv").write_text(
        'title,url,window,raw_content,truth\nFourth,https://example.org/4,fr,"A, b",2\n,,us,B,\n'
    )
    text = TOML.replace('"ecc"', '"control"').replace("samples = 3\n", SETTINGS) + PLACES

    read = read_experiment(write(tmp_path, text))

    assert read.views == ("cleaned", "neutralized")
    assert read.randomizations == ("hide_label_text", "anonymize_stages")
    assert read.swaps == (("simulated/small", "simulated/large"),)
    assert read.ground_truth == GroundTruth(source="experts", value=3, label="high")
    evidence = [(item.title, item.text, item.window, item.truth) for item in read.evidence[1:]]
    assert evidence == [
        ("a", "First.", 1, None),
        ("b", "# Second\n\nText.", 1, None),
        ("Notes", "Third.", 0, 1),
        ("Fourth", "A, b", 1, 2),
        ("more, row 2", "B", 0, None),
    ]
    assert read.evidence[4].url == "https://example.org/4"
    names = [item.id for item in read.evidence]
    assert [read.truths()[name] for name in names] == [3, 3, 3, 1, 2, 3]
    assert shared_truth(read.truths(), names[:2]) == 3
    assert shared_truth(read.truths(), names[:4]) is None


def test_a_benchmark_may_bring_its_rubric(tmp_path: Path) -> None:
    text = TOML.replace('"ecc"', '"benchmark"').replace("seed = 7", "seed = 7\nscale_size = 2")
    text += """truth = 2
    [[rubric]]
    label = "Weak"
    criteria = ["no sign", "one sign"]
    [[rubric]]
    label = "Strong"
    criteria = ["many signs"]
    """

    read = read_experiment(write(tmp_path, text))

    assert read.rubric[1] == ScaleStage(label="Strong", criteria=("many signs",))


def test_every_mistake_is_told_at_once_with_its_line(tmp_path: Path) -> None:
    assert _mistakes(tmp_path, WRONG) == [
        "1: concept is missing; it is text that is not empty",
        "1: experiment_tag must be a name of at most 64 letters, digits, dots, _ and -, a letter"
        ' or digit first, not "no spaces please"',
        '2: task_type must be ecc, control or benchmark, not "poll"',
        '3: models must be a list of models, none twice, not ["m", "m"]',
        "4: scale_size must be a whole number from 2 to 100, not 1",
        '5: method must be single or subset, not "most"',
        "6: evidence_bundle_size must be a whole number from 1 to 1000, not 0",
        '7: bundle_strategy must be window_round_robin or random_bundle, not "semantic_cluster"',
        "8: sede is not known; did you mean seed?",
        "9: swaps ['m', 'other'] holds a model that is not in models",
        "13: source is missing; it is text that is not empty",
        "14: value must be a whole number from 1 to 4, not 9",
        '17: start_date must be a date such as 2025-01-31, not "2025-02-20T10:00:00"',
        '18: end_date must be a date such as 2025-01-31, not "soon"',
        f"22: file cannot be read: {tmp_path / 'missing.txt'}: No such file or directory",
        "25: evidence needs one of text, file, folder, table; it has 0",
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('window = "us"', 'window = "uk"', "is 'uk', which is no window; there are us"),
        ("end_date = 2025-01-31", "end_date = 2024-01-31", "is before 2025-01-01"),
        ('text = "The', 'text = "  "\ntitle = "The', "text must be text that is not empty"),
        ('"ecc"', '"benchmark"', "needs ground_truth.value, or a truth on all evidence; 1 have"),
        ('window = "us"', "truth = 2", "task_type ecc means that there is none"),
        ("seed = 7", "seed = -7", "seed must be a whole number from 0 to 4294967295, not -7"),
        ("seed = 7", 'swaps = "some"', 'swaps must be "all" or a list of pairs of models'),
        ("seed = 7", "swaps = [[1]]", "swaps must hold pairs of two models, not [1]"),
        ("[[windows]]", "[windows]", "windows must be written as tables, each under [[windows]]"),
        ("seed = 7", "seed = 7\nrubric = []", "rubric is given only where task_type is benchmark"),
        ("seed = 7", 'randomizations = ["mix"]', "randomizations must be a list of anonymize"),
        ("seed = 7", 'evidence_view = "l4"', "evidence_view must be raw, cleaned, neutralized"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused(
    tmp_path: Path, old: str, new: str, expected: str
) -> None:
    assert any(expected in line for line in _mistakes(tmp_path, TOML.replace(old, new)))


def test_the_same_text_twice_is_refused(tmp_path: Path) -> None:
    twice = TOML + '[[evidence]]\ntext = "The march ended without arrests."\n'

    (mistake,) = _mistakes(tmp_path, twice)

    assert "has the same text as 'The march ended without arrests.'; keep one" in mistake


@pytest.mark.parametrize(
    ("name", "body", "expected"),
    [
        ("e.csv", b"title,body\na,b\n", "has no column text or raw_content"),
        ("e.csv", b"text,truth\na,nine\n", "truth of"),
        ("e.csv", b"text,window\na,uk\n", "is 'uk', which is no window"),
        ("e.csv", b"text\na,b\n", "2 fields, but the header has 1"),
        ("e.docx", b"x", "a table ends in .csv"),
        ("e.jsonl", b'{"text": ""}\n', "row 1 has no text"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(
    tmp_path: Path, name: str, body: bytes, expected: str
) -> None:
    (tmp_path / name).write_bytes(body)
    text = TOML.replace('task_type = "ecc"', 'task_type = "control"')

    assert any(
        expected in line for line in _mistakes(tmp_path, f'{text}[[evidence]]\ntable = "{name}"\n')
    )


@pytest.mark.parametrize(
    "body", [b"\xff\xfe", b"= 3", b"a = " + b"[" * 5_000, b"a = " + b"9" * 5_000]
)
def test_a_file_that_is_not_toml_is_refused(tmp_path: Path, body: bytes) -> None:
    path = tmp_path / "experiment.toml"
    path.write_bytes(body)

    with pytest.raises(RecipeInvalid, match=r"experiment\.toml:1: "):
        read_experiment(path)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.toml: No such file"):
        read_experiment(tmp_path / "none.toml")


def test_names_by_content_stay_the_same_across_experiments(tmp_path: Path) -> None:
    one = read_experiment(write(tmp_path, TOML))
    other = read_experiment(write(tmp_path, TOML.replace("order-pilot", "another")))

    assert one.evidence[0].id == other.evidence[0].id
    assert one.windows[0].id == other.windows[0].id
    assert one.fence != other.fence


def test_text_that_not_every_database_keeps_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"text": "a", "title": "b\\u0000"}\n')
    text = TOML.replace("civil order", r"civil\u0000order")
    text = text.replace("without arrests", r"without\u0000arrests")
    text += '\n[[evidence]]\ntable = "rows.jsonl"\nwindow = "us"\n'

    mistakes = _mistakes(tmp_path, text)

    assert len(mistakes) == 3
    assert all("holds a NUL character" in name for name in mistakes)


@pytest.mark.parametrize(("rows", "told"), [(12, 1), (3, 3)])
def test_many_mistakes_of_one_kind_are_one_line_with_their_count(
    tmp_path: Path, rows: int, told: int
) -> None:
    lines = [f"March number {row}.,{90 + row}" for row in range(rows)]
    (tmp_path / "marches.csv").write_text("\n".join(["text,truth", *lines]))

    found = _mistakes(tmp_path, f'{TOML}[[evidence]]\ntable = "marches.csv"\n')

    assert len(found) == told
    assert "row 1 must be a stage from 1 to 4, not '90'" in found[0]
    assert ("; and 11 more like it" in found[0]) == (told == 1)


def test_mistakes_come_in_the_order_of_rows(tmp_path: Path) -> None:
    lines = [f"March number {row}.,{'' if row not in (1, 9, 11) else 'x'}" for row in range(12)]
    (tmp_path / "marches.csv").write_text("\n".join(["text,truth", *lines]))

    found = _mistakes(tmp_path, f'{TOML}[[evidence]]\ntable = "marches.csv"\n')

    assert [name.partition(", row ")[2].partition(" ")[0] for name in found] == ["2", "10", "12"]
