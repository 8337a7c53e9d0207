"""Recipe parameters: what a recipe lets people choose, with defaults, kinds and choices."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from quire.domain.data import Json, json_or_text
from quire.domain.recipes import Recipe, Stage
from quire.recipes.recipe_problems import RecipeProblem, rule_problems
from quire.recipes.setting_rules import (
    TEXT,
    Rule,
    is_whole,
    one_of,
    unknown_message,
    whole_number_rule,
)

SAMPLES_RULE = whole_number_rule(1, 1_000_000)
_REFERENCE = "parameters."
RUN_MODELS = "models"  # the fact that keeps whom an order named

KINDS: Mapping[str, Callable[[Json], bool]] = {
    "string": lambda value: isinstance(value, str),
    "integer": is_whole,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list | tuple),
    "object": lambda value: isinstance(value, Mapping),
}
_LIST = Rule(
    wanted="a list that is not empty", allows=lambda value: isinstance(value, list) and bool(value)
)
_RULES = {
    "type": one_of(*KINDS),
    "description": TEXT,
    "choices": _LIST,
    "prompt": one_of(True, False),
    "default": Rule(wanted="a value", allows=lambda value: True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One thing that can be chosen when a recipe is run."""

    name: str
    kind: str = "string"
    required: bool = False  # it has no default
    default: Json = None
    description: str = ""
    choices: tuple[Json, ...] = field(default=())
    prompt: bool = False  # it is what a person asks for; its text may come from a file

    def problem(self, value: Json) -> str:
        """Say why a value cannot be taken; "" if it can."""
        if not KINDS[self.kind](value):
            return f"must be of type {self.kind}, not {_shorten_json(value)}"
        if self.choices and value not in self.choices:
            choices = ", ".join(map(_shorten_json, self.choices))
            return f"must be one of {choices}, not {_shorten_json(value)}"
        return ""

    def parse_value(self, value: Json) -> Json:
        """A value as it is meant: what was typed as text may stand for a number or a list."""
        if self.kind == "string" or not isinstance(value, str):
            return value
        return json_or_text(value)


def read_declarations(
    table: Mapping[str, Json],
) -> tuple[dict[str, Parameter], list[RecipeProblem]]:
    """Read the table of parameters: a plain value is a default, a table says more."""
    found: dict[str, Parameter] = {}
    mistakes: list[RecipeProblem] = []
    for name, value in table.items():
        place = ("parameters", name)
        if not name.isidentifier() or name.startswith("_"):
            mistakes.append(RecipeProblem(place, "must be a name of letters, digits and _"))
            continue
        if isinstance(value, Mapping):
            wrong = list(rule_problems(value, _RULES, place))
            mistakes += wrong
            found[name] = _from_table(name, {} if wrong else value)
        else:
            found[name] = Parameter(name=name, kind=_kind_of(value), default=value)
        problem = "" if found[name].required else found[name].problem(found[name].default)
        if problem:
            mistakes.append(RecipeProblem((*place, "default"), f"the default {problem}"))
    return found, [*mistakes, *_prompt_problems(found)]


def _prompt_problems(found: Mapping[str, Parameter]) -> Iterator[RecipeProblem]:
    prompts = [parameter for parameter in found.values() if parameter.prompt]
    for place, parameter in enumerate(prompts):
        path = ("parameters", parameter.name, "prompt")
        if parameter.kind != "string":
            message = f"a prompt is text, and {parameter.name} is of type {parameter.kind}"
            yield RecipeProblem(path, message)
        if place:
            yield RecipeProblem(path, f"{prompts[0].name} has prompt = true already")


def _from_table(name: str, table: Mapping[str, Json]) -> Parameter:
    default = table.get("default")
    choices = table.get("choices")
    listed = tuple(choices) if isinstance(choices, list) else ()
    example = default if "default" in table else (listed or ("",))[0]
    return Parameter(
        name=name,
        kind=str(table.get("type") or _kind_of(example)),
        required="default" not in table,
        default=default,
        description=str(table.get("description") or ""),
        choices=listed,
        prompt=table.get("prompt") is True,
    )


