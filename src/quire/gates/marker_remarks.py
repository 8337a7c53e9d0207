"""Remarks after a verdict or a score: those that describe it, and those that may take it back.

Words of a model, unlike ours, are all there is to compare. Where they may mean that something
else holds, the answer is refused: to ask once more costs little, a verdict nobody gave a lot.
"""

import re
from collections.abc import Sequence
from itertools import dropwhile

_PIECE = re.compile(r"[0-9]+(?:\.[0-9]+)?\s?%|\.[0-9]+|[0-9]+\.[0-9]+|[\w'’]+(?:-\w+)*|[^\w\s]")
_SHARE = re.compile(r"0?\.[0-9]+|1\.0+|[0-9]{1,3}(?:\.[0-9]+)?\s?%")
_YEAR = re.compile(r"[12][0-9]{3}s?")
_ROMAN = re.compile(r"[ivx]+")
_HARMLESS = re.compile(r"\b(?:no doubt|not? abst(?:ain|ention)\w*)\b", re.IGNORECASE)

_NO = {
    "no",
    "not",
    "nor",
    "neither",
    "never",
    "none",
    "nothing",
    "nobody",
    "cannot",
    "nope",
    "hardly",
}
_NO_ELSEWHERE = {  # "not", "nothing", "never", "or" and "rather" of other languages
    *("nicht", "nein", "kein", "keine", "keinen", "keinem", "keiner", "nie", "niemals", "nichts"),
    *("weder", "oder", "sondern", "lieber", "eher", "ne", "pas", "non", "jamais", "aucun"),
    *("aucune", "rien", "ou", "plutôt", "nunca", "tampoco", "ninguno", "ninguna", "ningún", "ni"),
    *("sino", "o", "nessun", "nessuna", "nessuno", "niente", "oppure", "piuttosto", "não", "nem"),
    *("nenhum", "nenhuma", "niet", "geen", "nooit", "не", "нет", "ни", "или", "либо", "никогда"),
}
_NO_INSIDE = re.compile(  # of languages that write words without blanks, or the negation in a word
    "[不没沒無无未否或错錯]|非(?!常)|ない|ません|なく|ではな|または|かも|않|아니|없|또는|혹은"
)
_CARELESSLY_WRITTEN = {"isnt", "arent", "wasnt", "dont", "doesnt", "didnt", "cant", "wont"}
_DENIED = {"false", "untrue", "invalid", "unlikely", "unsupported", "inapplicable"}
_TAKEN_BACK = re.compile(
    r"(?:reject|retract|withdr[ae]w|revo[ck]|rescind|mistak|cancel|disregard|discard|overrul"
    r"|overrid|supersed|revis|reconsider|scratch|incorrect|erroneous|wrong|ignor|void|delet|scrapp"
    r"|correct(?:ed|ion))\w*"
    r"|replaced|removed|struck|crossed|draft|placeholder|wait|oops|sorry|meant|error|instead|unless"
)
_TAKEN_BACK_IN_WORDS = re.compile(
    r"\b(?:i mean|never mind|changed? my|(?:take|took|taking) (?:it|this|that) back"
    r"|strike (?:it|this|that)|second thoughts?)\b"
)
_HEDGED = re.compile(  # a judge that would as well have said another stage
    r"\b(?:(?:could|might|may|should|would|perhaps|maybe|possibly|almost|nearly|arguably"
    r"|leaning|leans|closer to|towards?) (?:\w+ ){0,3}(?:stronger|weaker|higher|lower|more|less"
    r"|above|below|up|down|top|bottom|strongest|weakest)"
    r"|(?:stronger|weaker|higher|lower|more|less) (?:could|might|may|would|should) be"
    r"|in between|undecided|tied? with|tbd|todo"
    r"|to be (?:confirmed|determined|decided)|(?:one|stage|level|identifier) (?:above|below))\b"
    r"|^\W*(?:tied?|between|(?:the )?(?:opposite|reverse|inverse)|above|below)\W*$"
)
_ABSTENTION = "abst"  # how "abstain", "abstaining" and "abstention" begin
_ORDINALS = {
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "last",
}
_OTHERS = {"next", "previous", "preceding", "following", "other", "another", "higher", "lower"}
_POINTING = _ORDINALS | _OTHERS | {"highest", "lowest"}
_COUNTED = {"one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}
_STAGES = {"stage", "stages", "level", "option", "label", "identifier", "number"}
_ONES = _STAGES | _POINTING | {"one", "ones"}
_DASHES = {*"([:;,.!-–—"}  # before a remark
_OR = {"or", "else", "otherwise"}
_OWN = {"my", "our", "the", "a", "an", "final", "overall", "real", "actual"}
_VERDICTS = {"verdict", "answer", "choice", "decision", "judgement", "judgment"}


def may_take_back(remark: str) -> bool:
    """Whether a remark may mean that not what stands before it holds, or something else as well."""
    words = _split_remark(_HARMLESS.sub("", remark))
    return (
        "or" in words
        or any(_is_negation(word) or word in _DENIED for word in words)
        or any(word.startswith(_ABSTENTION) or _may_be_stage(word) for word in words)
        or _takes_back(words)
        or _points_elsewhere(words)
    )


def may_undo_abstention(remark: str) -> bool:
    """Whether a remark may mean that the model does not abstain after all.

    It may well say "not enough evidence" or "no strikes or arrests": that is why models abstain.
    """
    words = [*dropwhile(lambda word: word in _DASHES, _split_remark(remark))]
    denied = bool(words) and words[0] in _NO and not "".join(words[1:2]).isalpha()
    return (
        denied
        or words[:2] == ["not", "really"]
        or bool(words and words[0] in _OR)
        or any(_denies_verdict(words[place : place + 5]) for place in range(len(words)))
        or _takes_back(words)
        or _points_elsewhere(words)
    )


def _split_remark(remark: str) -> list[str]:
    return _PIECE.findall(remark.lower().replace("’", "'"))


def _is_negation(word: str) -> bool:
    return (
        word in _NO
        or word.endswith("n't")
        or word.startswith("n'")
        or word in _CARELESSLY_WRITTEN
        or word in _NO_ELSEWHERE
        or _NO_INSIDE.search(word) is not None
    )


def _may_be_stage(word: str) -> bool:
    """Whether a word with digits is neither a share, such as a confidence, nor a year."""
    numbered = any(mark.isdigit() for mark in word)
    return numbered and not (_SHARE.fullmatch(word) or _YEAR.fullmatch(word))


def _takes_back(words: Sequence[str]) -> bool:
    return (
        "?" in words
        or any(_TAKEN_BACK.fullmatch(word) for word in words)
        or _TAKEN_BACK_IN_WORDS.search(" ".join(words)) is not None
        or _HEDGED.search(" ".join(words)) is not None
    )


def _points_elsewhere(words: Sequence[str]) -> bool:
    """Whether "the next", "third stage", "stage four" or a number alone leads to a stage."""
    alone = [word for word in words if word[0].isalnum()]
    return (len(alone) == 1 and _is_number(alone[0])) or any(
        _points_on(words[place : place + 2]) or _names_number(words[place : place + 4])
        for place in range(len(words))
    )


def _points_on(words: Sequence[str]) -> bool:
    """Whether words begin as "the next" does, before "stage" or the end of a phrase."""
    ends = not words[1:] or not words[1][0].isalnum()
    return words[0] in _POINTING and (ends or words[1] in _ONES)


def _names_number(words: Sequence[str]) -> bool:
    """Whether words begin as "stage four" or "stage: IV" do; "at a level I find" does not."""
    after = [word for word in words[1:] if word not in ":=#("]
    pronoun = after[:1] == ["i"] and "".join(after[1:2]).isalnum()
    return words[0] in _STAGES and bool(after) and _is_number(after[0]) and not pronoun


def _is_number(word: str) -> bool:
    return word in _COUNTED or _ROMAN.fullmatch(word) is not None or _may_be_stage(word)


def _denies_verdict(words: Sequence[str]) -> bool:
    """Whether words begin as "not my verdict" or "don't abstain" do."""
    if not words or not (words[0] == "not" or words[0].endswith("n't")):
        return False
    after = next((word for word in words[1:] if word not in _OWN), "")
    return after in _VERDICTS or after.startswith(_ABSTENTION)
