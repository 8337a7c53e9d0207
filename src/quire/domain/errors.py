"""Everything that can go wrong, by who has to act.

Error
├── UsageError            the caller: exit 2
│   ├── NotFound
│   │   └── PluginMissing   a run names what is not installed here
│   ├── PluginFailed      a package's own code broke, or gave what cannot be used
│   ├── SettingsInvalid
│   │   └── AddressInvalid
│   ├── SchemaInvalid     carries every mistake at once
│   ├── EditInvalid       the same of a result that a person changed
│   ├── RecipeInvalid     carries every mistake at once, each with its line
│   ├── TemplateInvalid   cannot be used at all
│   ├── TemplateFailed    cannot be filled in with what there is
│   │   └── PromptTooLong   unless there were less of it
│   ├── SourceUnreadable
│   ├── UnknownModel
│   ├── IllegalMove
│   ├── CostAboveLimit    nothing was started
│   └── Conflict
├── ProviderError         the dispatcher: carries a remedy
│   └── Undecodable       the response is kept, and read again by a mended decoder
├── OutOfFunds            the owner: a hold says what is missing
├── HeldError             the owner: the run waits for what its holds name (domain/runs.py)
└── LedgerError           the operator: exit 3
    ├── LedgerUnavailable   may pass by itself: wait and try again
    │   └── LedgerBusy      somebody else writes just now
    └── NewerLedger
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from quire.domain.fallbacks import PartRefusal


class Error(Exception):
    """Quire could not go on."""

    def __init__(self, message: str = "", fix: str = "") -> None:
        """Say what happened, then what to do; the class docstring is the default."""
        self.message = message or (type(self).__doc__ or "").strip()
        self.fix = fix
        super().__init__(with_fix(self.message, fix))

    @property
    def headline(self) -> str:
        """The first of its lines."""
        return str(self).splitlines()[0]


def with_fix(message: str, fix: str) -> str:
    """What happened, and what to do about it, in one text."""
    return f"{message}; {fix}" if fix else message


class UsageError(Error):
    """The call cannot be carried out as it was given."""


class NotFound(UsageError):
    """There is nothing by that name."""


class PluginMissing(NotFound):
    """The package that brought it is not installed here."""


class PluginFailed(UsageError):
    """A package's own code broke, or gave what cannot be used."""


class SettingsMistake(NamedTuple):
    """One thing wrong with the settings."""

    message: str
    fix: str = ""
    models: tuple[str, ...] = ()  # whose tables cannot be used for it

    def __str__(self) -> str:
        """Show as one line."""
        return with_fix(self.message, self.fix)


class SettingsInvalid(UsageError):
    """A setting has a value that cannot be used."""

    def __init__(self, *mistakes: SettingsMistake | str, fix: str = "") -> None:
        """Keep every mistake, so that one pass over the file mends them all."""
        self.mistakes = tuple(
            SettingsMistake(mistake, fix) if isinstance(mistake, str) else mistake
            for mistake in mistakes
        )
        super().__init__(self.mistakes[0].message, self.mistakes[0].fix)
        self.args = ("\n".join(map(str, self.mistakes)),)


