"""What accelerators do and waits for them, by stand-ins for CUDA's and HIP's profiling interfaces: no machine with a
real accelerator has run this."""

import subprocess
from pathlib import Path

import polars as pl
import pytest
from support.command_line import json_of, run_slicewise, slicewise_command
from support.programs import BUILD, Apps, Ended, Job

PROFILER, THREADS, ACCELERATORS = (
    BUILD / "lib" / f"libslicewise{part}.so" for part in ("", "-threads", "-accelerators")
)
BOTH = f"{PROFILER}:{ACCELERATORS}"
PRELOADS = {"behind": BOTH, "in front": f"{ACCELERATORS}:{PROFILER}", "threads": f"{PROFILER}:{THREADS}:{ACCELERATORS}"}
NEAR, ATTEMPTS, SLICE_NS = 0.03, 5, 500_000_000
WORK = ("kernel", "to_device", "from_device", "on_device", "fill")


@pytest.fixture
def cuda(tmp_path: Path, apps: Apps) -> tuple[Path, Path]:
    """The program, and where the stand-ins for the driver and for CUPTI lie."""
    libraries = tmp_path / "libraries"
    libraries.mkdir()
    for name, which in {"libcuda.so.1": "-DDRIVER", "libcupti.so": "-DCUPTI"}.items():
        (libraries / name).symlink_to(apps.build("accelerators_cuda", which, "-shared", "-fPIC"))
    return apps.build("accelerators_cuda"), libraries


@pytest.fixture
def hip(tmp_path: Path, apps: Apps) -> tuple[Path, Path]:
    (tmp_path / "libamdhip64.so").symlink_to(apps.build("accelerators_hip", "-DSTAND_IN", "-shared", "-fPIC"))
    return apps.build("accelerators_hip"), tmp_path


def told(ended: Ended) -> dict[str, tuple[int, int, int]]:
    """How often, ns and bytes, by kind."""
    assert ended.status == 0, ended.errors
    lines = [line.split() for line in ended.output.decode().splitlines()]
    return {kind: (int(times), int(ns), int(moved)) for kind, times, ns, moved in lines}


def counted(job: Job) -> dict[str, tuple[int, int, int]]:
    rows = job.profile().accelerated.group_by("kind").agg(pl.col("times", "ns", "bytes").sum())
    return {kind: (times, ns, moved) for kind, times, ns, moved in rows.iter_rows()}


def waited(job: Job, column: str) -> dict[str, int]:
    return dict(job.profile().thread_waits.group_by("kind").agg(pl.col(column).sum()).iter_rows())


def mishaps(job: Job) -> dict[str, int]:
    return dict(job.profile().mishaps.select("mishap", "count").iter_rows())


def is_near(seen: float, own: float) -> bool:
    return abs(seen - own) <= NEAR * own


def agreeing(job: Job, program: Path, libraries: Path, preload: str) -> dict[str, tuple[int, int, int]]:
    """What the program did, of a run in which no thread lost its processor between its look at its clock and ours."""
    own = {}
    for _ in range(ATTEMPTS):
        subprocess.run(["rm", "-rf", job.spool_dir], check=True)
        own = told(job.run([program], LD_PRELOAD=preload, LD_LIBRARY_PATH=str(libraries), SLICEWISE_SLICE="0.5"))
        ns, main_ns = waited(job, "ns")["accelerator"], waited(job, "main_ns")["accelerator"]
        if is_near(ns, own["accelerator"][1]) and is_near(main_ns, own["main"][1]):
            return own
    raise AssertionError(f"counted {waited(job, 'ns')}, of which main {waited(job, 'main_ns')}; the program {own}")


@pytest.mark.parametrize("preload", PRELOADS.values(), ids=PRELOADS)
def test_cuda(job: Job, cuda: tuple[Path, Path], preload: str) -> None:
    """Waits as long as the program's own clock says, kernels and copies to the nanosecond and byte; what the driver
    itself waits for at a semaphore is the same wait."""
    own = agreeing(job, *cuda, preload)
    assert counted(job) == {kind: own[kind] for kind in WORK if kind in own}
    assert waited(job, "waits")["accelerator"] == own["accelerator"][0]
    assert set(waited(job, "ns")) == ({"accelerator", "join"} if str(THREADS) in preload else {"accelerator"})
    kernels = job.profile().accelerated.filter(kind="kernel").group_by("slice").agg(pl.col("ns").sum())
    assert kernels.height >= 3
    assert (kernels["ns"] <= SLICE_NS).all(), "one ran after the other"
    assert mishaps(job).keys() & {"accelerators_unseen", "accelerated_dropped"} == set()


