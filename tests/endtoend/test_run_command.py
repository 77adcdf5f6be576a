"""`slicewise run`, `recover` and `doctor`: the command must not notice, and the profile must be there."""

import fcntl
import json
import os
import pty
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from slicewise.analysis.coverage import unprofiled_programs
from slicewise.digest.digest import Digest, read_digest
from slicewise.digest.outlines import outlines
from slicewise.profile.reader import read_profile
from slicewise.running import run
from slicewise.running.command import SCHEDULER_JOB_VARIABLES
from support.command_line import completed
from support.programs import BUILD, LIBRARY, ROOT, SHARED_MEMORY, need_built
from support.waiting import wait_until

SLICEWISE = BUILD / "bin" / "slicewise"
TIMEOUT_SECONDS = 60
WRITES_8_KIB = "with open('out', 'wb', buffering=0) as f: f.write(bytes(4096)); f.write(bytes(4096))"


def environment(**more: str) -> dict[str, str]:
    """This process's environment without settings of ours."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLICEWISE_", "LD_PRELOAD"))}
    return kept | more


@pytest.fixture
def slicewise(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """slicewise(argument, ..., NAME=value, ...): the finished command, run in an empty directory."""
    need_built(SLICEWISE)

    def call(*arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
        if arguments[0] == "report" and not variables:  # it looks at what is there, in this process as in its own
            return completed(*arguments, directory=tmp_path)
        return subprocess.run(
            [SLICEWISE, *arguments], cwd=tmp_path, env=environment(**variables), capture_output=True, text=True,
            timeout=TIMEOUT_SECONDS, check=False,
        )  # fmt: skip

    return call


def own_segments(folder: Path) -> dict[str, str]:
    """Segments where nobody else looks: whoever recovers everything finishes what dead processes left, and what living
    ones left by exec.
    """
    (folder / "segments").mkdir()
    return {"SLICEWISE_SEGMENT_DIR": str(folder / "segments")}


def started(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """A running `slicewise run` whose command has begun (it makes a file `begun`)."""
    process = subprocess.Popen(
        [SLICEWISE, "run", "--", *arguments], cwd=folder, env=environment(), stderr=subprocess.PIPE, text=True
    )
    wait_until(lambda: (folder / "begun").exists() or process.poll() is not None)
    assert (folder / "begun").exists(), "it ended before its command began"
    return process


def said(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if line.startswith("slicewise: ")]


def test_three_lines_and_a_profile(slicewise, tmp_path):
    program = WRITES_8_KIB + "\nprint('own output')\nimport time\ntime.sleep(3.2)"
    done = slicewise("run", "--job", "mine", "--", "/usr/bin/python3", "-I", "-c", program)
    assert done.returncode == 0
    assert done.stdout == "own output\n"
    what, share, following = said(done)
    assert "1 process on 1 node wrote 8 KiB" in what.replace("8.00", "8")
    assert re.search(r"saw 100 % of the bytes written .* profile in slicewise/mine$", share)
    assert "next: slicewise report slicewise/mine" in following
    info = json.loads(slicewise("report", "--detail", "slicewise/mine", "--json").stdout)
    assert info["job"] == "mine"
    assert info["totals"]["posix"]["write_bytes"] == 8192


def test_one_line_of_a_short_command(slicewise, tmp_path):
    done = slicewise("run", "--job", "short", "--", "dd", "if=/dev/zero", f"of={tmp_path}/file", "bs=64k", "count=2")
    assert said(done) == ["slicewise: profile in slicewise/short; next: slicewise report slicewise/short"]


def test_a_command_that_reads_and_writes_nothing_is_told_from_one_that_cannot_be_seen(slicewise, tmp_path):
    done = slicewise("run", "--", "true")
    assert done.returncode == 0
    assert "no process of the command read or wrote anything" in done.stderr
    assert list(tmp_path.glob("slicewise/*/*.swz")) == []


@pytest.fixture
def segments() -> Iterator[Path]:
    """A directory of segments of the test's own, which everybody may use."""
    with tempfile.TemporaryDirectory(prefix="slicewise-test-", dir=SHARED_MEMORY) as folder:
        Path(folder).chmod(0o1777)
        yield Path(folder)


