"""Running somebody's command under the profiler: its environment, its profile's place, its signals, its exit status.

The command must not notice: it has our terminal, our descriptors and our process group, and its ending is our ending.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import shlex
import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import pairwise
from pathlib import Path

from slicewise.contract import JOB_NAME_RULE, job_name, settings_of_the_library
from slicewise.errors import UserError
from slicewise.text.masked import HASH, form_of_names

DEFAULT_DIR = "slicewise"
# As the library takes them, in its order: a job that has a name there gets no name from here.
SCHEDULER_JOB_VARIABLES = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID")
OPEN_MPI_LAUNCHERS = re.compile(r"(mpirun|mpiexec|orterun|prterun)([.-].*)?")
OPTION_X = "-x"
OPEN_MPI_ENVIRONMENT_LIST = "OMPI_MCA_mca_base_env_list"

NOT_FOUND_STATUS = 127
NOT_STARTED_STATUS = 126
SIGNAL_STATUS = 128
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


def job_directory(
    directory: str | None, job: str | None, command: Sequence[str], environment: Mapping[str, str]
) -> tuple[Path, bool]:
    """Makes the directory that the job's profile goes to, and sees that it can be written; and whether the directory of
    all profiles was there before. Raises UserError where it cannot.

    directory: else SLICEWISE_DIR, else `slicewise` here. job: else SLICEWISE_JOB, else the scheduler's id; else a new
    name is made of the program and the time. A given name may have a profile already: the processes of one job need
    not all come from one launcher.
    """
    if job is not None and job != job_name(job):
        raise UserError(f"--job {job!r}: a job's name has {JOB_NAME_RULE}")
    profiles = Path(os.path.realpath(directory or environment.get("SLICEWISE_DIR") or DEFAULT_DIR))
    given = job or environment.get("SLICEWISE_JOB") or _first(environment, SCHEDULER_JOB_VARIABLES)
    mode = _directory_mode(environment)
    was_there = profiles.exists()
    try:
        profiles.mkdir(mode, parents=True, exist_ok=True)
        _refuse_open(profiles, environment)
        made = _make_named(profiles / job_name(given), mode) if given else _make_new(profiles, command, mode)
        with tempfile.TemporaryFile(dir=made):
            return made, was_there
    except OSError as error:
        raise UserError(
            f"{profiles}: no profile can be written there ({error.strerror}); name another directory with --dir"
        ) from error


def _first(environment: Mapping[str, str], variables: Sequence[str]) -> str | None:
    return next((environment[variable] for variable in variables if environment.get(variable)), None)


def _directory_mode(environment: Mapping[str, str]) -> int:
    """As the library makes them: it refuses what others may write to, whatever the umask is."""
    return 0o750 if environment.get("SLICEWISE_GROUP") == "1" else 0o700


def _refuse_open(profiles: Path, environment: Mapping[str, str]) -> None:
    """Raises UserError where the library would write no profile, since others could plant a file in its way.

    A directory for all, as /tmp is, will do.
    """
    status = profiles.stat()
    is_for_all = status.st_uid == 0 and status.st_mode & stat.S_ISVTX
    by_others = stat.S_IWOTH if environment.get("SLICEWISE_GROUP") == "1" else stat.S_IWOTH | stat.S_IWGRP
    if status.st_mode & by_others and not is_for_all:
        raise UserError(
            f"{profiles}: others may write there, so no profile is written; chmod go-w {shlex.quote(str(profiles))}, "
            "or set SLICEWISE_GROUP=1 if its group is to write there"
        )


def _make_named(path: Path, mode: int) -> Path:
    path.mkdir(mode, exist_ok=True)
    return path


def _make_new(profiles: Path, command: Sequence[str], mode: int) -> Path:
    """A directory that was not there before, whoever else makes one at the same time."""
    program = "job" if form_of_names(os.environ) == HASH else Path(command[0]).name[:100]
    name = job_name(f"{program}-{datetime.now():%Y%m%d-%H%M%S}")
    for number in range(1, 1000):
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
    environment: Mapping[str, str], library: Path, job_dir: Path, slice_seconds: float | None, command: Sequence[str]
) -> dict[str, str]:
    """`environment` with what makes the library profile every process of `command` into `job_dir`."""
    preloaded = environment.get("LD_PRELOAD", "")
    ours = {"SLICEWISE_DIR": str(job_dir.parent), "SLICEWISE_JOB": job_dir.name}
    if slice_seconds is not None:
        ours["SLICEWISE_SLICE"] = f"{slice_seconds:g}"
    if str(library) not in re.split("[ :]", preloaded):
        ours["LD_PRELOAD"] = f"{library}:{preloaded}" if preloaded else str(library)
    made = {**environment, **ours}
    if _is_open_mpi(command) and OPTION_X not in command:
        listed = [entry for entry in environment.get(OPEN_MPI_ENVIRONMENT_LIST, "").split(";") if entry]
        made[OPEN_MPI_ENVIRONMENT_LIST] = ";".join(dict.fromkeys([*listed, *_passed(made)]))
    return made


def passing_on(command: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """A command that takes our variables to other nodes, too. environment: `profiled_environment` of it.

    Open MPI's mpirun is told by a setting, as other launchers do it by themselves; but it does not accept that beside
    options `-x`, and then gets more of them. A `-x` behind something that can be run may be the program's: nothing is
    changed then.
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
    return any(shutil.which(word) for at, word in enumerate(words) if at not in values)


