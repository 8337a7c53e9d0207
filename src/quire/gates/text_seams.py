"""Text seams: where a text breaks off and a piece goes on, what stands on both sides is kept once.

Said before going on, a fence around all of it and a beginning that is told again are dropped. The
danger is to take for a repetition what was meant to stand twice, so an overlap must be long, or
begin a line, or finish a word.
"""

import re

MOST_OVERLAP = 4000  # characters
_LEAST_OVERLAP = 20  # from the beginning of a word
LONG_OVERLAP = 60  # from anywhere; and of JSON, whose lists may well hold equal items
_LEAST_LINE, _LEAST_WORD = 8, 4  # of a repeated line, or a word that was cut
_LEAST_BEGINNING = 8  # characters of an answer that is said again from the beginning
_BEGINNING = 80
_REPEATED = 40  # characters that stand there already, wherever: then nothing is new

_PREAMBLE = re.compile(
    r"\s*[\[(*_]*(?:(?:sure|certainly|of course|ok|okay|understood)\b[^\n]{0,40}?)?"
    r"(?:(?:(?:continuing|continued|resuming|picking up)\b[^\n]{0,80}?"
    r"\b(?:(?:i|we|you|it|that|answer|response|text|where) (?:was |had |have |were )?"
    r"(?:left off|stopped|ended|broke off|cut off)|previous|above|last part|last line)\b"
    r"|(?:here(?:'s| is)|below is)[^\n]{0,40}?\b(?:continuation|continued|rest|remain\w+)\b"
    r"|(?:i(?:'ll| will)|let me) (?:continue|resume|pick up|go on)\b)[^\n:.…]{0,80}"
    r"|continuing|continued|continuation)"
    r"[:.…]{1,3}[\])*_]*[ \t]*(?:\n(?:[ \t]*\n)?|\Z)",
    re.IGNORECASE,
)
CLAIM = re.compile(
    r"\W*(?:(?:the|my|this) (?:\w+ ){0,3}?(?:answer|response|reply|output|text|document|json)\b"
    r"[^\n]{0,20}\b(?:is|are)(?: now| already)? (?:complete|finished|done)\b"
    r"|i have (?:already )?(?:finished|completed)\b"
    r"|(?:there is )?nothing (?:more |else |further )?(?:is |remains )?(?:missing|left|to add)\b)"
    r"[^\n]{0,100}\s*",
    re.IGNORECASE,
)
FENCE = re.compile(r"\s*(?:```|~~~)[ \t]*(\w*)[ \t]*\n")
CLOSING = re.compile(r"\n(?:```|~~~)[ \t]*\s*\Z")
_FENCES = re.compile(r"^[ \t]*(?:```|~~~)[ \t]*(\w*)", re.MULTILINE)
_WRAPPINGS = ("markdown", "md", "text", "txt", "plain")


def join_texts(so_far: str, piece: str) -> str:
    """Text with what follows, the seam joined once."""
    piece = without_preamble(piece)
    piece = _without_fence(so_far, piece)
    if CLAIM.fullmatch(piece):
        return so_far
    if begins_again(so_far, piece) and not _is_refrain(so_far, piece):
        return piece if len(piece) > len(so_far) else so_far
    shared = shared_length(so_far, piece)
    if shared:
        return so_far + piece[shared:]
    return so_far if _is_known(so_far, piece.strip()) else so_far + piece


def _is_known(so_far: str, piece: str) -> bool:
    """Whether a piece only repeats lines that are there."""
    if len(piece) < _REPEATED or _repeats_itself("", piece + "\n"):
        return False
    return f"\n{piece}" in f"\n{so_far}"


def without_preamble(piece: str) -> str:
    """A piece without the words that say it goes on."""
    found = _PREAMBLE.match(piece)
    return piece[found.end() :] if found else piece


def _without_fence(so_far: str, piece: str) -> str:
    """A piece out of the fence around it; inside code, without the fence that opens it again."""
    found = FENCE.match(piece)
    if found is None:
        return piece
    words, word = _FENCES.findall(piece), found[1].lower()
    if len(_FENCES.findall(so_far)) % 2:
        closes = not word and (len(words) % 2 == 1 or bool(words[1]))
        return piece if closes else piece[found.end() :]
    blank = piece[: len(piece) - len(piece.lstrip())]
    begins_line = so_far.endswith("\n") or "\n" in blank
    if begins_line and word not in _WRAPPINGS:
        return piece  # code that was meant
    if _closes_early(piece):
        return piece  # the same: more follows behind it
    return CLOSING.sub("", piece[found.end() :])


def _closes_early(piece: str) -> bool:
    """Whether the fence that opens a piece is closed before its end."""
    depth, (_, *words) = 1, _FENCES.findall(piece)
    for no, word in enumerate(words, 1):
        depth += 1 if word else -1
        if not depth:
            return no < len(words) or not CLOSING.search(piece)
    return False


def begins_again(so_far: str, piece: str) -> bool:
    """Whether a piece begins as the text did."""
    beginning = so_far[:_BEGINNING]
    return len(beginning) >= _LEAST_BEGINNING and piece.lstrip().startswith(beginning.lstrip())


def _is_refrain(so_far: str, piece: str) -> bool:
    """Whether a piece begins as the text did because that is said more than once.

    A text that begins again in earnest goes on as it did, or breaks off within a line.
    """
    if so_far.count(so_far[:_BEGINNING]) > 1:
        return True
    if not so_far.endswith("\n") and not piece.startswith("\n"):
        return False
    return any(one != other for one, other in zip(so_far.strip(), piece.lstrip(), strict=False))


def shared_length(so_far: str, piece: str) -> int:
    """How much of a piece stands at the end of the text already; 0 where that may be chance."""
    length = _longest_overlap(so_far, piece)
    start = len(so_far) - length
    shared = piece[:length]
    begins_line = start == 0 or so_far[start - 1] == "\n"
    begins_word = start == 0 or not (so_far[start - 1].isalnum() and shared[:1].isalnum())
    goes_on = piece[length : length + 1].isalnum()
    if not (begins_word or length >= LONG_OVERLAP) or _repeats_itself(so_far, shared):
        return 0
    if length >= _LEAST_OVERLAP or (begins_line and length >= _LEAST_LINE):
        return length
    finishes = shared.isalnum() and goes_on
    return length if finishes and length >= _LEAST_WORD else 0


def _longest_overlap(so_far: str, piece: str) -> int:
    """The longest end of the text that the piece begins with."""
    begins = piece[:MOST_OVERLAP]
    if not begins:
        return 0
    table = _prefix_table(begins)
    state = 0
    for char in so_far[-MOST_OVERLAP:]:
        while state and (state == len(begins) or begins[state] != char):
            state = table[state - 1]
        state += begins[state] == char
    return state


def _prefix_table(text: str) -> list[int]:
    """For each length, the longest beginning that is its end too (Knuth, Morris and Pratt)."""
    table, state = [0] * len(text), 0
    for at in range(1, len(text)):
        while state and text[state] != text[at]:
            state = table[state - 1]
        state += text[state] == text[at]
        table[at] = state
    return table


def _repeats_itself(so_far: str, shared: str) -> bool:
    """Whether what is shared stood there twice before, or is made of one thing said again."""
    length = len(shared)
    period = length - _prefix_table(shared)[-1] if length else 0
    twice = bool(length) and so_far[-2 * length : -length] == shared
    return twice or (length >= _LEAST_LINE and 2 * period <= length)
