"""`slicewise study model fit`, `check`, `invert` and `predict --fitted`, on profiles of jobs of known weights."""

from __future__ import annotations

import json
import subprocess
from itertools import count
from pathlib import Path

import pytest
from slicewise.analysis.runs.campaign import campaign
from slicewise.digest.digest import Digest
from slicewise.profile.reader import read_profile
from support.command_line import completed
from support.tabled_jobs import EPOCH, MIB, write_job

CAPACITY_MIB = 120.0  # a slice of 4 s
VOLUME_MIB = 1440  # so much that all jobs end with a slice
MOUNT = {"type": "fuse.glusterfs", "source": "server:/volume", "point": "/mnt/volume", "object": "file"}


def write_together(folder: Path, first_slice: int, sizes: list[int]) -> list[Path]:
    """Jobs of one node each that share the capacity by processes and start together; a slice in which one ends is cut
    in two, so that bytes are in it as they were moved.
    """
    left = {place: float(VOLUME_MIB) for place in range(len(sizes))}
    rows: dict[int, list[float]] = {place: [] for place in left}
    while any(left.values()):
        moved = dict.fromkeys(left, 0.0)
        time = 1.0
        while time > 1e-9 and any(left.values()):
            active = [place for place, rest in left.items() if rest > 0]
            whole = sum(sizes[place] for place in active)
            rates = {place: CAPACITY_MIB * sizes[place] / whole for place in active}
            step = min(time, *(left[place] / rates[place] for place in active))
            for place in active:
                moved[place] += rates[place] * step
                left[place] = max(left[place] - rates[place] * step, 0.0)
                left[place] *= left[place] > 1e-6
            time -= step
        for place in moved:
            rows[place].append(moved[place])
    paths = []
    for place, size in enumerate(sizes):
        own = rows[place]
        while own and not own[-1]:
            own.pop()
        path = folder / f"{'-'.join(map(str, sizes))}-{chr(ord('a') + place)}"
        each = [[amount / size for amount in own]] * size
        write_job(path, each, host=f"n{place}", first_slice=first_slice, mount=MOUNT)
        paths.append(path)
    return paths


@pytest.fixture(scope="module")
def profiles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("campaign")
    places = count(EPOCH, 200)
    for sizes in ([1], [2], [4], [6], [1, 4], [2, 6], [4, 6]):
        write_together(folder, next(places), sizes)
    return folder


def model(*arguments: object) -> subprocess.CompletedProcess[str]:
    return completed("study", "model", *arguments)


def record(*arguments: object) -> dict:
    done = model(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_campaign(profiles):
    data = campaign([Digest(read_profile(path)) for path in sorted(profiles.iterdir())])
    pairs = data.jobs.select("pair", "run").unique()["pair"].sort().to_list()
    assert pairs == ["1", "1 + 4", "2", "2 + 6", "4", "4 + 6", "6"]
    assert (data.direction, data.storage.source) == ("write", "server:/volume")
    assert data.jobs.filter(data.jobs["pair"] == "2 + 6")["bytes"].to_list() == pytest.approx([VOLUME_MIB * MIB] * 2)
    # One call of a MiB a slice and process takes the whole slice: a process keeps the bytes of one under way.
    assert data.slices["seconds"].unique().to_list() == [4.0]
    alone = data.slices.filter(data.slices["pair"] == "4")
    assert alone["bytes"].to_list() == pytest.approx([CAPACITY_MIB * MIB] * 10, rel=1e-6)
    assert alone["outstanding"].to_list() == pytest.approx([CAPACITY_MIB * MIB] * 10, rel=1e-6)


def test_fit_check_predict_and_invert(profiles, tmp_path):
    fitted = tmp_path / "m.json"
    done = model("fit", profiles, "-o", fitted)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("A job's share goes by its processes:")
    assert "The file system is fair to processes, not to nodes." in done.stdout
    kept = json.loads(fitted.read_text())
    assert (kept["weight"]["chosen"]["kind"], kept["capacity"]["by"]) == ("processes", "constant")
    assert len(kept["provenance"]["profiles"]) == 10
    assert kept["held_out"]["worst"] < 0.05

    for checked in (record("check", profiles), record("check", profiles, "--fitted", fitted)):
        assert (checked["jobs"], checked["runs"], checked["not_predicted"]) == (6, 3, 0)
        assert checked["max_relative_error"] < 0.05
        assert Path(checked["page"]).read_text().startswith("<!")

    jobs = ["--job", "a,volume=1200MiB,processes=2", "--job", "b,volume=1200MiB,processes=6"]
    a, b = record("predict", "--fitted", fitted, *jobs)["jobs"]
    # 30 MiB/s: b has 3 of 4 parts until it ends, then a has all.
    assert (a["t_co"]["value"], b["t_co"]["value"]) == pytest.approx((80, 160 / 3), rel=0.05)
    assert b["t_co"]["low"] < b["t_co"]["value"] < b["t_co"]["high"]

    inverse = record("invert", profiles / "2-6-a", profiles / "2-6-b", "--fitted", fitted)
    assert [job["t_alone"] for job in inverse["jobs"]] == pytest.approx([48, 48], rel=0.05)


def test_invert_of_jobs_that_ran_apart_is_refused(profiles):
    done = model("invert", profiles / "1-a", profiles / "2-a")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "are not of jobs that ran together" in done.stderr


def test_slices_in_which_a_process_rests_are_left_out(tmp_path):
    rows = [[4.0] * 6, [4.0, 4.0, 0, 4.0, 4.0, 4.0]]
    first = write_job(tmp_path / "job", rows, mount=MOUNT)
    data = campaign([first])
    assert data.slices["slice"].to_list() == [EPOCH + 1, EPOCH + 3, EPOCH + 4]


def test_invert_of_given_times():
    jobs = ["--job", "L,seconds=120,processes=60", "--job", "S,seconds=200,processes=12"]
    assert [job["t_alone"] for job in record("invert", *jobs)["jobs"]] == pytest.approx([100, 100])


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["predict", "--job=A,volume=1,processes=1"], "--capacity is missing; give one such as 100MiB/s, or a model"),
        (["predict", "--fitted", "M", "--capacity", "1", "--job=A"], "--fitted M: has capacity and weight"),
        (["predict", "--fitted", "M", "--job=A"], "M: cannot be read: No such file"),
        (["invert"], "give the profiles of jobs that ran together, or their times by --job"),
        (["invert", "--job=A,seconds=3"], "--job A,seconds=3: processes is missing (shares go by processes)"),
        (["invert", "--job=A,seconds=0,processes=1"], "--job A,seconds=0,processes=1: seconds=0 must be more than 0"),
        (["fit", "nowhere"], "nowhere: "),
    ],
)
def test_mistakes_are_one_line(arguments, complaint):
    done = model(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"slicewise: {complaint}")
    assert done.stderr.count("\n") == 1


def test_a_campaign_without_runs_together_is_refused(profiles, tmp_path):
    done = model("check", profiles / "1-a", profiles / "2-a", "--html", tmp_path / "page.html")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "none of these jobs ran together" in done.stderr
    (tmp_path / "empty").mkdir()
    assert "holds no profile" in model("fit", tmp_path / "empty").stderr
