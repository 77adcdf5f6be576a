"""`slicewise blame` from profiles on disk through the command line: what it finds by itself, says, writes and hides."""

import json
import subprocess
import sys
import time

import pytest
from support.command_line import answer_of, json_of, refusal_of
from support.command_line import completed as slicewise
from support.jobs import write_competing_jobs, write_competing_jobs_and_runs_alone, write_job


@pytest.fixture(scope="module")
def profiles(tmp_path_factory):
    """Two jobs that competed, and a run alone of each."""
    directory = tmp_path_factory.mktemp("profiles")
    write_competing_jobs_and_runs_alone(directory)
    return directory


def test_neighbours_and_runs_alone_are_found(profiles):
    said = answer_of("blame", "post-3", directory=profiles)
    headline, second, *rest = said.splitlines()
    assert headline.startswith("post-3 took 2.")
    assert headline.endswith(", because of simulation-7.   Confidence: high")
    assert "while simulation-7 wrote 83.1 MiB/s to /scratch" in second
    assert "Alone: from its standalone run post-alone." in rest
    assert any(line.startswith("simulation-7 simulation") for line in rest)
    assert rest[-1].startswith("Page: blame-post-3.html        Why? slicewise blame post-3 --explain")
    assert (profiles / "blame-post-3.html").is_file()


def test_neighbours_and_runs_alone_may_be_given(profiles):
    given = ("post-3", "simulation-7", "--alone", "post-alone", "--json")
    record = json.loads(slicewise("blame", *given, directory=profiles).stdout)
    found = json_of("blame", "post-3", directory=profiles)
    assert record["lost_seconds"] == found["lost_seconds"]
    assert [each["job"] for each in record["neighbours"]] == ["simulation-7"]
    assert record["baseline"]["runs"] == ["post-alone"]
    lost = sum(each["lost_seconds"]["value"] for each in record["neighbours"]) + record["unexplained_seconds"]
    assert lost == pytest.approx(record["lost_seconds"]["value"])


def test_every_number_is_explained_on_demand(profiles):
    said = slicewise("blame", "post-3", "--explain", "-o", "why.txt", directory=profiles)
    assert (said.returncode, said.stdout) == (0, "")
    text = (profiles / "why.txt").read_text()
    assert "Time alone, way 1, by its standalone runs of the same size: " in text
    assert "Why?" not in text


def test_a_profile_that_cannot_be_read_is_told_and_is_nameless_too(tmp_path):
    write_competing_jobs(tmp_path, "first", "second")
    (tmp_path / "secretive").mkdir()
    (tmp_path / "secretive/n1.swz").write_bytes(b"no profile")
    assert "secretive cannot be read and may be missing" in slicewise("blame", "second", directory=tmp_path).stdout
    hidden = slicewise("blame", "second", "--anonymous", "--explain", directory=tmp_path).stdout
    assert "cannot be read and may be missing" in hidden
    assert "secretive" not in hidden


def test_jobs_that_run_are_answered_for_from_what_they_have_counted(job, tmp_path):
    """Neither has written a profile yet: there is nothing but segments in memory."""
    program = (
        "import os, time\nwith open(os.environ['OUT'], 'wb', 0) as f:\n  while f.write(bytes(10**6)): time.sleep(0.05)"
    )
    command, started = [sys.executable, "-c", program], []
    try:
        for name in ("mine", "theirs"):
            out = {"OUT": str(tmp_path / f"{name}.out"), "SLICEWISE_JOB": name, "SLICEWISE_SLICE": "1"}
            started.append(job.start(command, **out))
        environment = job.environment({"LD_PRELOAD": ""})
        asked = [sys.executable, "-m", "slicewise", "blame", str(job.folder / "mine"), "--json"]
        give_up = time.monotonic() + 60
        while True:
            # Both must have begun and been side by side for a few slices, which takes longer on a loaded machine.
            time.sleep(4)
            done = subprocess.run(asked, env=environment, capture_output=True, text=True, check=False)
            if '"theirs"' in done.stdout or time.monotonic() > give_up:
                break
    finally:
        for process in started:
            process.kill()
            process.communicate()
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert "mine (still running; as of " in told["sentences"][0]
    assert [one["job"] for one in told["neighbours"]] == ["theirs"]
    assert not told["is_claimed"]
    assert told["confidence"] in ("low", "unknown")  # with nothing to hold it against


def test_the_report_has_the_answer_where_neighbours_lie_beside(profiles, tmp_path):
    said = slicewise("report", "post-3", directory=profiles).stdout
    assert "\npost-3 took 2." in said
    assert "Next, who slowed it down: slicewise blame post-3" in said
    write_job(tmp_path / "lonely", 2, 2, {range(20): 10.0})
    lonely = slicewise("report", "lonely", directory=tmp_path).stdout
    assert "Confidence:" not in lonely
    assert "Next, who slowed it down: slicewise blame lonely" in lonely


def test_the_report_leaves_a_crowd_of_neighbours_to_blame(tmp_path):
    for number in range(22):
        write_job(tmp_path / f"job-{number}", 1, 1, {range(5): 10.0}, first_node=number + 1)
    said = slicewise("report", "job-3", directory=tmp_path).stdout
    assert "21 other jobs used its storage at the same time." in said
    assert "Next, who slowed it down: slicewise blame job-3" in said


def test_of_many_jobs_overlap_asks_for_no_blame(tmp_path):
    for number in range(9):
        write_job(tmp_path / f"job-{number}", 1, 1, {range(5): 10.0}, first_node=number + 1)
    jobs = [f"job-{number}" for number in range(9)]
    assert json_of("overlap", *jobs, directory=tmp_path)["blames"] == []
    assert len(json_of("overlap", *jobs[:2], directory=tmp_path)["blames"]) == 2


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["nowhere"], "slicewise: nowhere: does not exist"),
        (
            ["post-3", "--alone", "simulation-alone"],
            "slicewise: simulation-alone: is no standalone run of post-3: it ran simulation, not postproc",
        ),
    ],
)
def test_a_users_error_is_one_line(profiles, arguments, line):
    made = refusal_of("blame", *arguments, directory=profiles)
    assert made.startswith(line)
