"""Hardware counters, against what the kernel itself counted of the same run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from slicewise.analysis.job.usage import hardware
from slicewise.digest.digest import Digest
from support.programs import APPS, Apps, Ended, Job

EVENTS = "perf::TASK-CLOCK,perf::PAGE-FAULTS,perf::CONTEXT-SWITCHES"
FIGURES = {"perf::TASK-CLOCK": "processor_us", "perf::PAGE-FAULTS": "faults", "perf::CONTEXT-SWITCHES": "switches"}
SCALE = {"perf::TASK-CLOCK": 1000}
# Beside the 2 %: what happened before main, and in the last calls, in the kernel's own units.
SLACK = {"perf::TASK-CLOCK": 50_000_000, "perf::PAGE-FAULTS": 200, "perf::CONTEXT-SWITCHES": 40}


@pytest.fixture(autouse=True)
def may_count() -> None:
    paranoid = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    if os.geteuid() != 0 and paranoid > 1:
        pytest.skip(f"no right to count events in the kernel: root, or kernel.perf_event_paranoid of 1, not {paranoid}")


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Path:
    """A directory with a libpapi.so that counts the kernel's software events on any processor."""
    folder = tmp_path_factory.mktemp("papi")
    source = APPS / "papi_stand_in.c"
    command = ["gcc", "-std=gnu17", "-Wall", "-Werror", "-shared", "-fPIC", source, "-o", folder / "libpapi.so.7.0"]
    subprocess.run(command, check=True)
    return folder


def work(job: Job, apps: Apps, library: Path, threads: str = "0 brief", **settings: str) -> Ended:
    program = apps.build("hardware_work", "-pthread")
    given = {"LD_LIBRARY_PATH": str(library), "SLICEWISE_PAPI": EVENTS, "SLICEWISE_SLICE": "0.5"}
    return job.run([program, *threads.split()], **(given | settings))


PROBE = """
import ctypes, sys
for version in (0x7030000, 0x7020000, 0x7010000, 0x7000000, 0x6000000, 0x5070000):
    try:
        papi = ctypes.CDLL(f"libpapi.so.{version >> 24}.{version >> 16 & 255}")
    except OSError:
        continue
    papi.PAPI_strerror.restype = ctypes.c_char_p
    got = papi.PAPI_library_init(version)
    if got != version:
        sys.exit(f"PAPI_library_init of {papi._name}: {papi.PAPI_strerror(got).decode()}")
    if error := papi.PAPI_event_name_to_code(b"perf::TASK-CLOCK", ctypes.byref(ctypes.c_int())):
        sys.exit(f"{papi._name} knows no event of this processor and kernel: {papi.PAPI_strerror(error).decode()}")
    sys.exit()
sys.exit("there is no libpapi.so")
"""


@pytest.fixture(params=["stand-in", "real"])
def either(request, library: Path) -> Path:
    """The stand-in, or the PAPI that the loader finds (LD_LIBRARY_PATH), where that one works."""
    if request.param == "stand-in":
        return library
    probe = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        pytest.skip(f"no real PAPI: {probe.stderr.strip()}")
    return Path(os.environ.get("LD_LIBRARY_PATH", ""))


