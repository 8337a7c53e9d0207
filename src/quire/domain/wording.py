"""Wording: reasons in words, for screen, log and JSON alike; nothing decides by what it says."""

from collections import ChainMap
from collections.abc import Callable

from quire.domain.pricing import dollars, typed_dollars
from quire.domain.reasons import (
    EventKind,
    Fields,
    HoldCause,
    ResumeCause,
    StageWait,
    StopCause,
    WaitKind,
)


def wait_text(wait: StageWait | None) -> str:
    """What a stage waits for; empty where it waits for nothing."""
    match wait:
        case None:
            return ""
        case StageWait(WaitKind.UPSTREAM, stage):
            return f"waits for {stage}"
        case StageWait(WaitKind.STOP_AFTER, stage):
            return f"the run stops after {stage}"
        case _:
            return wait.problem


def event_text(kind: EventKind, fields: Fields) -> str:
    """What happened, as a run's history tells it."""
    words = _EVENT_TEXTS[kind]
    return words.format_map(fields) if isinstance(words, str) else words(fields)


def hold_text(cause: HoldCause, fields: Fields, resume: str = "") -> str:
    """What holds a run, and what helps; `run` is one of the fields.

    `resume` is how a run is told to go on, where that is no command.
    """
    words = _HOLD_TEXTS[cause]
    if fields.get("url_in_name"):
        words = _TEXTS_OF_URL_IN_NAME.get(cause, words)
    if not isinstance(words, str):
        return words(fields)
    command = f"`quire resume {fields['run']}`"
    again = resume or f"the same command, or {command}"
    made = {"resume": resume or command, "again": again, "share": _share(cause, fields)}
    made["mostly"] = _most_frequent(fields)
    made["amount"] = enough_money(fields)
    made["needs"] = needs_text(fields) if "missing" in fields else ""
    made["raised"] = (
        f"a budget of ${made['amount']} will do; then {resume}"
        if resume
        else f"`quire resume {fields['run']} --budget {made['amount']}`"
    )
    return words.format_map(ChainMap(made, fields))  # type: ignore[arg-type]  # it is only read


_SHARES = {  # which fields say how many, and of how many
    HoldCause.EARLY_FAILURES: ("failed", "tasks"),
    HoldCause.TASKS_FAILING: ("number", "of"),
    HoldCause.ANSWERS_FAILING: ("number", "of"),
    HoldCause.ANSWERS_ODD: ("odd", "last"),
}


def _most_frequent(fields: Fields) -> str:
    """Why most answers were refused, where that was looked up."""
    if "reason" not in fields:
        return ""
    return f", {fields['alike']} of {fields['refused']} because: {fields['reason']}"


def _share(cause: HoldCause, fields: Fields) -> str | int:
    """How many of some there are, or that it is all of them."""
    if cause not in _SHARES:
        return ""
    many, of = (fields[name] for name in _SHARES[cause])
    return "all" if many == of else many


def needs_text(fields: Fields) -> str:
    """What a run that is held for want of money needs."""
    tasks = int(fields["tasks"])
    return (
        f"{dollars(int(fields['missing']))} more for {tasks:,} task{'s' * (tasks != 1)}"
        " (before a call is sent, the most that it may cost is set aside)"
    )


def enough_money(fields: Fields) -> str:
    """What a budget is to be raised to, or paid into a wallet, in dollars as they are typed."""
    if "missing" not in fields:
        return "AMOUNT"
    return typed_dollars(int(fields["missing"]) + int(fields.get("budget", 0)))


def stop_text(stage: str) -> str:
    """Where a run stopped because it was told to."""
    return f"stopped after {stage}, as asked"


def _unreadable_text(fields: Fields) -> str:
    noun = "line" if fields["lines"] == 1 else "lines"
    return (
        f"batch {fields['batch']} has calls without a row,"
        f" and {fields['lines']} {noun} that nobody can read;"
        f" `quire batches show {fields['batch']} --lines` prints what is kept of them;"
        f" `quire retry {fields['run']}` asks, and pays, again"
    )


