"""Without the right secret key stored keys are of no use, and one line says what to do."""

from pathlib import Path

import pytest

from tests.cli.conftest import Quire
from tests.cli.test_keys import KEY, OTHER, keep, nothing_said

__all__ = ["nothing_said"]  # a fixture

RIGHT, WRONG = "the right secret key", "the wrong secret key"


def test_a_secret_key_that_others_can_read_is_refused_with_the_cure(
    quire: Quire, folder: Path
) -> None:
    quire("init")
    (folder / "quire.key").chmod(0o644)

    result = keep(KEY, "anthropic", code=2)

    path = folder / "quire.key"
    assert result.stderr == (
        f"quire: {path} can be read by others than its owner; `chmod 600 {path}`\n"
    )


def test_a_missing_secret_key_is_not_replaced_by_a_new_one(quire: Quire, folder: Path) -> None:
    keep(KEY, "anthropic")
    (folder / "quire.key").unlink()

    assert "is missing: put " in keep(OTHER, "anthropic", "--name", "b", code=2).stderr
    assert "is missing: put " in quire("keys", "test", code=2).stderr
    assert not (folder / "quire.key").exists()
    assert len(quire.json("keys", "list")) == 1


@pytest.mark.parametrize("debug", ["", "1"])
def test_with_a_wrong_secret_key_nothing_is_kept_or_shown(
    quire: Quire, monkeypatch: pytest.MonkeyPatch, debug: str
) -> None:
    monkeypatch.setenv("QUIRE_SECRET_KEY", RIGHT)
    monkeypatch.setenv("QUIRE_DEBUG", debug)
    keep(KEY, "anthropic")
    monkeypatch.setenv("QUIRE_SECRET_KEY", WRONG)

    refused = keep(OTHER, "anthropic", "--name", "b", code=2)
    tried = quire("keys", "test", code=2)

    for result in (refused, tried):
        assert "was encrypted with another secret key; give Quire that one" in result.stderr
        assert [word for word in (KEY, OTHER, RIGHT, WRONG) if word in result.output] == []
    assert ("Traceback" in refused.stderr) == bool(debug)
    assert len(quire.json("keys", "list")) == 1


def test_a_secret_key_may_be_in_a_file_of_ones_own(
    quire: Quire, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUIRE_SECRET_KEY_FILE", str(folder / "elsewhere.key"))

    quire("init")
    keep(KEY, "anthropic")

    assert (folder / "elsewhere.key").exists()
    assert not (folder / "quire.key").exists()


def test_a_lost_secret_key_is_got_over_by_keeping_the_keys_anew(quire: Quire, folder: Path) -> None:
    keep(KEY, "anthropic")
    (folder / "quire.key").unlink()

    quire("keys", "remove", "anthropic")
    keep(KEY, "anthropic")

    assert [item["state"] for item in quire.json("keys", "list")] == ["untested"]


def test_a_key_that_is_nowhere_is_in_no_file(quire: Quire, folder: Path) -> None:
    keep(KEY, "anthropic")
    quire("keys", "list")
    quire("keys", "remove", "anthropic")

    found = [path for path in folder.rglob("*") if KEY[:-4].encode() in path.read_bytes()]

    assert len([*folder.rglob("*")]) >= 2
    assert found == []
