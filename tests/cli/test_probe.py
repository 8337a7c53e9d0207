"""The probe as it is typed: a forecast first, then a table, one recommendation, or JSON."""

import pytest

from tests.cli.conftest import Quire

PROBE = ("probe", "--schema", "clauses", "--model", "simulated/large")


def test_a_probe_tells_its_forecast_then_a_table_and_a_recommendation(ready: Quire) -> None:
    result = ready(*PROBE, "--sample", 20, "--sizes", "5,10")

    lines = result.stdout.splitlines()
    assert lines[0].split()[:2] == ["size", "calls"]
    assert [line.split()[0] for line in lines[2:6]] == ["1", "again", "5", "10"]
    assert all(len(line) <= 100 for line in lines)
    assert lines[-2].startswith("recommended: 10 blocks per call, likely within 2 %; 32 blocks")
    assert lines[-1].startswith("next: quire run --schema clauses --model simulated/large --pack-")
    assert "20 blocks of 30, from 1 document · forecast 46 calls, $" in result.stderr
    assert "run 2: one block per call, once more" in result.stderr


def test_sizes_that_are_not_tried_are_told_with_the_reason(ready: Quire) -> None:
    said = ready(*PROBE, "--sample", 12, "--sizes", "6,11,20").stderr

    assert "not tried: 11 blocks per call: they make no fewer calls than 6" in said
    assert "not tried: 20 blocks per call: the sample has 12" in said
    assert "not tried: 6 " not in said


def test_money_that_is_only_presumed_is_told_apart(ready: Quire) -> None:
    probe = (*PROBE, "--sample", 6, "--sizes", "3")
    plain = ready.json(*probe)
    lost = ready.json(*probe, "--seed", "1", faults="drop=0.2")

    assert (plain["presumed_usd"], plain["cost_usd"] > 0) == (0, True)
    assert lost["presumed_usd"] > 0


def test_the_same_probe_again_is_free_and_says_so(ready: Quire) -> None:
    first = ready(*PROBE, "--sample", 20)

    again = ready(*PROBE, "--sample", 20)

    assert again.stdout == first.stdout
    assert "all of it is here already" in again.stderr
    assert "run 1" not in again.stderr


def test_a_quiet_probe_prints_its_report_only(ready: Quire) -> None:
    assert ready(*PROBE, "--sample", 10, "-q").stderr == ""


def test_a_program_reads_the_report_as_json(ready: Quire) -> None:
    report = ready.json(*PROBE, "--sizes", "5,25", "--tolerance", "0.05", "--seed", "3")

    assert (report["recommended"], report["finding"]) == (25, "within")
    assert (report["blocks"], report["seed"], report["tolerance"]) == (30, 3, 0.05)
    assert report["simulated"] is True
    small, large = report["sizes"]
    assert (small["size"], small["calls"], large["blocks_per_call"]) == (5, 6, 15)
    assert large["mismatched_fields"] == {"of": 180, "count": 0, "share": 0, "low": 0} | {
        "high": pytest.approx(0.0209, abs=1e-4)
    }
    assert large["excess"]["share"] == 0
    assert report["again"]["mismatched_blocks"]["count"] == 0


def test_what_differs_in_packs_is_told_by_field(ready: Quire) -> None:
    printed = ready(*PROBE, faults="drift=0.6").stdout

    assert "fields that differ most: /clause_type" in printed
    assert "(alone 0 %)" in printed
    assert "beyond" in printed
    assert printed.splitlines()[-2].startswith("recommended: one block per call")


def test_a_run_takes_what_the_probe_recommended(ready: Quire) -> None:
    ready(*PROBE, "--sizes", "15")

    order = ("--schema", "clauses", "--model", "simulated/large", "--pack-size", "probed")
    done = ready.json("run", *order, "--no-reuse")

    assert (done["calls"], done["mean_tasks_per_pack"]) == (2, 15)
    assert "pack_size 15 probe" in " ".join(ready("status", "--policy").stdout.split())


def test_without_a_probe_the_run_says_how_to_make_one(ready: Quire) -> None:
    printed = ready("run", "--schema", "clauses", "--pack-size", "probed", code=2).stderr

    assert printed == (
        "quire: no probe of clauses with simulated/small yet:"
        " `quire probe --schema clauses --model simulated/small`\n"
    )
    assert ready.json("runs") == []


@pytest.mark.parametrize("size", ["26", "0", "-3", "many", "9" * 5000])
def test_a_pack_size_of_any_other_kind_is_refused(ready: Quire, size: str) -> None:
    printed = ready("run", "--schema", "clauses", "--pack-size", size, code=2).stderr

    assert 'pack_size must be a whole number from 1 to 25 or "probed", not ' in printed


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--sizes", "5,ten"), "--sizes takes whole numbers with commas between them"),
        (("--sizes", "5,60"), "sizes must be from 2 to 50, not 5,60"),
        (("--sizes", ","), "sizes must be from 2 to 50, not none"),
        (("--sample", "1"), "--sample"),
        (("--tolerance", "2"), "--tolerance"),
    ],
)
def test_a_mistake_gets_one_line(ready: Quire, options: tuple[str, ...], says: str) -> None:
    printed = ready(*PROBE, *options, code=2).stderr

    assert says in printed
    assert printed.count("\n") == 1


def test_the_runs_of_a_probe_are_never_the_newest_run_that_is_meant(ready: Quire) -> None:
    before = ready("status", code=2).stderr
    ready(*PROBE, "--sample", 10, "--sizes", "5")
    probed = ready("status", code=2).stderr
    ready("run", "--schema", "clauses")
    meant = ready.json("runs")[0]["run"]

    ready("probe", "--schema", "clauses", "--model", "simulated/small", "--sample", 10)
    newest = ready.json("runs")[0]["run"]

    assert before == probed
    assert "there are no runs yet" in probed
    assert newest > meant
    assert ready.json("status")["run"] == meant
    assert len(ready("export").stdout.splitlines()) == 30
    assert ready.json("status", newest)["run"] == newest


def test_a_probe_spends_for_itself_only(ready: Quire) -> None:
    ready("run", "--schema", "clauses", "--detach")

    ready("probe", "--schema", "clauses", "--sample", "2", "--sizes", "2")

    assert ready.json("status", 1)["calls"] == 0


def test_a_probe_that_is_paid_for_needs_a_yes_where_nobody_can_be_asked(ready: Quire) -> None:
    refused = ready("probe", "--schema", "clauses", "--model", "openai/gpt-5.6-luna", code=2)

    assert "without a terminal to ask on, a probe that is paid for needs --yes" in refused.stderr
    assert ready.json("runs") == []
