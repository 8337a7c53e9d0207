"""Wallets on the command line."""

import json
from pathlib import Path

from tests.cli.conftest import Quire
from tests.world import METADATA


def prepare(quire: Quire, tmp_path: Path) -> None:
    """A ledger with some blocks and a schema."""
    (tmp_path / "a.md").write_text("One two.\n\nThree four?\n\nFive six.\n")
    (tmp_path / "s.json").write_text(json.dumps(METADATA))
    quire("init")
    quire("ingest", str(tmp_path / "a.md"))
    quire("schema", "add", str(tmp_path / "s.json"))


def test_a_wallet_is_created_credited_shown_and_emptied(quire: Quire) -> None:
    quire("init")
    quire("wallet", "create", "team", "--credit", "$5.00")
    quire("wallet", "create", "lab")
    quire("wallet", "credit", "team", "2", "--key", "k", "--note", "invoice 7")
    quire("wallet", "credit", "team", "2", "--key", "k")
    quire("wallet", "transfer", "team", "lab", "0.5")

    shown = json.loads(quire("wallet", "show", "--json").stdout)
    entries = json.loads(quire("wallet", "entries", "team", "--json").stdout)

    assert [(item["wallet"], item["balance_usd"]) for item in shown] == [
        ("lab", 0.5),
        ("team", 6.5),
    ]
    assert [item["amount_usd"] for item in entries] == [-0.5, 2.0, 5.0]
    assert entries[1]["note"] == "invoice 7"


def test_the_same_key_with_another_amount_is_an_error(quire: Quire) -> None:
    quire("init")
    quire("wallet", "create", "team")
    quire("wallet", "credit", "team", "1", "--key", "k")

    refused = quire("wallet", "credit", "team", "2", "--key", "k", code=2)

    assert "another amount" in refused.stderr


def test_a_budget_holds_a_run_and_resume_raises_it(quire: Quire, tmp_path: Path) -> None:
    prepare(quire, tmp_path)
    order = ("run", "--schema", "metadata", "--model", "simulated/small")

    held = quire(*order, "--budget", "0.00001", code=4)
    unpaid = quire("resume", "1").stdout
    quire("attach", "1", code=4)
    useless = quire("resume", "1", "--budget", "0.000009", code=2).stderr
    command = held.stderr.partition("`quire ")[2].partition("`")[0].split()
    paid = quire(*command).stdout
    done = json.loads(quire("attach", "1", "--json").stdout)

    assert "needs $" in held.stderr
    assert unpaid.startswith("run 1 is held again before its next call: its budget needs $")
    assert unpaid.endswith(f"`quire {' '.join(command)}`\n")
    assert command[:-1] == ["resume", "1", "--budget"]
    assert f"give {command[-1]} or more" in useless
    assert paid.startswith("run 1 may go on; no worker is there")
    assert done["done"] == 3
    assert done["money"]["budget_usd"] == float(command[-1])
    assert "left" in quire("status", "1").stdout


def test_what_is_no_amount_is_refused_before_anything_is_begun(
    quire: Quire, tmp_path: Path
) -> None:
    prepare(quire, tmp_path)
    order = ("run", "--schema", "metadata", "--model", "simulated/small")

    for amount in ("five", "-1", "1e-13", "nan", ""):
        refused = quire(*order, f"--budget={amount}", code=2)
        assert "amount" in refused.stderr
    assert json.loads(quire("runs", "--json").stdout) == []