def test_the_end_says_once_why_profiles_could_not_be_written(slicewise, segments, tmp_path):
    """The processes themselves say nothing: their standard error is a pipe."""
    (tmp_path / "in").write_text("hello")
    script = "chmod 777 slicewise; for i in 1 2 3; do cat in; done; cat in 2>&-"
    done = slicewise("run", "--no-collector", "--job", "open", "--", "bash", "-c", script,
                     SLICEWISE_SEGMENT_DIR=str(segments))  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "hello" * 4)
    (line,) = done.stderr.splitlines()
    assert re.search(r"cannot write the profile of [45] processes \(others may write to SLICEWISE_DIR", line)
    assert "chmod go-w" in line
    assert "mend that, then run `slicewise recover`" in line
    found = slicewise("doctor", SLICEWISE_SEGMENT_DIR=str(segments), TMPDIR=str(tmp_path))
    assert found.returncode == 1
    assert re.search(r"not ok +left behind +[45] processes of user \d+ could not write a profile: ", found.stdout)
    (tmp_path / "slicewise").chmod(0o700)
    recovered = slicewise("recover", "slicewise/open", SLICEWISE_SEGMENT_DIR=str(segments))
    assert (recovered.returncode, recovered.stderr) == (0, "")
    assert "that had ended without writing their profile" in recovered.stdout
    assert (
        json.loads(slicewise("report", "--detail", "slicewise/open", "--json").stdout)["totals"]["posix"]["read_bytes"]
        >= 20
    )


def test_the_end_says_what_other_users_processes_met(slicewise, segments):
    """As of a server that root starts as somebody else."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to start processes as somebody else")
    place = segments / "place"  # which everybody can reach, unlike root's clone and pytest's folder
    for folder in (place, place / "segments"):
        folder.mkdir()
        folder.chmod(0o1777)
    library = place / "library"
    shutil.copy(LIBRARY, library)
    nobody = f"setpriv --reuid=65534 --regid=65534 --clear-groups env LD_PRELOAD={library}"
    script = f"cd {place}; for i in 1 2; do {nobody} sh -c 'echo hello > file-$$; echo hello'; done"
    done = slicewise("run", "--job", "mixed", "--", "sh", "-c", script, SLICEWISE_SEGMENT_DIR=str(place / "segments"))
    assert (done.returncode, done.stdout) == (0, "hello\n" * 2)
    refused = [line for line in said(done) if "cannot write the profile" in line]
    assert len(refused) == 1
    assert re.search(r"of [2-9] processes", refused[0])
    assert "belongs to another user" in refused[0] or "Permission denied" in refused[0]


def test_the_end_says_that_there_was_no_memory_to_count_in(slicewise, tmp_path):
    (tmp_path / "in").write_text("hello")
    done = slicewise("run", "--job", "short", "--", "bash", "-c", "ulimit -v 20000; cat in; cat in")
    assert (done.returncode, done.stdout) == (0, "hellohello")
    assert "slicewise: job short: 2 processes not profiled: no memory was available" in done.stderr


def test_the_end_says_what_problems_are_worth_a_line(slicewise, tmp_path):
    script = "SLICEWISE_SLICE=never dd if=/dev/zero of=file bs=1k count=1 status=none"
    done = slicewise("run", "--job", "mistaken", "--", "bash", "-c", script)
    assert "slicewise: 1 process: a setting that is unknown or out of range was left at its default." in done.stderr


def test_a_second_run_of_a_name_has_a_name_of_its_own(slicewise, tmp_path):
    for expected in ("twice", "twice.2", "twice.3"):
        done = slicewise("run", "--job", "twice", "--", "cat", "/dev/null")
        assert done.returncode == 0
        assert f"profile in slicewise/{expected};" in done.stderr
        assert ("earlier run" in done.stderr) is (expected != "twice")
    # A scheduler's job may have several commands; one that it began again is another run.
    for restarts, expected in (("0", "77"), ("2", "77.3")):
        done = slicewise("run", "--", "cat", "/dev/null", SLURM_JOB_ID="77", SLURM_RESTART_COUNT=restarts)
        assert f"profile in slicewise/{expected};" in done.stderr


def test_a_wrong_name_is_told_before_the_command_starts(slicewise, tmp_path):
    done = slicewise("run", "--job", "a/b", "--", "touch", str(tmp_path / "started"))
    assert done.returncode == 2
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize("status", [0, 1, 77, 255])
def test_exit_status_passes_through(slicewise, status):
    assert slicewise("run", "--", "sh", "-c", f"exit {status}").returncode == status


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGSEGV, signal.SIGKILL])
def test_death_by_signal_is_128_and_its_number(slicewise, number):
    done = slicewise("run", "--", "sh", "-c", f"kill -{int(number)} $$")
    assert done.returncode == 128 + number


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2])
def test_a_signal_sent_to_us_reaches_the_command(slicewise, tmp_path, number):
    name = number.name.removeprefix("SIG")
    process = started(tmp_path, "bash", "-c", f"trap 'exit 42' {name}; touch begun; while :; do sleep 0.05; done")
    process.send_signal(number)
    process.communicate(timeout=TIMEOUT_SECONDS)
    assert process.returncode == 42


def test_control_c_reaches_the_command_once(slicewise, tmp_path):
    wait_and_listen = "while [ $n = 0 ]; do sleep 0.05; done; for i in $(seq 10); do sleep 0.05; done"
    script = f"n=0; trap 'n=$((n+1))' INT; touch begun; {wait_and_listen}; exit $((40 + n))"
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.execve(SLICEWISE, ["slicewise", "run", "--", "bash", "-c", script], environment())
    wait_until((tmp_path / "begun").exists)
    os.write(terminal, b"\x03")
    try:
        while os.read(terminal, 4096):
            pass
    except OSError:  # the terminal's other side is closed
        pass
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 41


def test_descriptors_and_input_pass_through(slicewise, tmp_path):
    reader, writer = os.pipe()
    done = subprocess.run(
        [SLICEWISE, "run", "--", "bash", "-c", f"cat; echo extra >&{writer}"],
        cwd=tmp_path,
        env=environment(),
        input="typed",
        pass_fds=[writer],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=True,
    )
    os.close(writer)
    assert done.stdout == "typed"
    assert os.read(reader, 100) == b"extra\n"
    os.close(reader)


def test_of_a_command_that_may_not_be_asked_about_the_kernels_count_is_known_too(tmp_path):
    program = """
