"""Own prompts of an experiment: read from template files, and tried before anything is spent.

A prompt of one's own may break an experiment without a sound: it may not show the evidence, show
the labels that were to be hidden, or never say in which words the answer ends. So each is filled in
once, with texts that are known, and what must stand in it is looked for.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from quire.domain.errors import FileMistake, TemplateFailed, TemplateInvalid
from quire.kits.judge.experiment import EVIDENCE_FIRST, VIEWS, Experiment
from quire.kits.judge.randomization import HIDE_LABELS, scale_display
from quire.kits.judge.recipe import (
    RUBRIC_CRITIC,
    RUBRIC_GEN,
    SCORE_CRITIC,
    SCORE_GEN,
    prompt_of,
    recipe_of,
    stages_in_prompt,
)
from quire.kits.judge.toml_tables import has_nul
from quire.planning.templates import Template, compile_template
from quire.recipes.setting_rules import unknown_message

_SYSTEMS = {  # whose instructions they are
    RUBRIC_GEN: "rubric_system",
    RUBRIC_CRITIC: "rubric_critic_system",
    SCORE_GEN: "score_system",
    SCORE_CRITIC: "score_critic_system",
    **dict.fromkeys(VIEWS[1:], "view_system"),
}
_MARKERS = {  # what the gate reads, so that it must be asked for
    RUBRIC_GEN: ("RUBRIC:",),
    RUBRIC_CRITIC: ("QUALITY:", "observability", "discriminability"),
    SCORE_GEN: ("VERDICT:",),
    SCORE_CRITIC: ("EXPERT_AGREEMENT:",),
}
_PARAMETERS = (
    *("parameters.concept", "parameters.scale_size", "parameters.numbers", "parameters.method"),
    *("parameters.abstain_enabled", "parameters.evidence_view", "parameters.prompt_ordering"),
    *("parameters.fence", "parameters.experiment_tag"),
)
# Of a score's display; what an identifier stands for is not told.
_SHOWN = ("tokens", "order", "hide_labels", "shuffled", "evidence_labels")
VARIABLES: dict[str, tuple[str, ...]] = {  # of each prompt, what it may name
    "cleaned": (*_PARAMETERS, "document.text", "document.title"),
    "neutralized": (*_PARAMETERS, "inputs.cleaned"),
    "abstracted": (*_PARAMETERS, "inputs.neutralized"),
    RUBRIC_GEN: _PARAMETERS,
    RUBRIC_CRITIC: (*_PARAMETERS, "judged.data", "judged.asked", "judged.answer"),
    SCORE_GEN: (*_PARAMETERS, *(f"part.{name}" for name in _SHOWN), "documents", "rubric_stages"),
    SCORE_CRITIC: (*_PARAMETERS, "judged.asked", "judged.answer", "judged.system"),
    **dict.fromkeys(_SYSTEMS.values(), _PARAMETERS),
}
_EVIDENCE, _ASKED, _ANSWER = "The evidence of a trial.", "What was asked.", "What was answered."


class PromptFile(NamedTuple):
    """A file with a prompt in it."""

    name: str  # of the prompt
    path: Path
    text: str

    def mistake(self, message: str, line: int = 1) -> FileMistake:
        """One thing wrong with it."""
        return FileMistake(str(self.path), max(1, line), message)


def read_prompt_file(name: str, path: Path) -> PromptFile:
    """Read a prompt; what cannot be read is a ValueError with the reason."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ValueError(f"cannot be read: {path}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"cannot be read: {path}: not UTF-8 at byte {error.start}") from None
    if has_nul(text) or not text.strip():
        raise ValueError(f"cannot be read: {path}: {'is binary' if text.strip() else 'is empty'}")
    return PromptFile(name, path, text.replace("\r\n", "\n").rstrip())


def template_mistakes(file: PromptFile) -> Iterator[FileMistake]:
    """What is wrong with a prompt whatever experiment it is of: its form, its variables."""
    try:
        template = compile_template(file.text)
    except TemplateInvalid as error:
        yield file.mistake(f"template: {error.reason}", error.line)
        return
    known = VARIABLES[file.name]
    names = {name.partition(".")[0] for name in known}
    for name in sorted(template.names - names):
        line = _line_of(file.text, name)
        yield file.mistake(f"the variable {name} {unknown_message(name, names)}", line)
    for pair in sorted(template.attributes):
        name, wanted = pair[0], ".".join(pair)
        parts = [item for item in known if item.startswith(f"{name}.")]
        if parts and wanted not in known:
            yield file.mistake(
                f"{wanted} {unknown_message(wanted, parts)}", _line_of(file.text, wanted)
            )


def _line_of(text: str, name: str) -> int:
    """The first line in which a name stands inside a tag."""
    found = re.search(rf"\{{[{{%][^}}]*?(?<![\w.]){re.escape(name)}\b", text)
    return text.count("\n", 0, found.end()) + 1 if found else 1


