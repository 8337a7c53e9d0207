"""What a family of experiments costs together: what several of them ask alike is paid once."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from quire.domain.data import Json
from quire.engine import Engine, Plan
from quire.kits.judge.experiment_runs import plan_experiment


class PlannedMember(NamedTuple):
    """One experiment of a family."""

    path: Path
    plan: Plan
    shared: int  # picodollars that those before it pay

    @property
    def to_pay(self) -> int:
        """Picodollars that it adds."""
        return self.plan.to_ask.cost - self.shared


def plan_family(engine: Engine, paths: Sequence[Path], **policy: Json) -> list[PlannedMember]:
    """Forecast experiments that are run one after the other."""
    known: dict[tuple[str, str], int] = {}  # tasks by what is asked of whom
    found = []
    for path in paths:
        plan = plan_experiment(engine, path, None, **policy)
        words, shared = _words_of_lines(plan), 0
        for forecast in plan.stages:
            key = (words[forecast.stage], forecast.model)
            asked, before = forecast.to_ask, known.get(key, 0)
            if before and asked.tasks:
                shared += asked.cost * min(before, asked.tasks) // asked.tasks
            known[key] = max(before, forecast.tasks)
        found.append(PlannedMember(path, plan, shared))
    return found


def _words_of_lines(plan: Plan) -> dict[str, str]:
    """What each stage says, and all that it reads: stages come after what they need."""
    words, lines = plan.stage_words, dict[str, str]()
    for stage in plan.order.recipe.stages:
        lines[stage.name] = "\n".join([words[stage.name], *(lines[it] for it in stage.upstream)])
    return lines
