"""Graphs: which stages come before which, and where they go in a circle."""

from collections.abc import Iterable, Mapping, Sequence

from quire.domain.recipes import Stage


def arranged(stages: Sequence[Stage]) -> tuple[Stage, ...]:
    """Each stage after all it needs, else in the order given; circles must have been refused."""
    names = {each.name for each in stages}
    waiting = list(stages)
    done: list[Stage] = []
    placed: set[str] = set()
    while waiting:
        ready = next(each for each in waiting if not (set(each.upstream) & names) - placed)
        waiting.remove(ready)
        done.append(ready)
        placed.add(ready.name)
    return tuple(done)


def circle(stages: Iterable[Stage]) -> tuple[str, ...]:
    """The stages of a circle in order, the first again at the end; none if there is none."""
    above = {each.name: each.upstream for each in stages}
    finished: set[str] = set()
    for name in above:
        if found := _walk(name, above, finished):
            return found
    return ()


def _walk(name: str, above: Mapping[str, tuple[str, ...]], finished: set[str]) -> tuple[str, ...]:
    """Follow needs from one stage by a path of our own, as deep as they go."""
    path = [name]
    choices = [iter(above.get(name, ()))]
    while path:
        following = next(choices[-1], None)
        if following is None:
            finished.add(path.pop())
            choices.pop()
        elif following in path:
            return (*path[path.index(following) :], following)
        elif following not in finished:
            path.append(following)
            choices.append(iter(above.get(following, ())))
    return ()


def ancestors(name: str, stages: Mapping[str, Stage]) -> frozenset[str]:
    """Every stage that one reads from, at any distance."""
    found: set[str] = set()
    waiting = [name]
    while waiting:
        stage = stages.get(waiting.pop())
        new = [each for each in (stage.upstream if stage else ()) if each not in found]
        found.update(new)
        waiting += new
    return frozenset(found)


def root(stage: Stage, stages: Mapping[str, Stage]) -> Stage:
    """The stage whose subjects it is about in the end, by way of the results of others."""
    seen = {stage.name}
    while stage.of in stages and stage.of not in seen:
        seen.add(stage.of)
        stage = stages[stage.of]
    return stage
