"""What every command line shares: global options, the engine it opens, errors as exit codes."""

import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from typer.core import TyperGroup
from typer.exceptions import Abort, TyperException

from quire.cli.printing import allow_any_text, note, print_json, say
from quire.domain.errors import Error, LedgerError, NotFound, UsageError
from quire.domain.ids import RunId

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from quire.engine import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What the options before the command said."""

    ledger: str | None
    quiet: bool


def session(context: typer.Context) -> Session:
    """The global options of this command line."""
    found = context.find_object(Session)
    assert found is not None
    return found


def print_outcome(context: typer.Context, as_json: bool, data: object, *lines: str) -> None:
    """Say what was done: as JSON, or in words unless these are not wanted."""
    if as_json:
        print_json(data)
    elif not session(context).quiet:
        for line in lines:
            say(line)


@contextmanager
def engine_for(context: typer.Context, *, make: bool = False) -> Iterator["Engine"]:
    """Open the ledger that is meant; only a command that brings something in may make it."""
    from quire.engine import open_engine  # loads the database: not for --help

    with open_engine(session(context).ledger, must_exist=not make) as engine:
        if (new := engine.new_ledger_words) and not session(context).quiet:
            note(new)
        try:
            yield engine
        finally:
            _tell_ledgers_apart(engine, session(context))


def _tell_ledgers_apart(engine: "Engine", said: Session) -> None:
    """Who copies a command that is proposed here must not reach the same number elsewhere."""
    if said.ledger and not said.quiet and sys.stderr.isatty() and engine.other_ledger_words:
        note(f"quire: {engine.other_ledger_words}")


@contextmanager
def engine_and_run(context: typer.Context, run: int | None) -> Iterator[tuple["Engine", RunId]]:
    """Open the ledger, and find the run that is meant."""
    with engine_for(context) as engine:
        yield engine, resolve_run(engine, run)


def resolve_run(engine: "Engine", run: int | None) -> RunId:
    """The run that is meant: by its number, or the newest that is no part of a probe."""
    if run is not None:
        return engine.get(run).id
    newest = engine.queries.newest_run()
    if newest is None:
        raise NotFound("there are no runs yet; `quire run --schema SCHEMA` starts one")
    return newest


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

COMMAND_GROUP = "quire.commands"  # of entry points
_PLUGIN_PANEL, _AFTER_PLUGINS = "Run", "rehearse"  # where the help lists what packages bring
_GLOBAL_FLAGS = ("-q", "--quiet")
_GLOBAL_OPTION = "--ledger"


class OwnCommand(NamedTuple):
    """A command of ours, or a group of them, before its module is imported."""

    panel: str  # of the help
    place: str  # module:name, in this package
    example: str = ""  # a group has those of its commands


class Commands(TyperGroup):
    """The commands, with global options anywhere and errors told in one line.

    A command is imported when it is asked for: all of them take longer than most of them run.
    """

    own: Mapping[str, OwnCommand] = {}  # in the order of the help

    def list_commands(self, ctx: Any) -> list[str]:
        """The commands as the help lists them."""
        self._add_plugins(tuple(self._plugins))
        names = list(self.own)
        place = names.index(_AFTER_PLUGINS)
        names[place:place] = [name for name in self.commands if name not in self.own]
        return names

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by its name; where it is none of ours, packages are asked for theirs."""
        if cmd_name not in self.commands:
            self._import_command(cmd_name)
        command: Any = super().get_command(ctx, cmd_name)
        for known in (command, *getattr(command, "commands", {}).values()):
            if known is not None:
                _hide_type(known.get_help_option(ctx))
        return command

    def _import_command(self, name: str) -> None:
        if name in self.own:
            self.commands[name] = _load_own(name, self.own[name])
        elif name in self._plugins:
            self._add_plugins((name,))
        else:  # all of them: one may be meant
            self.commands.update({known: _load_own(known, self.own[known]) for known in self.own})
            self._add_plugins(tuple(self._plugins))

    def get_help_option(self, ctx: Any) -> Any:
        """The option that shows the help."""
        return _hide_type(super().get_help_option(ctx))

    @cached_property
    def _plugins(self) -> "dict[str, EntryPoint]":
        """The groups of commands that packages bring and nobody has asked for yet."""
        from quire.settings import entry_points  # reads what is said of every package

        owners = dict.fromkeys(self.own, "quire")
        found: dict[str, EntryPoint] = {}
        for point in entry_points.points_of_group(COMMAND_GROUP):
            if point.name in owners:
                clash = entry_points.describe_clash(point, owners[point.name])
                note(f"quire: {clash}; {entry_points.CLASH_FIX}")
            else:
                found[point.name] = point
                owners[point.name] = entry_points.package_name(point)
        return found

    def _add_plugins(self, names: Iterable[str]) -> None:
        """Load groups of commands; one that is broken is a line of warning, and left out."""
        from quire.settings.entry_points import describe_failure

        for name in names:
            point = self._plugins.pop(name)
            try:
                self.commands[name] = _load_group(point)
            except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin may raise anything
                note(f"quire: {describe_failure(point, error)}")

    def main(self, args: Sequence[str] | None = None, *_: Any, **__: Any) -> Any:
        """Carry out one command line and leave with its exit code."""
        given = sys.argv[1:] if args is None else list(args)
        run_command = super().main
        allow_any_text()
        sys.exit(
            _exit_code(
                lambda: run_command(
                    args=global_options_first(given) or ["--help"],
                    prog_name="quire",
                    standalone_mode=False,
                )
            )
        )


