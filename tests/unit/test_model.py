"""`slicewise study model predict`: its figures, its keys, and one clear line for what is wrong with its input."""

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

THREE_JOBS = [
    "--job=A,volume=1000,processes=50,nodes=5,start=0",
    "--job=B,volume=300,processes=10,nodes=1,start=2",
    "--job=C,volume=600,processes=40,nodes=4,start=5",
]
CAPACITY_MIB = 120.0  # a slice of 4 s
VOLUME_MIB = 1440  # so much that all jobs end with a slice
MOUNT = {"type": "fuse.glusterfs", "source": "server:/volume", "point": "/mnt/volume", "object": "file"}


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


ONE, SAID = "--job=A,volume=1,processes=1", "--job A,volume=1,processes=1"
FORM = "the form is NAME,volume=V[,processes=P][,nodes=N][,start=S][,cap=D][,weight=W]"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("--capacity 1 --job=A", f"--job A: volume is missing; {FORM}"),
        (f"--capacity 1 --weight nodes {ONE}", f"{SAID}: nodes is missing (--weight nodes goes by it); {FORM}"),
        ("--capacity 1 --job=volume=1", f"--job volume=1: has no name; {FORM}"),
        ("--capacity 1 --job=A,colour=red", f"--job A,colour=red: 'colour=red' is not understood; {FORM}"),
        ("--capacity 1 --job=A,volume=1,volume=2", "--job A,volume=1,volume=2: volume is there twice; give it once"),
        (
            "--capacity 1 --job=A,volume=1,processes=0",
            "--job A,volume=1,processes=0: processes=0 is not a count; give a whole number above 0",
        ),
        (
            "--capacity 1 --job=A,volume=-1,processes=1",
            "--job A,volume=-1,processes=1: volume of A is -1; it must be a number above 0",
        ),
        (f"--capacity 1 {ONE},start=soon", f"{SAID},start=soon: start=soon is not a number; give one such as 4 or 2.5"),
        (f"--capacity 1 {ONE} {ONE}", "--job A: is there twice; give each job a name of its own"),
        (
            f"--capacity 1MiB/s {ONE}",
            f"{SAID}: volume=1 has no unit and --capacity has one; "
            "give all amounts with units, or all as plain numbers",
        ),
        ("--capacity 1MiB --job=A", "--capacity 1MiB is not a rate; give one such as 1200 or 100MiB/s"),
        ("--capacity fast --job=A", "--capacity fast is not a rate; give one such as 1200 or 100MiB/s"),
        (f"--capacity 0 {ONE}", "--capacity 0: capacity is 0; it must be a number above 0"),
    ],
)
def test_mistakes_are_one_line(arguments, complaint):
    result = predict(*arguments.split())
    assert (result.returncode, result.stdout, result.stderr) == (2, "", f"slicewise: {complaint}\n")


def test_an_unknown_weight_is_one_line():
    result = predict("--capacity", "1", "--weight", "mass", "--job=A,volume=1")
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "mass" in result.stderr


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


def test_fit_and_predict(profiles, tmp_path):
    fitted = tmp_path / "m.json"
    done = model("fit", profiles, "-o", fitted)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("A job's share goes by its processes:")
    assert "The file system is fair to processes, not to nodes." in done.stdout
    kept = json.loads(fitted.read_text())
    assert (kept["weight"]["chosen"]["kind"], kept["capacity"]["by"]) == ("processes", "constant")
    assert len(kept["provenance"]["profiles"]) == 10
    assert kept["held_out"]["worst"] < 0.05

    jobs = ["--job", "a,volume=1200MiB,processes=2", "--job", "b,volume=1200MiB,processes=6"]
    a, b = record("predict", "--fitted", fitted, *jobs)["jobs"]
    # 30 MiB/s: b has 3 of 4 parts until it ends, then a has all.
    assert (a["t_co"]["value"], b["t_co"]["value"]) == pytest.approx((80, 160 / 3), rel=0.05)
    assert b["t_co"]["low"] < b["t_co"]["value"] < b["t_co"]["high"]


def test_slices_in_which_a_process_rests_are_left_out(tmp_path):
    rows = [[4.0] * 6, [4.0, 4.0, 0, 4.0, 4.0, 4.0]]
    first = write_job(tmp_path / "job", rows, mount=MOUNT)
    data = campaign([first])
    assert data.slices["slice"].to_list() == [EPOCH + 1, EPOCH + 3, EPOCH + 4]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["predict", "--job=A,volume=1,processes=1"], "--capacity is missing; give one such as 100MiB/s, or a model"),
        (["predict", "--fitted", "M", "--capacity", "1", "--job=A"], "--fitted M: has capacity and weight"),
        (["predict", "--fitted", "M", "--job=A"], "M: cannot be read: No such file"),
        (["invert", "a", "b"], "study model invert is gone; use: slicewise overlap"),
        (["fit", "nowhere"], "nowhere: "),
    ],
)
def test_mistakes_of_commands_are_one_line(arguments, complaint):
    done = model(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"slicewise: {complaint}")
    assert done.stderr.count("\n") == 1


def test_an_empty_campaign_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    assert "holds no profile" in model("fit", tmp_path / "empty").stderr