def test_report_tells_of_accelerators(job: Job, cuda: tuple[Path, Path]) -> None:
    own = agreeing(job, *cuda, BOTH)
    command = ["report", str(job.spool_dir), "--html", str(job.folder / "page.html")]
    shown = json_of(*command)["accelerators"]
    assert {
        row["kind"]: (row["times"], round(row["seconds"] * 1e9), row["bytes"]) for row in shown["kinds"]
    } == counted(job)
    assert sum(row["seconds"] for row in shown["slices"]) == pytest.approx(
        sum(own[kind][1] for kind in WORK if kind in own) / 1e9
    )
    text = slicewise_command(*command).text
    assert "Accelerators ran kernels for 1.40 s, copied 4 MiB to them in 250 ms, copied 5 MiB from them" in text
    assert "for accelerators" in text
    assert "Accelerators" in (job.folder / "page.html").read_text()


def test_hip(job: Job, hip: tuple[Path, Path]) -> None:
    own = agreeing(job, *hip, BOTH)
    assert counted(job) == {kind: own[kind] for kind in WORK if kind in own}
    assert waited(job, "waits")["accelerator"] == own["accelerator"][0]


@pytest.mark.parametrize("missing", ["library", "subscriber", "records"])
def test_what_cannot_be_seen_of_cuda_is_one_problem_and_no_harm(
    job: Job, cuda: tuple[Path, Path], missing: str
) -> None:
    program, libraries = cuda
    words = {"subscriber": {"STAND_IN_REFUSES": "1"}, "records": {"STAND_IN_LOSES": "1"}}.get(missing, {})
    if missing == "library":
        (libraries / "libcupti.so").unlink()
    own = told(job.run([program], LD_PRELOAD=BOTH, LD_LIBRARY_PATH=str(libraries), **words))
    assert own["kernel"] == (11, 1_400_000_000, 0)
    assert counted(job) == {}
    lost = {"accelerated_dropped": 15} if missing == "records" else {"accelerators_unseen": 1}
    assert mishaps(job) == lost


@pytest.mark.parametrize("missing", ["service", "version"])
def test_what_cannot_be_seen_of_hip_is_one_problem_and_no_harm(job: Job, hip: tuple[Path, Path], missing: str) -> None:
    program, libraries = hip
    command, words = ([program, "600"], {}) if missing == "version" else ([program], {"STAND_IN_REFUSES": "1"})
    own = told(job.run(command, LD_PRELOAD=BOTH, LD_LIBRARY_PATH=str(libraries), **words))
    assert own["kernel"] == (6, 1_000_000_000, 0)
    assert counted(job) == {}
    assert mishaps(job) == {"accelerators_unseen": 1}


def test_nothing_is_opened_for_a_program_that_opens_no_driver_nor_unless_asked_for(
    job: Job, cuda: tuple[Path, Path]
) -> None:
    program, libraries = cuda
    for command, preload in (([program, "none"], BOTH), ([program], str(PROFILER))):
        subprocess.run(["rm", "-rf", job.spool_dir], check=True)
        own = told(job.run(command, LD_PRELOAD=preload, LD_LIBRARY_PATH=str(libraries)))
        assert own["cupti"][0] == 0
    assert counted(job) == {}
    exported = subprocess.run(["nm", "-D", PROFILER], capture_output=True, text=True, check=True).stdout
    assert " dlsym@@" not in exported
    assert "rocprofiler" not in exported


NEXT = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int puts(const char *text) {
    int (*real)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "puts");
    return real(text);
}
int main(void) {
    int is_right = dlsym(RTLD_DEFAULT, "cuInit") == NULL && dlsym(RTLD_DEFAULT, "no such") == NULL && dlerror() != NULL;
    puts(is_right && dlsym(RTLD_DEFAULT, "main") == (void *)main ? "right" : "wrong");
    return 0;
}
"""


def test_dlsym_knows_its_caller(job: Job) -> None:
    (job.data / "next.c").write_text(NEXT)
    subprocess.run(["gcc", "-rdynamic", job.data / "next.c", "-o", job.data / "next", "-ldl"], check=True)
    for preload in ("", BOTH):
        assert job.run([job.data / "next"], LD_PRELOAD=preload).output == b"right\n"


def test_run_preloads_the_library_where_it_is_asked_for(
    tmp_path: Path, cuda: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    program, libraries = cuda
    monkeypatch.setenv("LD_LIBRARY_PATH", str(libraries))
    for option, is_opened in (("--accelerators", 1), ("--no-accelerators", 0)):
        ran = run_slicewise("run", "--no-collector", option, "--", str(program), directory=tmp_path)
        assert f"cupti {is_opened} 0 0" in ran.stdout.splitlines()
