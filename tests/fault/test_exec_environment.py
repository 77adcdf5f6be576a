"""Programs that are started without the library: 32-bit ones, and those whose arguments leave it no room."""

import subprocess
from pathlib import Path

import pytest
from slicewise.analysis.coverage import unprofiled_programs
from slicewise.digest.digest import Digest
from support.programs import APPS, BUILD, LIBRARY, Apps, Job

SLICEWISE = BUILD / "bin" / "slicewise"
NO_ROOM = 77


def status(program: Path, way: str, size: int, environment: dict[str, str]) -> int:
    return subprocess.run([program, way, "/bin/true", str(size)], env=environment, check=False).returncode


def most_bytes(program: Path, way: str, environment: dict[str, str]) -> int:
    """Of arguments that the kernel takes."""
    low, high = 0, 8 << 20
    while high - low > 1:
        size = (low + high) // 2
        ended = status(program, way, size, environment)
        assert ended in (0, NO_ROOM)
        low, high = (size, high) if ended == 0 else (low, size)
    return low


def environments(job: Job) -> tuple[dict[str, str], dict[str, str]]:
    """As short an environment as will do, and the same with the job's own variables."""
    bare = {"PATH": "/usr/bin:/bin"}
    ours = {name: value for name, value in job.environment({}).items() if name.startswith("SLICEWISE_")}
    return bare, bare | ours | {"LD_PRELOAD": str(LIBRARY)}


@pytest.mark.parametrize("way", ["execve", "execvp", "posix_spawn"])
def test_arguments_may_be_as_long_as_without_us(job: Job, apps: Apps, way: str) -> None:
    program = apps.build("exec_room")
    bare, profiled = environments(job)
    assert most_bytes(program, way, profiled) == most_bytes(program, way, bare)
    noted = unprofiled_programs(Digest(job.profile()))
    assert {(one.reason, Path(one.program).name) for one in noted} == {("no_room", "true")}


@pytest.mark.parametrize("way", ["system", "popen", "system_cleared", "popen_cleared"])
def test_a_shell_has_the_room_that_it_has_without_us(job: Job, apps: Apps, way: str) -> None:
    program = apps.build("exec_room")
    bare, profiled = environments(job)
    assert most_bytes(program, way, profiled) == most_bytes(program, way, bare)


@pytest.fixture(scope="session")
def small_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A 32-bit program, dynamically linked."""
    program = tmp_path_factory.mktemp("small") / "program"
    source = APPS / "other_class.c"
    made = subprocess.run(["gcc", "-m32", "-O1", source, "-o", program], capture_output=True, check=False)
    if made.returncode != 0 or subprocess.run([program], capture_output=True, check=False).returncode != 7:
        pytest.skip("no 32-bit programs can be made and run")
    return program


@pytest.mark.parametrize("way", ["execve", "execvp", "posix_spawn"])
@pytest.mark.parametrize("is_script", [False, True])
def test_32_bit_program_is_started_without_the_library(
    job: Job, apps: Apps, small_program: Path, tmp_path: Path, way: str, is_script: bool
) -> None:
    target = small_program
    if is_script:
        target = tmp_path / "script"
        target.write_text(f"#!{small_program}\n")
        target.chmod(0o755)
    ended = job.run([apps.build("exec_room"), way, target, "10"])
    assert (ended.status, ended.output, ended.errors) == (7, b"preloaded: \n", "")
    job.recover(job.spool_dir)  # of what a 32-bit program came after, nobody else writes the profile
    noted = unprofiled_programs(Digest(job.profile()))
    assert [(one.reason, one.program) for one in noted] == [("foreign", str(small_program))]


def test_other_libraries_stay_preloaded_in_32_bit_programs(job: Job, apps: Apps, small_program: Path) -> None:
    """They may be for it."""
    ended = job.run([apps.build("exec_room"), "execve", small_program, "10"], LD_PRELOAD=f"{LIBRARY}:/nowhere.so")
    assert (ended.status, ended.output) == (7, b"preloaded: /nowhere.so\n")
    assert "slicewise" not in ended.errors


def test_run_starts_a_32_bit_program_without_the_library(small_program: Path, tmp_path: Path) -> None:
    done = subprocess.run([SLICEWISE, "run", "--", small_program], cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (7, b"preloaded: \n")
    assert b"ld.so" not in done.stderr


def test_run_leaves_a_command_the_room_that_it_has_without_us(tmp_path: Path) -> None:
    """The largest environment that a shell can start /bin/true with."""
    low, high = 0, 8 << 20
    while high - low > 1:
        size = (low + high) // 2
        low, high = (size, high) if _starts(["/bin/true"], size, tmp_path) else (low, size)
    # What stands before the command is started with less: it is a program by itself, with arguments of its own.
    spare = len(str(SLICEWISE)) + 4096
    assert _starts([SLICEWISE, "run", "--no-collector", "--", "/bin/true"], low - spare, tmp_path)


def _starts(command: list[str | Path], size: int, tmp_path: Path) -> bool:
    """With an environment of so many bytes, of which no single string is too long for the kernel."""
    piece = 100_000
    large = {f"FILL{number}": "x" * min(piece, size - at) for number, at in enumerate(range(0, size, piece))}
    try:
        done = subprocess.run(
            command, cwd=tmp_path, env={"PATH": "/usr/bin:/bin"} | large, capture_output=True, check=False
        )
    except OSError:
        return False
    return done.returncode == 0