def choose_values(
    declarations: Mapping[str, Parameter], given: Mapping[str, Json], *, complete: bool
) -> tuple[dict[str, Json], list[RecipeProblem]]:
    """Fill in what was given, else the defaults; `complete`: nothing may be missing."""
    values: dict[str, Json] = {}
    mistakes = list(_unknown_parameters(declarations, given))
    for name, declaration in declarations.items():
        place = ("parameters", name)
        if name in given:
            values[name] = declaration.parse_value(given[name])
            if problem := declaration.problem(values[name]):
                mistakes.append(RecipeProblem(place, f"parameter {name} {problem}"))
        elif not declaration.required:
            values[name] = declaration.default
        elif complete:
            description = f" ({declaration.description})" if declaration.description else ""
            how = "; --prompt FILE gives it" if declaration.prompt else ""
            message = f"parameter {name} must be given{description}{how}"
            mistakes.append(RecipeProblem(place, message))
    return values, mistakes


def _unknown_parameters(
    declarations: Mapping[str, Parameter], given: Mapping[str, Json]
) -> Iterator[RecipeProblem]:
    for name in given:
        if not declarations:
            yield RecipeProblem(("parameters",), f"parameter {name}: this recipe has no parameters")
        elif name not in declarations:
            yield RecipeProblem(
                ("parameters",), f"parameter {name} {unknown_message(name, declarations)}"
            )


def _kind_of(value: Json) -> str:
    return next((kind for kind, fits in KINDS.items() if fits(value)), "string")


def _shorten_json(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:59] + "…"


def parameter_name(value: Json) -> str:
    """The parameter that a value such as "parameters.draws" stands for; "" if it is none."""
    if not isinstance(value, str) or not value.startswith(_REFERENCE):
        return ""
    name = value.removeprefix(_REFERENCE)
    return name if name.isidentifier() else ""


def fill_samples(
    recipe: Recipe, declarations: Mapping[str, Parameter]
) -> tuple[Recipe, list[RecipeProblem]]:
    """The recipe with as many samples as its parameters say, and where they say no number."""
    filled = [
        _with_samples(stage, recipe.parameters) if stage.samples_parameter else stage
        for stage in recipe.stages
    ]
    problems = [
        RecipeProblem(("stages", number, "samples"), message)
        for number, stage in enumerate(recipe.stages)
        if (message := _samples_message(stage, recipe.parameters, declarations))
    ]
    return replace(recipe, stages=tuple(filled)), problems


def _with_samples(stage: Stage, parameters: Mapping[str, Json]) -> Stage:
    value = parameters.get(stage.samples_parameter)
    return replace(stage, samples=value) if SAMPLES_RULE.allows(value) else stage  # type: ignore[arg-type]  # a number


def _samples_message(
    stage: Stage, parameters: Mapping[str, Json], declarations: Mapping[str, Parameter]
) -> str:
    name = stage.samples_parameter
    if name and name not in declarations:
        return f"{_REFERENCE}{name} {unknown_message(name, declarations)}"
    if name in parameters and not SAMPLES_RULE.allows(parameters[name]):
        return f"samples is {_REFERENCE}{name}, which must be {SAMPLES_RULE.wanted}"
    return ""


def name_models(recipe: Recipe, models: Sequence[str]) -> Recipe:
    """The recipe in which stages for all models ask each of these, by name."""
    if not any(stage.asks_all for stage in recipe.stages):
        return recipe
    named = [
        replace(stage, models=tuple(models), all_models=True) if stage.asks_all else stage
        for stage in recipe.stages
    ]
    facts = {**recipe.facts, RUN_MODELS: list(models)}
    return replace(recipe, stages=tuple(named), facts=facts)


def named_models(facts: Mapping[str, Json]) -> tuple[str, ...]:
    """The models that a run's order named, by the facts of its recipe; none: only its own."""
    names = facts.get(RUN_MODELS)
    return tuple(map(str, names)) if isinstance(names, list) else ()
