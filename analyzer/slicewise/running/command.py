"""Running somebody's command under the profiler: environment, profile's place, signals, exit status. It must not
notice.
"""

from __future__ import annotations

import binascii
import contextlib
import errno
import json
import os
import re
import signal
import stat
import subprocess
import time
from functools import partial
from itertools import pairwise
from pathlib import Path

from slicewise.contract import JOB_NAME_RULE, job_name, settings_of_the_library, without_library
from slicewise.errors import UserError
from slicewise.text.safe_text import HASH, form_of_names, say

TYPE_CHECKING = False  # typing takes longer to import than this module
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

DEFAULT_DIR = "slicewise"
# As the library takes them, in its order: a job that has a name there gets no name from here.
SCHEDULER_JOB_VARIABLES = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID")
# What names the library that NVTX opens and calls.
NVTX = "NVTX_INJECTION64_PATH"
# How often Slurm began a job anew, after a node failed or somebody had it queued again.
RESTART_COUNT = "SLURM_RESTART_COUNT"
MOST_RUNS = 1000
# Of a command line, what is looked at for files that it reads.
MOST_WORDS, MOST_INPUTS, MOST_INPUT_BYTES = 100, 16, 64 << 10
OPEN_MPI_LAUNCHERS = re.compile(r"(mpirun|mpiexec|orterun|prterun)([.-].*)?")
OPTION_X = "-x"
OPEN_MPI_ENVIRONMENT_LIST = "OMPI_MCA_mca_base_env_list"

NOT_FOUND_STATUS = 127
NOT_STARTED_STATUS = 126
SIGNAL_STATUS = 128
OWN_SECONDS = 5.0
PASSED_ON = (
    signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM,
)  # fmt: skip
SENT_BY_KERNEL = 0x80  # SI_KERNEL
# Python ignores these, and what is ignored stays so across exec.
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


class NotStarted(Exception):
    """The command could not be started: a reason in words, and the exit status that shells have for it."""

    def __init__(self, reason: str, status: int) -> None:
        super().__init__(reason)
        self.status = status


class ProfilePlace:
    """Where a job's profile goes. job_dir: its directory. was_there: whether the directory of all profiles was there
    before. note: what was chosen in place of what was asked for; empty: nothing."""

    def __init__(self, job_dir: Path, was_there: bool, note: str = "") -> None:
        self.job_dir, self.was_there, self.note = job_dir, was_there, note


def require_job_name(job: str | None) -> None:
    """Raises UserError for a name that no job can have."""
    if job is not None and job != job_name(job):
        raise UserError(f"--job {job!r}: a job's name has {JOB_NAME_RULE}")


def job_directory(
    directory: str | None, job: str | None, command: Sequence[str], environment: Mapping[str, str]
) -> ProfilePlace:
    """Makes the directory that the job's profile goes to, and sees that it can be written. Raises UserError where it
    cannot. directory: else SLICEWISE_DIR, else `slicewise` here. job: else SLICEWISE_JOB, else the scheduler's id; else
    a new name is made of the program and the time. The processes of a job named by the environment need not all come
    from one launcher; but one that is named here, or that the scheduler began anew, is a run of its own.
    """
    profiles = Path(os.path.realpath(directory or environment.get("SLICEWISE_DIR") or DEFAULT_DIR))
    given = job or environment.get("SLICEWISE_JOB") or _scheduled(environment)
    # As the library makes them: it refuses what others may write to, whatever the umask is.
    mode = 0o750 if environment.get("SLICEWISE_GROUP") == "1" else 0o700
    was_there = profiles.exists()
    try:
        profiles.mkdir(mode, parents=True, exist_ok=True)
        _refuse_open(profiles, environment)
        name, note = (job_name(given), "") if given else ("", "")
        if job is not None:
            name, note = _not_taken(profiles, name)
        if given:
            made = profiles / name
            made.mkdir(mode, exist_ok=True)
        else:
            made = _make_new(profiles, command, mode)
        _require_writable(made)
        return ProfilePlace(made, was_there, note)
    except OSError as error:
        raise UserError(
            f"{profiles}: no profile can be written there ({error.strerror}); name another directory with --dir"
        ) from error