_GO_ON = " then {resume} goes on, and is held again only if that gets worse"
_REFUSED_TEXT = "{problem}; mend that; then {resume}"
_OTHER_URL = "; another URL in the model's name makes another run"
_TEXTS_OF_URL_IN_NAME = {  # it counts for more than base_url
    HoldCause.NOT_LISTENING: "{problem}; start the server, then {resume}" + _OTHER_URL,
    HoldCause.ADDRESS_WRONG: "{problem}; mend that, then {resume}" + _OTHER_URL,
    HoldCause.MODEL_UNKNOWN: (
        "{problem}; once the model is there: {resume}; another name or URL makes another run"
    ),
    HoldCause.FORM_REFUSED: (
        "{problem}; structured or max_output in its table under [models] of quire.toml says what"
        " it takes; then the same command; if only the server changed, {resume} will do"
    )
    + _OTHER_URL,
}
_HOLD_TEXTS: dict[HoldCause, str | Callable[[Fields], str]] = {
    HoldCause.PAUSED: "paused; {resume} goes on",
    HoldCause.STOP_AFTER: stop_text("{stage}") + "; {resume} goes on",
    HoldCause.EARLY_FAILURES: (
        "{share} of the first {tasks} tasks failed; see `quire failures {run}`,"
        " then {resume} to pay for the rest anyway"
    ),
    HoldCause.FIRST_CALLS_FAILED: (
        "none of the first {number} answers of {stage} was acceptable{mostly};"
        " `quire ledger {run}` lists them, then {resume} to pay for the rest anyway"
    ),
    HoldCause.TASKS_FAILING: (
        "{share} of the last {of} tasks of {stage} failed; see `quire failures {run}`," + _GO_ON
    ),
    HoldCause.ANSWERS_FAILING: (
        "{share} of the last {of} answers of {stage} were refused{mostly};"
        " `quire ledger {run}` lists them," + _GO_ON
    ),
    HoldCause.COST_OVER_FORECAST: (
        "the last answers of {stage} cost {percent} % of what was forecast of them;"
        " `quire ledger {run}` lists them," + _GO_ON
    ),
    HoldCause.EXACT_FAILURES: (
        "{failed} failed in {stage}, and the run is to be exact:"
        " `quire failures {run}`, then `quire retry {run}` or `quire waive TASK`"
    ),
    HoldCause.WALLET_EMPTY: (
        "wallet {wallet} needs {needs}; `quire wallet credit {wallet} {amount}`"
    ),
    HoldCause.BUDGET_SPENT: "its budget needs {needs}; {raised}",
    HoldCause.NO_KEY: "{problem}; then {again}",
    HoldCause.ADDRESS_INVALID: "{problem}; then {again}",
    HoldCause.KEY_NOT_SENT: (
        "{problem}; no key was sent: `quire keys add {provider}`, or set {variables}; then {resume}"
    ),
    HoldCause.CALL_REFUSED: _REFUSED_TEXT,
    HoldCause.PROVIDER_WAITS: (
        "{problem}; {model} is not to be asked before {until}: after that {resume} goes on"
    ),
    HoldCause.NOTHING_SUCCEEDED: (
        "nothing but errors came from {model} in {minutes} minutes and {calls} calls, and nothing"
        " ever before: {problem}; check its name and address, then {resume}"
    ),
    HoldCause.CALLS_REFUSED: (
        "{problem}; {provider} has refused every call so far, so no block was blamed: mend what it"
        " names, or ask another model; then {resume} goes on"
    ),
    HoldCause.ANSWERS_LOST: (
        "nothing has come from {model} since {since}, in {calls} calls, and each may be billed:"
        " {problem}; once it answers again, {resume} goes on, and no block was blamed"
    ),
    HoldCause.NOT_LISTENING: (
        "{problem}; start the server, or set base_url in [providers.{provider}] of quire.toml;"
        " then {resume}"
    ),
    HoldCause.ADDRESS_WRONG: (
        "{problem}; set base_url in [providers.{provider}] of quire.toml; then {resume}"
    ),
    HoldCause.MODEL_UNKNOWN: (
        "{problem}; `quire models` lists names; base_url in [providers.{provider}] of quire.toml"
        " says who is asked; once the model is there: {resume}"
    ),
    HoldCause.FORM_REFUSED: (
        "{problem}; structured or max_output in its table under [models] of quire.toml says what"
        " it takes, base_url in [providers.{provider}] who is asked; then the same command;"
        " if only the server changed, {resume} will do"
    ),
    HoldCause.BATCH_KEY_MISSING: "batch {batch}: {problem}; then {resume}",
    HoldCause.BATCH_UNREACHABLE: (
        "batch {batch}: {problem}; mend that, then {resume};"
        " if it is gone for good: `quire batches adopt {batch} --absent`"
    ),
    HoldCause.BATCH_REFUSED: (
        "the provider refused batch {batch}: {problem}; mend that, then"
        " {resume}, or `quire run` the same with --route direct"
    ),
    HoldCause.NO_BATCHES: (
        "there are no batches at this address ({problem}):"
        " `quire run` the same with --route direct, or mend the address, then {resume}"
    ),
    HoldCause.BATCH_UNKNOWN: (
        "nobody knows whether batch {batch} was made, and its provider has no way to look;"
        " look there, then `quire batches adopt {batch} --ref REF`,"
        " or `quire batches adopt {batch} --absent`"
    ),
    HoldCause.BATCH_FOREIGN: (
        "what was found as batch {batch} is another's: none of its {rows} rows is ours;"
        " `quire batches adopt {batch} --ref REF` names the right one,"
        " `quire batches adopt {batch} --absent` says that there is none"
    ),
    HoldCause.PLUGIN: "{problem}, start the workers again, then {resume}",
    HoldCause.ANSWERS_ODD: (
        "{share} of the last {last} answers were none, the last one: {problem};"
        " `quire events {run}` shows which; then {resume}"
    ),
    HoldCause.ANSWER_UNREADABLE: (
        "{problem}; the response is kept, and a newer Quire reads it when it starts;"
        " `quire retry {run}` asks, and pays, again"
    ),
    HoldCause.ERROR_UNREADABLE: _REFUSED_TEXT,
    HoldCause.LINES_UNREADABLE: _unreadable_text,
}


