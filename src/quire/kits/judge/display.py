"""Display: the surface on which a scale is shown, the same for scorer and critic."""

from typing import NamedTuple

from quire.kits.judge.seeding import letters, opaque_tokens, shuffled

ANONYMIZE, HIDE_LABELS, SHUFFLE = "anonymize_stages", "hide_label_text", "shuffle_rubric_order"
RANDOMIZATIONS = (ANONYMIZE, HIDE_LABELS, SHUFFLE)


class Surface(NamedTuple):
    """How the stages of a scale are named and ordered; it never depends on what they say."""

    tokens: tuple[str, ...]  # identifiers, weakest stage first
    order: tuple[int, ...]  # stage numbers from 1, as displayed
    hide_labels: bool
    shuffled: bool

    @property
    def labels(self) -> dict[str, int]:
        """The label mapping: what each identifier stands for."""
        return {token: number for number, token in enumerate(self.tokens, 1)}


def surface(seed: int, scale_size: int, randomizations: tuple[str, ...]) -> Surface:
    """Make the surface that a display seed decides."""
    opaque = ANONYMIZE in randomizations
    mixed = SHUFFLE in randomizations
    numbers = range(1, scale_size + 1)
    return Surface(
        tokens=opaque_tokens(seed, scale_size) if opaque else letters(scale_size),
        order=shuffled(numbers, seed) if mixed else tuple(numbers),
        hide_labels=HIDE_LABELS in randomizations,
        shuffled=mixed,
    )
