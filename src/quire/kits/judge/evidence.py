"""Evidence of an experiment: texts in the file, files, folders and tables become one list."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from quire.domain.data import Json
from quire.domain.errors import SourceUnreadable
from quire.kits.judge.experiment import Evidence, Window
from quire.kits.judge.toml_tables import TomlTable, has_nul
from quire.recipes.setting_rules import TEXT, Rule, whole_number_rule
from quire.sources.source_reader import read_source

FILES = (".txt", ".text", ".md", ".markdown")
ROWS = (".csv", ".tsv", ".jsonl", ".ndjson")
TEXT_COLUMNS = ("text", "raw_content", "raw_text", "content")
_PLACES = ("text", "file", "folder", "table")
_ANY_TEXT = Rule(wanted="text", allows=lambda value: isinstance(value, str))


class RawEvidence(NamedTuple):
    """A piece of evidence before its window and its text are checked."""

    where: str  # what people are told
    title: str
    text: str
    url: str = ""
    window: str = ""
    truth: str = ""


@dataclass(frozen=True, slots=True)
class EvidenceReader:
    """What evidence of one experiment is checked against."""

    folder: Path  # that paths start from
    windows: Sequence[Window]
    scale_size: int

    def read_table(self, table: TomlTable) -> Iterator[Evidence]:
        """The evidence of one [[evidence]] table; mistakes are kept in its findings."""
        given = table.check(self._rules())
        places = [name for name in _PLACES if name in table.body]
        if len(places) != 1:
            message = f"evidence needs one of {', '.join(_PLACES)}; it has {len(places)}"
            table.mistake_log.add(table.place, message)
            return
        if places[0] not in given:
            return
        try:
            for found in self._read_place(places[0], str(given[places[0]])):
                evidence = self._check(found, given, table)
                if evidence is not None:
                    yield evidence
        except SourceUnreadable as error:
            table.add_mistake(places[0], f"cannot be read: {error}")

    def _rules(self) -> dict[str, Rule]:
        return {
            **dict.fromkeys(_PLACES, TEXT),
            **dict.fromkeys(("title", "url", "window"), _ANY_TEXT),
            "truth": whole_number_rule(1, self.scale_size),
        }

    def _read_place(self, place: str, value: str) -> Iterator[RawEvidence]:
        path = self.folder / value
        if place == "text":
            yield RawEvidence("text", value.strip().partition("\n")[0][:80], value)
        elif place == "file":
            yield _read_file(path)
        elif place == "folder":
            yield from _read_folder(path)
        else:
            yield from _read_rows(path)

    def _check(
        self, found: RawEvidence, given: Mapping[str, Json], table: TomlTable
    ) -> Evidence | None:
        before = len(table.mistake_log.mistakes)
        if not found.text.strip():
            table.mistake_log.add(table.place, f"{found.where} has no text")
        if has_nul(*found):
            table.mistake_log.add(table.place, f"{found.where} holds a NUL character")
        window = self._window(found.window or str(given.get("window", "")), found.where, table)
        truth = self._truth(found.truth or str(given.get("truth", "")), found.where, table)
        if len(table.mistake_log.mistakes) > before:
            return None
        alone = "table" not in given and "folder" not in given  # a title is for one piece
        return Evidence(
            title=(str(given.get("title", "")) if alone else "") or found.title,
            text=found.text,
            url=found.url or str(given.get("url", "")),
            window=window,
            truth=truth,
        )

    def _window(self, name: str, where: str, table: TomlTable) -> int | None:
        names = [window.name for window in self.windows]
        if name in names:
            return names.index(name)
        if name:
            said = f"of {where} is {name!r}, which is no window"
            table.add_mistake("window", f"{said}; there are {', '.join(names) or 'none'}")
        elif len(names) > 1:
            table.add_mistake("window", f"of {where} is missing; there are {', '.join(names)}")
        return 0 if names else None

    def _truth(self, value: str, where: str, table: TomlTable) -> int | None:
        if not value:
            return None
        if value.isascii() and value.isdigit() and 1 <= int(value) <= self.scale_size:
            return int(value)
        stages = f"a stage from 1 to {self.scale_size}"
        table.add_mistake("truth", f"of {where} must be {stages}, not {value!r}")
        return None


def _read_file(path: Path) -> RawEvidence:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise SourceUnreadable(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise SourceUnreadable(f"{path}: not UTF-8 at byte {error.start}") from None
    if "\0" in text:
        raise SourceUnreadable(f"{path}: is binary, not text (it has NUL bytes)")
    return RawEvidence(str(path), path.stem, text)


def _read_folder(path: Path) -> Iterator[RawEvidence]:
    if not path.is_dir():
        raise SourceUnreadable(f"{path}: there is no such folder")
    files = sorted(key_path for key_path in path.iterdir() if key_path.suffix.lower() in FILES)
    if not files:
        raise SourceUnreadable(f"{path}: has no files that end in {', '.join(FILES)}")
    yield from map(_read_file, files)


def _read_rows(path: Path) -> Iterator[RawEvidence]:
    if path.suffix.lower() not in ROWS:
        raise SourceUnreadable(f"{path}: a table ends in {', '.join(ROWS)}")
    for number, block in enumerate(read_source(path).blocks, 1):
        row = json.loads(block.content)
        if not isinstance(row, dict):
            raise SourceUnreadable(f"{path}: row {number} is not a table of names and values")
        cells = {name.strip().lower(): _cell(value) for name, value in row.items()}
        column = next((name for name in TEXT_COLUMNS if name in cells), None)
        if column is None:
            raise SourceUnreadable(f"{path}: has no column {' or '.join(TEXT_COLUMNS)}")
        yield RawEvidence(
            where=f"{path}, row {number}",
            title=cells.get("title", "") or f"{path.stem}, row {number}",
            text=cells[column],
            url=cells.get("url", ""),
            window=cells.get("window", "").strip(),
            truth=cells.get("truth", "").strip(),
        )


def _cell(value: Json) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)