def trial_mistakes(file: PromptFile, experiment: Experiment) -> Iterator[FileMistake]:
    """What is wrong with a prompt of this experiment: it is filled in with a trial's texts."""
    try:
        filled = _fill_in(file, experiment)
    except TemplateFailed as error:
        yield file.mistake(f"template: {error.reason}", error.line)
        return
    if file.name in _SYSTEMS:
        system = prompt_of(experiment, _SYSTEMS[file.name])
        missing = [m for m in _MARKERS.get(file.name, ()) if m not in f"{system}\n{filled}"]
        if missing:
            yield file.mistake(f"never says {' and '.join(missing)}, which ends the answer")
    yield from map(file.mistake, _missing_parts(file, experiment, filled))


def _fill_in(file: PromptFile, experiment: Experiment) -> str:
    known: dict[str, object] = {"parameters": recipe_of(experiment).parameters}
    display = scale_display(1, experiment.scale_size, experiment.randomizations)
    part = {name: getattr(display, name) for name in _SHOWN[:-1]}
    part = {n: list(item) if isinstance(item, tuple) else item for n, item in part.items()}
    size = experiment.evidence_bundle_size
    view = {"title": "Title", "text": _EVIDENCE, "views": dict.fromkeys(VIEWS, _EVIDENCE)}
    stages = _trial_stages(experiment)
    known |= {
        "part": {**part, "evidence_labels": [f"E{n}" for n in range(1, size + 1)]},
        "documents": [view] * size,
        "document": view,
        "inputs": {
            **{name: {"text": _EVIDENCE} for name in VIEWS[1:]},
            RUBRIC_GEN: {"data": {"stages": stages}},
        },
        "judged": {"asked": _ASKED, "answer": _ANSWER, "system": "", "data": {"stages": stages}},
    }
    return _compile_prompt(file, experiment).render(known)


def _compile_prompt(file: PromptFile, experiment: Experiment) -> Template:
    before = stages_in_prompt(experiment) if file.name == SCORE_GEN else ""
    return compile_template(before + file.text)


def _trial_stages(experiment: Experiment) -> list[dict[str, object]]:
    given = experiment.rubric
    return [
        {
            "stage_number": number,
            "label": given[number - 1].label if given else f"Label-of-{number}.",
            "criteria": list(given[number - 1].criteria) if given else [f"Sign-of-{number}."],
        }
        for number in range(1, experiment.scale_size + 1)
    ]


def _missing_parts(file: PromptFile, experiment: Experiment, filled: str) -> Iterator[str]:
    if file.name in VIEWS and _EVIDENCE not in filled:
        yield "does not show the text that it is about"
    if file.name == RUBRIC_CRITIC and not _signs(experiment, filled):
        yield "does not show the criteria of every stage; judged.data.stages has them"
    if file.name == SCORE_CRITIC:
        for name, text in (("judged.asked", _ASKED), ("judged.answer", _ANSWER)):
            if text not in filled:
                yield f"does not show {name}: a critic must see what the judge saw and filled"
    if file.name == SCORE_GEN:
        yield from _score_mistakes(file, experiment, filled)


def _signs(experiment: Experiment, filled: str) -> bool:
    stages = _trial_stages(experiment)
    return all(str(item) in filled for stage in stages for item in stage["criteria"])  # type: ignore[attr-defined]


def _score_mistakes(file: PromptFile, experiment: Experiment, filled: str) -> Iterator[str]:
    display = scale_display(1, experiment.scale_size, experiment.randomizations)
    shown = [display.tokens[number - 1] for number in display.order]
    if filled.count(_EVIDENCE) < experiment.evidence_bundle_size:
        yield "does not show the evidence; documents has it, in views[parameters.evidence_view]"
    if not _signs(experiment, filled):
        yield "does not show the criteria of every stage; rubric_stages has them"
    if not _in_order([f"[{token}]" for token in shown], filled):
        yield (
            "must show the identifiers in brackets, [{{ part.tokens[number - 1] }}],"
            " in the order of part.order"
        )
    labels = [str(stage["label"]) for stage in _trial_stages(experiment)]
    if HIDE_LABELS in experiment.randomizations and any(label in filled for label in labels):
        yield f"shows labels, which {HIDE_LABELS} hides: ask part.hide_labels"
    if experiment.abstain_enabled and "ABSTAIN" not in filled:
        yield "never says that ABSTAIN may be answered, though abstain_enabled is true"
    ordering = "prompt_ordering"  # as the file calls it
    if experiment.prompt_ordering == EVIDENCE_FIRST and ordering not in file.text:
        yield f"takes no notice of {ordering}: ask parameters.{ordering}, or leave it out"


def _in_order(tokens: Sequence[str], filled: str) -> bool:
    places = [filled.find(token) for token in tokens]
    return -1 not in places and places == sorted(places)
