"""The rest of the table `figures`, computed as in `own_figures`, and all of it together."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy
import pandas

from tests.kits.judge import own_statistics as own
from tests.kits.judge.own_figures import (
    BUNDLE,
    SAMPLE,
    Found,
    Key,
    Row,
    Tables,
    above_chance,
    agreement,
    clip,
    cluster_sums,
    left_out,
    mean,
    mean_of_sums,
    pairs,
    read,
    right,
    scores,
)

DRAWS = 999


def recompute(frames: Mapping[str, Any]) -> dict[Key, Row]:
    """Every figure; p values are of draws of one's own, so that they are near, not the same."""
    tables = read(frames)
    parts = (scores, pairs, agreement, _display, _drift, _accuracy, _calibration, _rubrics,
             _evidence, _refusals)  # fmt: skip
    return {key: row for part in parts for key, row in part(tables)}


def _beginning(token: str) -> str:
    if token[0].isdigit():
        return "a digit"
    return "a small letter" if token[0].islower() else "a capital"


def _slots(t: Tables) -> dict[str, dict[str, list[str]]]:
    """By kind and sample: the slot that each stage was shown in, weakest first."""
    found: dict[str, dict[str, list[str]]] = {}
    for row in t.frames["samples"].itertuples():
        stage_of = json.loads(row.label_mapping)
        tokens = sorted(stage_of, key=stage_of.get)
        order, letters = json.loads(row.display_order), sorted(tokens, key=str.lower)
        kinds = {"alphabet": [str(letters.index(token) + 1) for token in tokens],
                 "beginning": [_beginning(token) for token in tokens]}  # fmt: skip
        kinds = kinds if "anonymize_stages" in t.drawn else {}
        if "shuffle_rubric_order" in t.drawn:
            kinds["position"] = [str(order.index(n + 1) + 1) for n in range(t.size)]
        for kind, slots in kinds.items():
            found.setdefault(kind, {})[row.sample_id] = slots
    return found


def _display(t: Tables) -> Found:
    for kind, by_sample in _slots(t).items():
        for model in t.models:
            mine = t.of(t.answered, model)
            names = sorted({slot for sample in mine.sample_id for slot in by_sample[sample]})
            seen, wanted = numpy.zeros((2, len(names)))
            for place, name in enumerate(names):
                parts = [
                    sum(by_sample[s][stage - 1] == name for stage in v) / len(v)
                    for s, v in zip(mine.sample_id, mine.value, strict=True)
                ]
                shown = [by_sample[s].count(name) / t.size for s in mine.sample_id]
                seen[place], wanted[place] = sum(parts), sum(shown)
                expected = (sum(shown) / len(mine), None, None, 0, 0)
                yield ("display_bias", f"{kind}_share", model, None, name), mean(mine, parts)
                yield ("display_bias", f"{kind}_expected", model, None, name), expected
            n, m = len(mine), mine[SAMPLE].nunique()
            chi_square = float(((seen - wanted) ** 2 / wanted).sum())
            key: Key = ("display_bias", f"{kind}_chi_square", model, None, None)
            yield key, (chi_square, None, None, n, m)
            p = _randomization_test(mine, by_sample, names, wanted, chi_square)
            yield ("display_bias", f"{kind}_p_value", model, None, None), (p, None, None, n, m)
    yield from _adjustments(t)


def _randomization_test(
    mine: Any, by_sample: Mapping[str, list[str]], names: list[str], wanted: Any, seen: float
) -> float:
    """How often verdicts that change places within samples lie as far off."""
    chance = numpy.random.default_rng(5)
    totals = numpy.zeros((DRAWS, len(names)))
    for sample, group in mine.groupby("sample_id"):
        slots = by_sample[sample]
        masses = [sum((s + 1 in v) / len(v) for v in group.value) for s in range(len(slots))]
        drawn = chance.permuted(numpy.tile(masses, (DRAWS, 1)), axis=1)
        for stage, slot in enumerate(slots):
            totals[:, names.index(slot)] += drawn[:, stage]
    far = ((totals - wanted) ** 2 / wanted).sum(1) >= seen - 1e-9
    return float((1 + far.sum()) / (DRAWS + 1))


def _adjustments(t: Tables) -> Found:
    """Holm's, of the p values that were exported."""
    exported_rows = t.frames["figures"]
    exported_rows = exported_rows[
        exported_rows.figure.str.endswith("_p_value")
        & ~exported_rows.figure.str.contains("adjusted")
    ]
    least, rows = 0.0, list(exported_rows.sort_values("value").itertuples())
    for place, row in enumerate(rows):
        least = max(least, min(1.0, (len(rows) - place) * row.value))
        name = row.figure.replace("_p_value", "_adjusted_p_value")
        found = (least, None, None, row.observations, row.clusters)
        yield ("display_bias", name, row.model_id, None, None), found


