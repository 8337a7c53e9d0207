"""Long documents with one planted fact that a prompt asks for, most of them in other words."""

import random
from collections.abc import Iterator
from typing import NamedTuple


class Fact(NamedTuple):
    """A question, the sentence that answers it, and the words of it that must survive."""

    domain: str
    question: str
    sentence: str
    key: str


class PlantedCase(NamedTuple):
    """A long document in which one fact stands somewhere."""

    fact: Fact
    prompt: str
    text: str


FACTS = (
    Fact(
        "lease",
        "How long before moving out must the tenant give notice?",
        "Whoever rents the premises may end the agreement by writing to the owner ninety days"
        " ahead.",
        "ninety days",
    ),
    Fact(
        "lease",
        "Who pays for repairing the roof?",
        "Mending the tiles and gutters falls to the lessor, at his own expense.",
        "falls to the lessor",
    ),
    Fact(
        "lease",
        "How large is the security deposit?",
        "Before the keys change hands a deposit of 4,350 euros is lodged as security.",
        "4,350 euros",
    ),
    Fact(
        "medicine",
        "Which side effect made patients leave the trial?",
        "Eleven participants withdrew from the study because of persistent nausea.",
        "persistent nausea",
    ),
    Fact(
        "medicine",
        "At what dose was the drug given to children?",
        "In the paediatric arm 2.5 milligrams per kilogram were administered each evening.",
        "2.5 milligrams",
    ),
    Fact(
        "medicine",
        "Does the medicine work in people with kidney disease?",
        "In those with renal impairment the compound showed no benefit over placebo.",
        "no benefit over placebo",
    ),
    Fact(
        "engine",
        "Why did the pump fail?",
        "The breakdown of the coolant pump was traced to a cracked impeller.",
        "cracked impeller",
    ),
    Fact(
        "engine",
        "What torque is needed for the cylinder head bolts?",
        "Head bolts are tightened in two steps to a final torque of 87 newton metres.",
        "87 newton metres",
    ),
    Fact(
        "engine",
        "When must the timing belt be changed?",
        "Replace the toothed belt after 96,000 kilometres at the latest.",
        "96,000 kilometres",
    ),
    Fact(
        "finance",
        "Why did profits fall in the third quarter?",
        "Earnings between July and September shrank owing to the write-down of the Trieste"
        " warehouse.",
        "Trieste warehouse",
    ),
    Fact(
        "finance",
        "How much debt does the company have to repay next year?",
        "Loans of 61 million mature over the coming twelve months.",
        "61 million",
    ),
    Fact(
        "finance",
        "Who is the new head of accounting?",
        "The board appointed Ilse Marquardt to lead bookkeeping and the annual accounts.",
        "Ilse Marquardt",
    ),
    Fact(
        "garden",
        "When should the tomatoes be planted outside?",
        "Young tomato plants go out into the bed once the nights stay above nine degrees.",
        "nine degrees",
    ),
    Fact(
        "garden",
        "What helps against snails?",
        "A ring of crushed eggshell keeps slugs away from the seedlings.",
        "crushed eggshell",
    ),
    Fact(
        "garden",
        "How often should the orchids be watered?",
        "Orchids want to be soaked once every eleven days and then left to drain.",
        "eleven days",
    ),
    Fact(
        "travel",
        "Do visitors need a visa for the island?",
        "Foreigners may enter the island without any entry permit for up to forty days.",
        "forty days",
    ),
    Fact(
        "travel",
        "What does the ferry cost?",
        "The crossing by boat is 23 crowns for each passenger, luggage included.",
        "23 crowns",
    ),
    Fact(
        "travel",
        "Is the mountain path open in winter?",
        "From December on the trail over the pass is closed because of avalanches.",
        "because of avalanches",
    ),
    Fact(
        "school",
        "How are late essays graded?",
        "Homework handed in after the deadline loses one mark for each day.",
        "one mark for each day",
    ),
    Fact(
        "school",
        "Which language must pupils learn first?",
        "From the fifth year every child takes Portuguese as its first foreign tongue.",
        "Portuguese",
    ),
    Fact(
        "school",
        "How many children may be in one class?",
        "No classroom holds more than twenty-three pupils.",
        "twenty-three pupils",
    ),
    Fact(
        "software",
        "What caused the outage of the login service?",
        "Sign-in was unavailable because a certificate had expired overnight.",
        "certificate had expired",
    ),
    Fact(
        "software",
        "How long are backups of the database kept?",
        "Copies of the database are retained for 35 days and then erased.",
        "35 days",
    ),
    Fact(
        "software",
        "Who may deploy to production?",
        "Releases to the live system are allowed to the two engineers on call alone.",
        "two engineers on call",
    ),
)

