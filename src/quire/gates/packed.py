"""The JSON gate of packed answers: one response becomes one verdict for each task asked about."""

from collections.abc import Sequence

from quire.domain.data import named
from quire.domain.requests import Stop
from quire.domain.results import Blame, Judged, Judgement, Verdict
from quire.gates.mapping import map_records
from quire.gates.parsing import parse_records, parse_strictly
from quire.gates.records import flaw_of
from quire.gates.refusals import CUT_OFF, EMPTY, refusal_reason
from quire.gates.shape import Shape

GATE_VERSION = "json/2"  # raised when the same response would be judged differently
_SKIPPED = "model skipped this block"


def judge_pack(
    text: str, stop: Stop, expected: Sequence[str], shape: Shape, nested: bool = False
) -> Judged:
    """Judge a response; why the model stopped is read before what it wrote."""
    if stop is Stop.END and not nested and (usual := _usual(text, expected, shape)):
        return usual
    truncated = stop is Stop.LENGTH
    if stop is Stop.REFUSAL:
        return _nobody(expected, refusal_reason(text))
    if not text.strip():
        return _nobody(expected, CUT_OFF if truncated else EMPTY, truncated=truncated)
    parsed = parse_records(text)
    if not parsed.records and not parsed.complete:
        return _nobody(expected, CUT_OFF if truncated else parsed.problem, truncated=truncated)
    mapped = map_records(parsed.records, expected, nested=nested, unwrap="data" not in shape.fields)
    verdicts: dict[str, Verdict] = {}
    for uid in expected:
        data = mapped.fields.get(uid)
        if data is None:
            missing = CUT_OFF if truncated else parsed.problem or _SKIPPED
            verdicts[uid] = mapped.refused.get(uid) or _lost(missing)
            continue
        data = shape.pruned(data)
        problems = shape.problems(data)
        verdicts[uid] = (
            Verdict(Judgement.RETRY, None, problems)
            if problems
            else Verdict(Judgement.ACCEPT, data)
        )
    return Judged(verdicts, mapped.strangers, mapped.duplicates, truncated)


def _usual(text: str, expected: Sequence[str], shape: Shape) -> Judged | None:
    """Judge the answer that nearly always comes, fast; None leaves any other to the careful way."""
    items = parse_strictly(text, len(expected))
    if not items:
        return None
    wrapped = "data" not in shape.fields  # then `data` is not a field but a wrapping
    for uid, item in zip(expected, items, strict=True):
        if type(item) is not dict or item.pop("block_uid", None) != uid:
            return None
        if (wrapped and "data" in item) or flaw_of(item) or not shape.fits(item):
            return None
    accepted = named(Verdict, [(Judgement.ACCEPT, item, (), Blame.TASK) for item in items])
    return Judged(dict(zip(expected, accepted, strict=True)), 0, 0, False, True)


def _nobody(expected: Sequence[str], reason: str, *, truncated: bool = False) -> Judged:
    return Judged(verdicts=dict.fromkeys(expected, _lost(reason)), truncated=truncated)


def _lost(reason: str) -> Verdict:
    return Verdict(Judgement.RETRY, None, (reason,), Blame.PACK)
