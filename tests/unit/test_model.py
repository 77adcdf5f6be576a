"""`slicewise study model predict`: its figures, its keys, and one clear line for what is wrong with its input."""

from __future__ import annotations

import json
import subprocess

import pytest
from support.command_line import completed

THREE_JOBS = [
    "--job=A,volume=1000,processes=50,nodes=5,start=0",
    "--job=B,volume=300,processes=10,nodes=1,start=2",
    "--job=C,volume=600,processes=40,nodes=4,start=5",
]


def predict(*arguments: str) -> subprocess.CompletedProcess[str]:
    return completed("study", "model", "predict", *arguments)


def predicted(*arguments: str) -> dict:
    result = predict(*arguments, "--json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("weight", ["processes", "nodes"])
def test_json(weight):
    result = predicted("--capacity", "100", "--weight", weight, *THREE_JOBS)
    assert (result["capacity"], result["weight"]) == (100, weight)
    assert [job["job"] for job in result["jobs"]] == ["A", "B", "C"]
    assert [job["end"] for job in result["jobs"]] == pytest.approx([16, 19, 18])
    assert [job["t_co"] for job in result["jobs"]] == pytest.approx([16, 17, 13])
    assert [job["t_alone"] for job in result["jobs"]] == pytest.approx([10, 3, 6])
    assert [job["interference"] for job in result["jobs"]] == pytest.approx([1.6, 5.666667, 2.166667])


def test_given_weights_and_caps():
    jobs = ["--job=A,volume=300,weight=10,cap=30", "--job=B,volume=400,weight=20,cap=40,start=0"]
    result = predicted("--capacity", "100", "--weight", "given", *jobs)
    assert [(job["end"], job["interference"]) for job in result["jobs"]] == [(10, 1), (10, 1)]


def test_units():
    jobs = ["--job=A,volume=2GiB,processes=1", "--job=B,volume=512 MiB,processes=1,cap=25.6MiB/s"]
    result = predicted("--capacity", "128MiB/s", *jobs)
    assert result["capacity"] == 128 * 2**20
    assert [job["t_co"] for job in result["jobs"]] == pytest.approx([20, 20])
    assert predicted("--capacity", "2MB/s", "--job=A,volume=1GB,processes=1")["jobs"][0]["end"] == 500


def test_table_and_file(tmp_path):
    result = predict("--capacity", "100", *THREE_JOBS, "-o", str(tmp_path / "table"))
    assert (result.returncode, result.stdout) == (0, "")
    headings, a, *_ = (tmp_path / "table").read_text().splitlines()
    assert headings.split() == ["job", "weight", "start", "end", "together", "alone", "interference"]
    assert a.split()[:2] == ["A", "50"]
    assert a.split()[-1] == "1.60"


FORM = "the form is NAME,volume=V[,processes=P][,nodes=N][,start=S][,cap=D][,weight=W]"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--capacity", "1", "--job=A"], f"--job A: volume is missing; {FORM}"),
        (
            ["--capacity", "1", "--weight", "nodes", "--job=A,volume=1,processes=1"],
            f"--job A,volume=1,processes=1: nodes is missing (--weight nodes goes by it); {FORM}",
        ),
        (["--capacity", "1", "--job=volume=1"], f"--job volume=1: has no name; {FORM}"),
        (["--capacity", "1", "--job=A,colour=red"], f"--job A,colour=red: 'colour=red' is not understood; {FORM}"),
        (
            ["--capacity", "1", "--job=A,volume=1,volume=2"],
            "--job A,volume=1,volume=2: volume is there twice; give it once",
        ),
        (
            ["--capacity", "1", "--job=A,volume=1,processes=0"],
            "--job A,volume=1,processes=0: processes=0 is not a count; give a whole number above 0",
        ),
        (
            ["--capacity", "1", "--job=A,volume=-1,processes=1"],
            "--job A,volume=-1,processes=1: volume of A is -1; it must be a number above 0",
        ),
        (
            ["--capacity", "1", "--job=A,volume=1,processes=1,start=soon"],
            "--job A,volume=1,processes=1,start=soon: start=soon is not a number; give one such as 4 or 2.5",
        ),
        (
            ["--capacity", "1", "--job=A,volume=1,processes=1", "--job=A,volume=1,processes=1"],
            "--job A: is there twice; give each job a name of its own",
        ),
        (
            ["--capacity", "1MiB/s", "--job=A,volume=1,processes=1"],
            "--job A,volume=1,processes=1: volume=1 has no unit and --capacity has one; "
            "give all amounts with units, or all as plain numbers",
        ),
        (["--capacity", "1MiB", "--job=A"], "--capacity 1MiB is not a rate; give one such as 1200 or 100MiB/s"),
        (["--capacity", "fast", "--job=A"], "--capacity fast is not a rate; give one such as 1200 or 100MiB/s"),
        (
            ["--capacity", "0", "--job=A,volume=1,processes=1"],
            "--capacity 0: capacity is 0; it must be a number above 0",
        ),
    ],
)
def test_mistakes_are_one_line(arguments, complaint):
    result = predict(*arguments)
    assert (result.returncode, result.stdout, result.stderr) == (2, "", f"slicewise: {complaint}\n")


def test_an_unknown_weight_is_one_line():
    result = predict("--capacity", "1", "--weight", "mass", "--job=A,volume=1")
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "mass" in result.stderr