def _scheduled(environment: Mapping[str, str]) -> str | None:
    """The scheduler's name of the job; of one that it began again, with the number of the run."""
    name = next((environment[variable] for variable in SCHEDULER_JOB_VARIABLES if environment.get(variable)), None)
    restarts = environment.get(RESTART_COUNT, "")
    return f"{name}.{int(restarts) + 1}" if name and restarts.isdecimal() and int(restarts) > 0 else name


def _not_taken(profiles: Path, name: str) -> tuple[str, str]:
    """The name, or with a number behind it the first one that no profile has, and then a line that says so."""
    for number in range(1, MOST_RUNS):
        tried = name if number == 1 else f"{name}.{number}"
        if not any(file.stat().st_size for file in (profiles / tried).glob("*.swz")):
            note = f"{name} has a profile of an earlier run, so this run is {tried}"
            return tried, note if number > 1 else ""
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(profiles / name))


def _require_writable(directory: Path) -> None:
    probe = directory / f".{os.getpid()}.probe"
    os.close(os.open(probe, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    probe.unlink()


def _refuse_open(profiles: Path, environment: Mapping[str, str]) -> None:
    """Raises UserError where others could plant a file in the library's way; /tmp and its like will do."""
    status = profiles.stat()
    is_for_all = status.st_uid == 0 and status.st_mode & stat.S_ISVTX
    by_others = stat.S_IWOTH if environment.get("SLICEWISE_GROUP") == "1" else stat.S_IWOTH | stat.S_IWGRP
    if status.st_mode & by_others and not is_for_all:
        raise UserError(
            f"{profiles}: others may write there, so no profile is written; chmod go-w {str(profiles)!r}, "
            "or set SLICEWISE_GROUP=1 if its group is to write there"
        )


def _make_new(profiles: Path, command: Sequence[str], mode: int) -> Path:
    """A directory that was not there before, whoever else makes one at the same time."""
    program = "job" if form_of_names(os.environ) == HASH else Path(command[0]).name[:100]
    name = job_name(f"{program}-{time.strftime('%Y%m%d-%H%M%S')}")
    for number in range(1, MOST_RUNS):
        path = profiles / (name if number == 1 else f"{name}-{number}")
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode)
            return path
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(profiles / name))


def remove_if_empty(job_dir: Path, were_profiles_there: bool) -> None:
    """Takes back a job's directory where nothing was written, and that of all profiles unless it was there before."""
    with contextlib.suppress(OSError):
        job_dir.rmdir()
        if not were_profiles_there:
            job_dir.parent.rmdir()


def profiled_environment(
    environment: Mapping[str, str], libraries: Sequence[Path], job_dir: Path, slice_seconds: float | None,
    command: Sequence[str],
) -> dict[str, str]:  # fmt: skip
    """`environment` with what makes the libraries profile every process of `command` into `job_dir`."""
    preloaded = environment.get("LD_PRELOAD", "")
    ours = {"SLICEWISE_DIR": str(job_dir.parent), "SLICEWISE_JOB": job_dir.name}
    if slice_seconds is not None:
        ours["SLICEWISE_SLICE"] = f"{slice_seconds:g}"
    missing = [str(library) for library in libraries if str(library) not in re.split("[ :]", preloaded)]
    if missing:
        ours["LD_PRELOAD"] = ":".join([*missing, preloaded] if preloaded else missing)
    made = {**environment, **ours}
    if _is_open_mpi(command) and OPTION_X not in command:
        listed = [entry for entry in environment.get(OPEN_MPI_ENVIRONMENT_LIST, "").split(";") if entry]
        made[OPEN_MPI_ENVIRONMENT_LIST] = ";".join(dict.fromkeys([*listed, *_passed(made)]))
    return made


