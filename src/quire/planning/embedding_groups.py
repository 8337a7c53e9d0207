"""Embedding groups: which passages of texts are embedded, in groups known by what they say.

A group is the unit that is kept: whoever asks something else of the same text finds its passages
embedded already, whichever call that was. Several groups may travel in one call.
"""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256

from quire.domain.embeddings import EmbeddingRules, PassageGroup
from quire.domain.models import ModelFacts
from quire.planning.passages import cut_passages

EMBEDDING_VERSION = 1  # raised when texts are cut, or vectors compared, in another way
LONGEST_PROMPT = 2_000  # characters of a prompt embedded as one; of a longer one its parts count


def embedder_version(facts: ModelFacts) -> str:
    """What stored embeddings, and the extracts made with them, are told apart by."""
    return f"{facts.name}/{facts.dimensions}/{EMBEDDING_VERSION}"


def text_groups(text: str, rules: EmbeddingRules, version: str) -> list[PassageGroup]:
    """The passages of a text in groups that one call can hold, each passage once."""
    spans = cut_passages(text)
    passages = dict.fromkeys(text[slice(*span)] for span in spans)
    return _groups([item for item in passages if is_embedded(item)], rules, version)


def prompt_groups(prompt: str, rules: EmbeddingRules, version: str) -> list[PassageGroup]:
    """The same of what passages are compared with."""
    return _groups([part for part in prompt_parts(prompt) if is_embedded(part)], rules, version)


def prompt_parts(prompt: str) -> list[str]:
    """A prompt as it is embedded: in one piece, or in several that are not too long."""
    return [prompt[at : at + LONGEST_PROMPT] for at in range(0, len(prompt), LONGEST_PROMPT)]


def is_embedded(passage: str) -> bool:
    """Whether there is anything in it; vendors refuse what is empty."""
    return bool(passage.strip())


def call_groups(
    groups: Iterable[PassageGroup], rules: EmbeddingRules
) -> Iterator[list[PassageGroup]]:
    """Put groups into calls, as many as fit, in their order."""
    call: list[PassageGroup] = []
    count = size = 0
    for group in groups:
        more, bytes_more = len(group.passages), passage_bytes(group.passages)
        if call and (count + more > rules.passages or size + bytes_more > rules.size):
            yield call
            call, count, size = [], 0, 0
        call.append(group)
        count, size = count + more, size + bytes_more
    if call:
        yield call


def passage_bytes(passages: Iterable[str]) -> int:
    """Bytes of some passages."""
    return sum(len(passage.encode()) for passage in passages)


def _groups(passages: Sequence[str], rules: EmbeddingRules, version: str) -> list[PassageGroup]:
    found: list[PassageGroup] = []
    group: list[str] = []
    size = 0
    for passage in passages:
        taken = len(passage.encode())
        if group and (len(group) == rules.passages or size + taken > rules.size):
            found.append(_named_group(group, version))
            group, size = [], 0
        group.append(passage)
        size += taken
    if group:
        found.append(_named_group(group, version))
    return found


def _named_group(passages: Sequence[str], version: str) -> PassageGroup:
    digest = sha256(version.encode())
    for passage in passages:
        digest.update(sha256(passage.encode()).digest())
    return PassageGroup(digest.hexdigest()[:32], tuple(passages))
