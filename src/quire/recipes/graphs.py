"""Graphs: which stages come before which, and where they go in a circle."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from quire.domain.recipes import Stage


def arranged(stages: Sequence[Stage]) -> tuple[Stage, ...]:
    """Each stage after all it waits for, else in the order given; circles are refused before."""
    above = _awaited(stages)
    waiting = list(stages)
    done: list[Stage] = []
    placed: set[str] = set()
    while waiting:
        ready = next(
            each for each in waiting if not (set(above[each.name]) & above.keys()) - placed
        )
        waiting.remove(ready)
        done.append(ready)
        placed.add(ready.name)
    return tuple(done)


def circle(stages: Sequence[Stage]) -> tuple[str, ...]:
    """The stages of a circle in order, the first again at the end; none if there is none."""
    above = _awaited(stages)
    finished: set[str] = set()
    for name in above:
        if found := _walk(name, above, finished):
            return found
    return ()


def _awaited(stages: Sequence[Stage]) -> dict[str, tuple[str, ...]]:
    """What each stage waits for: all it reads, and the critics of that, which let it count."""
    critics: defaultdict[str, list[str]] = defaultdict(list)
    for each in stages:
        if each.critic:
            critics[each.of].append(each.name)
    awaited = {}
    for each in stages:
        judged = {each.of} if each.critic else set()  # seen as soon as it is proposed
        heard = [name for read in each.upstream if read not in judged for name in critics[read]]
        awaited[each.name] = tuple(dict.fromkeys([*each.upstream, *heard]))
    return awaited


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
