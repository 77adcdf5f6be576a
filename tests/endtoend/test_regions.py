"""Regions that programs mark: what each is given, against what the program did, in every language and at every end."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from slicewise.analysis.job.regions import by_name, in_slices, occurrences
from slicewise.digest.digest import read_digest
from slicewise.profile.reader import Profile
from support.command_line import run_slicewise
from support.programs import APPS, BUILD, ROOT, Job, need

INTERFACE = ROOT / "interface"
NVTX = str(BUILD / "lib" / "libslicewise-nvtx.so")
SLICE_NS = 100_000_000
SLICE = {"SLICEWISE_SLICE": "0.1"}
# Written by each of the regions of tests/apps/regions.cpp, in the order of their occurrences where that is known.
THREADS, ROUNDS, BYTES = 4, 5, 1000


def build(folder: Path, *arguments: str | Path) -> Path:
    compiler = str(arguments[0])
    need(compiler)
    target = folder / f"program-{compiler}"
    command = [*arguments, "-O1", "-Wall", "-I", INTERFACE, "-o", target, "-lpthread"]
    subprocess.run(command, cwd=folder, check=True)
    return target


def written(profile: Profile) -> dict[str, int]:
    return dict(profile.regions.group_by("name").agg(pl.col("write_bytes").sum()).iter_rows())


@pytest.fixture(name="program", params=["g++", "gcc"])
def make_program(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    options = ["-x", "c"] if request.param == "gcc" else []
    return build(tmp_path, request.param, *options, APPS / "regions.cpp")


def test_threads_forks_exceptions_and_jumps(job: Job, program: Path) -> None:
    profile = job.profiled([program, job.data / "file"], **SLICE)
    thrown = {"scope": 17 + 19, "left by an exception": 19} if program.name.endswith("g++") else {}
    assert written(profile) == thrown | {
        "batch": ROUNDS * BYTES * sum(range(1, THREADS + 1)),
        "until the thread ends": THREADS * 11,
        "around": 13 + sum({"scope": 17 + 19}.values() if thrown else ()),
        "left by a jump": 13 + (17 + 19 if thrown else 0),
        "fork": 23 + 29,
        "of the child": 200,
    }
    left = set(profile.regions.filter(pl.col("left") > 0)["name"])
    assert left == {"until the thread ends", "left by a jump", *(set(thrown) - {"scope"})}
    batches = profile.regions.filter(pl.col("name") == "batch")
    assert sorted(batches["occurrence"]) == list(range(1, THREADS * ROUNDS + 1))
    assert batches["thread"].n_unique() == THREADS
    assert batches["ns"].min() >= 30_000_000
    assert (batches["io_ns"] <= batches["ns"]).all()
    assert dict(profile.mishaps.select("mishap", "count").iter_rows()) == {"region_ends_ignored": 1}


def test_by_slice_they_add_up_and_are_right_to_a_slice(job: Job, program: Path) -> None:
    assert job.run([program, job.data / "file"], **SLICE).status == 0
    digest = read_digest(job.spool_dir)
    whole, of_slices = occurrences(digest), in_slices(digest, SLICE_NS)
    summed = of_slices.group_by("region", "occurrence").agg(
        pl.col("seconds", "write_bytes", "io_seconds").sum(), pl.col("slice").min(), last=pl.col("slice").max()
    )
    both = whole.join(summed, on=["region", "occurrence"], suffix="_summed")
    assert both.height == whole.height
    for name in ("write_bytes", "io_seconds"):
        assert (both[name] - both[f"{name}_summed"]).abs().max() == pytest.approx(0, abs=1e-6)
    assert (both["slice"] == both["begin_ns"] // SLICE_NS).all()
    assert (both["last"] == (both["end_ns"] - 1) // SLICE_NS).all()
    batch = by_name(digest).row(by_predicate=pl.col("region") == "batch", named=True)
    assert (batch["occurrences"], batch["processes"]) == (THREADS * ROUNDS, 1)


def test_without_the_profiler_they_do_nothing(job: Job, program: Path) -> None:
    assert job.run_plainly([program, job.data / "file"]).status == 0
    assert job.run([program, job.data / "file"], SLICEWISE_OFF="1").status == 0
    assert not job.spool_dir.exists()


def test_what_was_counted_before_a_kill_is_kept(job: Job, program: Path) -> None:
    assert job.run([program, job.data / "file", "kill"], **SLICE).status == -signal.SIGKILL
    assert job.recover(job.spool_dir).returncode == 0
    profile = job.profile()
    row = profile.regions.row(by_predicate=pl.col("name") == "until killed", named=True)
    assert (row["write_bytes"], row["calls"], row["left"]) == (31 + 37, 2, 1)
    end_ns = profile.processes.filter(pl.col("ending") == "killed")["end_ns"].item()
    assert row["end_ns"] == end_ns
    assert row["ns"] >= 300_000_000


def test_fortran(job: Job, tmp_path: Path) -> None:
    module = INTERFACE / "slicewise_region.f90"
    program = build(tmp_path, "gfortran", module, APPS / "regions.f90")
    assert job.run_plainly([program, job.data / "file"]).status == 0
    (job.data / "file").unlink()
    assert job.run([program, job.data / "file"]).status == 0
    assert written(job.profile()) == {"checkpoint": 3 * 8}


def test_python(job: Job) -> None:
    script = (
        "import os, threading\n"
        "from slicewise_region import region\n"
        "def write(path, count):\n"
        "    with open(path, 'wb', buffering=0) as file: file.write(bytes(count))\n"
        "def epoch(number):\n"
        "    with region(f'epoch'):\n"
        "        write(f'{number}', 1000 * number)\n"
        "@region('save')\n"
        "def save(): write('x', 5)\n"
        "threads = [threading.Thread(target=epoch, args=(number,)) for number in (1, 2, 3)]\n"
        "for thread in threads: thread.start()\n"
        "for thread in threads: thread.join()\n"
        "try:\n"
        "    with region('failing'):\n"
        "        write('x', 7)\n"
        "        raise ValueError\n"
        "except ValueError: pass\n"
        "save(); save()\n"
    )
    command = [sys.executable, "-S", "-c", script]
    settings = {"PYTHONPATH": str(INTERFACE)}
    assert job.run_plainly(command, **settings).status == 0
    job.must_run(command, **settings)
    assert written(job.profile()) == {"epoch": 6000, "failing": 7, "save": 10}
    assert job.profile().regions["left"].sum() == 0


def test_names_are_masked_as_paths_are(job: Job, program: Path) -> None:
    assert job.run([program, job.data / "file"], SLICEWISE_NAMES="hash", SLICEWISE_NAMES_KEY="x").status == 0
    names = set(job.profile().regions["name"])
    assert len(names) >= 6
    assert all(len(name) == 16 and int(name, 16) >= 0 for name in names)


def test_report_says_what_they_took(job: Job, program: Path) -> None:
    assert job.run([program, job.data / "file"], **SLICE).status == 0
    command = [sys.executable, "-m", "slicewise", "report", job.spool_dir, "--html", job.folder / "page.html"]
    done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
    names = {row["region"]: row for row in json.loads(done.stdout)["regions"]["names"]}
    assert names["batch"]["occurrences"] == THREADS * ROUNDS
    assert names["batch"]["write_bytes"] == ROUNDS * BYTES * sum(range(1, THREADS + 1))
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Region batch: 20 times" in said
    assert "until the thread ends" in (job.folder / "page.html").read_text()


def test_ranges_of_nvtx(job: Job, tmp_path: Path) -> None:
    """A range of a domain ends those within it, of others too, whose own end then finds none. Those nested deeper than
    256 are none.
    """
    program = build(tmp_path, "gcc", APPS / "nvtx_client.c")
    profile = job.profiled([program, job.data / "file"], NVTX_INJECTION64_PATH=NVTX)
    assert written(profile) == {
        "ascii": 1 + 2 + 4, "wide ?": 2 + 4, "in attributes": 4, "registered": 8 + 16, "other": 16,
        "registered wide": 64, "NVTX": 256 * 128,
    }  # fmt: skip
    assert dict(profile.mishaps.select("mishap", "count").iter_rows()) == {"region_ends_ignored": 1}


@pytest.mark.parametrize("given", ["", "/other/library.so"])
def test_run_names_the_library_to_nvtx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    """Unless another one is named."""
    monkeypatch.delenv("NVTX_INJECTION64_PATH", raising=False)
    if given:
        monkeypatch.setenv("NVTX_INJECTION64_PATH", given)
    program = "import os; print(os.environ['NVTX_INJECTION64_PATH'])"
    ran = run_slicewise("run", "--no-collector", "--nvtx", "--", sys.executable, "-c", program, directory=tmp_path)
    assert ran.stdout.splitlines() == [given or NVTX]


@pytest.mark.parametrize("version", ["-UTYPED", "-DTYPED"])
def test_annotations_of_dftracer(job: Job, tmp_path: Path, version: str) -> None:
    """Those that end twice (finalize, and the destructor) end once; notes are none."""
    source = APPS / "annotations.cpp"
    library = tmp_path / "libannotations.so"
    subprocess.run(["g++", "-O1", "-fPIC", "-shared", "-DSTAND_IN", version, source, "-o", library], check=True)
    program = build(tmp_path, "g++", version, source, library, f"-Wl,-rpath,{tmp_path}")
    assert job.run_plainly([program, job.data / "file"]).status == 0
    profile = job.profiled([program, job.data / "file"])
    assert written(profile) == {
        "in C": 1 + 2 + 4, "within": 1, "scope": 8, "begun": 16, "refuse": 32, "step": 3 * 128,
    }  # fmt: skip
    assert profile.regions["left"].sum() == 0
    assert profile.mishaps.is_empty()


# What programs use of DFTracer's Python module, which has more, and traces it.
DFT_FN = """
class dft_fn:
    def __init__(self, cat, name=None):
        self._cat, self._name = cat, name
    def __enter__(self):
        return self
    def __exit__(self, *exception):
        pass
    def log(self, func=None, name=None):
        return func if callable(func) else lambda func: func
    log_init = log_static = log
    def iter(self, func, name="loop", iter_name="step"):
        yield from func
