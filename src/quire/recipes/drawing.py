"""Drawing: which stage reads which, as text, for Mermaid and for Graphviz."""

from collections.abc import Iterator, Mapping, Sequence

from quire.domain.recipes import JSON_GATE, Recipe, Stage

TEXT, MERMAID, DOT = "text", "mermaid", "dot"
FORMATS = (TEXT, MERMAID, DOT)


def draw(recipe: Recipe, form: str = TEXT) -> str:
    """Draw a checked recipe; critics stand beside the stage they judge."""
    lines = {TEXT: _text, MERMAID: _mermaid, DOT: _dot}[form](recipe)
    return "\n".join(lines)


def edges(recipe: Recipe) -> list[tuple[str, str, str]]:
    """Who is read by whom, and whether it is `read` or `judged`."""
    return [
        (name, stage.name, "judged" if stage.critic and name == stage.of else "read")
        for stage in recipe.stages
        for name in stage.upstream
    ]


def described(stage: Stage) -> str:
    """A stage in a few words: what it is about, how often, how its answers are judged."""
    times = [f"{len(stage.models)} models"] if len(stage.models) > 1 else []
    times += [f"{stage.samples} samples"] if stage.samples > 1 else []
    about = " × ".join([stage.about, *times])
    if stage.of and not stage.critic:
        about += f" of {stage.of}"
    if stage.critic:
        about = f"critic of {stage.of}, {stage.critic}"
    gates = [each.name for each in stage.gates if each != JSON_GATE]
    return " · ".join([about, *gates])


def _text(recipe: Recipe) -> Iterator[str]:
    """A tree: each stage below the last of those it reads; others are named."""
    places = {each.name: number for number, each in enumerate(recipe.stages)}
    below: dict[str, list[Stage]] = {}
    for stage in recipe.stages:
        if not stage.critic:
            below.setdefault(_last(stage, places), []).append(stage)
    yield recipe.name
    yield from _branches(recipe, "", below, "")


def _last(stage: Stage, places: Mapping[str, int]) -> str:
    return max(stage.upstream, key=places.__getitem__, default="")


def _branches(
    recipe: Recipe, name: str, below: Mapping[str, Sequence[Stage]], margin: str
) -> Iterator[str]:
    stages = below.get(name, ())
    for stage in stages:
        final = stage is stages[-1]
        yield f"{margin}{'└─' if final else '├─'} {_line(stage, name)}"
        inner = margin + ("   " if final else "│  ")
        for critic in recipe.critics_of(stage.name):
            beside = inner + ("│  " if stage.name in below else "   ")
            yield f"{beside}◇ {_line(critic, stage.name)}"
            yield from _branches(recipe, critic.name, below, beside + "  ")
        yield from _branches(recipe, stage.name, below, inner)


def _line(stage: Stage, below: str) -> str:
    others = [each for each in stage.upstream if each != below]
    also = f"  (also reads {', '.join(others)})" if others else ""
    return f"{stage.name}  {described(stage)}{also}"


def _mermaid(recipe: Recipe) -> Iterator[str]:
    yield "flowchart TD"
    for stage in recipe.stages:
        label = f'"{stage.name}<br/>{_plain(described(stage))}"'
        yield f"    {stage.name}{f'{{{{{label}}}}}' if stage.critic else f'[{label}]'}"
    for above, below, kind in edges(recipe):
        yield f"    {above} {'-.->' if kind == 'judged' else '-->'} {below}"


def _dot(recipe: Recipe) -> Iterator[str]:
    yield f'digraph "{recipe.name}" {{'
    yield "    node [shape=box];"
    for stage in recipe.stages:
        shape = ", shape=hexagon" if stage.critic else ""
        yield f'    {stage.name} [label="{stage.name}\\n{_plain(described(stage))}"{shape}];'
    for above, below, kind in edges(recipe):
        yield f"    {above} -> {below}{' [style=dashed]' if kind == 'judged' else ''};"
    yield "}"


def _plain(text: str) -> str:
    """Nothing that could end a label."""
    return "".join(each if each.isalnum() or each in " ,._-·×" else "?" for each in text)
