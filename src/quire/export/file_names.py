"""File names for results: readable, alike on every file system, and unique by construction.

A task's subject is unique in its stage, and its number in a file's name can be turned back into it;
so two results never share a file, however alike their titles are. All names are of lower-case ASCII
letters, digits, `-` and `_`: no system takes two of them for one, or one of them for a device.
"""

import re
import unicodedata
from collections.abc import Iterable
from hashlib import sha256

from quire.export.result_rows import ExportedTask

LONGEST_WORDS = 40  # characters of a model's name, and of a title
_LARGEST_NUMBER = 10**6
_HEAD, _STEP = 8, 4  # bytes of a subject: where it begins, and each expansion after that
_BLOCK = re.compile(rb"[0-9a-f]{16}")  # the subject of a task about a block
_LONGEST_SUBJECT = 24  # bytes
_PORTS = {f"{port}{no}" for port in ("com", "lpt") for no in range(1, 10)}
_DEVICES = {"aux", "con", "nul", "prn", *_PORTS}  # no file can be called so on Windows


def words_in_name(text: str) -> str:
    """The letters and digits of a text, as a part of a name; empty where there are none."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:LONGEST_WORDS].strip("-")


def subject_number(subject: bytes) -> str:
    """A subject as a short number, such as `2-1`: the first answer about the second thing."""
    if _BLOCK.fullmatch(subject):
        return f"b{int(subject, 16)}"
    if len(subject) >= _HEAD and (len(subject) - _HEAD) % _STEP == 0:
        steps = [subject[:_HEAD], *_cut(subject[_HEAD:], _STEP)]
        numbers = [int.from_bytes(step, "big") + 1 for step in steps]
        if max(numbers) < _LARGEST_NUMBER:
            return "-".join(map(str, numbers))
    if len(subject) <= _LONGEST_SUBJECT:
        return f"x{subject.hex()}"
    return f"h{sha256(subject).hexdigest()[:32]}"


def _cut(data: bytes, size: int) -> Iterable[bytes]:
    return (data[place : place + size] for place in range(0, len(data), size))


def result_file_name(row: ExportedTask, ending: str) -> str:
    """The file of a result: who wrote it, which one it is, and its document or stage."""
    model = words_in_name(row.model.rpartition("/")[2]) or "model"
    about = words_in_name(row.outcome.title or "")
    block = row.outcome.block_index
    about = "_".join(part for part in (about, "" if block is None else f"block-{block}") if part)
    number = subject_number(bytes(row.outcome.subject))
    return f"{model}_{number}_{about or words_in_name(row.stage)}{ending}"


def stage_folders(stages: Iterable[str]) -> dict[str, str]:
    """A folder for each stage; a name that some system takes for a device gets another."""
    folders: dict[str, str] = {}
    names = list(stages)
    for name in names:
        folder, others = name.lower(), {*folders.values(), *names} - {name}
        while folder in _DEVICES or folder in others:
            folder += "_"
        folders[name] = folder
    return folders