"""
ANNOTATED = """
import os, threading
from slicewise_region import follow_dftracer
follow_dftracer(dft_fn)
fd = os.open("file", os.O_RDWR | os.O_CREAT)
def put(count):
    os.pwrite(fd, bytes(count), 0)
io = dft_fn("IO")
class Loader:
    @io.log_init
    def __init__(self):
        put(1)
    @io.log
    def read(self, count):
        put(count)
        return count
    @io.log_static
    def close():
        put(4)
@io.log(name="named")
def work():
    put(8)
loader = Loader()
assert loader.read(2) == 2
Loader.close()
work()
for step in io.iter(range(3), name="epoch"):
    put(16)
with dft_fn("IO", name="block") as block:
    put(32)
try:
    with block:
        put(64)
        raise ValueError
except ValueError:
    pass
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""


def test_annotations_of_dftracer_in_python(job: Job) -> None:
    command = [sys.executable, "-S", "-c", DFT_FN + ANNOTATED]
    settings = {"PYTHONPATH": str(INTERFACE)}
    assert job.run_plainly(command, **settings).status == 0
    job.must_run(command, **settings)
    assert written(job.profile()) == {
        "Loader.__init__": 1, "Loader.read": 2, "Loader.close": 4, "named": 5 * 8, "epoch.yield": 3 * 16,
        "block": 32 + 64,
    }  # fmt: skip
    assert job.profile().mishaps.is_empty()
