"""The review screen: one item at a time in a terminal, decided by single keys."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from quire.cli.key_reader import clear_screen, read_key, read_line
from quire.cli.printing import clip, say
from quire.domain.data import Json, json_or_text, plain_json
from quire.domain.errors import IllegalMove, UsageError
from quire.domain.ids import RunId
from quire.domain.pricing import dollars
from quire.domain.reviews import (
    FieldView,
    InboxFilter,
    RejectCost,
    ReviewItem,
    SourceText,
)

if TYPE_CHECKING:
    from quire.engine import Engine

KEYS = (
    ("j", "next item"),
    ("k", "previous item"),
    ("a", "approve"),
    ("e", "edit: every field, Enter keeps what is there, a lone dot leaves"),
    ("r", "reject with a note: it is asked again"),
    ("u", "undo the last decision"),
    ("s", "skip: give it back to others"),
    ("f", "filter"),
    ("?", "these keys"),
    ("q", "quit; what you held goes back"),
)
KEY_LINE = "a approve  e edit  r reject  s skip  u undo  k j up, down  f filter  ? keys  q quit"
SHOWN_TEXT = 1_500  # characters of a block
BESIDE = 200  # of its neighbours
PAGE = 50


class ReviewScreen:
    """What one reviewer sees and does, until they leave."""

    def __init__(self, engine: "Engine", run: int, who: str, chosen: InboxFilter) -> None:
        """Begin with the most pressing item that nobody holds."""
        self._review, self._run, self._who = engine.review, run, who
        self._simulated = engine.queries.head(RunId(run)).is_simulated
        self._chosen = chosen
        self._tasks: list[int] = []
        self._next: str | None = ""
        self._place = 0
        self._decided: list[int] = []  # tasks, the last one last
        self._rejected: set[int] = set()  # of these
        self._refused: dict[int, dict[str, Json]] = {}  # edits that the gates did not take
        self._said = ""

    def show(self) -> int:
        """Go on until somebody leaves, or nothing is left; returns how many were decided."""
        try:
            while (item := self._open_item()) is not None:
                self._print(item)
                try:
                    if not self._press(read_key(), item):
                        break
                except UsageError as error:  # what cannot be done is told, and the item stays
                    self._said = str(error)
        except EOFError:
            pass
        finally:
            self._review.give_back(self._who)
        return len(self._decided)

    @property
    def to_ask_again(self) -> int:
        """How many results were rejected here, and are to be asked again."""
        return len(self._rejected)

    def _open_item(self) -> ReviewItem | None:
        """The item at the place, held by this reviewer; what others hold is passed by."""
        while True:
            while self._place >= len(self._tasks) and self._next is not None:
                page = self._review.inbox(
                    self._run, self._chosen, after=self._next or None, limit=PAGE
                )
                self._tasks += [
                    line.task_id
                    for line in page.lines
                    if line.held_by in (None, self._who) and line.task_id not in self._tasks
                ]
                self._next = page.next
            if not self._tasks:
                return None
            self._place = min(self._place, len(self._tasks) - 1)
            task = self._tasks[self._place]
            try:
                self._review.hold(task, self._who)
            except IllegalMove:
                del self._tasks[self._place]
                continue
            return self._review.item(task)

    def _press(self, key: str, item: ReviewItem) -> bool:
        """Do what a key means; false leaves."""
        self._said = ""
        acts: dict[str, Callable[[ReviewItem], None]] = {
            "j": lambda _: self._step(1),
            "k": lambda _: self._step(-1),
            "a": self._approve,
            "e": self._edit,
            "r": self._reject,
            "u": self._undo,
            "s": self._skip,
            "f": lambda _: self._filter(),
            "/": lambda _: self._filter(),  # as in many programs of a terminal
        }
        if key in acts:
            acts[key](item)
        elif key != "q":
            self._said = "\n".join(f"{name}  {does}" for name, does in KEYS)
        return key != "q"

    def _step(self, places: int) -> None:
        self._place = max(0, self._place + places)

    def _approve(self, item: ReviewItem) -> None:
        self._review.approve(item.task_id, self._who, seen=item.result_id)
        self._leave_item(item, "approved")

    def _skip(self, item: ReviewItem) -> None:
        self._review.give_back(self._who, [item.task_id])
        del self._tasks[self._place]

    def _leave_item(self, item: ReviewItem, said: str) -> None:
        self._decided.append(item.task_id)
        del self._tasks[self._place]
        self._said = f"task {item.task_id} is {said}"

    def _edit(self, item: ReviewItem) -> None:
        standing: dict[str, Json] = dict(item.data) if isinstance(item.data, dict) else {}
        data = standing | self._refused.pop(item.task_id, {})
        for view in item.fields:
            there = data.get(view.name, view.value)
            typed = read_line(f"{view.name} [{clip(_words(there), 60)}]: ")
            if typed == ".":
                return
            if typed:
                data[view.name] = _typed_value(view, typed)
        try:
            self._review.edit(item.task_id, data, self._who, seen=item.result_id)
        except UsageError as error:
            self._refused[item.task_id] = data
            self._said = f"{error}\n`e` goes on with what you typed"
        else:
            self._leave_item(item, "edited")

    def _reject(self, item: ReviewItem) -> None:
        cost = cost_text(item.reject_cost, simulated=self._simulated)
        note = read_line(f"what is wrong? (asked again, {cost}; empty leaves): ")
        if note.strip():
            self._review.reject(item.task_id, note, self._who, seen=item.result_id)
            self._leave_item(item, "rejected and asked again")
            self._rejected.add(item.task_id)

    def _undo(self, item: ReviewItem) -> None:
        task = self._decided[-1] if self._decided else item.task_id
        self._review.undo(task, self._who)
        self._rejected.discard(task)
        if self._decided:
            self._decided.pop()
        if task not in self._tasks:
            self._tasks.insert(self._place, task)
        self._place = self._tasks.index(task)
        self._said = f"the last decision about task {task} is undone"

    def _filter(self) -> None:
        typed = read_line(f"filter [{self._chosen.as_text() or 'none'}]: ")
        self._chosen = InboxFilter.parse(typed)
        self._tasks, self._next, self._place = [], "", 0

    def _print(self, item: ReviewItem) -> None:
        clear_screen()
        counts = self._review.counts(self._run, self._chosen.stage)
        more = "+" if counts.capped else ""
        chosen = self._chosen.as_text()
        say(
            f"run {self._run} · {item.stage} · {counts.left:,}{more} left · as {self._who}"
            + (f" · {chosen}" if chosen else "")
        )
        say()
        print_item(item)
        if self._said:
            say(f"\n{self._said}")
        say(f"\n{KEY_LINE}")


def print_item(item: ReviewItem) -> None:
    """One item: why it is here, its source, its fields, and what was said of it."""
    reasons = ", ".join(item.reasons) or "nothing in particular"
    say(f"task {item.task_id} · {reasons} · {item.review_state or item.state} · {item.model}")
    print_source(item.source)
    for text in item.inputs:
        say(f"from {text.stage}: {clip(text.text, SHOWN_TEXT)}")
    say()
    for view in item.fields:
        say(f"  {view.name}: {_words(view.value)}")
    for word in item.critics:
        score = "" if word.score is None else f" ({word.score:.2f})"
        objects = " objects" if word.objects else ""
        say(f"  critic {word.stage}{objects}{score}: {clip(word.text, 300)}")
    for note in item.notes:
        say(f"  noted: {note}")
    for decision in item.decisions[:3]:
        why = f": {clip(decision.note, 80)}" if decision.note else ""
        say(f"  earlier: {decision.move} by {decision.who}, {decision.at:%Y-%m-%d %H:%M}{why}")


def print_source(source: SourceText | None) -> None:
    """The block in its document, with its heading path and its neighbours."""
    if source is None:
        return
    say(" › ".join([source.title, *source.headings]))
    for block in source.before[-1:]:
        say(f"  {clip(block.content, BESIDE)}")
    for line in source.content[:SHOWN_TEXT].splitlines() or [""]:
        say(f"▌ {line}")
    for block in source.after[:1]:
        say(f"  {clip(block.content, BESIDE)}")


def cost_text(cost: RejectCost, *, simulated: bool) -> str:
    """What a rejection costs, in words."""
    if cost.cost_pico is None:
        return "cost unknown"
    return f"about {dollars(cost.cost_pico)}{' simulated' * simulated}"


def _words(value: Json) -> str:
    return value if isinstance(value, str) else plain_json(value)


def _typed_value(view: FieldView, typed: str) -> Json:
    """What somebody typed, as the field's type has it."""
    if view.nullable and typed == "null":
        return None
    return typed if view.type == "string" else json_or_text(typed)
