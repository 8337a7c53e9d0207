"""Reuse of approvals: an answer that a person approved is found by whoever asks the same later.

A task that took its answer from elsewhere asked nothing, and is not written down as one who asks.
Once a person approves that answer, it is the one to take, and so its task is written down too.
"""

from quire.domain.ids import StageId, TaskId, hash_number
from quire.ledger.ledger import Transaction
from quire.planning.questions import HALF


def offer_approved_answer(tx: Transaction, stage: StageId, task: TaskId) -> None:
    """Let others find the answer of a task, under the numbers that its question is known by."""
    for _, question_hash, content in tx.questions.questions_of_tasks([task]):
        question = hash_number(bytes(question_hash[:HALF]))
        numbers = sorted({hash_number(bytes(question_hash[HALF:])), content or 0})
        for number, askers in tx.questions.find_askers(question, numbers).items():
            row = (question, number, stage, task)
            if any(at == stage for at, _ in askers):  # of two in a stage the newest decision
                tx.questions.take_over_questions([row])
            else:
                tx.questions.add_questions([row])
