"""Strings that match a simple regular expression: characters, classes, groups, choices, repeats."""

import re

_TRIED = "aA1 -_./@:,;#+*()[]{}<>=!?%&$'\"|\\~^`éßЖ中\n\t" + "".join(map(chr, range(33, 127)))
_SINGLE = set("dDwWsStnrfv0")  # escapes that stand for one character of some kind
_REPEAT = re.compile(r"(?:\*|\+|\?|\{(\d+)(,?)(\d*)\})[?+]?")
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_GROUP = re.compile(r"\((?:\?(?::|P?<[A-Za-z_]\w*>))?")


def example(pattern: str, repeats: int = 0) -> str | None:
    """Write a string that matches, each open repeat taken `repeats` times more than it must be.

    None for what is not simple: look-around, back-references, Unicode properties, syntax errors.
    """
    writer = _Writer(pattern, repeats)
    try:
        text = writer.choices()
        return text if writer.at == len(pattern) else None
    except (ValueError, re.error, RecursionError):
        return None


class _Writer:
    """Walks over one pattern once, writing as it goes; ValueError where it is not simple."""

    def __init__(self, pattern: str, repeats: int) -> None:
        self.pattern = pattern
        self.repeats = repeats
        self.at = 0

    def choices(self) -> str:
        """Write the first of the alternatives, and walk over the others."""
        first = self.sequence()
        while self.pattern[self.at : self.at + 1] == "|":
            self.at += 1
            self.sequence()
        return first

    def sequence(self) -> str:
        """Write one alternative."""
        written: list[str] = []
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            piece = self.piece()
            written.append(piece * self.count())
        return "".join(written)

    def piece(self) -> str:
        """Write one character, class or group."""
        sign = self.pattern[self.at]
        if sign == "(":
            return self.group()
        if sign == "[":
            return self.one_of(_CLASS)
        if sign == "\\":
            return self.escape()
        self.at += 1
        if sign in "^$":
            return ""
        if sign in "*+?{":
            raise ValueError("nothing to repeat")
        return _TRIED[0] if sign == "." else sign

    def group(self) -> str:
        """Write what stands in parentheses."""
        opening = _GROUP.match(self.pattern, self.at)
        if opening is None:
            raise ValueError("not a group")
        self.at = opening.end()
        inside = self.choices()
        if self.pattern[self.at : self.at + 1] != ")":
            raise ValueError("unclosed, or look-around")
        self.at += 1
        return inside

    def escape(self) -> str:
        """Write one escaped character."""
        letter = self.pattern[self.at + 1 : self.at + 2]
        if letter in _SINGLE:
            return self.one_of(re.compile(r"\\."))
        if letter.isalnum() and letter not in "bux":
            raise ValueError("back-reference or property")
        if letter in ("u", "x"):
            digits = 4 if letter == "u" else 2
            code = self.pattern[self.at + 2 : self.at + 2 + digits]
            self.at += 2 + digits
            return chr(int(code, 16))
        self.at += 2
        return "" if letter == "b" else letter

    def one_of(self, shape: re.Pattern[str]) -> str:
        """Write the first ordinary character that this part of the pattern accepts."""
        part = shape.match(self.pattern, self.at)
        if part is None:
            raise ValueError("unclosed class")
        self.at = part.end()
        accepts = re.compile(part.group(), re.ASCII)
        accepted: list[str] = [each for each in _TRIED if accepts.fullmatch(each)]
        return accepted[0] if accepted else ""

    def count(self) -> int:
        """Say how often the piece just written is wanted."""
        repeat = _REPEAT.match(self.pattern, self.at)
        if repeat is None:
            return 1
        self.at = repeat.end()
        sign = repeat.group()[0]
        if sign != "{":
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        else:
            least = int(repeat[1])
            most = least if not repeat[2] else int(repeat[3]) if repeat[3] else None
        wanted = least + self.repeats
        return wanted if most is None else min(wanted, most)