def _started_text(fields: Fields) -> str:
    sample = f", a sample of {fields['sample']}" if fields["sample"] else ""
    return f"{fields['recipe']} with {fields['model']}{sample}"


def _limit_text(fields: Fields) -> str:
    before, now = (
        f"the first {int(fields[name]):,}" if fields[name] else "all"
        for name in ("before", "limit")
    )
    return f"from {before} to {now}"


def _retried_text(fields: Fields) -> str:
    words = "stale tasks are asked again" if fields["stale"] else "tasks go again"
    return f"{fields['tasks']} {words}"


def _regated_text(fields: Fields) -> str:
    counts = ", ".join(f"{count} {kind}" for kind, count in fields.items() if kind != "stage")
    return f"{fields['stage']}: {counts}"


def _deadline_text(fields: Fields) -> str:
    """What a deadline changes: how many calls go direct, how many batches are late."""
    calls, late = fields["calls"], fields["late"]
    if not calls:
        return "the deadline passed: what is still to be asked goes direct"
    going = f"{calls:,} {'call goes' if calls == 1 else 'calls go'} direct now"
    if not late:
        return f"the deadline passed: {going}"
    out = "1 batch is" if late == 1 else f"{late:,} batches are"
    end = f"{'it is' if late == 1 else 'they are'} asked to end when all is answered"
    return f"the deadline passed: {going}; {out} still out, and {end}"


def _ended_text(fields: Fields) -> str:
    problem = f": {fields['problem']}" if fields["problem"] else ""
    return f"batch {fields['batch']} {fields['end']}{problem}"


def _cancel_text(fields: Fields) -> str:
    if "batch" in fields:
        return f"batch {fields['batch']}, by hand"
    count = fields["batches"]
    batches = "1 batch" if count == 1 else f"{count:,} batches"
    return f"{batches}, which nobody waits for"


def way_text(part: str, way: str) -> str:
    """How a model is asked in the place of the usual way, from now on."""
    words = _WAY_TEXTS.get((part, way)) or _WAY_TEXTS.get((part, ""), "{part}: {way}")
    return words.format(part=part, way=way)


_WAY_TEXTS = {
    ("structured", "json"): "it is asked for some JSON, whose form the prompt says in words",
    ("structured", "text"): "the form of its answers is asked for in words alone",
    ("system", "system"): "instructions go as the system's, not the developer's",
    ("system", "user"): "instructions go at the head of the user's message",
    ("limit", "none"): "the longest answer is not said",
    ("limit", ""): "the longest answer is said as {way}",
    ("max_output", ""): "its answers are at most {way} tokens long",
    ("stream", "counted"): "its answers come as streams",
    ("stream", "plain"): "its answers come as streams, which need not say what was used",
    **{(name, "none"): name + " is left out" for name in ("temperature", "top_p", "seed")},
}


def _fallback_text(fields: Fields) -> str:
    where = f" at {fields['address']}" if fields["address"] else ""
    way = way_text(str(fields["part"]), str(fields["way"]))
    return f"{fields['model']}{where}: from now on {way}; it said: {fields['problem']}"


_RESUME_TEXTS = {
    ResumeCause.BY_HAND: "by hand",
    ResumeCause.NONE_FAILED: "no failed task is left",
    ResumeCause.ALL_WAIVED: "every failed task is waived",
    ResumeCause.SAME_ORDER: "the same order was given again",
    ResumeCause.RETRIED: "what held it is asked again",
    ResumeCause.BATCH_SETTLED: "it is known what became of the batch",
    ResumeCause.DECODED: "what could not be read was read after all",
    ResumeCause.FUNDED: "there is money for it again",
}
_STOP_TEXTS = {
    StopCause.INTERRUPT: "by Ctrl-C",
    StopCause.TERMINATE: "by a signal to end (SIGTERM)",
    StopCause.HANGUP: "by the end of its terminal (SIGHUP)",
    StopCause.PROGRAM: "by the program that it ran in",
    StopCause.ERROR: "by an error",
}


