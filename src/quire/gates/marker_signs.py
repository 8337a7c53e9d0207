"""Signs of other writing systems and of formulas, as the plain ones that mean the same.

Letters and digits stay as they are: a wide B, or a Greek one, is no identifier that was shown.
"""

_WIDE = str.maketrans(
    "（）［］｛｝【】〔〕〈〉《》「」『』，、；：。．！？％＝／＋＆",
    '()[]{}[][]<><>"""",,;:..!?%=/+&',
)


def plain_signs(text: str) -> str:
    """Brackets, quotation marks and punctuation as they are written in English."""
    return text.translate(_WIDE)