_OPENINGS = (
    "As agreed,",
    "In practice",
    "According to the records",
    "Since last year",
    "As a rule",
)
_ENDS = (
    "as the appendix shows",
    "unless somebody objects",
    "which nobody had foreseen",
    "and this was noted down",
    "in most of the cases",
    "without further comment",
)
_NUMBERS = ("two", "seven", "a dozen", "several", "forty", "a few", "some thirty")
_FILLER: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "lease": (
        ("the tenant", "the landlord", "the caretaker", "the workshop", "the rent"),
        ("keeps in order", "shall insure", "may inspect", "pays for", "must not alter"),
        ("the yard", "the heating", "the windows", "the cellar", "the shared stairs"),
    ),
    "medicine": (
        ("the patient group", "the nurse", "the trial centre", "the second dose", "the physician"),
        ("recorded", "was compared with", "measured", "reported on", "excluded"),
        ("blood pressure", "the control arm", "earlier treatment", "body weight", "sleep"),
    ),
    "engine": (
        ("the mechanic", "the oil filter", "the exhaust valve", "the gearbox", "the test bench"),
        ("was cleaned before", "is fitted behind", "checks", "showed wear on", "drives"),
        ("the flywheel", "the fuel line", "the housing", "the seal", "the cooling fan"),
    ),
    "finance": (
        ("the treasurer", "the branch office", "revenue", "the auditor", "the share price"),
        ("was booked under", "exceeded", "reviewed", "depends on", "explains"),
        ("the annual report", "the budget", "foreign sales", "the tax rate", "staff costs"),
    ),
    "garden": (
        ("the gardener", "the compost", "the old pear tree", "the greenhouse", "the lawn"),
        ("needs", "was moved beside", "protects", "is shaded by", "suffers from"),
        ("the hedge", "more sun", "early frost", "the rose bed", "dry soil"),
    ),
    "travel": (
        ("the guide", "the harbour town", "the night train", "the hostel", "the coast road"),
        ("leads past", "is known for", "connects", "offers a view of", "closes before"),
        ("the lighthouse", "the market", "the old bridge", "the southern bay", "the museum"),
    ),
    "school": (
        ("the teacher", "the library", "the fourth form", "the timetable", "the choir"),
        ("prepares", "shares a room with", "was praised for", "asks for", "begins with"),
        ("the exam week", "the science fair", "morning sport", "the new textbooks", "the concert"),
    ),
    "software": (
        ("the service", "the build server", "the release notes", "the cache", "the on-call rota"),
        ("writes to", "was migrated from", "describes", "waits for", "retries"),
        ("the message queue", "the log files", "the old cluster", "every request", "the index"),
    ),
}


def planted_cases(count: int, size: int, seed: int = 1) -> Iterator[PlantedCase]:
    """So many documents of about this many bytes; facts, places and filler follow from the seed."""
    for number in range(count):
        chance = random.Random(f"{seed}:{number}")
        fact = FACTS[number % len(FACTS)]
        paragraphs: list[list[str]] = []
        written = 0
        while written < size:
            paragraphs.append(_paragraph(fact.domain, chance))
            written += sum(map(len, paragraphs[-1])) + len(paragraphs[-1]) + 1
        home = chance.choice(paragraphs)
        home.insert(chance.randrange(len(home) + 1), fact.sentence)
        text = "\n\n".join(" ".join(sentences) for sentences in paragraphs)
        prompt = f"Answer from the document alone, in one sentence.\n\n{fact.question}"
        yield PlantedCase(fact, prompt, text)


def _paragraph(domain: str, chance: random.Random) -> list[str]:
    """Some sentences of one subject; every third paragraph is about what the fact is about."""
    subject = domain if chance.random() < 1 / 3 else chance.choice(sorted(_FILLER))
    return [_sentence(subject, chance) for _ in range(chance.randint(3, 7))]


def _sentence(subject: str, chance: random.Random) -> str:
    who, does, what = (chance.choice(words) for words in _FILLER[subject])
    if chance.random() < 0.3:
        return f"{chance.choice(_OPENINGS)} {who} {does} {what}, {chance.choice(_ENDS)}."
    if chance.random() < 0.4:
        return f"{who} {does} {what} after {chance.choice(_NUMBERS)} days.".capitalize()
    return f"{who} {does} {what}, {chance.choice(_ENDS)}.".capitalize()