import json, os, sys
from slicewise.running import command
writing = ["dd", "if=/dev/zero", "of=written", "bs=64k", "count=32", "status=none"]
found = [command.run_command(writing, os.environ).counts]
counts_of = command._kernel_counts
command._kernel_counts = lambda pid: counts_of(pid) if pid == "self" else {}
found.append(command.run_command(writing, os.environ).counts)
print(json.dumps(found))
"""
    # Alone in a process: the command's end is told by a signal to the one thread there is.
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, timeout=TIMEOUT_SECONDS, check=True
    )
    asked, seen = json.loads(done.stdout)
    assert asked["wchar"] == seen["wchar"] == 32 << 16
    assert seen["rchar"] == pytest.approx(asked["rchar"], abs=1024)
    assert seen["syscr"] == pytest.approx(asked["syscr"], abs=4)


def test_a_directory_of_profiles_that_others_may_write_to_costs_the_profile_alone(slicewise, tmp_path):
    profiles = tmp_path / "open"
    profiles.mkdir()
    profiles.chmod(0o777)
    done = slicewise("run", "--dir", profiles, "--", "touch", tmp_path / "ran")
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1
    assert "chmod go-w" in done.stderr
    assert "runs without being profiled" in done.stderr
    assert (tmp_path / "ran").exists()
    profiles.chmod(0o755)
    assert slicewise("run", "--dir", profiles, "--", "true").returncode == 0
    assert profiles.is_dir()  # it is the user's, though nothing was written


def test_a_script_without_an_interpreter_is_the_shells(slicewise, tmp_path):
    script = tmp_path / "script"
    script.write_text("echo $1\n")
    script.chmod(0o755)
    assert slicewise("run", "--", "./script", "argument").stdout == "argument\n"


def test_commands_that_cannot_be_started(slicewise, tmp_path):
    missing, forbidden = slicewise("run", "--", "./missing"), slicewise("run", "--", "/")
    assert (missing.returncode, forbidden.returncode) == (127, 126)
    assert said(missing) == ["slicewise: ./missing: no such command"]
    assert said(forbidden) == ["slicewise: /: cannot be run (Permission denied)"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", [["--slice", "0.01"], ["--slice", "61"], ["--nosuch"], ["--dir"]])
def test_what_cannot_be_asked_is_said_before_the_command_starts(slicewise, tmp_path, options):
    done = slicewise("run", *options, *([] if options == ["--dir"] else ["--", "touch", "started"]))
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert options[0] in done.stderr
    assert not (tmp_path / "started").exists()


ODD = {
    "a directory that cannot be made": (["--dir", "/proc/nowhere"], {}, "/proc/nowhere: no profile can be written"),
    "a file in its place": (["--dir", "/dev/null"], {}, "/dev/null: no profile can be written there"),
    "damaged settings": ([], {"XDG_CONFIG_HOME": "{damaged}"}, "is no TOML"),
}


@pytest.mark.parametrize("odd", ODD)
def test_what_is_wrong_with_us_never_keeps_a_command_from_running(slicewise, tmp_path, odd):
    options, variables, reason = ODD[odd]
    (tmp_path / "slicewise").mkdir(mode=0o700)
    (tmp_path / "slicewise" / "config.toml").write_text("slice = [")
    given = {name: value.format(damaged=tmp_path) for name, value in variables.items()}
    done = (
        slicewise("run", *options, "--dir", tmp_path / "p", "--", "sh", "-c", "echo ran; exit 3", **given)
        if odd == ("damaged settings")
        else slicewise("run", *options, "--", "sh", "-c", "echo ran; exit 3", **given)
    )
    assert (done.returncode, done.stdout) == (3, "ran\n")
    assert reason in done.stderr


@pytest.mark.parametrize(
    "variables",
    [
        {"PYTHONHOME": "/nowhere"},
        {"PYTHONPATH": "{traps}"},
        {"PYTHONHASHSEED": "no number"},
        {"PYTHONSTARTUP": "/nowhere", "PYTHONUTF8": "7", "PYTHONMALLOC": "nonsense"},
        {"LC_ALL": "xx_XX.nowhere"},
        {"TMPDIR": "/nowhere"},
        {"POLARS_MAX_THREADS": "0"},
    ],
    ids=lambda variables: "+".join(variables),
)
def test_the_environment_of_a_job_is_the_jobs(slicewise, tmp_path, variables):
    """It reaches the command as it was, and nothing of ours goes by it."""
    traps = tmp_path / "traps"
    traps.mkdir()
    for name in ("typing", "json", "rich", "subprocess", "sitecustomize"):
        (traps / f"{name}.py").write_text("raise SystemExit('a trap')")
    given = {name: value.format(traps=traps) for name, value in variables.items()}
    names = " ".join(f"${name}" for name in given)
    done = slicewise("run", "--job", "own", "--", "sh", "-c", f"echo {names}; cat in", **given)
    assert done.stdout == " ".join(given.values()) + "\n"
    assert "profile in slicewise/own" in done.stderr
    shown = slicewise("list", "slicewise", **given)
    assert (shown.returncode, "own" in shown.stdout) == (0, True), shown.stderr


def test_a_user_without_a_home_or_a_name(tmp_path):
    """As in a container that runs as a number."""
    tmp_path.chmod(0o777)
    kept = {name: value for name, value in environment().items() if name != "HOME"}
    command = [SLICEWISE, "run", "--dir", tmp_path / "profiles", "--no-collector", "--", "sh", "-c", "echo ran; exit 5"]
    done = subprocess.run(command, cwd=tmp_path, env=kept, capture_output=True, text=True, check=False, user=54321)
    assert (done.returncode, done.stdout) == (5, "ran\n"), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
def test_closed_descriptors_stay_the_commands(slicewise, tmp_path, closed):
    script = f"ls -l /proc/self/fd > {tmp_path}/fds 3>&-; exit 4"
    redirections = " ".join(f"{descriptor}>&-" for descriptor in closed)
    done = subprocess.run(
        ["sh", "-c", f"{SLICEWISE} run -- sh -c '{script}' {redirections}"], cwd=tmp_path, env=environment(),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 4
    assert done.stdout == ""


def test_a_current_directory_that_is_gone(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    script = f"cd {gone} && rmdir {gone} && {SLICEWISE} run --dir {tmp_path}/profiles -- sh -c 'echo ran; exit 6'"
    done = subprocess.run(["sh", "-c", script], env=environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (6, "ran\n"), done.stderr


def test_the_options_are_those_of_the_help(slicewise):
    from slicewise.launch import FLAGS, VALUES

    told = set(re.findall(r"(?<![\w-])--[a-z-]+", slicewise("run", "--help").stdout.split("Example")[0]))
    assert told - {"--help", "--attach"} == {*VALUES, *FLAGS}  # what needs no haste is left to the whole command line


def test_the_library_has_the_same_bounds_of_slices():
    source = (ROOT / "schema" / "settings.def").read_text()
    least, most = re.search(r'"SLICEWISE_SLICE",.*?, "4", *([\d.]+), *([\d.]+)', source).groups()
    from slicewise.contract import seconds_allowed

    assert (float(least), float(most)) == seconds_allowed("SLICEWISE_SLICE")


def test_names_made_for_jobs_are_unique(slicewise, tmp_path):
    for _ in range(3):
        assert slicewise("run", "--", "cat", "/dev/null").returncode == 0
    names = [path.name for path in (tmp_path / "slicewise").iterdir()]
    assert len(names) == 3
    assert all(re.fullmatch(r"cat-\d{8}-\d{6}(-\d)?", name) for name in names)


@pytest.mark.parametrize("variable", ["SLICEWISE_JOB", *SCHEDULER_JOB_VARIABLES])
def test_a_job_has_the_name_that_the_library_gives_it(slicewise, tmp_path, variable):
    name = "12[3].server"
    assert slicewise("run", "--dir", "by-run", "--", "cat", "/dev/null", **{variable: name}).returncode == 0
    preloaded = environment(LD_PRELOAD=str(LIBRARY), SLICEWISE_DIR="by-hand", **{variable: name})
    subprocess.run(["cat", "/dev/null"], cwd=tmp_path, env=preloaded, check=True)
    by_run, by_hand = ([path.name for path in (tmp_path / way).iterdir()] for way in ("by-run", "by-hand"))
    assert by_run == by_hand


def test_a_killed_process_is_in_the_profile(slicewise):
    program = WRITES_8_KIB + "\nimport os; os.kill(os.getpid(), 9)"
    done = slicewise("run", "--job", "killed", "--", "/usr/bin/python3", "-I", "-c", program)
    assert done.returncode == 128 + signal.SIGKILL
    info = json.loads(slicewise("report", "--detail", "slicewise/killed", "--json").stdout)
    assert info["totals"]["posix"]["write_bytes"] == 8192
    assert info["damage"] == []


def test_recover_waits_for_somebody_who_only_looks(slicewise, tmp_path):
    """Whoever recovers something on a node looks whose each segment is, and holds it meanwhile."""
    program = WRITES_8_KIB + "\nimport os; os.kill(os.getpid(), 9)"
    own = own_segments(tmp_path)
    preloaded = environment(LD_PRELOAD=str(LIBRARY), SLICEWISE_DIR=str(tmp_path / "p"), SLICEWISE_JOB="dead", **own)
    subprocess.run(["/usr/bin/python3", "-I", "-c", program], cwd=tmp_path, env=preloaded, check=False)
    (segment,) = (tmp_path / "segments").glob("*/dead.*")
    with segment.open("rb") as file, ThreadPoolExecutor() as beside:
        fcntl.flock(file, fcntl.LOCK_EX)
        recovering = beside.submit(slicewise, "recover", "p/dead", **own)
        with pytest.raises(TimeoutError):
            recovering.result(timeout=0.5)
        fcntl.flock(file, fcntl.LOCK_UN)
        assert "recovered 1 process" in recovering.result().stdout
    info = json.loads(slicewise("report", "--detail", "p/dead", "--json").stdout)
    assert info["totals"]["posix"]["write_bytes"] == 8192


@pytest.mark.parametrize(
    "ending",
    [
        "exec sleep 1.5",  # counts nothing
        "exec ./static 1.5",  # cannot be profiled
        "sleep 1.5; kill -KILL $$",
    ],
)
def test_a_job_lasts_as_long_as_its_command(slicewise, tmp_path, ending):
    """Whatever the last program of its processes does, or the profile knows of it."""
    (tmp_path / "static.c").write_text(
        "#include <stdlib.h>\n#include <unistd.h>\n"
        "int main(int n, char **words) { return usleep(1e6 * atof(words[1])); }"
    )
    subprocess.run(["gcc", "-static", "-o", "static", "static.c"], cwd=tmp_path, check=True)
    began = time.monotonic()
    own = own_segments(tmp_path) | {"SLICEWISE_SLICE": "0.1"}
    done = slicewise("run", "--job", "mine", "--", "bash", "-c", f"cp /bin/sh out; {ending}", **own)
    took = time.monotonic() - began
    digest = read_digest(tmp_path / "slicewise" / "mine")
    runtime = (digest.about["end_ns"] - digest.about["start_ns"]) / 1e9
    assert 1.5 < runtime < took, done.stderr
    (outline,) = outlines([tmp_path / "slicewise" / "mine"])
    assert outline.did["end_ns"] - outline.did["start_ns"] == digest.about["end_ns"] - digest.about["start_ns"]
    named = [one.program for one in unprofiled_programs(digest)]
    assert [Path(one).name for one in named] == (["static"] if "static" in ending else [])


def test_without_a_launch_the_last_program_ends_with_its_process(tmp_path):
    """It took the place of one that counted, and counts nothing itself."""
    need_built(LIBRARY)
    own = {"LD_PRELOAD": str(LIBRARY), "SLICEWISE_DIR": str(tmp_path), "SLICEWISE_JOB": "mine"}
    own |= own_segments(tmp_path)
    subprocess.run(
        ["bash", "-c", "cp /bin/sh out; sleep 1"], cwd=tmp_path, env=environment(**own), check=True, timeout=60
    )
    digest = read_digest(tmp_path / "mine")
    assert 1 < (digest.about["end_ns"] - digest.about["start_ns"]) / 1e9 < 2
    assert set(digest.processes["ending"]) == {"exit"}
    assert unprofiled_programs(digest) == []


def test_what_is_said_at_the_end_does_not_hold_up_the_job(tmp_path, monkeypatch, capsys):
    """The analyzer may lie on a file system that is slow, or that does not have it at hand."""
    monkeypatch.chdir(tmp_path)
    where = "slicewise: profile in mine; next: slicewise report mine\n"
    where += "slicewise: what it did would take too long to tell here; who slowed it down:  slicewise blame mine\n"
    monkeypatch.setattr(run, "_tell_what_was_seen", lambda job_dir, writing: time.sleep(60))
    began = time.monotonic()
    run._say_what_was_seen(tmp_path / "mine", 0.3)
    assert time.monotonic() - began < 5
    assert capsys.readouterr().err == where
    library = tmp_path / "site" / "polars" / "polars.so"
    library.parent.mkdir(parents=True)
    library.write_bytes(bytes(8 << 20))
    assert run._is_at_hand([str(tmp_path / "site")])
    with library.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    assert not run._is_at_hand([str(tmp_path / "site")])
    assert run._is_at_hand([]), "nobody knows"


def test_the_advice_to_run_alone_has_the_command_as_it_was_run(slicewise, tmp_path):
    command = ("taskset", "-c", "0", "nice", "env", "A=b", "dd", "if=/dev/zero", "of=o ut", "bs=1M", "count=4")
    assert slicewise("run", "--job", "one", "--", *command).returncode == 0
    step = json.loads(slicewise("blame", "slicewise/one", "--json").stdout)["next_step"]
    assert f"--job one-alone -- {shlex.join(command)}, while" in step


@pytest.mark.parametrize("options", [(), ("-x", "HOME")], ids=["", "-x"])
def test_a_rank_on_another_node_is_profiled(slicewise, tmp_path, options):
    """Another node: a remote shell that starts with an empty environment, as ssh does. SLICEWISE_CARRY=0, since on this
    node the library would take its settings past that shell by itself."""
    mpirun = shutil.which("mpirun.openmpi")
    if mpirun is None:
        pytest.skip("mpirun.openmpi is missing: apt install openmpi-bin")
    shell = tmp_path / "remote-shell"
    rights = "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
    shell.write_text(f'#!/bin/sh\nshift\nexec env -i PATH="$PATH" HOME="$HOME" {rights} sh -c "$*"\n')
    shell.chmod(shell.stat().st_mode | stat.S_IXUSR)
    done = slicewise(
        *("run", "--job", "far", "--", mpirun, "--mca", "plm_rsh_agent", shell, "--host", "another-node:1", "-n", "1"),
        *options,
        *("sh", "-c", "echo burst $SLICEWISE_COORDINATE_BURST; dd if=/dev/zero of=out bs=4096 count=2"),
        SLICEWISE_CARRY="0",
        SLICEWISE_COORDINATE_BURST="7",
        OMPI_ALLOW_RUN_AS_ROOT="1",
        OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
    )
    assert done.returncode == 0, done.stderr
    assert "burst 7" in done.stdout, "a setting of the user's own"
    info = json.loads(slicewise("report", "--detail", "slicewise/far", "--json").stdout)
    assert "/dd" in " ".join(info["programs"])


def test_doctor_finds_this_installation_in_order(slicewise, segments, tmp_path):
    done = slicewise("doctor", "--json", SLICEWISE_SEGMENT_DIR=str(segments), TMPDIR=str(tmp_path))
    findings = {finding["name"]: finding for finding in json.loads(done.stdout)["checks"]}
    assert {"library", "collector", "self test", "settings", "MPI"} <= findings.keys()
    assert [finding for finding in findings.values() if not finding["is_fine"]] == []
    assert done.returncode == 0


def test_doctor_names_a_bad_setting_and_a_directory_that_cannot_be_written(slicewise):
    done = slicewise("doctor", SLICEWISE_SLICE="99", SLICEWISE_DIR="/proc")
    assert done.returncode == 1
    wrong = [line for line in done.stdout.splitlines() if line.startswith("not ok")]
    assert any("settings" in line and "SLICEWISE_SLICE=99" in line for line in wrong)
    assert any("profiles" in line and "/proc" in line for line in wrong)


def test_an_analyzer_without_a_library_beside_it_says_so(tmp_path):
    from slicewise.errors import UserError
    from slicewise.running.installation import find_installation

    with pytest.raises(UserError, match=r"has no libslicewise\.so"):
        find_installation(tmp_path / "venv")
    assert find_installation(Path(sys.prefix)).library.name == "libslicewise.so"


def test_small_files_that_the_command_names_are_a_part_of_what_was_asked(slicewise, tmp_path: Path) -> None:
    deck, other = tmp_path / "deck.nml", tmp_path / "secret"
    other.write_text("word")
    other.chmod(0o600)

    def asked(job: str, text: str, **variables: str) -> str:
        deck.write_text(text)
        deck.chmod(0o644)
        script = "import sys; open('out', 'w').write('x')"
        done = slicewise(
            "run", "--job", job, "--", sys.executable, "-c", script, "--in=deck.nml", "secret", **variables
        )
        assert done.returncode == 0, done.stderr
        return str(Digest(read_profile(tmp_path / "slicewise" / job)).about["command"])

    first, again, changed = asked("first", "steps = 3"), asked("again", "steps = 3"), asked("changed", "steps = 4")
    assert first == again != changed
    assert re.sub("[0-9a-f]{8}$", "", first) == re.sub("[0-9a-f]{8}$", "", changed) != first
    other.write_text("another")  # of what only its owner may read nothing is told
    assert asked("third", "steps = 3") == first
    assert asked("given", "steps = 3", SLICEWISE_INPUTS="mine").endswith(" #inputs=mine")
    assert " #inputs=" not in asked("binary", "\0")