def _drift(t: Tables) -> Found:
    for model in t.models:
        decoded, answered = t.of(t.decoded, model), t.of(t.answered, model)
        decoded = decoded.assign(abstained=(decoded.value.map(len) == 0).astype(float))
        for name, frame, column, most in (
            ("expected_stage", answered, "stage", t.size - 1.0),
            ("abstain_rate", decoded, "abstained", 1.0),
        ):
            reach = frame[SAMPLE].max() - frame[SAMPLE].min()

            def change(kept: Any, column: str = column, reach: float = reach) -> float:
                if kept[SAMPLE].nunique() < 2:
                    return float("nan")
                return float(numpy.polyfit(kept[SAMPLE], kept[column], 1)[0] * reach)

            yield ("drift", name, model, None, None), clip(left_out(frame, change, "plain"), most)


def _accuracy(t: Tables) -> Found:
    for model in t.models:
        known = t.of(t.decoded, model).dropna(subset=["ground_truth_stage"])
        if not len(known):
            continue
        known = known.assign(right=right(known), said=known.value.map(len) > 0)
        answered = known[known.said]
        heard = answered.dropna(subset=["expert_agreement_prob"])
        accuracy = mean(answered, answered.right)
        chance = guessing(answered, t.size)
        commonest = known.ground_truth_stage.value_counts(normalize=True).max()
        found: dict[str, Row] = {
            "accuracy": accuracy,
            "corrected": _above_chance(answered, t.size),
            "kappa": left_out(answered, _kappa_with_truth, "below one"),
            "answered": mean(known, known.said),
            "right_of_all": mean(known, known.right),
            "discrimination": left_out(heard, _area, "share"),
            "chance": (chance, None, None, 0, 0),
            "commonest_truth": (commonest, None, None, 0, 0),
        }
        for name, row in found.items():
            yield ("accuracy", name, model, None, None), row
        yield from _curve(model, heard, len(known), t.size)


def guessing(answered: Any, size: int) -> float:
    """What guessing is right in: one stage named is right once in all, several never."""
    return float((answered.value.map(len) == 1).mean()) / size if len(answered) else 1 / size


def _above_chance(answered: Any, size: int) -> Row:
    hits, counts = cluster_sums(answered, answered.right)
    ones, _ = cluster_sums(answered, answered.value.map(len) == 1)
    return above_chance(hits, ones, counts, size)


def _kappa_with_truth(frame: Any) -> float:
    truths = [(int(stage),) for stage in frame.ground_truth_stage]
    return own.kappa(list(zip(frame.value, truths, strict=True)))


def _area(frame: Any) -> float:
    """How often a right verdict has the surer critic."""
    sure = frame.expert_agreement_prob
    hits, misses = (sure[frame.right == side].to_numpy() for side in (1, 0))
    if not len(hits) or not len(misses):
        return float("nan")
    return float(((hits[:, None] > misses) + (hits[:, None] == misses) / 2).mean())


