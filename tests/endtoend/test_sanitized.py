"""Programs that are built with a sanitizer run as without us, and are counted where it leaves our memory alone."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support.programs import APPS, LIBRARY, Job, need, total

SOURCE = APPS / "sanitized.c"
THREADS, ROUNDS = 4, 100
STATUS = 3
# One child writes 10 bytes more.
WRITTEN = THREADS * ROUNDS * (100 + 50) + 10
READ = THREADS * ROUNDS * 50
PRINTED = THREADS * ROUNDS * (10 + 4 + 1)

Build = Callable[..., Path]
CLANG = {"clang": ["clang"], "clang with a shared runtime": ["clang", "-shared-libsan"]}
COMPILERS = {"gcc": ["gcc"], "gcc with its runtime within": ["gcc", "-static-libasan"], **CLANG}


@pytest.fixture
def build(tmp_path: Path) -> Build:
    def of(compiler: list[str], sanitizer: str) -> Path:
        need(compiler[0])
        program = tmp_path / "program"
        options = ["-D_GNU_SOURCE", "-g", "-O1", "-w", "-pthread", f"-fsanitize={sanitizer}"]
        command = [*compiler, *options, SOURCE, "-o", program]
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        if built.returncode != 0:
            pytest.skip(f"{compiler[0]} has no runtime for -fsanitize={sanitizer}: {built.stderr.splitlines()[-1]}")
        return program

    return of


def settings_for(compiler: list[str]) -> dict[str, str]:
    """Clang's shared runtimes are found where it keeps them."""
    if "-shared-libsan" not in compiler:
        return {}
    asked = subprocess.run(["clang", "-print-runtime-dir"], capture_output=True, text=True, check=True)
    return {"LD_LIBRARY_PATH": asked.stdout.strip()}


@pytest.mark.parametrize("compiler", COMPILERS.values(), ids=COMPILERS)
def test_address_sanitizer(job: Job, build: Build, compiler: list[str]) -> None:
    settings = settings_for(compiler)
    program = build(compiler, "address")
    bare = job.run_plainly([program, job.data], **settings)
    ended = job.run([program, job.data], **settings)
    assert bare.status == STATUS
    assert (ended.status, ended.output, ended.errors) == (bare.status, bare.output, bare.errors)
    profile = job.profile()
    assert total(profile, "write_bytes", obj="file") == WRITTEN
    assert total(profile, "read_bytes", obj="file") >= READ
    assert total(profile, "write_bytes", layers=["stdio"], obj="file") == PRINTED
    assert profile.mishaps["mishap"].to_list() == []


@pytest.mark.parametrize("compiler", COMPILERS.values(), ids=COMPILERS)
def test_address_sanitizer_still_finds_the_programs_faults(job: Job, build: Build, compiler: list[str]) -> None:
    settings = settings_for(compiler)
    program = build(compiler, "address")
    bare = job.run_plainly([program, job.data, "overflow"], **settings)
    ended = job.run([program, job.data, "overflow"], **settings)
    assert (bare.status, ended.status) == (1, 1)
    assert "heap-buffer-overflow" in bare.errors
    assert "heap-buffer-overflow" in ended.errors


def test_options_of_a_library_preloaded_behind_us_are_kept(job: Job, build: Build, tmp_path: Path) -> None:
    """The runtime asks the first definition alone, which is ours."""
    options, library = tmp_path / "options.c", tmp_path / "liboptions.so"
    options.write_text('const char *__asan_default_options(void) { return "exitcode=42"; }\n')
    subprocess.run(["gcc", "-shared", "-fPIC", options, "-o", library], check=True)
    program = build(["gcc"], "address")
    ended = job.run([program, job.data, "overflow"], LD_PRELOAD=f"{LIBRARY}:{library}")
    assert "heap-buffer-overflow" in ended.errors
    assert ended.status == 42


@pytest.mark.parametrize("sanitizer", ["undefined", "leak"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_sanitizers_without_a_view_of_memory(job: Job, build: Build, compiler: str, sanitizer: str) -> None:
    ended = job.run([build([compiler], sanitizer), job.data])
    assert (ended.status, ended.output, ended.errors) == (STATUS, b"done\n", "")
    assert total(job.profile(), "write_bytes", obj="file") == WRITTEN


@pytest.mark.parametrize(("compiler", "sanitizer"), [("gcc", "thread"), ("clang", "thread"), ("clang", "memory")])
def test_sanitizers_that_would_take_our_memory_for_the_programs(
    job: Job, build: Build, compiler: str, sanitizer: str
) -> None:
    program = build([compiler], sanitizer)
    bare, ended = job.run_plainly([program, job.data]), job.run([program, job.data])
    assert (bare.status, bare.errors) == (STATUS, "")
    assert (ended.status, ended.output) == (bare.status, bare.output)
    name = {"thread": "ThreadSanitizer", "memory": "MemorySanitizer"}[sanitizer]
    assert ended.errors.startswith(f"slicewise: not profiled: this program is built with {name}")
    assert ended.errors.count("\n") == 1
    assert [path.name for path in job.segments()] == [".job.job"]  # says so to `slicewise run`
