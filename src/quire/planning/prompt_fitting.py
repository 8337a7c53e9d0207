"""Prompt fitting: how large the prompt of a lone task may be, and what a forecast makes of it."""

from collections.abc import Sequence
from typing import NamedTuple

from quire.domain.models import ModelFacts
from quire.domain.recipes import Stage
from quire.planning.sizing import (
    fitting_prompt_bytes,
    max_tokens,
    most_prompt_bytes,
    output_shape,
    reserved_output,
)


class PromptRoom(NamedTuple):
    """Bytes that a lone task's prompt may have."""

    fits: int  # with which it fits beside its answer, by the bound
    most: int  # above which it is known not to fit


class FittedPrompts(NamedTuple):
    """What becomes of some prompts."""

    content: float  # bytes of one that is sent, on average
    contents: Sequence[float]  # and of each
    sent: float  # the share that is
    compressed: float  # the share that is compressed for it


def lone_prompt_room(
    facts: ModelFacts, stage: Stage, estimate: int, per_byte: float | None = None
) -> PromptRoom:
    """How large a prompt may be that is answered in about so many tokens."""
    answer = max_tokens([estimate], facts, stage.max_tokens_per_block, 0)
    fits = fitting_prompt_bytes(facts, min(answer, reserved_output(facts)), per_byte)
    most = most_prompt_bytes(facts, per_byte)
    return PromptRoom(min(fits, most), most)


def prompt_room_of(stage: Stage, facts: ModelFacts, head: int) -> PromptRoom:
    """The same before anything was answered, without the head that all prompts share."""
    estimate = min(output_shape(stage.schema, 0).fixed, facts.max_output)
    room = lone_prompt_room(facts, stage, estimate)
    return PromptRoom(room.fits - head, room.most - head)


def fit_prompts(contents: Sequence[float], fixed: float | None, room: PromptRoom) -> FittedPrompts:
    """What of some prompts is sent: `fixed` bytes of each cannot shrink; None: nothing can."""
    if not contents:
        return FittedPrompts(0.0, (), 1.0, 0.0)
    if fixed is not None and fixed <= room.most:
        sent = [min(content, max(room.fits, fixed)) for content in contents]
        shrunk = sum(now < content for now, content in zip(sent, contents, strict=True))
    else:
        sent, shrunk = [content for content in contents if content <= room.most], 0
    mean = sum(sent) / max(1, len(sent))
    return FittedPrompts(mean, sent, len(sent) / len(contents), shrunk / len(contents))