def _curve(model: str, heard: Any, every: int, stages: int) -> Found:
    """The surest tenths, verdicts of one sureness kept together."""
    sure = numpy.sort(heard.expert_agreement_prob.to_numpy())[::-1]
    sizes = dict.fromkeys(
        int((sure >= sure[max(0, len(sure) * step // 10 - 1)]).sum()) for step in range(10, 0, -1)
    )
    for size in sizes:
        kept = heard[heard.expert_agreement_prob >= sure[size - 1]]
        share = f"{size / every:.4f}"
        yield ("accuracy", "of_kept", model, None, share), mean(kept, kept.right)
        chance = (guessing(kept, stages), None, None, 0, 0)
        yield ("accuracy", "chance_of_kept", model, None, share), chance


def _calibration(t: Tables) -> Found:
    for model in t.models:
        mine = t.of(t.answered, model).dropna(subset=["expert_agreement_prob"])
        mine = mine.assign(said=mine.expert_agreement_prob)
        known = mine.dropna(subset=["ground_truth_stage"])
        others = t.answered[t.answered.model_id != model].groupby(BUNDLE).value.agg(list)
        met = mine[mine[BUNDLE].isin(others.index)]
        same = [numpy.mean([v == said for v in others[bundle]])
                for said, bundle in zip(met.value, met[BUNDLE], strict=True)]  # fmt: skip
        for against, frame, true in (("truth", known, right(known)), ("others", met, same)):
            if len(frame):
                yield from _calibration_of(model, against, frame.assign(true=true))


def _calibration_of(model: str, against: str, frame: Any) -> Found:
    said, true = frame.said, frame.true
    found = {
        "said": mean(frame, said),
        "found": mean(frame, true),
        "excess": clip(mean(frame, said - true, None), 1),
        "brier": mean(frame, (said - true) ** 2),
        "correlation": left_out(frame, _said_and_true, "correlation"),
    }
    for name, row in found.items():
        yield ("calibration", f"{against}_{name}", model, None, None), row
    for place, inside in frame.groupby(numpy.minimum(9, (said * 10).astype(int))):
        key = f"{place / 10:.1f}-{(place + 1) / 10:.1f}"
        yield ("calibration", f"{against}_bin", model, None, key), mean(inside, inside.true)


def _said_and_true(frame: Any) -> float:
    return own.correlation(frame.said, frame.true)


def _rubrics(t: Tables) -> Found:
    rubrics = t.frames["rubrics"].dropna(subset=["observability_score"])
    for model in t.models:
        judged = rubrics[rubrics.model_id == model]
        if not len(judged):
            continue
        mine, answered = t.of(t.decoded, model), t.of(t.answered, model)
        rows = [_rubric(n, mine, answered) for n in judged[SAMPLE] if (mine[SAMPLE] == n).any()]
        points = pandas.DataFrame(rows).merge(judged, on=SAMPLE)
        for quality in ("observability", "discriminability"):
            said = judged[f"{quality}_score"]
            yield ("rubrics", quality, model, None, None), mean(judged, said)
            for outcome in ("agreement", "abstain_rate", "stage_error"):
                known = points.dropna(subset=[outcome])

                def relation(frame: Any, quality: str = quality, outcome: str = outcome) -> float:
                    return own.correlation(frame[f"{quality}_score"], frame[outcome])

                key: Key = ("rubrics", f"{quality}_and_{outcome}", model, None, None)
                yield key, left_out(known, relation, "correlation")


def _rubric(sample: int, mine: Any, answered: Any) -> dict[str, float]:
    """What became of the scores on one rubric."""
    here, elsewhere = answered[answered[SAMPLE] == sample], answered[answered[SAMPLE] != sample]
    said = elsewhere.groupby(BUNDLE).value.agg(list)
    same = [numpy.mean([v == value for v in said[bundle]])
            for value, bundle in zip(here.value, here[BUNDLE], strict=True)
            if bundle in said.index]  # fmt: skip
    off = (here.stage - here.ground_truth_stage).abs().dropna()
    return {
        SAMPLE: sample,
        "agreement": float(numpy.mean(same)) if same else numpy.nan,
        "abstain_rate": 1 - len(here) / (mine[SAMPLE] == sample).sum(),
        "stage_error": float(off.mean()) if len(off) else numpy.nan,
    }


def _evidence(t: Tables) -> Found:
    for bundle in t.frames["scores"][BUNDLE].unique():
        here = t.answered[t.answered[BUNDLE] == bundle]
        row = clip(left_out(here, own.division, "plain"), 1)
        yield ("evidence", "divided", None, None, bundle), row
        for model in t.models:
            mine = t.of(here, model)
            row = mean(mine, mine.stage, (1.0, float(t.size)))
            yield ("evidence", "expected_stage", model, None, bundle), row


def _refusals(t: Tables) -> Found:
    for table, prefix, stage, author in (
        ("rubrics", "", "rubric_gen", "model_id"),
        ("rubrics", "rubric_critic_", "rubric_critic", "rubric_critic_model_id"),
        ("scores", "", "score_gen", "model_id"),
        ("scores", "score_critic_", "score_critic", "score_critic_model_id"),
    ):
        rows = t.frames[table].dropna(subset=[author])
        for model, mine in rows.groupby(author):
            judged = mine[f"{prefix}attempt_count"]
            refused = judged - (mine[f"{prefix}parse_status"] == "parsed")
            sums = pandas.DataFrame({SAMPLE: mine[SAMPLE], "n": judged, "bad": refused})
            sums = sums.groupby(SAMPLE).sum()
            row = mean_of_sums(sums.bad.to_numpy(), sums.n.to_numpy())
            yield ("refusals", "rate", model, None, stage), row


def differences(exported: Any, found: Mapping[Key, Row]) -> Sequence[str]:
    """Where the table `figures` is not what was found; p values by how far chance may move them."""
    exported_rows = {
        tuple(None if pandas.isna(x) else str(x) for x in row[1:6]): row[6:]
        for row in exported.itertuples(index=False)
    }
    wrong = [f"only one has {key}" for key in sorted(exported_rows.keys() ^ found.keys(), key=str)]
    for key in exported_rows.keys() & found.keys():
        theirs, ours = exported_rows[key], found[key]  # type: ignore[index]
        drawn = str(key[1]).endswith("_p_value") and "adjusted" not in str(key[1])
        far = 0.09 if drawn else 1e-5
        if not all(_near(one, other, far) for one, other in zip(theirs, ours, strict=True)):
            wrong.append(f"{key}: {theirs} exported, {ours} found")
    return wrong


def _near(one: float, other: float | None, far: float) -> bool:
    if other is None or pandas.isna(one):
        return other is None and bool(pandas.isna(one))
    return abs(one - other) <= far * max(1.0, abs(other))