class AddressInvalid(SettingsInvalid):
    """A setting names no address."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """One thing wrong with a file, and where."""

    pointer: str  # JSON pointer; "" is the whole
    message: str

    @classmethod
    def from_line(cls, line: str) -> "Mistake":
        """Read what gates say: a pointer and a colon first, where it is about one place."""
        pointer, colon, message = line.partition(": ")
        if not colon or not pointer.startswith("/"):
            return cls("", line)
        return cls("" if pointer == "/" else pointer, message)

    def __str__(self) -> str:
        """Show as one line."""
        return f"{self.pointer or '/'}: {self.message}"


class SchemaInvalid(UsageError):
    """The schema breaks the user-schema contract."""

    def __init__(self, name: str, mistakes: Sequence[Mistake]) -> None:
        """Keep every mistake, so that one pass over the file mends them all."""
        self.mistakes = tuple(mistakes)
        lines = "".join(f"\n  {mistake}" for mistake in self.mistakes)
        noun = "mistake" if len(self.mistakes) == 1 else "mistakes"
        super().__init__(f"{name}: {len(self.mistakes)} {noun}{lines}")


class EditInvalid(UsageError):
    """The gates of its stage do not take what a person made of a result."""

    def __init__(self, task: int, reasons: Sequence[str]) -> None:
        """Keep every mistake, each with the field that it is about."""
        self.mistakes = tuple(Mistake.from_line(line) for line in reasons)
        lines = "".join(f"\n  {line}" for line in reasons)
        noun = "mistake" if len(reasons) == 1 else "mistakes"
        super().__init__(f"task {task} cannot be edited so: {len(reasons)} {noun}{lines}")


@dataclass(frozen=True, slots=True)
class FileMistake:
    """One thing wrong with a file, and in which line."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        """Show as compilers do, so that editors can follow it."""
        return f"{self.file}:{self.line}: {self.message}"


class RecipeInvalid(UsageError):
    """The recipe cannot be carried out."""

    def __init__(self, name: str, mistakes: Sequence[FileMistake | Mistake]) -> None:
        """Keep every mistake, so that one pass over the recipe mends them all."""
        self.mistakes = tuple(mistakes)
        lines = "".join(f"\n  {mistake}" for mistake in self.mistakes)
        noun = "mistake" if len(self.mistakes) == 1 else "mistakes"
        super().__init__(f"{name}: {len(self.mistakes)} {noun}{lines}")


class TemplateInvalid(UsageError):
    """The template cannot be used."""

    def __init__(self, reason: str, line: int = 1) -> None:
        """Say what is wrong, and in which of its lines."""
        self.reason, self.line = reason, line
        super().__init__(f"template, line {line}: {reason}")


class TemplateFailed(UsageError):
    """The template cannot be filled in."""

    def __init__(self, reason: str, line: int = 0) -> None:
        """Say what is missing or too much, and in which line, if that is known."""
        self.reason, self.line = reason, line
        super().__init__(f"template{f', line {line}' if line else ''}: {reason}")


class PromptTooLong(TemplateFailed):
    """What there is makes a longer text than any prompt may be."""


class SourceUnreadable(UsageError):
    """The file cannot be read as a document."""


class UnknownModel(UsageError):
    """No such model in the catalog."""


class IllegalMove(UsageError):
    """The lifecycle does not allow that move from where things stand."""


class CostAboveLimit(UsageError):
    """What somebody wants may cost more than they said it may; nothing was started."""


class Conflict(UsageError):
    """That name already means something else."""


class Remedy(StrEnum):
    """What can be done about a provider's error."""

    RETRY = "retry"  # the same call again, soon
    WAIT = "wait"  # the same call again, when the provider says
    SPLIT = "split"  # the call is too large, or one of its tasks is the culprit
    FIX_REQUEST = "fix_request"  # nobody's call of this form can work
    FIX_ACCOUNT = "fix_account"  # a key, its rights or its credit
    LOST = "lost"  # nobody knows whether the call was carried out


class CallFault(StrEnum):
    """What is wrong with every call alike, until a person has mended it."""

    ADDRESS = "address"  # nobody, or somebody else, answers there
    MODEL = "model"  # nobody there knows it
    FORM = "form"  # it does not take what is sent with every call


class ProviderError(Error):
    """The provider did not answer the call."""

    def __init__(
        self,
        *message: str,
        remedy: Remedy,
        retry_after: float | None = None,
        bad_key: bool = False,
        spent: bool = False,
        absent: bool = False,
        fault: CallFault | None = None,
    ) -> None:
        """Say what came back, perhaps what to check, and what the dispatcher can do about it.

        `retry_after` is how long to wait, if the provider said so.
        """
        super().__init__(*message)
        self.remedy = remedy
        self.retry_after = retry_after
        self.bad_key = bad_key  # the key is not accepted: another might be
        self.spent = spent  # the account has no credit left: another may have
        self.absent = absent  # nobody listens where the call went, and not for a moment only
        self.nearby = False  # that is on this very machine, so waiting for a network is no use
        self.url_in_name = False  # the model's name says where calls go: no setting does
        self.no_batches = False  # there is nothing at the address that batches are made at
        self.fault = fault  # what a person must mend, if that is no key
        self.of_rate = False  # too many calls, and nothing says how many are allowed, or when
        self.may_concern_one = False  # a person must act, unless other calls are answered
        self.unexplained = False  # refused as it is: for one of its tasks, or as all calls would be
        self.refusal: PartRefusal | None = (
            None  # of a part of every call: there may be a weaker way
        )


class OddBody(StrEnum):
    """A body in no vendor's form: no mended decoder would find an answer in it."""

    EMPTY = "empty"
    PAGE = "page"  # HTML, from somebody who never saw the call
    GARBLED = "garbled"  # no JSON: cut off, packed in a way we do not speak, or plain words


class Undecodable(ProviderError):
    """The response could not be read; it is kept, and is read again when the decoder is mended."""

    def __init__(self, message: str, odd: OddBody | None = None) -> None:
        """Say what about the response was unreadable, and whether it had any vendor's form."""
        super().__init__(message, remedy=Remedy.FIX_REQUEST)
        self.odd = odd


class OutOfFunds(Error):
    """The budget does not cover the next call; raise it to go on."""


class LedgerError(Error):
    """The ledger could not be used."""


class LedgerUnavailable(LedgerError):
    """The database did not answer; nothing is lost, and the same step can be tried again."""


class LedgerBusy(LedgerUnavailable):
    """Somebody else writes at this moment, and whoever asked would not wait for that."""


class NewerLedger(LedgerError):
    """This ledger was written by a newer Quire; upgrade this one."""