def _stopped_text(fields: Fields) -> str:
    return f"{_STOP_TEXTS[StopCause(str(fields['cause']))]}; {cut_off_text(fields)}"


def cut_off_text(fields: Fields) -> str:
    """What became of the `calls` that were in flight when their worker ended."""
    calls, presumed = int(fields["calls"]), dollars(int(fields["presumed"]))
    if not calls:
        return "no call was cut off"
    many = "1 call in flight was" if calls == 1 else f"{calls:,} calls in flight were"
    return f"{many} cut off; up to {presumed} may be billed for that"


_CALLS_TEXT = "batch {batch}: {calls} calls"
_DECISION_TEXT = "task {task} of {stage}, by {who}"
_ENDED_RUN_TEXT = "{done} done, {failed} failed"
_EVENT_TEXTS: dict[EventKind, str | Callable[[Fields], str]] = {
    EventKind.RUN_STARTED: _started_text,
    EventKind.RUN_FINISHED: _ENDED_RUN_TEXT,
    EventKind.RUN_CANCELLED: _ENDED_RUN_TEXT,
    EventKind.LIMIT_CHANGED: _limit_text,
    EventKind.PROGRESS: "{ended} of {tasks} tasks have ended: {done} done, {failed} failed",
    EventKind.REUSED: "results of {tasks} tasks come from run {run}",
    EventKind.STAGE_STARTED: "{stage}",
    EventKind.HELD: lambda fields: hold_text(HoldCause(str(fields["cause"])), fields),
    EventKind.PAUSED: "by hand",
    EventKind.RESUMED: lambda fields: _RESUME_TEXTS[ResumeCause(str(fields["cause"]))],
    EventKind.STOPPED: _stopped_text,
    EventKind.WORKER_LOST: lambda fields: (
        f"its worker is gone without a word, killed perhaps; {cut_off_text(fields)}"
    ),
    EventKind.WENT_ON: "a new worker goes on with it",
    EventKind.CANCEL_ASKED: "by hand",
    EventKind.STOP_AFTER_ASKED: lambda fields: (
        f"after {fields['stage']}" if fields["stage"] else "no longer"
    ),
    EventKind.RETRIED: _retried_text,
    EventKind.RERUN: "from {stage}: {tasks} tasks are asked again",
    EventKind.REGATED: _regated_text,
    EventKind.WAIVED: "the run goes on without {tasks}",
    EventKind.APPROVED: _DECISION_TEXT,
    EventKind.EDITED: _DECISION_TEXT,
    EventKind.REJECTED: _DECISION_TEXT,
    EventKind.UNDONE: _DECISION_TEXT,
    EventKind.KEY_REFUSED: "{credential}: {problem}",
    EventKind.ANSWER_ODD: "request {request}: {problem}",
    EventKind.USAGE_ESTIMATED: (
        "{model} does not say what calls used: tokens are estimated, and their cost is presumed"
    ),
    EventKind.EMBEDDER_FAILED: (
        "{model} gives no embeddings: {problem}; passages are ranked by shared words instead"
    ),
    EventKind.FELL_BACK: _fallback_text,
    EventKind.PROVIDER_WAITS: "{model} is not asked before {until}: {problem}",
    EventKind.DEADLINE_PASSED: _deadline_text,
    EventKind.BATCH_SUBMITTED: _CALLS_TEXT,
    EventKind.BATCH_UNKNOWN: "batch {batch}: {problem}",
    EventKind.BATCH_ABSENT: "batch {batch} was never made",
    EventKind.BATCH_MADE_TWICE: (
        "batch {batch} was made a second time, as {ref}; that one is cancelled"
    ),
    EventKind.BATCH_ENDED: _ended_text,
    EventKind.BATCH_COLLECTED: _CALLS_TEXT,
    EventKind.BATCH_UNANSWERED: "batch {batch}: none of its {calls} calls was answered: {problem}",
    EventKind.BATCH_ABANDONED: "batch {batch}: {problem}",
    EventKind.BATCH_CANCEL_ASKED: _cancel_text,
    EventKind.OVERDRAWN: lambda fields: f"by {dollars(int(fields['amount']))}, which is paid",
    EventKind.RECOUNTED: "the tallies were corrected: {differences}",
    EventKind.EXAMINED: "taken back at once",
}
