"""Keys: one at a time from a terminal, without waiting for Enter; whole lines where words are."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from quire.domain.errors import UsageError
from quire.domain.plain_text import plain_text

INTERRUPT, END = "\x03", "\x04"


def has_terminal() -> bool:
    """Whether somebody is there who can press a key and see what it does."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def read_key() -> str:
    """The next key; Ctrl-C and the end of input leave as everywhere."""
    with _single_keys():
        key = sys.stdin.read(1)
    if key == INTERRUPT:
        raise KeyboardInterrupt
    if key in ("", END):
        raise EOFError
    return key


def read_line(prompt: str) -> str:
    """A line that somebody types, with the terminal's own editing."""
    sys.stdout.write(plain_text(prompt))
    sys.stdout.flush()
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")


def clear_screen() -> None:
    """Begin again at the top."""
    sys.stdout.write("\x1b[2J\x1b[H")
    sys.stdout.flush()


@contextmanager
def _single_keys() -> Iterator[None]:
    """Let the terminal hand over each key as it is pressed, and put it back as it was."""
    try:
        import termios
        import tty
    except ImportError:  # Windows
        raise UsageError("single keys cannot be read here", "--list shows the inbox") from None
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin, termios.TCSADRAIN)
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
