"""The accuracy page: how right runs are, in one self-contained HTML page with its plots."""

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from quire.domain.data import Json
from quire.domain.quantities import quantity
from quire.export.html_page import Tile, render_head, render_page, render_table, render_tiles
from quire.planning.accuracy import FieldAccuracy, RunAccuracy, RunDifference, label_of
from quire.planning.critic_agreement import JudgeAgreement, measure_agreement
from quire.planning.distributions import ValueCount, count_values
from quire.planning.share_estimates import ShareEstimate

MOST_CASES = 25
LONGEST_TEXT, LONGEST_VALUE = 1200, 300  # characters of a block, and of a value


def render_accuracy(
    runs: Sequence[RunAccuracy], differences: Sequence[RunDifference], gold: str, updated: str
) -> str:
    """Write the page; nothing in it is fetched from anywhere."""
    body = [_render_head(runs, gold), _render_overview(runs)]
    for run in runs:
        body += [_render_fields(run), *_render_cards(run)]
    body += [_render_difference(difference) for difference in differences]
    body += [_render_cases(run) for run in runs if run.cases]
    return render_page("Accuracy", body, f"held against {gold} · {updated}")


def _render_head(runs: Sequence[RunAccuracy], gold: str) -> str:
    rows = max(run.rows for run in runs)
    fields = ", ".join(field.name for field in runs[0].fields)
    return render_head(
        "Accuracy", f"held against {gold}", [quantity(rows, "row"), f"fields: {fields}"]
    )


def _render_overview(runs: Sequence[RunAccuracy]) -> str:
    return render_tiles(
        Tile(
            f"{run.label}: all fields right",
            f"{run.whole.share:.1%}",
            f"{interval(run.whole)} · {run.whole.hits:,} of {run.rows:,}"
            f" · {run.rows - run.answered:,} without an answer",
        )
        for run in runs
    )


def interval(found: ShareEstimate) -> str:
    """The interval of a share, in percent."""
    return f"{100 * found.low:.1f} – {100 * found.high:.1f} %" if found.of else "no rows"


def _cell(found: ShareEstimate) -> str:
    if not found.of:
        return "–"
    return f"{found.share:.1%}<small>{interval(found)}</small><small>of {found.of:,}</small>"


def _render_fields(run: RunAccuracy) -> str:
    return render_table(
        f"Fields of {run.label}",
        "95 % intervals below each figure: Wilson's, and for lists as far as their elements are"
        " independent. A row without an answer is wrong.",
        ("Field", "Compared", "Accuracy", "Precision", "Recall", "F1"),
        [
            [
                escape(field.name),
                escape(str(field.rule)),
                _cell(field.accuracy),
                _cell(field.precision),
                _cell(field.recall),
                f"{field.f1:.3f}",
            ]
            for field in run.fields
        ]
        + [["all fields", "", _cell(run.whole), "", "", ""]],
    )


def _render_cards(run: RunAccuracy) -> Iterator[str]:
    """Confusion, distributions and judges of one run, side by side."""
    cards = [_render_confusion(field) for field in run.fields if field.confusion]
    for field in run.fields:
        answers = [pair.answer.get(field.name) for pair in run.pairs if pair.answer is not None]
        gold = [pair.gold.get(field.name) for pair in run.pairs]
        cards.append(_render_distribution(field.name, count_values(answers, gold)))
    cards += [_render_judge(judge) for judge in measure_agreement(run)]
    yield f"<section class='grid'>{''.join(cards)}</section>"


def _figure(title: str, content: str, note: str) -> str:
    return (
        f"<figure class='card' role='img' aria-label='{escape(title, quote=True)}'>"
        f"<h2>{escape(title)}</h2>{content}<figcaption>{escape(note)}</figcaption></figure>"
    )


def _render_confusion(field: FieldAccuracy) -> str:
    """Gold down, answers across; the darker a cell, the larger its share of its row."""
    answers = list(dict.fromkeys(said for _, said in sorted(field.confusion)))
    labels = list(dict.fromkeys([*(meant for meant, _ in sorted(field.confusion))]))
    columns = [*labels, *(label for label in answers if label not in labels)]
    head = "".join(f"<th>{escape(_clip(name))}</th>" for name in columns)
    lines = []
    for meant in labels:
        counts = [field.confusion.get((meant, said), 0) for said in columns]
        total = sum(counts)
        cells = "".join(
            _confusion_cell(count, total, is_right=said == meant)
            for said, count in zip(columns, counts, strict=True)
        )
        lines.append(f"<tr><th>{escape(_clip(meant))}</th>{cells}</tr>")
    table = (
        f"<div class='scroll'><table class='matrix'><thead><tr><th>gold ↓ answer →</th>{head}</tr>"
        f"</thead><tbody>{''.join(lines)}</tbody></table></div>"
    )
    return _figure(f"Confusion: {field.name}", table, "Rows are gold, columns what was answered.")