@pytest.mark.parametrize("threads", ["0", "3", "3 stay"])
def test_events_are_those_of_the_kernel(job: Job, apps: Apps, either: Path, threads):
    ended = work(job, apps, either, threads)
    assert (ended.status, ended.errors) == (0, "")
    profile = job.profile()
    counted = hardware(Digest(profile))
    assert counted.units == {"perf::TASK-CLOCK": "ns", "perf::PAGE-FAULTS": "", "perf::CONTEXT-SWITCHES": ""}
    assert counted.meanings["perf::PAGE-FAULTS"] == "PERF_COUNT_SW_PAGE_FAULTS"
    sums = counted.per_slice().sum().row(0, named=True)
    for event, figure in FIGURES.items():
        kernels = ended.told[figure] * SCALE.get(event, 1)
        assert abs(sums[event] - kernels) <= 0.02 * kernels + SLACK[event], event
    slices = counted.per_slice()["slice"].to_list()
    assert slices == list(range(slices[0], slices[-1] + 1))
    first, last = (int(profile.processes[name][0]) // profile.slice_ns for name in ("start_ns", "end_ns"))
    assert (slices[0] >= first, slices[-1] <= last) == (True, True)
    assert profile.mishaps.is_empty()
    assert dict(profile.calls.select("operation", "calls").iter_rows()).get("pthread_create", 0) == int(threads[0])


@pytest.mark.parametrize(
    ("settings", "said", "mishap"),
    [
        ({"LD_LIBRARY_PATH": "", "SLICEWISE_PAPI": "nonsense"}, "hardware events are not counted", None),
        ({"SLICEWISE_PAPI": "nonsense,PAPI_X"}, "nonsense (refused by the stand-in), PAPI_X (refused", "papi_event"),
        ({"STAND_IN_REFUSES": "library_init"}, "PAPI does not start: refused by the stand-in: hardware", "papi_failed"),
        ({"STAND_IN_REFUSES": "thread_init"}, "PAPI does not start: ", "papi_failed"),
        ({"STAND_IN_REFUSES": "start"}, "perf::TASK-CLOCK (refused by the stand-in)", "papi_event"),
        ({"SLICEWISE_PAPI": ",".join(["perf::TASK-CLOCK"] * 9)}, "perf::TASK-CLOCK (more than 8 events)", "papi_event"),
    ],
)
def test_what_cannot_be_counted_is_one_line_and_the_run_goes_on(job: Job, apps: Apps, library, settings, said, mishap):
    ended = work(job, apps, library, **settings)
    assert ended.status == 0
    assert ended.errors.startswith("slicewise: ")
    assert ended.errors.count("\n") == 1
    assert said in ended.errors
    profile = job.profile()
    if mishap is not None:
        assert profile.mishaps["mishap"].to_list() == [mishap]
    assert profile.slices["write_ops"].sum() >= 1


def test_a_refused_event_leaves_the_others(job: Job, apps: Apps, library: Path):
    ended = work(job, apps, library, SLICEWISE_PAPI="nonsense,perf::PAGE-FAULTS")
    assert "nonsense (refused by the stand-in): these hardware events are not counted" in ended.errors
    assert list(hardware(Digest(job.profile())).units) == ["perf::PAGE-FAULTS"]


def test_without_the_right_to_see_the_kernel_the_programs_own_part_is_counted(job: Job, apps: Apps, library: Path):
    ended = work(job, apps, library, STAND_IN_REFUSES="set_domain")
    assert "without what the kernel does for the program" in ended.errors
    assert hardware(Digest(job.profile())).per_slice()["perf::TASK-CLOCK"].sum() > 0


def test_nothing_is_counted_where_nothing_is_asked_for(job: Job, apps: Apps, library: Path):
    ended = work(job, apps, library, "2 brief", SLICEWISE_PAPI="")
    profile = job.profile()
    assert (ended.status, ended.errors, profile.hardware.height, profile.events.height) == (0, "", 0, 0)


def test_a_program_that_closes_what_it_does_not_know_keeps_its_files(job: Job, library: Path):
    """Its own file gets the number of a counter's descriptor: the file is not read as if it were the counter."""
    (job.data / "input").write_text("0123456789" * 10)
    script = """
import os, time
os.closerange(3, 64)
files = [os.open("input", os.O_RDONLY) for _ in range(20)]
end = time.monotonic() + 1.3
while time.monotonic() < end:
    os.stat("input")
assert all(os.read(file, 10) == b"0123456789" for file in files)
"""
    ended = job.run(
        [sys.executable, "-c", script],
        LD_LIBRARY_PATH=str(library), SLICEWISE_PAPI=EVENTS, SLICEWISE_SLICE="0.5",
    )  # fmt: skip
    assert (ended.status, ended.output) == (0, b"")
    assert "its descriptors were closed by the program: hardware events of a thread are not counted" in ended.errors


def test_real_papi_counts_or_says_why_not(job: Job, apps: Apps):
    """Debian's own libpapi: it refuses all events of processors that it does not know."""
    ended = work(job, apps, Path(), LD_LIBRARY_PATH="")
    assert ended.status == 0
    counted = hardware(Digest(job.profile()))
    assert counted.units or "hardware events are not counted" in ended.errors
    assert ended.errors.count("\n") == (0 if counted.units else 1)


def test_the_interface_that_is_used_is_that_of_papis_header(tmp_path):
    command = ["gcc", "-std=gnu17", "-DCHECK_AGAINST_PAPI", "-c", APPS / "papi_stand_in.c", "-o", tmp_path / "object"]
    subprocess.run(command, check=True)
