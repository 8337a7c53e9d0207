"""Recipe drawing: which stage reads which, as text, for Mermaid and for Graphviz."""

from collections.abc import Iterator, Mapping, Sequence

from quire.domain.recipes import JSON_GATE, Recipe, Stage

TEXT, MERMAID, DOT = "text", "mermaid", "dot"
FORMATS = (TEXT, MERMAID, DOT)


def draw(recipe: Recipe, form: str = TEXT) -> str:
    """Draw a checked recipe; critics stand beside the stage they judge."""
    lines = {TEXT: _text_lines, MERMAID: _mermaid_lines, DOT: _dot_lines}[form](recipe)
    return "\n".join(lines)


def edges(recipe: Recipe) -> list[tuple[str, str, str]]:
    """Who is read by whom, and whether it is `read` or `judged`."""
    return [
        (name, stage.name, "judged" if stage.critic and name == stage.of else "read")
        for stage in recipe.stages
        for name in stage.upstream
    ]


def describe_stage(stage: Stage) -> str:
    """A stage in a few words: what it is about, how often, how its answers are judged."""
    gates = [gate.name for gate in stage.gates if gate != JSON_GATE]
    return " · ".join([describe_subject(stage), *gates])


def describe_subject(stage: Stage) -> str:
    """What a stage is about, and how often."""
    if stage.critic:
        return f"critic of {stage.of}, {stage.critic}"
    times = [_count_models(stage)] if stage.asks_all or len(stage.models) > 1 else []
    times += [_count_samples(stage)] if stage.samples_parameter or stage.samples > 1 else []
    about = " × ".join([stage.about, *times])
    return f"{about} of {stage.of}" if stage.of else about


def _count_models(stage: Stage) -> str:
    return f"{len(stage.models)} models" if stage.models else "all models"


def _count_samples(stage: Stage) -> str:
    return f"{stage.samples_parameter or stage.samples} samples"


def _text_lines(recipe: Recipe) -> Iterator[str]:
    """A tree: each stage below the last of those it reads; others are named."""
    places = {item.name: number for number, item in enumerate(recipe.stages)}
    below: dict[str, list[Stage]] = {}
    for stage in recipe.stages:
        if not stage.critic:
            below.setdefault(_last_upstream(stage, places), []).append(stage)
    yield recipe.name
    yield from _branches(recipe, "", below, "")


def _last_upstream(stage: Stage, places: Mapping[str, int]) -> str:
    return max(stage.upstream, key=places.__getitem__, default="")


def _branches(
    recipe: Recipe, name: str, below: Mapping[str, Sequence[Stage]], margin: str
) -> Iterator[str]:
    stages = below.get(name, ())
    for stage in stages:
        final = stage is stages[-1]
        yield f"{margin}{'└─' if final else '├─'} {_stage_line(stage, name)}"
        inner = margin + ("   " if final else "│  ")
        for critic in recipe.critics_of(stage.name):
            beside = inner + ("│  " if stage.name in below else "   ")
            yield f"{beside}◇ {_stage_line(critic, stage.name)}"
            yield from _branches(recipe, critic.name, below, beside + "  ")
        yield from _branches(recipe, stage.name, below, inner)


def _stage_line(stage: Stage, below: str) -> str:
    others = [name for name in stage.upstream if name != below]
    also = f"  (also reads {', '.join(others)})" if others else ""
    return f"{stage.name}  {describe_stage(stage)}{also}"


def _mermaid_lines(recipe: Recipe) -> Iterator[str]:
    yield "flowchart TD"
    for stage in recipe.stages:
        label = f'"{stage.name}<br/>{_plain_label(describe_stage(stage))}"'
        yield f"    {stage.name}{f'{{{{{label}}}}}' if stage.critic else f'[{label}]'}"
    for above, below, kind in edges(recipe):
        yield f"    {above} {'-.->' if kind == 'judged' else '-->'} {below}"


def _dot_lines(recipe: Recipe) -> Iterator[str]:
    yield f'digraph "{recipe.name}" {{'
    yield "    node [shape=box];"
    for stage in recipe.stages:
        shape = ", shape=hexagon" if stage.critic else ""
        label = _plain_label(describe_stage(stage))
        yield f'    {stage.name} [label="{stage.name}\\n{label}"{shape}];'
    for above, below, kind in edges(recipe):
        yield f"    {above} -> {below}{' [style=dashed]' if kind == 'judged' else ''};"
    yield "}"


def _plain_label(text: str) -> str:
    """Nothing that could end a label."""
    return "".join(name if name.isalnum() or name in " ,._-·×" else "?" for name in text)