def _is_open_mpi(command: Sequence[str]) -> bool:
    """Whether it may be: launchers of others have the same names, and know neither the setting nor `-x`."""
    return OPEN_MPI_LAUNCHERS.fullmatch(Path(command[0]).name) is not None


def _passed(environment: Mapping[str, str]) -> list[str]:
    """What is set of what the library goes by."""
    return ["LD_PRELOAD", *(setting for setting in settings_of_the_library() if environment.get(setting))]


class NodeCollector:
    """The node's collector beside a command: it drains what the command's processes count, and samples the node's own
    counters. Without it the processes drain by themselves, so that it may fail."""

    def __init__(self, collector: Path, environment: Mapping[str, str]) -> None:
        """environment: the command's, which names the job and the places."""
        without_library = {name: value for name, value in environment.items() if name != "LD_PRELOAD"}
        # In a session of its own: what the terminal sends is for the command.
        self._process = subprocess.Popen(
            [collector, "node", "--json", "--parent", str(os.getpid())],
            env=without_library,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def end(self) -> int:
        """Ends it when all is drained. Returns how many bytes it wrote to the profile."""
        self._process.terminate()
        said, _ = self._process.communicate()
        try:
            return int(json.loads(os.fsdecode(said))["profile_bytes"])
        except (ValueError, KeyError, TypeError):
            return 0


@dataclass(frozen=True)
class Ended:
    """How a command ended. status: its exit status, 128 + n if signal n ended it. counts: what the kernel counted of it
    and of all its descendants that were waited for, by the names of /proc/PID/io; empty where that may not be read."""

    pid: int
    status: int
    counts: dict[str, int]


def run_command(command: Sequence[str], environment: Mapping[str, str]) -> Ended:
    """Runs the command to its end. Raises NotStarted.

    What somebody sends to us is passed on to it. What the terminal sends (Ctrl-C) it has got already, being in our
    process group.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    former = signal.pthread_sigmask(signal.SIG_BLOCK, [*PASSED_ON, signal.SIGCHLD])
    try:
        return _wait(_spawn(command, environment, former))
    except FileNotFoundError as error:
        raise NotStarted(f"{command[0]}: no such command", NOT_FOUND_STATUS) from error
    except OSError as error:
        raise NotStarted(f"{command[0]}: cannot be run ({error.strerror})", NOT_STARTED_STATUS) from error
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)


def _spawn(command: Sequence[str], environment: Mapping[str, str], mask: Iterable[int]) -> int:
    spawn = partial(os.posix_spawnp, setsigmask=mask, setsigdef=IGNORED_BY_PYTHON)
    try:
        return spawn(command[0], list(command), environment)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
    # A script without a first line that names its interpreter: shells take it for theirs.
    return spawn("/bin/sh", ["sh", shutil.which(command[0]) or command[0], *command[1:]], environment)


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
