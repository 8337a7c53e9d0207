"""The edge: every error becomes one line on stderr and an exit code."""

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from typer.core import TyperGroup
from typer.exceptions import Abort, TyperException

from quire.cli.printing import allow_any_text, note
from quire.domain.errors import Error, LedgerError, UsageError

DONE, SOME_FAILED, USAGE, ENVIRONMENT, HELD, INTERRUPTED = 0, 1, 2, 3, 4, 130

# The first class that fits decides.
EXIT_CODES: tuple[tuple[type[BaseException], int], ...] = (
    (UsageError, USAGE),
    (LedgerError, ENVIRONMENT),
    (Error, SOME_FAILED),
    (OSError, ENVIRONMENT),
    (KeyboardInterrupt, INTERRUPTED),
    (OverflowError, USAGE),  # only what was typed or written into a file can be that large
    (UnicodeEncodeError, USAGE),  # only what was typed can hold bytes that are no text
)

_GLOBAL_FLAGS = ("-q", "--quiet")
_GLOBAL_OPTION = "--ledger"


class Commands(TyperGroup):
    """The commands, with global options anywhere and errors told in one line."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The commands as the help lists them: groups come last, but batches beside status."""
        names = super().list_commands(ctx)
        if {"batches", "status"} <= set(names):
            names.remove("batches")
            names.insert(names.index("status") + 1, "batches")
        return names

    def main(self, args: Sequence[str] | None = None, *_: Any, **__: Any) -> Any:
        """Carry out one command line and leave with its exit code."""
        given = sys.argv[1:] if args is None else list(args)
        carry_out = super().main
        allow_any_text()
        sys.exit(
            _exit_code(
                lambda: carry_out(
                    args=global_options_first(given) or ["--help"],
                    prog_name="quire",
                    standalone_mode=False,
                )
            )
        )


def global_options_first(args: Sequence[str]) -> list[str]:
    """Let --ledger and --quiet stand after the command too; what follows `--` is left alone."""
    early: list[str] = []
    late: list[str] = []
    rest = iter(args)
    for each in rest:
        if each == "--":
            late += [each, *rest]
        elif each in _GLOBAL_FLAGS or each.startswith(f"{_GLOBAL_OPTION}="):
            early.append(each)
        elif each == _GLOBAL_OPTION:
            early += [each, *(value for value in [next(rest, None)] if value is not None)]
        else:
            late.append(each)
    return early + late


def _exit_code(carry_out: Callable[[], object]) -> int:
    try:
        code = carry_out()
    except TyperException as error:
        _tell_misuse(error)
        return error.exit_code
    except Abort:
        note("quire: nothing was done")
        return SOME_FAILED
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - nothing above would catch it
        return _tell(error)
    return code if isinstance(code, int) else DONE


def _tell(error: BaseException) -> int:
    if os.environ.get("QUIRE_DEBUG"):
        traceback.print_exception(error)
    for kind, code in EXIT_CODES:
        if isinstance(error, kind):
            note(f"quire: {_message(error)}")
            return code
    note(
        f"quire: this is a mistake in Quire itself ({type(error).__name__}: {error});"
        " QUIRE_DEBUG=1 shows where"
    )
    return SOME_FAILED


def _message(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, OverflowError):
        return f"a number is larger than anything can be counted here ({error})"
    if isinstance(error, UnicodeEncodeError):
        return f"{error.object[:60]!r} holds bytes that are not UTF-8; type it again as text"
    if isinstance(error, OSError) and error.strerror:
        return ": ".join(str(part) for part in (error.filename, error.strerror) if part)
    return str(error)


def _tell_misuse(error: TyperException) -> None:
    """Say what was typed wrong; without a message, the help was printed instead."""
    message = " ".join(error.format_message().split()).rstrip(".")
    if message:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "quire"
        note(f"quire: {message[0].lower()}{message[1:]}; see `{command} --help`")