def inputs_of(command: Sequence[str]) -> str:
    """Digits that stand for the small text files that a command line names: input decks, scripts, settings. Empty: it
    names none. Larger files may be what it writes, and cost time; what its owner alone may read may be a secret, of
    which digits would tell who guesses it.
    """
    digits, known = 0, 0
    for word in command[1 : 1 + MOST_WORDS]:
        for name in dict.fromkeys((word, word.rpartition("=")[2])):
            text = _small_text(name) if known < MOST_INPUTS else None
            if text is not None:
                digits, known = binascii.crc32(text, digits), known + 1
    return f"{digits:08x}" if known else ""


def _small_text(name: str) -> bytes | None:
    with contextlib.suppress(OSError, ValueError):
        looked = os.stat(name)
        if stat.S_ISREG(looked.st_mode) and looked.st_mode & stat.S_IROTH and looked.st_size <= MOST_INPUT_BYTES:
            text = Path(name).read_bytes()
            return text if b"\0" not in text else None
    return None


def passing_on(command: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """A command that takes our variables to other nodes, too. environment: `profiled_environment` of it. Open MPI's
    mpirun is told by a setting, as other launchers do it by themselves; but it does not accept that beside options
    `-x`, and then gets more of them. A `-x` behind something that can be run may be the program's: nothing is changed
    then.
    """
    at = command.index(OPTION_X) if _is_open_mpi(command) and OPTION_X in command else 0
    if not at or environment.get(OPEN_MPI_ENVIRONMENT_LIST) or _has_a_program(command[1:at]):
        return list(command)
    given = {value.partition("=")[0] for option, value in pairwise(command) if option == OPTION_X}
    more = [word for name in _passed(environment) if name not in given for word in (OPTION_X, name)]
    return [*command[:at], *more, *command[at:]]


def _has_a_program(words: Sequence[str]) -> bool:
    """Whether something among mpirun's options may be the program that it is to start; no value of `--mca` is."""
    values = {at + 2 for at, word in enumerate(words) if word.lstrip("-") in ("mca", "prtemca")}
    import shutil  # few command lines come here

    return any(shutil.which(word) for at, word in enumerate(words) if at not in values)


def _is_open_mpi(command: Sequence[str]) -> bool:
    """Whether it may be: launchers of others have the same names, and know neither the setting nor `-x`."""
    return OPEN_MPI_LAUNCHERS.fullmatch(Path(command[0]).name) is not None


def _passed(environment: Mapping[str, str]) -> list[str]:
    return ["LD_PRELOAD", *(name for name in (NVTX, *settings_of_the_library()) if environment.get(name))]


def timeout_seconds(environment: Mapping[str, str]) -> float:
    """How long one of our programs may take at the end of a command: what it may wait for a file system, and its own
    time."""
    try:
        return 2 * float(environment.get("SLICEWISE_EXIT_WAIT", "")) + OWN_SECONDS
    except ValueError:
        return 2 * float(settings_of_the_library()["SLICEWISE_EXIT_WAIT"]["default"]) + OWN_SECONDS


class NodeCollector:
    """The node's collector beside a command: it drains what the command's processes count, and samples the node's own
    counters. Without it the processes drain by themselves, so that it may fail."""

    def __init__(self, collector: Path, environment: Mapping[str, str]) -> None:
        """environment: the command's, which names the job and the places."""
        self._timeout_seconds = timeout_seconds(environment)
        # In a session of its own: what the terminal sends is for the command.
        self._process = subprocess.Popen(
            [collector, "node", "--json", "--parent", str(os.getpid())],
            env=without_library(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def end(self) -> int:
        """Ends it when all is drained; one that a file system keeps waiting is left behind. Returns how many bytes it
        wrote to the profile."""
        self._process.terminate()
        try:
            said, _ = self._process.communicate(timeout=self._timeout_seconds)
            return int(json.loads(os.fsdecode(said))["profile_bytes"])
        except (ValueError, KeyError, TypeError, subprocess.TimeoutExpired):
            return 0


def become(command: Sequence[str]) -> int:
    """Become the command, with nothing of ours left. Returns the status where it cannot be started."""
    for number in IGNORED_BY_PYTHON:
        signal.signal(number, signal.SIG_DFL)
    try:
        try:
            os.execvp(command[0], list(command))
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise
        os.execv("/bin/sh", _by_shell(command))
    except OSError as error:
        reason = _not_started(command, error)
        say(str(reason))
        return reason.status


def _by_shell(command: Sequence[str]) -> list[str]:
    """A script without a first line that names its interpreter: shells take it for theirs."""
    import shutil  # few commands come here

    return ["sh", shutil.which(command[0]) or command[0], *command[1:]]


def _not_started(command: Sequence[str], error: OSError) -> NotStarted:
    if isinstance(error, FileNotFoundError):
        return NotStarted(f"{command[0]}: no such command", NOT_FOUND_STATUS)
    return NotStarted(f"{command[0]}: cannot be run ({error.strerror})", NOT_STARTED_STATUS)


class Ended:
    """How a command ended. status: its exit status, 128 + n if signal n ended it. counts: what the kernel counted of it
    and of all its descendants that were waited for, by the names of /proc/PID/io; empty where that may not be read."""

    def __init__(self, pid: int, status: int, counts: dict[str, int]) -> None:
        self.pid, self.status, self.counts = pid, status, counts


def run_command(
    command: Sequence[str], environment: Mapping[str, str], smaller: Mapping[str, str] | None = None
) -> Ended:
    """Runs the command to its end. smaller: the environment that it gets where there is no room for the other one.
    Raises NotStarted. What somebody sends to us is passed on to it. What the terminal sends (Ctrl-C) it has got
    already, being in our process group.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    former = signal.pthread_sigmask(signal.SIG_BLOCK, [*PASSED_ON, signal.SIGCHLD])
    try:
        try:
            child = _spawn(command, environment, former)
        except OSError as error:
            if error.errno != errno.E2BIG or smaller is None:
                raise
            child = _spawn(command, smaller, former)
        return _wait(child)
    except OSError as error:
        raise _not_started(command, error) from error
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)


def _spawn(command: Sequence[str], environment: Mapping[str, str], mask: Iterable[int]) -> int:
    spawn = partial(os.posix_spawnp, setsigmask=mask, setsigdef=IGNORED_BY_PYTHON)
    try:
        return spawn(command[0], list(command), environment)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
    return spawn("/bin/sh", _by_shell(command), environment)


def _wait(pid: int) -> Ended:
    while True:
        caught = signal.sigwaitinfo([*PASSED_ON, signal.SIGCHLD])
        if caught.si_signo != signal.SIGCHLD:
            if caught.si_code != SENT_BY_KERNEL:
                os.kill(pid, caught.si_signo)
            continue
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            continue
        status, counts = _reaped(pid)
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else SIGNAL_STATUS + os.WTERMSIG(status)
        return Ended(pid, code, counts)


def _reaped(pid: int) -> tuple[int, dict[str, int]]:
    """The status of a child that has ended, and what the kernel counted of it and of its descendants."""
    counts = _kernel_counts(str(pid))  # while it is a zombie: afterwards there is nothing to ask
    first, before = _kernel_counts("self"), _kernel_counts("self")
    _, status = os.waitpid(pid, 0)
    if counts:
        return status, counts
    # It had other rights than ours, as in a container. But what it did is added to our own counts, as is each look.
    after = _kernel_counts("self")
    return status, {name: max(0, after[name] - 2 * before[name] + first[name]) for name in after}


def _kernel_counts(pid: str) -> dict[str, int]:
    try:
        lines = Path(f"/proc/{pid}/io").read_text().splitlines()
    except OSError:
        return {}
    return {name: int(value) for name, value in (line.split(": ") for line in lines)}
