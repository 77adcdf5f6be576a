"""`slicewise storage measure`: a small campaign on a real file system, and what cannot be one."""

import json

import pytest
from slicewise.analysis.size.points import read_table
from slicewise.running.size_campaign import SECOND_JOB, SizePlan, trials_of
from support.command_line import answer_of, run_slicewise
from support.programs import BUILD, need, need_built

KIB = 1 << 10


def test_every_configuration_comes_once_a_repeat_in_an_order_of_its_own(tmp_path):
    plan = SizePlan(tmp_path, [4 * KIB, 64 * KIB], [1, 2], 3, 60, 1 << 20, True)
    trials = trials_of(plan)
    rounds = [[trial for trial in trials if trial.repeat == repeat] for repeat in (1, 2, 3)]
    # One process: 2 directions x 2 accesses; two: the same with both sharings; beside a second job: 2 directions.
    assert [len(each) for each in rounds] == [(4 + 8 + 2) * 2] * 3
    kinds = [[repr(trial).partition(",")[2] for trial in each] for each in rounds]
    assert sorted(kinds[0]) == sorted(kinds[1]) == sorted(kinds[2])
    assert len(set(kinds[0])) == len(kinds[0])
    assert kinds[0] != kinds[1] != kinds[2]


def test_a_campaign_keeps_its_measurements_and_removes_its_files(tmp_path):
    need("mpicc.openmpi", "mpirun.openmpi")
    need_built(BUILD / "bin" / "slicewise-trials")
    done = run_slicewise(
        "storage", "measure", "here", "--sizes", "4KiB,64KiB", "--repeat", "2", "--seconds", "5", "--file-size", "1MiB",
        "--json", directory=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == ["slicewise-size.csv", "slicewise-size.html"]
    points = read_table(tmp_path / "here" / "slicewise-size.csv")
    assert points.height == record["runs"] == (4 + 8 + 2) * 2 * 2
    assert set(points["beside"]) == {"", SECOND_JOB}
    assert set(points["direction"]) == {"read", "write"}
    # Synchronous processes without anything else to do: calls in flight are processes, but for a slow start.
    for curve in record["curves"]:
        for point in curve["points"]:
            assert 0.3 < point["law_ratio"] < 1.01
            assert point["latency"]["value"] <= point["latency_p99"] * 100
    answer_of("storage", "size", "--table", "here/slicewise-size.csv", directory=tmp_path)


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        (["--sizes", "0B"], "--sizes 0B: give whole bytes"),
        (["--processes", "0"], "--processes 0: give whole numbers above 0"),
        (["--file-size", "5KiB"], "--file-size 5KiB: give a multiple of each size"),
        (["--launcher", "false {n}"], "failed: "),
    ],
)
def test_what_cannot_be_is_one_line(tmp_path, options, wrong):
    done = run_slicewise("storage", "measure", "here", *options, directory=tmp_path)
    assert done.returncode == 2
    assert wrong in done.stderr.splitlines()[-1]
    assert not [*tmp_path.glob("here/*")]
