"""The secret key comes from the environment, or from a file that only its owner can read."""

import os
import re
import stat
import subprocess
from pathlib import Path

import pytest

from quire.accounts.encryption import (
    Owner,
    SecretKeyPlace,
    make_secret_key,
    open_box,
    secret_key_place,
    settings_folder,
)
from quire.domain.accounts import Secret
from quire.domain.errors import UsageError
from quire.domain.ids import LOCAL

KEY = Secret("sk-a-key-that-is-worth-money-1234")
MINE = Owner(LOCAL, "openai", "work")
MAKE = """
import sys; from pathlib import Path
from quire.accounts.encryption import secret_key_place, make_secret_key, open_box
place = secret_key_place({}, Path(sys.argv[1]), "quire.db"); make_secret_key(place); open_box(place)
"""


def test_a_new_key_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    place = secret_key_place({}, tmp_path, "quire.db")

    assert make_secret_key(place)

    assert place.path == tmp_path / "quire.key"
    assert stat.S_IMODE(place.path.stat().st_mode) == 0o600
    assert re.fullmatch(r"quire-random:[A-Za-z0-9+/]{43}=\n", place.path.read_text())
    assert [path.name for path in tmp_path.iterdir()] == ["quire.key"]


def test_a_key_file_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    place = secret_key_place({}, tmp_path, "quire.db")
    make_secret_key(place)
    before = place.path.read_bytes()

    assert not make_secret_key(place)
    assert place.path.read_bytes() == before


def test_no_file_is_made_where_the_environment_has_the_key(tmp_path: Path) -> None:
    place = secret_key_place({"QUIRE_SECRET_KEY": "sixteen letters, or more"}, tmp_path, "quire.db")

    assert not make_secret_key(place)
    assert list(tmp_path.iterdir()) == []


def test_two_files_hold_two_keys(tmp_path: Path) -> None:
    for name in ("a", "b"):
        make_secret_key(SecretKeyPlace(Secret(""), tmp_path / name))

    assert (tmp_path / "a").read_text() != (tmp_path / "b").read_text()


def test_the_file_on_one_machine_is_the_variable_on_another(tmp_path: Path) -> None:
    place = secret_key_place({}, tmp_path, "quire.db")
    make_secret_key(place)
    sealed = open_box(place).seal(KEY, MINE)

    environment = {"QUIRE_SECRET_KEY": f" {place.path.read_text()}"}
    elsewhere = secret_key_place(environment, tmp_path / "no" / "such", "quire.db")

    assert open_box(elsewhere).open(sealed, MINE) == KEY


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_key_file_that_others_can_read_is_refused_with_the_cure(
    tmp_path: Path, mode: int
) -> None:
    place = secret_key_place({}, tmp_path, "quire.db")
    make_secret_key(place)
    place.path.chmod(mode)

    with pytest.raises(UsageError) as caught:
        open_box(place)

    path = place.path
    assert str(caught.value) == f"{path} can be read by others than its owner; `chmod 600 {path}`"


def test_a_missing_key_file_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"is missing: put .*quire.key back, or set QUIRE_SECRET"):
        open_box(secret_key_place({}, tmp_path, "quire.db"))


def test_a_folder_in_the_place_of_the_key_file_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "quire.key").mkdir(mode=0o700)

    with pytest.raises(UsageError, match="is not a file"):
        open_box(secret_key_place({}, tmp_path, "quire.db"))


def test_a_secret_that_is_too_short_is_refused_and_not_repeated(tmp_path: Path) -> None:
    place = secret_key_place({"QUIRE_SECRET_KEY": "hunter2"}, tmp_path, "quire.db")

    with pytest.raises(UsageError, match="at least 16 characters") as caught:
        open_box(place)

    assert "hunter2" not in str(caught.value)


def test_an_empty_key_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.touch(0o600)
    place = secret_key_place({"QUIRE_SECRET_KEY_FILE": str(path)}, tmp_path, "quire.db")

    with pytest.raises(UsageError, match="mine holds no secret key"):
        open_box(place)


def test_the_key_file_is_beside_the_nearest_settings(tmp_path: Path) -> None:
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / "quire.toml").touch()

    assert settings_folder(below, "elsewhere/quire.db") == tmp_path


@pytest.mark.parametrize(
    ("ledger", "folder"),
    [("quire.db", "."), ("data/quire.db", "data"), ("postgresql://me@there/quire", ".")],
)
def test_without_settings_the_key_file_is_beside_the_ledger(
    tmp_path: Path, ledger: str, folder: str
) -> None:
    assert secret_key_place({}, tmp_path, ledger).path == tmp_path / folder / "quire.key"


def test_processes_that_make_the_key_file_at_once_share_one_key(
    tmp_path: Path, warm: list[str]
) -> None:
    command = [*warm, "-c", MAKE, str(tmp_path)]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(4)]

    assert [process.communicate()[1] for process in running] == [""] * 4
    assert os.listdir(tmp_path) == ["quire.key"]
