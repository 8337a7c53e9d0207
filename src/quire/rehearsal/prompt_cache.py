"""The prompt cache: who wrote which prefix, how long it lives, what a call is billed for it."""

from collections.abc import Sequence
from hashlib import sha256
from math import ceil
from typing import NamedTuple

from quire.domain.models import Usage
from quire.rehearsal.vendor_protocol import KnownModel, ParsedCall
from quire.simulated.block_answers import byte_length, write_json
from quire.simulated.call_outcomes import BYTES_PER_TOKEN

_LIFETIMES = {"5m": 300.0, "30m": 1_800.0, "1h": 3_600.0, "12h": 43_200.0}
_LONG = ("1h", "12h")  # the dearer of a vendor's two
_FREE_LIFETIME = "5m"
_TIDY_AT = 4_096
_WHOLE = 1_000  # a share is counted in thousandths, so that no fraction is lost over many rows


class CachePoint(NamedTuple):
    """The end of a prefix that may be kept."""

    key: bytes  # whose, of which model, and the prefix itself
    tokens: int
    lifetime: str
    free: bool  # written for nothing
    step: int  # read in multiples of this


class CacheUse(NamedTuple):
    """What the cache did for one call."""

    cached: int
    written_short: int
    written_long: int
    points: tuple[CachePoint, ...]  # to keep once the answer has gone out

    def usage(self, total: int, output: int, reasoning: int) -> Usage:
        """The bill of a call with so much input in all."""
        return Usage(
            input=total - self.cached - self.written_short - self.written_long,
            output=output,
            cached=self.cached,
            written_short=self.written_short,
            written_long=self.written_long,
            reasoning=reasoning,
        )


class PromptCache:
    """Prefixes by key and model; one becomes usable when the answer that wrote it has gone out."""

    def __init__(self, batch_hits: float = 1.0) -> None:
        """Begin with nothing kept; of the rows of batches only that share finds what is."""
        self._hits = round(batch_hits * _WHOLE)
        self._rows: dict[bytes, int] = {}  # of batches, that came with a prefix
        self._until: dict[bytes, float] = {}
        self._tidy_at = _TIDY_AT

    def look_up_for_batch_row(self, points: Sequence[CachePoint], now: float) -> CacheUse:
        """Do the same for a row of a batch; some miss, because they run on many machines.

        The misses are spread evenly over all rows that begin alike, the first of them included.
        """
        if not points:
            return self.look_up(points, now)
        key = points[0].key
        before = self._rows.get(key, 0)
        self._rows[key] = before + 1
        finds = (before + 1) * self._hits // _WHOLE > before * self._hits // _WHOLE
        return self.look_up(points, now if finds else float("inf"))

    def look_up(self, points: Sequence[CachePoint], now: float) -> CacheUse:
        """Find the longest kept prefix of a call; what is longer has to be written."""
        hit = 0
        for point in points:
            if self._until.get(point.key, 0.0) > now:
                hit = point.tokens // point.step * point.step
        done, short, long = hit, 0, 0
        for point in points:
            if point.free or point.tokens <= done:
                continue
            if point.lifetime in _LONG:
                long += point.tokens - done
            else:
                short += point.tokens - done
            done = point.tokens
        return CacheUse(hit, short, long, tuple(points))

    def keep(self, points: Sequence[CachePoint], now: float) -> None:
        """Keep the prefixes of a call from now on; those that were kept already live longer."""
        for point in points:
            self._until[point.key] = now + _LIFETIMES[point.lifetime]
        if len(self._until) > self._tidy_at:
            self._until = {key: until for key, until in self._until.items() if until > now}
            self._rows = {key: rows for key, rows in self._rows.items() if key in self._until}
            self._tidy_at = max(_TIDY_AT, 2 * len(self._until))

    def clear(self) -> None:
        """Forget everything."""
        self._rows.clear()
        self._until.clear()


def cache_points(call: ParsedCall, owner: str, model: KnownModel, minimum: int) -> list[CachePoint]:
    """List where a call's prefix may be cut, the shortest first; too short ones do not count.

    The schema is a part of every prefix: a call that asks for another form finds nothing. It does
    not count towards the minimum, because no vendor says that it would.
    """
    if not call.caching:
        return []
    ends = _prefix_ends(call)
    if not ends:
        return []
    form = _form_bytes(call)
    digest = sha256(f"{owner}\n{model.name}\n{call.tool}\n".encode("utf-8", "replace") + form)
    digest.update(b"\n")
    points, size = [], 0
    for ordinal, part in enumerate(call.parts):
        text = part.text.encode("utf-8", "surrogatepass")
        size += len(text)
        digest.update(len(text).to_bytes(8, "big") + text)
        if ordinal in ends and tokens_of(size, model) >= max(1, minimum):
            tokens = tokens_of(len(form) + size, model)
            points.append(CachePoint(digest.digest(), tokens, ends[ordinal], call.free, call.step))
    return points


def input_tokens(call: ParsedCall, model: KnownModel) -> int:
    """Count a call's input: its texts, and the schema that travels beside them."""
    if call.apart:
        return sum(tokens_of(byte_length(part.text), model) for part in call.parts)
    texts = byte_length(call.system) + sum(byte_length(turn.text) for turn in call.conversation)
    return tokens_of(texts + len(_form_bytes(call)), model)


def longest_input(call: ParsedCall, model: KnownModel, total: int) -> int:
    """Count what has to fit the window: all of the input, or the largest of parts read apart."""
    if not call.apart:
        return total
    return max(tokens_of(byte_length(part.text), model) for part in call.parts)


def tokens_of(size: int, model: KnownModel) -> int:
    """Count so many bytes: four to a token, and as many more as the model is known to count."""
    return ceil(round(size * model.token_factor / BYTES_PER_TOKEN, 6))


def _form_bytes(call: ParsedCall) -> bytes:
    """The schema as it was sent; nothing where none was."""
    return b"" if call.form is None else write_json(call.form).encode("utf-8", "replace")


def _prefix_ends(call: ParsedCall) -> dict[int, str]:
    """After which parts a prefix ends, and how long it lives."""
    parts = call.parts
    ends = {ordinal: part.lifetime for ordinal, part in enumerate(parts) if part.lifetime}
    if call.implicit and parts:
        ends.setdefault(len(parts) - 1, call.implicit)
    if call.free:
        system = [ordinal for ordinal, part in enumerate(parts) if part.system]
        return {system[-1]: _FREE_LIFETIME} if system else {}
    return ends
