"""Strings that match a simple regular expression: characters, classes, groups, choices, repeats."""

import re

_CANDIDATES = "aA1 -_./@:,;#+*()[]{}<>=!?%&$'\"|\\~^`éßЖ中\n\t" + "".join(map(chr, range(33, 127)))
_SINGLE = set("dDwWsStnrfv0")  # escapes that stand for one character of some kind
_REPEAT = re.compile(r"(?:\*|\+|\?|\{(\d+)(,?)(\d*)\})[?+]?")
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_GROUP = re.compile(r"\((?:\?(?::|P?<[A-Za-z_]\w*>))?")


def example_match(pattern: str, repeats: int = 0) -> str | None:
    """Write a string that matches, each open repeat taken `repeats` times more than it must be.

    None for what is not simple: look-around, back-references, Unicode properties, syntax errors.
    """
    writer = _PatternWalker(pattern, repeats)
    try:
        text = writer.write_choices()
        return text if writer.position == len(pattern) else None
    except (ValueError, re.error, RecursionError):
        return None


class _PatternWalker:
    """Walks over one pattern once, writing as it goes; ValueError where it is not simple."""

    def __init__(self, pattern: str, repeats: int) -> None:
        self.pattern = pattern
        self.repeats = repeats
        self.position = 0

    def write_choices(self) -> str:
        """Write the first of the alternatives, and walk over the others."""
        first = self.write_sequence()
        while self.pattern[self.position : self.position + 1] == "|":
            self.position += 1
            self.write_sequence()
        return first

    def write_sequence(self) -> str:
        """Write one alternative."""
        written: list[str] = []
        while self.position < len(self.pattern) and self.pattern[self.position] not in "|)":
            piece = self.write_piece()
            written.append(piece * self.read_count())
        return "".join(written)

    def write_piece(self) -> str:
        """Write one character, class or group."""
        sign = self.pattern[self.position]
        if sign == "(":
            return self.write_group()
        if sign == "[":
            return self.write_one_of(_CLASS)
        if sign == "\\":
            return self.write_escape()
        self.position += 1
        if sign in "^$":
            return ""
        if sign in "*+?{":
            raise ValueError("nothing to repeat")
        return _CANDIDATES[0] if sign == "." else sign

    def write_group(self) -> str:
        """Write what stands in parentheses."""
        opening = _GROUP.match(self.pattern, self.position)
        if opening is None:
            raise ValueError("not a group")
        self.position = opening.end()
        inside = self.write_choices()
        if self.pattern[self.position : self.position + 1] != ")":
            raise ValueError("unclosed, or look-around")
        self.position += 1
        return inside

    def write_escape(self) -> str:
        """Write one escaped character."""
        letter = self.pattern[self.position + 1 : self.position + 2]
        if letter in _SINGLE:
            return self.write_one_of(re.compile(r"\\."))
        if letter.isalnum() and letter not in "bux":
            raise ValueError("back-reference or property")
        if letter in ("u", "x"):
            digits = 4 if letter == "u" else 2
            code = self.pattern[self.position + 2 : self.position + 2 + digits]
            self.position += 2 + digits
            return chr(int(code, 16))
        self.position += 2
        return "" if letter == "b" else letter

    def write_one_of(self, shape: re.Pattern[str]) -> str:
        """Write the first ordinary character that this part of the pattern accepts."""
        part = shape.match(self.pattern, self.position)
        if part is None:
            raise ValueError("unclosed class")
        self.position = part.end()
        accepts = re.compile(part.group(), re.ASCII)
        accepted: list[str] = [name for name in _CANDIDATES if accepts.fullmatch(name)]
        return accepted[0] if accepted else ""

    def read_count(self) -> int:
        """Say how often the piece just written is wanted."""
        repeat = _REPEAT.match(self.pattern, self.position)
        if repeat is None:
            return 1
        self.position = repeat.end()
        sign = repeat.group()[0]
        if sign != "{":
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
        else:
            least = int(repeat[1])
            most = least if not repeat[2] else int(repeat[3]) if repeat[3] else None
        wanted = least + self.repeats
        return wanted if most is None else min(wanted, most)
