"""Accuracy as JSON: every figure of runs that were held against gold, with its n and interval."""

from collections.abc import Sequence

from quire.planning.accuracy import FieldAccuracy, RunAccuracy, RunDifference
from quire.planning.critic_agreement import JudgeAgreement, measure_agreement
from quire.planning.share_estimates import ShareEstimate


def accuracy_as_json(
    runs: Sequence[RunAccuracy], differences: Sequence[RunDifference]
) -> dict[str, object]:
    """Runs, one by one and beside each other."""
    return {
        "runs": [_run_json(run) for run in runs],
        "differences": [
            {
                "first": found.first,
                "second": found.second,
                "rows": found.rows,
                "fields": [
                    {
                        "field": field.field or None,
                        "first": share_as_json(field.first),
                        "second": share_as_json(field.second),
                        "difference": field.excess._asdict(),
                        "p_value": field.p_value,
                        "adjusted_p_value": field.adjusted_p_value,
                    }
                    for field in found.fields
                ],
            }
            for found in differences
        ],
    }


def share_as_json(found: ShareEstimate) -> dict[str, object]:
    """A share with its n and its interval; null where there is nothing to take it of."""
    share = found.share if found.of else None
    return {
        "share": share,
        "hits": found.hits,
        "of": found.of,
        "low": found.low,
        "high": found.high,
    }


def _run_json(run: RunAccuracy) -> dict[str, object]:
    return {
        "run": run.label,
        "rows": run.rows,
        "answered": run.answered,
        "all_fields": share_as_json(run.whole),
        "fields": [_field_json(field) for field in run.fields],
        "judges": [_judge_json(judge) for judge in measure_agreement(run)],
        "wrong": [
            {
                "key": case.pair.name,
                "task_id": case.pair.task_id,
                "status": case.pair.status,
                "fields": {
                    item.field: {"answer": item.answer, "gold": item.gold} for item in case.wrong
                },
            }
            for case in run.cases
        ],
    }


def _field_json(field: FieldAccuracy) -> dict[str, object]:
    return {
        "field": field.name,
        "match": str(field.rule),
        "accuracy": share_as_json(field.accuracy),
        "precision": share_as_json(field.precision),
        "recall": share_as_json(field.recall),
        "f1": field.f1,
        "confusion": [
            {"gold": meant, "answer": said, "rows": count}
            for (meant, said), count in sorted(field.confusion.items())
        ],
    }


def _judge_json(judge: JudgeAgreement) -> dict[str, object]:
    return {
        "judge": judge.judge,
        "said": [
            {"word": word, "row_right": is_right, "rows": count}
            for (word, is_right), count in sorted(judge.counts.items())
        ],
        "agreement": share_as_json(judge.agreement) if judge.agreement else None,
        "discrimination": judge.discrimination,
    }
