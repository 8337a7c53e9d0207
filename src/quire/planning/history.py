"""History: what was said before, between a stage's system text and its prompt, turn by turn.

The first turns that name nothing of a task are the same in all calls of the stage: its stable head,
which a provider may keep together with the system text.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from quire.domain.data import Json
from quire.domain.extracts import ShownText, TextKind
from quire.domain.recipes import HistoryEntry
from quire.domain.requests import Role, Turn
from quire.planning.compression import HEAD_TURNS, SMALLEST_TEXT, TAIL_TURNS, text_hash
from quire.planning.prompt_variables import Material, PromptResult, template_variables

if TYPE_CHECKING:
    from quire.planning.templates import Template


class History:
    """A stage's history, its templates compiled."""

    def __init__(self, entries: Sequence[HistoryEntry], parameters: Mapping[str, Json]) -> None:
        """Fill in the parameters of the stable head once."""
        from quire.planning.templates import SUBJECT_NAMES, compile_template  # loads Jinja

        self._entries: list[tuple[HistoryEntry, Template | None]] = [
            (entry, None if entry.inputs else compile_template(entry.content)) for entry in entries
        ]
        self.stable: list[Turn] = []  # turns that all calls of the stage begin with
        for entry, template in self._entries:
            if template is None or template.names & SUBJECT_NAMES:
                break
            said = template.render({"parameters": dict(parameters)})
            self.stable.append(Turn(Role(entry.role), said))

    def turns(self, material: Material) -> tuple[Turn, ...]:
        """What was said before this task is asked; empty turns are left out."""
        variables = template_variables(material)
        turns = list(self.stable)
        for entry, template in self._entries[len(self.stable) :]:
            role = Role(entry.role)
            if template is not None:
                turns.append(Turn(role, template.render(variables)))
            else:
                turns += [Turn(role, result.text) for result in _results(material, entry.inputs)]
        return tuple(turn for turn in turns if turn.text.strip())


def _results(material: Material, stage: str) -> Sequence[PromptResult]:
    read = material.inputs.get(stage, ())
    return [read] if isinstance(read, PromptResult) else read


def turn_bytes(turns: Sequence[Turn]) -> int:
    """Bytes of all that was said before."""
    return sum(len(turn.text.encode()) for turn in turns)


def turn_texts(turns: Sequence[Turn]) -> list[ShownText]:
    """The turns that may be compressed: neither the first nor the last ones, nor short ones."""
    middle = list(enumerate(turns))[HEAD_TURNS : len(turns) - TAIL_TURNS]
    return [
        ShownText(f"history/{no}", TextKind.TURN, turn.text)
        for no, turn in middle
        if len(turn.text.encode()) >= SMALLEST_TEXT
    ]


def shorten_turns(turns: tuple[Turn, ...], extracts: Mapping[bytes, str]) -> tuple[Turn, ...]:
    """The same turns, with extracts in the place of those in the middle that have one."""
    if not extracts:
        return turns
    last = len(turns) - TAIL_TURNS
    return tuple(
        turn._replace(text=extracts.get(text_hash(turn.text), turn.text))
        if HEAD_TURNS <= no < last
        else turn
        for no, turn in enumerate(turns)
    )
