"""Reasons: why something waits, is held, failed or happened, as kinds with named fields."""

from enum import StrEnum
from typing import NamedTuple


class WaitKind(StrEnum):
    """Why a stage has not begun."""

    UPSTREAM = "upstream"  # a stage that it reads is not there yet
    STOP_AFTER = "stop_after"  # the run is to stop before it
    PLUGIN = "plugin"  # a package that brought its grouping is not installed here


class StageWait(NamedTuple):
    """What a stage waits for."""

    kind: WaitKind
    stage: str = ""  # that it waits for, or that the run stops after
    problem: str = ""  # of a plugin