def _hide_type(option: Any) -> Any:
    """Have the help list a flag without `<bool>`, as it lists our own."""
    option.metavar = ""
    return option


def _load_own(name: str, entry: OwnCommand) -> Any:
    module, _, attribute = entry.place.partition(":")
    target = getattr(import_module(f"quire.cli.{module}"), attribute)
    if isinstance(target, typer.Typer):
        group = typer.main.get_group(target)
        group.name, group.rich_help_panel = name, entry.panel
        return group
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command(name, rich_help_panel=entry.panel, epilog=f"Example: {entry.example}")(target)
    return typer.main.get_command(alone)


def _load_group(point: "EntryPoint") -> TyperGroup:
    app = point.load()
    if not isinstance(app, typer.Typer):
        raise TypeError("it is no typer.Typer")
    group = typer.main.get_group(app)
    group.name = point.name
    group.rich_help_panel = group.rich_help_panel or _PLUGIN_PANEL
    return group


def global_options_first(args: Sequence[str]) -> list[str]:
    """Let --ledger and --quiet stand after the command too; what follows `--` is left alone."""
    early: list[str] = []
    late: list[str] = []
    rest = iter(args)
    for name in rest:
        if name == "--":
            late += [name, *rest]
        elif name in _GLOBAL_FLAGS or name.startswith(f"{_GLOBAL_OPTION}="):
            early.append(name)
        elif name == _GLOBAL_OPTION:
            early += [name, *(value for value in [next(rest, None)] if value is not None)]
        else:
            late.append(name)
    return early + late


def _exit_code(run_command: Callable[[], object]) -> int:
    try:
        code = run_command()
    except TyperException as error:
        _print_misuse(error)
        return error.exit_code
    except Abort:
        note("quire: nothing was done")
        return SOME_FAILED
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - nothing above would catch it
        return _print_error(error)
    return code if isinstance(code, int) else DONE


def _print_error(error: BaseException) -> int:
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


def _print_misuse(error: TyperException) -> None:
    """Say what was typed wrong; without a message, the help was printed instead."""
    message = " ".join(error.format_message().split()).rstrip(".")
    if message:
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "quire"
        note(f"quire: {message[0].lower()}{message[1:]}; see `{command} --help`")
