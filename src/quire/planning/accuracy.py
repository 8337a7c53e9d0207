"""Accuracy: a run's answers held against gold, field by field, with intervals; and runs compared.

Every row that has gold counts. A row without an answer is wrong in every field: it lowers accuracy
and recall, and says nothing about precision, which is about what was answered. Rows are taken as
independent; elements of lists are not (`planning/share_estimates.py` says how that is counted).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from quire.domain.data import Json, JsonObject, canonical_json
from quire.planning.share_estimates import (
    Excess,
    PairCounts,
    ShareEstimate,
    estimate_clustered_share,
    estimate_excess,
    estimate_share,
    holm_p_values,
    paired_p_value,
)
from quire.planning.value_matching import MatchRule, ValueMatch, choices_of, match_values

NULL, NO_ANSWER = "(null)", "(no answer)"  # in a confusion table
MOST_CHOICES = 20  # beyond so many values a confusion table cannot be read


class GoldPair(NamedTuple):
    """One row that gold knows: what was answered, and what is right."""

    name: str  # by which gold names it
    text: str
    answer: JsonObject | None  # None: there is none
    gold: JsonObject  # the fields that gold states
    task_id: int | None = None
    status: str = ""
    error: str = ""
    said: JsonObject = {}  # noqa: RUF012  # what critics said, by column
    review: str = ""  # what a person decided


class FieldAccuracy(NamedTuple):
    """One field of a run beside its gold."""

    name: str
    rule: MatchRule
    accuracy: ShareEstimate
    precision: ShareEstimate  # of what was answered
    recall: ShareEstimate  # of what gold states
    confusion: Mapping[tuple[str, str], int]  # of choices: (gold, answer); else empty

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        both = self.precision.share + self.recall.share
        return 2 * self.precision.share * self.recall.share / both if both else 0.0


class WrongValue(NamedTuple):
    """A field whose answer is not what gold states."""

    field: str
    answer: Json
    gold: Json


class WorstCase(NamedTuple):
    """A row with what is wrong in it."""

    pair: GoldPair
    wrong: tuple[WrongValue, ...]


class RunAccuracy(NamedTuple):
    """A run beside gold."""

    label: str
    rows: int  # that gold knows
    answered: int
    whole: ShareEstimate  # rows that are right in every field
    fields: tuple[FieldAccuracy, ...]
    cases: tuple[WorstCase, ...]  # all that are wrong, the worst first
    pairs: tuple[GoldPair, ...]
    right: Mapping[str, frozenset[str]]  # by row: the fields that are right


class FieldDifference(NamedTuple):
    """How much more often one run is right in a field than another, on the rows that both have."""

    field: str  # "" where all fields of a row count as one
    first: ShareEstimate
    second: ShareEstimate
    excess: Excess  # of the second over the first
    p_value: float
    adjusted_p_value: float  # for all fields of the comparison (Holm's)


class RunDifference(NamedTuple):
    """Two runs side by side."""

    first: str
    second: str
    rows: int
    fields: tuple[FieldDifference, ...]


def measure_accuracy(
    label: str,
    pairs: Sequence[GoldPair],
    rules: Mapping[str, MatchRule],
    schema: Mapping[str, JsonObject],
) -> RunAccuracy:
    """Hold every answer against its gold, in the fields that have a rule."""
    found = {pair.name: _match_row(pair, rules) for pair in pairs}
    right = {
        name: frozenset(field for field, match in matches.items() if match.right)
        for name, matches in found.items()
    }
    fields = tuple(
        _measure_field(
            name, rule, pairs, [found[pair.name][name] for pair in pairs], schema.get(name, {})
        )
        for name, rule in rules.items()
    )
    whole = sum(len(right[pair.name]) == len(rules) for pair in pairs)
    return RunAccuracy(
        label=label,
        rows=len(pairs),
        answered=sum(pair.answer is not None for pair in pairs),
        whole=estimate_share(whole, len(pairs)),
        fields=fields,
        cases=_worst_first(pairs, rules, right),
        pairs=tuple(pairs),
        right=right,
    )


def _match_row(pair: GoldPair, rules: Mapping[str, MatchRule]) -> dict[str, ValueMatch]:
    matches: dict[str, ValueMatch] = {}
    for name, rule in rules.items():
        if pair.answer is None:
            silent = match_values(None, pair.gold.get(name), rule)
            matches[name] = silent._replace(right=False)
        else:
            matches[name] = match_values(pair.answer.get(name), pair.gold.get(name), rule)
    return matches


def _measure_field(
    name: str,
    rule: MatchRule,
    pairs: Sequence[GoldPair],
    matches: Sequence[ValueMatch],
    schema: JsonObject,
) -> FieldAccuracy:
    return FieldAccuracy(
        name=name,
        rule=rule,
        accuracy=estimate_share(sum(match.right for match in matches), len(matches)),
        precision=estimate_clustered_share((match.hits, match.answered) for match in matches),
        recall=estimate_clustered_share((match.hits, match.wanted) for match in matches),
        confusion=_confusion(name, pairs) if choices_of(schema) else {},
    )


def _confusion(name: str, pairs: Sequence[GoldPair]) -> dict[tuple[str, str], int]:
    """How often each choice was answered where another was right; none where there are too many."""
    counts: Counter[tuple[str, str]] = Counter()
    for pair in pairs:
        said = NO_ANSWER if pair.answer is None else label_of(pair.answer.get(name))
        counts[label_of(pair.gold.get(name)), said] += 1
    values = {label for both in counts for label in both}
    return dict(counts) if len(values) <= MOST_CHOICES else {}


def label_of(value: Json) -> str:
    """A value as it is named in tables and plots."""
    if value is None:
        return NULL
    return value if isinstance(value, str) else canonical_json(value)


def _worst_first(
    pairs: Sequence[GoldPair],
    rules: Mapping[str, MatchRule],
    right: Mapping[str, frozenset[str]],
) -> tuple[WorstCase, ...]:
    """The rows with something wrong, the most wrong first, then those without an answer."""
    cases = [
        WorstCase(
            pair,
            tuple(
                WrongValue(name, (pair.answer or {}).get(name), pair.gold.get(name))
                for name in rules
                if name not in right[pair.name]
            ),
        )
        for pair in pairs
        if len(right[pair.name]) < len(rules)
    ]
    return tuple(sorted(cases, key=lambda case: (-len(case.wrong), case.pair.answer is not None)))


def compare_runs(runs: Sequence[RunAccuracy]) -> list[RunDifference]:
    """Every two runs side by side, on the rows that both have."""
    return [_compare(first, second) for first, second in combinations(runs, 2)]


def _compare(first: RunAccuracy, second: RunAccuracy) -> RunDifference:
    rows = [name for name in first.right if name in second.right]
    second_fields = {field.name for field in second.fields}
    names = [field.name for field in first.fields if field.name in second_fields]
    tables = {name: _count_pairs(first, second, rows, [name]) for name in names}
    if len(names) > 1:
        tables[""] = _count_pairs(first, second, rows, names)
    values = [paired_p_value(table.first, table.second) for table in tables.values()]
    differences = [
        FieldDifference(
            field=name,
            first=estimate_share(table.both + table.second, table.all),
            second=estimate_share(table.both + table.first, table.all),
            excess=estimate_excess(table),
            p_value=value,
            adjusted_p_value=adjusted,
        )
        for (name, table), value, adjusted in zip(
            tables.items(), values, holm_p_values(values), strict=True
        )
    ]
    return RunDifference(first.label, second.label, len(rows), tuple(differences))


def _count_pairs(
    first: RunAccuracy, second: RunAccuracy, rows: Sequence[str], fields: Sequence[str]
) -> PairCounts:
    """How often both runs are right in all these fields, the second alone, the first, neither."""
    wanted = frozenset(fields)
    counts = Counter((second.right[name] >= wanted, first.right[name] >= wanted) for name in rows)
    return PairCounts(
        counts[True, True], counts[True, False], counts[False, True], counts[False, False]
    )
