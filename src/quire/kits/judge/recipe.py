"""The recipe of an experiment: views, rubrics and their critics, scores and their critics."""

from functools import cache, partial
from importlib.resources import files
from itertools import pairwise

from quire.domain.data import Json
from quire.domain.models import Params
from quire.domain.recipes import RECORD, SAME, GateUse, Recipe, Stage
from quire.kits.judge.experiment import CLEANED, Experiment

RUBRIC_GEN, RUBRIC_CRITIC = "rubric_gen", "rubric_critic"
SCORE_GEN, SCORE_CRITIC = "score_gen", "score_critic"

# Draws must be independent: a draw in company, or one taken from another run, would not be.
POLICY: dict[str, Json] = {"pack_size": 1}


def recipe_of(experiment: Experiment) -> Recipe:
    """Make the recipe that carries out an experiment."""
    return Recipe(
        name=f"judge-{experiment.draws_of.lower()}",
        description=f"Judges evidence of {experiment.concept} ({experiment.task_type}).",
        stages=(*_view_stages(experiment), *_JudgeStages(experiment).stages()),
        parameters=_parameters(experiment),
    )


def planned_tasks(experiment: Experiment) -> dict[str, int]:
    """How many tasks each stage will have if nothing fails."""
    rubrics = experiment.samples * len(experiment.authors)
    judges = experiment.samples * (len(experiment.models) + 2 * len(experiment.swaps))
    scores = judges * experiment.bundle_count
    planned = dict.fromkeys(experiment.views, len(experiment.evidence))
    if rubrics:
        planned |= {RUBRIC_GEN: rubrics, RUBRIC_CRITIC: rubrics}
    return planned | {SCORE_GEN: scores, SCORE_CRITIC: scores}


@cache
def builtin_prompt(name: str) -> str:
    """The text of a prompt, a template, as it stands beside this module."""
    return files(__package__).joinpath("prompts", f"{name}.txt").read_text("utf-8").strip()


def prompt_of(experiment: Experiment, name: str) -> str:
    """The experiment's own text of a prompt, or the built-in one."""
    return dict(experiment.prompts).get(name) or builtin_prompt(name)


def stages_in_prompt(experiment: Experiment) -> str:
    """What a score's prompt begins with, in its first line: where the rubric's stages are."""
    place = "parameters.rubric" if experiment.rubric else f"inputs.{RUBRIC_GEN}.data.stages"
    return f"{{% set rubric_stages = {place} -%}}"


def _view_stages(experiment: Experiment) -> list[Stage]:
    """The stages that make the views of the evidence, each from the one before."""
    return [
        Stage(
            name=view,
            about="each_document" if view == CLEANED else "each_result",
            of=before,
            schema=None,
            instructions=prompt_of(experiment, "view_system"),
            prompt=prompt_of(experiment, view),
            params=Params(),
            gates=(GateUse("text", {"min_length": 1}),),
            models=(experiment.view_model or experiment.models[0],),
            policy=POLICY,
            templated=True,
        )
        for before, view in pairwise(("", *experiment.views))
    ]


class _JudgeStages:
    """The stages that are the experiment itself."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.make_stage = partial(
            Stage,
            schema=None,
            params=Params(
                temperature=experiment.temperature,
                top_p=experiment.top_p,
                seed=experiment.provider_seed,
                max_tokens=experiment.max_tokens,
            ),
            policy=POLICY,
            templated=True,
        )

    def stages(self) -> list[Stage]:
        """Rubrics come first, unless the rubric was given."""
        rubrics = [self._rubric_gen(), self._critic(RUBRIC_CRITIC, RUBRIC_GEN, "quality")]
        scores = [self._score_gen(), self._critic(SCORE_CRITIC, SCORE_GEN, "agreement")]
        return scores if self.experiment.rubric else [*rubrics, *scores]

    def _rubric_gen(self) -> Stage:
        return self.make_stage(
            name=RUBRIC_GEN,
            about="judge_samples",
            instructions=prompt_of(self.experiment, "rubric_system"),
            prompt=prompt_of(self.experiment, RUBRIC_GEN),
            gates=(_markers("rubric", scale_size=self.experiment.scale_size),),
            samples=self.experiment.samples,
            models=self.experiment.authors,
            settings={"seed": self.experiment.seed},
        )

    def _score_gen(self) -> Stage:
        experiment = self.experiment
        given = bool(experiment.rubric)
        shared = given or bool(experiment.rubric_model)  # each model judges on every rubric
        verdict = _markers(
            "verdict",
            method=experiment.method,
            abstain=experiment.abstain_enabled,
            labels="labels",
            scale_size=experiment.scale_size,
        )
        return self.make_stage(
            name=SCORE_GEN,
            about="judge_given_targets" if given else "judge_targets",
            of="" if given else RUBRIC_GEN,
            needs=experiment.views[-1:],
            instructions=prompt_of(experiment, "score_system"),
            prompt=stages_in_prompt(experiment) + prompt_of(experiment, SCORE_GEN),
            gates=(verdict,),
            samples=experiment.samples if given else 1,
            models=experiment.models if shared else (SAME,),
            settings=_target_settings(experiment),
        )

    def _critic(self, name: str, of: str, kind: str) -> Stage:
        return self.make_stage(
            name=name,
            about="each_result",
            of=of,
            critic=RECORD,
            instructions=prompt_of(self.experiment, f"{name}_system"),
            prompt=prompt_of(self.experiment, name),
            gates=(_markers(kind),),
            models=(self.experiment.critic_model or SAME,),
        )


def _markers(kind: str, **params: Json) -> GateUse:
    return GateUse("markers", {"kind": kind, **params})


def _parameters(experiment: Experiment) -> dict[str, Json]:
    return {
        "experiment_tag": experiment.experiment_tag,
        "concept": experiment.concept,
        "scale_size": experiment.scale_size,
        "numbers": list(range(1, experiment.scale_size + 1)),
        "method": experiment.method,
        "abstain_enabled": experiment.abstain_enabled,
        "evidence_view": experiment.evidence_view,
        "prompt_ordering": experiment.prompt_ordering,
        "fence": experiment.fence,
        "rubric": [
            {"label": stage.label, "criteria": list(stage.criteria)} for stage in experiment.rubric
        ],
    }


def _target_settings(experiment: Experiment) -> dict[str, Json]:
    settings: dict[str, Json] = {
        "seed": experiment.seed,
        "scale_size": experiment.scale_size,
        "randomizations": list(experiment.randomizations),
        "bundle_size": experiment.evidence_bundle_size,
        "bundle_strategy": experiment.bundle_strategy,
        "windows": [evidence.window or 0 for evidence in experiment.evidence],
        "evidence": [evidence.id for evidence in experiment.evidence],
    }
    if experiment.swaps:
        settings["rivals"] = {model: list(rivals) for model, rivals in experiment.rivals.items()}
    return settings
