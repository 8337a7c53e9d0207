"""The file experiment.toml: read, with every mistake at once, and an example to start from."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from quire.domain.data import Json, dates_as_text
from quire.domain.errors import Conflict, FileMistake, RecipeInvalid, UsageError
from quire.domain.quantities import quantity
from quire.gates.markers import MOST_STAGES
from quire.kits.judge.evidence import EvidenceReader
from quire.kits.judge.experiment import (
    ALL_PAIRS,
    BENCHMARK,
    ECC,
    ORDERINGS,
    SINGLE,
    SUBSET,
    TASK_TYPES,
    VIEWS,
    Evidence,
    Experiment,
    GroundTruth,
    ScaleStage,
    Window,
    all_pairs,
)
from quire.kits.judge.groupings import SEED
from quire.kits.judge.prompt_files import (
    VARIABLES,
    PromptFile,
    read_prompt_file,
    template_mistakes,
    trial_mistakes,
)
from quire.kits.judge.randomization import RANDOMIZATIONS, STRATEGIES
from quire.kits.judge.toml_tables import (
    MistakeLog,
    TomlTable,
    list_of,
    summarize_mistakes,
    texts,
    toml_tables,
)
from quire.recipes.recipe_problems import find_lines
from quire.recipes.setting_rules import PARAM_RULES, TEXT, Rule, one_of, whole_number_rule

_LEVELS = {f"l{level}": view for level, view in enumerate(VIEWS)}
_DEFAULT_SCALE = 4
_AT_LINE = re.compile(r"at line ([0-9]+)")
_TAG = re.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

_ANY = Rule(wanted="", allows=lambda value: True)  # checked by a function of its own
_TABLE = Rule(wanted="a table", allows=lambda value: isinstance(value, Mapping))
_NAME = Rule(
    wanted="a name of at most 64 letters, digits, dots, _ and -, a letter or digit first",
    allows=lambda value: isinstance(value, str) and _TAG.fullmatch(value) is not None,
)
EXTENDS = "extends"
SETTINGS = {
    "experiment_tag": _NAME,
    "family": _NAME,
    EXTENDS: TEXT,
    "task_type": one_of(*TASK_TYPES),
    "concept": TEXT,
    "models": list_of(TEXT, "a list of models, none twice", least=1),
    "evidence": _ANY,
    "windows": _ANY,
    "ground_truth": _TABLE,
    "evidence_view": one_of(*VIEWS, *_LEVELS),
    "view_model": TEXT,
    "scale_size": whole_number_rule(2, MOST_STAGES),
    "samples": whole_number_rule(1, 100_000),
    "method": one_of(SINGLE, SUBSET),
    "abstain_enabled": one_of(True, False),
    "randomizations": list_of(
        one_of(*RANDOMIZATIONS), f"a list of {', '.join(RANDOMIZATIONS)}, none twice"
    ),
    "evidence_bundle_size": whole_number_rule(1, 1_000),
    "bundle_strategy": one_of(*STRATEGIES),
    "seed": SEED,
    "swaps": _ANY,
    "rubric": _ANY,
    **{name: PARAM_RULES[name] for name in ("temperature", "top_p", "max_tokens")},
    "provider_seed": PARAM_RULES["seed"],
    "rubric_model": TEXT,
    "critic_model": TEXT,
    "prompt_ordering": one_of(*ORDERINGS),
    "prompts": _TABLE,
}
_NEEDED = ("experiment_tag", "task_type", "concept", "models", "evidence")
# What an experiment takes as it stands in the file.
_PLAIN = (
    *("experiment_tag", "task_type", "concept", "view_model", "scale_size", "samples", "method"),
    *("abstain_enabled", "evidence_bundle_size", "bundle_strategy", "seed", "temperature"),
    *("top_p", "max_tokens", "provider_seed", "rubric_model", "critic_model", "prompt_ordering"),
    "family",
)
_TRUTH_RULES = {"source": TEXT, "label": TEXT}
_SCALE_RULES = {"label": TEXT, "criteria": list_of(TEXT, "a list of texts, none twice", least=1)}


def read_experiment(path: Path) -> Experiment:
    """Read an experiment with all of its evidence; paths in a file start from its own folder."""
    sources = read_sources(path)
    body = merge_bodies(sources)
    mistake_log = MistakeLog()
    folders = {name: file.path.parent for file in reversed(sources) for name in file.body}
    reader = _ExperimentReader(body, mistake_log, folders)
    experiment = reader.experiment()
    mistakes = [item for file in sources for item in _place_mistakes(file, sources, mistake_log)]
    mistakes += reader.prompt_mistakes(experiment)
    if mistakes:
        raise RecipeInvalid(str(path), mistakes)
    assert experiment is not None
    return experiment


class TomlFile(NamedTuple):
    """A file that settings are read from."""

    path: Path
    text: str
    body: Mapping[str, Json]


def read_toml(path: Path) -> TomlFile:
    """Read a file as TOML; what it says is not looked at."""
    text = _read_text(path)
    try:
        return TomlFile(path, text, dates_as_text(tomllib.loads(text)))
    except tomllib.TOMLDecodeError as error:
        found = _AT_LINE.search(str(error))
        raise _refusal(path, f"not TOML: {error}", int(found[1]) if found else 1) from None
    except (RecursionError, ValueError) as error:  # nested too deep, or a number too long
        raise _refusal(path, f"not usable TOML: {error}"[:200]) from None


def read_sources(path: Path) -> list[TomlFile]:
    """A file and those that it extends, its own first: what it does not say stands in them."""
    sources = [read_toml(path)]
    while (name := sources[-1].body.get(EXTENDS)) is not None:
        own = sources[-1]
        line = find_lines(own.text).line((EXTENDS,))
        if not isinstance(name, str) or not name.strip():
            raise _refusal(own.path, f"{EXTENDS} must be the path of an experiment's file", line)
        base = own.path.parent / name
        if base.resolve() in [source.path.resolve() for source in sources]:
            raise _refusal(own.path, f"{EXTENDS} {name}, which extends this file", line)
        sources.append(read_toml(base))
    return sources


def merge_bodies(sources: Sequence[TomlFile]) -> dict[str, Json]:
    """What files that extend each other say together, the first above the others."""
    merged: dict[str, Json] = {}
    for source in reversed(sources):
        merged |= source.body
    merged.pop(EXTENDS, None)
    return merged


def _place_mistakes(
    file: TomlFile, sources: Sequence[TomlFile], mistake_log: MistakeLog
) -> Iterator[FileMistake]:
    """The mistakes that stand in one of the files; what is missing is missing in the first."""
    lines = find_lines(file.text)
    placed = [
        (lines.line(place), message)
        for place, message in mistake_log.mistakes
        if next((it for it in sources if place[0] in it.body), sources[0]) is file
    ]
    return (FileMistake(str(file.path), *item) for item in summarize_mistakes(placed))


def _read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None  # it has no lines
    except UnicodeDecodeError as error:
        raise _refusal(path, f"not UTF-8 at byte {error.start}") from None


def _refusal(path: Path, message: str, line: int = 1) -> RecipeInvalid:
    return RecipeInvalid(str(path), [FileMistake(str(path), line, message)])


class _ExperimentReader:
    """One file on its way to an experiment."""

    def __init__(
        self, body: Mapping[str, Json], mistake_log: MistakeLog, folders: Mapping[str, Path]
    ) -> None:
        self.top = TomlTable(body, (), mistake_log)
        self.mistake_log = mistake_log
        self.folders = folders  # that paths start from, by setting
        self.given = self.top.check(SETTINGS, _NEEDED)
        size = self.given.get("scale_size", _DEFAULT_SCALE)
        self.scale_size = size if isinstance(size, int) else _DEFAULT_SCALE
        self.prompts = tuple(self._prompts())

    def experiment(self) -> Experiment | None:
        """All of it; None where anything is wrong."""
        windows = self._windows()
        evidence = self._evidence(windows)
        truth = self._ground_truth()
        swaps = self._swaps()
        rubric = self._rubric()
        self._check_rubric_model()
        self._check_task_type(truth, evidence)
        if self.mistake_log.mistakes:
            return None
        plain: dict[str, Any] = {name: self.given[name] for name in _PLAIN if name in self.given}
        view = str(self.given.get("evidence_view", VIEWS[0]))
        return Experiment(
            **plain,
            models=texts(self.given["models"]),
            randomizations=texts(self.given.get("randomizations", ())),
            evidence_view=_LEVELS.get(view, view),
            windows=windows,
            evidence=evidence,
            ground_truth=truth,
            swaps=swaps,
            rubric=rubric,
            prompts=tuple((file.name, file.text) for file in self.prompts),
        )

    def _prompts(self) -> Iterator[PromptFile]:
        """The prompts that the file names, as far as they can be read."""
        body = self.given.get("prompts", {})
        assert isinstance(body, Mapping)
        table = TomlTable(body, ("prompts",), self.mistake_log)
        for name, path in table.check(dict.fromkeys(VARIABLES, TEXT)).items():
            try:
                yield read_prompt_file(name, self.folders["prompts"] / str(path))
            except ValueError as error:
                table.add_mistake(name, str(error))

    def prompt_mistakes(self, experiment: Experiment | None) -> list[FileMistake]:
        """What is wrong inside the prompts; those of a whole experiment are tried as well."""
        found = [mistake for file in self.prompts for mistake in template_mistakes(file)]
        if found or experiment is None:
            return found
        return [item for file in self.prompts for item in trial_mistakes(file, experiment)]

    def _check_rubric_model(self) -> None:
        for name in ("rubric", "swaps"):
            if "rubric_model" in self.given and name in self.given:
                why = "the rubric is given" if name == "rubric" else "swaps need rivals' rubrics"
                self.top.add_mistake("rubric_model", f"writes all rubrics, but {why}; keep one")

    def _windows(self) -> tuple[Window, ...]:
        windows: list[Window] = []
        tables = toml_tables(self.given.get("windows", ()), "windows", self.mistake_log)
        for at, table in enumerate(tables):
            kept = table.check(_WINDOW_RULES, ("start_date", "end_date", "country"))
            window = Window(
                name=str(kept.get("name", f"w{at + 1}")),
                start_date=str(kept.get("start_date", "")),
                end_date=str(kept.get("end_date", "")),
                country=str(kept.get("country", "")),
                concept=str(kept.get("concept", self.given.get("concept", ""))),
            )
            if window.start_date > window.end_date > "":
                table.add_mistake("end_date", f"{window.end_date} is before {window.start_date}")
            if window.name in [item.name for item in windows]:
                table.add_mistake("name", f"{window.name} is the name of two windows")
            windows.append(window)
        return tuple(windows)

    def _evidence(self, windows: Sequence[Window]) -> tuple[Evidence, ...]:
        reader = EvidenceReader(self.folders.get("evidence", Path()), windows, self.scale_size)
        evidence: list[Evidence] = []
        for table in toml_tables(self.given.get("evidence", ()), "evidence", self.mistake_log):
            evidence.extend(reader.read_table(table))
        titles: dict[str, str] = {}
        for item in evidence:
            if item.id in titles:
                message = f"{item.title!r} has the same text as {titles[item.id]!r}; keep one"
                self.mistake_log.add(("evidence",), message)
            titles.setdefault(item.id, item.title)
        if "evidence" in self.given and not evidence and not self.mistake_log.mistakes:
            self.mistake_log.add(("evidence",), "there is no evidence to judge")
        return tuple(evidence)

    def _ground_truth(self) -> GroundTruth | None:
        body = self.given.get("ground_truth")
        if not isinstance(body, Mapping):
            return None
        rules = {**_TRUTH_RULES, "value": whole_number_rule(1, self.scale_size)}
        kept = TomlTable(body, ("ground_truth",), self.mistake_log).check(rules, ("source",))
        value = kept.get("value")
        return GroundTruth(
            source=str(kept.get("source", "")),
            value=value if isinstance(value, int) else None,
            label=str(kept.get("label", "")),
        )

    def _swaps(self) -> tuple[tuple[str, str], ...]:
        wanted = self.given.get("swaps", ())
        models = texts(self.given.get("models", ()))
        if wanted == ALL_PAIRS:
            return all_pairs(models)
        if isinstance(wanted, str) or not isinstance(wanted, Sequence):
            self.top.add_mistake("swaps", f'must be "{ALL_PAIRS}" or a list of pairs of models')
            return ()
        pairs: list[tuple[str, str]] = []
        for item in wanted:
            pair = texts(item)
            if isinstance(item, str) or len(set(pair)) != 2 or len(pair) != 2:
                self.top.add_mistake("swaps", f"must hold pairs of two models, not {item!r}")
            elif not set(pair) <= set(models):
                self.top.add_mistake("swaps", f"{list(pair)} holds a model that is not in models")
            elif {pair, pair[::-1]} & set(pairs):
                self.top.add_mistake("swaps", f"{list(pair)} is there twice; a pair goes both ways")
            else:
                pairs.append((pair[0], pair[1]))
        return tuple(pairs)

    def _rubric(self) -> tuple[ScaleStage, ...]:
        if "rubric" not in self.given:
            return ()
        if self.given.get("task_type", BENCHMARK) != BENCHMARK:
            self.top.add_mistake("rubric", f"is given only where task_type is {BENCHMARK}")
        if "swaps" in self.given:
            message = "needs rubrics that models wrote; here the rubric is given"
            self.top.add_mistake("swaps", message)
        found = toml_tables(self.given["rubric"], "rubric", self.mistake_log)
        if len(found) != self.scale_size:
            message = f"has {quantity(len(found), 'stage')}, but scale_size is {self.scale_size}"
            self.top.add_mistake("rubric", message)
        kept = [table.check(_SCALE_RULES, ("label", "criteria")) for table in found]
        return tuple(
            ScaleStage(label=str(record.get("label")), criteria=texts(record.get("criteria", ())))
            for record in kept
        )

    def _check_task_type(self, truth: GroundTruth | None, evidence: Sequence[Evidence]) -> None:
        kind = self.given.get("task_type")
        known = [item.truth is not None for item in evidence]
        if kind == ECC and (truth or any(known)):
            name = "ground_truth" if truth else "evidence"
            self.top.add_mistake(name, f"has a truth, but task_type {ECC} means that there is none")
        if kind == BENCHMARK and not (truth and truth.value is not None) and not all(known):
            lacking = len(known) - sum(known)
            message = f"task_type {BENCHMARK} needs ground_truth.value, or a truth on all evidence"
            self.mistake_log.add(("task_type",), f"{message}; {lacking} have none")


def _is_date(value: Json) -> bool:
    try:
        return isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


_DATE = Rule(wanted="a date such as 2025-01-31", allows=_is_date)
_WINDOW_RULES = {
    "name": TEXT,
    "start_date": _DATE,
    "end_date": _DATE,
    "country": TEXT,
    "concept": TEXT,
}


EXAMPLE = ("experiment.toml", "evidence.csv")


def write_example(folder: Path) -> list[Path]:
    """Write an experiment that runs as it is; nothing that is there is overwritten."""
    paths = [folder / name for name in EXAMPLE]
    for path in paths:
        if path.exists():
            raise Conflict(f"{path} is there already; choose another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in paths:
            path.write_bytes(files(__package__).joinpath("example", path.name).read_bytes())
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written: {error.strerror or error}") from None
    return paths