def _confusion_cell(count: int, total: int, *, is_right: bool) -> str:
    colour = "var(--accent)" if is_right else "#d0582f"
    share = count / total if total else 0
    style = f"background: color-mix(in srgb, {colour} {70 * share:.0f}%, transparent)"
    return f"<td style='{style}'>{count or ''}</td>"


def _render_distribution(name: str, counts: Sequence[ValueCount]) -> str:
    """A pair of bars for each value: answers above, gold below."""
    most = max((max(bar.answers, bar.gold) for bar in counts), default=0) or 1
    height, width, left = 34, 520, 170
    parts = []
    for no, bar in enumerate(counts):
        top = no * height
        parts.append(
            f"<text x='{left - 8}' y='{top + 20}' text-anchor='end' font-size='12'"
            f" fill='currentColor'>{escape(_clip(bar.label, 22))}</text>"
            + _bar(left, top + 5, bar.answers, most, "var(--accent)")
            + _bar(left, top + 18, bar.gold, most, "var(--muted)")
        )
    drawn = f"<svg viewBox='0 0 {width} {max(1, len(counts)) * height}'>{''.join(parts)}</svg>"
    return _figure(f"Values: {name}", drawn, "Above what was answered, below gold.")


def _bar(left: int, top: int, count: int, most: int, colour: str) -> str:
    width = 290 * count / most
    return (
        f"<rect x='{left}' y='{top}' width='{width:.1f}' height='11' rx='2' fill='{colour}'/>"
        f"<text x='{left + width + 6:.1f}' y='{top + 10}' font-size='11'"
        f" fill='currentColor'>{count:,}</text>"
    )


def _render_judge(judge: JudgeAgreement) -> str:
    title = f"Judged by {judge.judge}"
    if judge.discrimination is not None:
        note = "How often a right row has a higher score than a wrong one; by chance 50 %."
        return _figure(title, f"<p><strong>{judge.discrimination:.0%}</strong></p>", note)
    words = list(dict.fromkeys(word for word, _ in sorted(judge.counts)))
    lines = "".join(
        f"<tr><th>{escape(_clip(word))}</th><td>{judge.counts.get((word, True), 0):,}</td>"
        f"<td>{judge.counts.get((word, False), 0):,}</td></tr>"
        for word in words
    )
    table = (
        "<table class='matrix'><thead><tr><th>said</th><th>row right</th><th>row wrong</th></tr>"
        f"</thead><tbody>{lines}</tbody></table>"
    )
    agreed = judge.agreement
    note = f"Agrees with gold in {agreed.share:.1%} ({interval(agreed)})." if agreed else ""
    return _figure(title, table, note)


def _render_difference(found: RunDifference) -> str:
    return render_table(
        f"{found.second} beside {found.first}",
        f"On {quantity(found.rows, 'row')} that both have. Difference: Newcombe's interval for"
        " pairs; p: McNemar's test, adjusted for all fields by Holm's.",
        ("Field", found.first, found.second, "Difference", "p", "p, adjusted"),
        [
            [
                escape(field.field or "all fields"),
                _cell(field.first),
                _cell(field.second),
                f"{100 * field.excess.share:+.1f} points"
                f"<small>{100 * field.excess.low:+.1f} to {100 * field.excess.high:+.1f}</small>",
                f"{field.p_value:.3g}",
                f"{field.adjusted_p_value:.3g}",
            ]
            for field in found.fields
        ],
    )


def _render_cases(run: RunAccuracy) -> str:
    shown = run.cases[:MOST_CASES]
    more = f" The first {MOST_CASES} of {len(run.cases):,}." if len(run.cases) > len(shown) else ""
    items = "".join(
        f"<details class='case'><summary><strong>{escape(case.pair.name)}</strong>"
        f" <small>task {case.pair.task_id} · {len(case.wrong)} wrong"
        f"{_reason(case.pair.status, case.pair.error)}</small></summary>"
        f"<table class='matrix'><thead><tr><th>field</th><th>answer</th><th>gold</th></tr></thead>"
        f"<tbody>{_wrong_rows((item.field, item.answer, item.gold) for item in case.wrong)}"
        f"</tbody></table><pre>{escape(_clip(case.pair.text, LONGEST_TEXT))}</pre></details>"
        for case in shown
    )
    return (
        f"<section class='card wide'><h2>Worst cases of {escape(run.label)}</h2>"
        f"<p>The most wrong first.{more}</p>{items}</section>"
    )


def _reason(status: str, error: str) -> str:
    return f" · {escape(status)}: {escape(_clip(error, LONGEST_VALUE))}" if error else ""


def _wrong_rows(wrong: Iterable[tuple[str, Json, Json]]) -> str:
    return "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(_clip(label_of(answer), LONGEST_VALUE))}</td>"
        f"<td>{escape(_clip(label_of(gold), LONGEST_VALUE))}</td></tr>"
        for name, answer, gold in wrong
    )


def _clip(text: str, longest: int = 30) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
