"""Collectors on other nodes, over ssh: each samples its node for a job, ends with the connection, and leaves nothing
there. A node that cannot be sampled costs its evidence and no run.
"""

import contextlib
import os
import shlex
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from slicewise.errors import UserError
from slicewise.running.installation import find_installation
from slicewise.running.started import IN_ITS_OWN_GROUP, SECONDS_TO_END, end

SECONDS_TO_FETCH = 60
COLLECTOR = "slicewise-collect"
# Settings of ours that a collector needs to count as the job's processes do.
PASSED_ON = ("SLICEWISE_SLICE", "SLICEWISE_STORAGE_PORTS")
# The end of its input is what ends it; the archive that it prints has the job's directory of profiles.
SCRIPT = """\
collector={collector}
[ -x "$collector" ] || collector={name}
folder=$(mktemp -d) || exit 1
{settings} SLICEWISE_DIR="$folder" "$collector" node --samples --job {job} >&2 &
cat > /dev/null
kill $! 2> /dev/null
{{ wait $!; }} 2> /dev/null
tar -cf - -C "$folder" .
rm -rf "$folder"
"""


def hosts_of(text: str) -> list[str]:
    """The hosts of a list as mpirun takes it, each once, without this node, which `slicewise run` samples."""
    named = [word.strip().partition(":")[0] for word in text.split(",")]
    return list(dict.fromkeys(host for host in named if host and not _is_here(host)))


def _is_here(host: str) -> bool:
    return host.rpartition("@")[2].partition(".")[0] == os.uname().nodename.partition(".")[0]


@contextlib.contextmanager
def sampled(
    hosts: Mapping[str, Sequence[str]], directory: Path, slice_seconds: float | None, say: Callable[[str], None]
) -> Iterator[None]:
    """Meanwhile hosts (by job, whose profile is in directory/JOB) are sampled; what was counted is there at the end.

    say: takes a line about a host that was not sampled. After an exception nothing is fetched.
    """
    with contextlib.ExitStack() as running:
        collectors = [
            (job, host, running.enter_context(_collector(host, job, slice_seconds)))
            for job, named in hosts.items()
            for host in named
        ]
        yield
        for _, _, (process, _, _) in collectors:
            _close(process)
        for job, host, (process, archive, words) in collectors:
            reason = _fetched(process, archive, words, directory / job, host)
            if reason:
                say(f"{host}: was not sampled: {reason}")


@contextlib.contextmanager
def _collector(
    host: str, job: str, slice_seconds: float | None
) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes], IO[bytes]]]:
    """A collector at work, with the files of its archive and of what it says."""
    command = ["ssh", "-oBatchMode=yes", "--", host, f"exec sh -c {shlex.quote(_script(job, slice_seconds))}"]
    with tempfile.TemporaryFile() as archive, tempfile.TemporaryFile() as words:
        try:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=archive, stderr=words, **IN_ITS_OWN_GROUP)
        except OSError as error:
            raise UserError(f"ssh: {error.strerror}; leave out nodes_a, nodes_b and servers, or mend that") from error
        try:
            yield process, archive, words
        finally:
            _close(process)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(SECONDS_TO_END)
            end(process)


def _close(process: subprocess.Popen[bytes]) -> None:
    """The end of its input, which ends a collector."""
    if process.stdin is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()


def _script(job: str, slice_seconds: float | None) -> str:
    settings = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    if slice_seconds is not None:
        settings["SLICEWISE_SLICE"] = f"{slice_seconds:g}"
    return SCRIPT.format(
        collector=shlex.quote(str(find_installation().collector)),
        name=COLLECTOR,
        settings=" ".join(f"{name}={shlex.quote(value)}" for name, value in settings.items()),
        job=shlex.quote(job),
    )


def _fetched(process: subprocess.Popen[bytes], archive: IO[bytes], words: IO[bytes], job: Path, host: str) -> str:
    """Takes over what a collector counted. Gives why there is none, or ""."""
    try:
        process.wait(SECONDS_TO_FETCH)
    except subprocess.TimeoutExpired:
        return f"it sent nothing for {SECONDS_TO_FETCH} s"
    archive.seek(0)
    taken = 0
    try:
        with tarfile.open(fileobj=archive) as packed:
            for entry in packed:
                is_profile = entry.isfile() and entry.name.endswith(".swz")
                content = packed.extractfile(entry) if is_profile else None
                if content is None:
                    continue
                job.mkdir(exist_ok=True)
                # The job's own processes may have written a profile of that node's name.
                number = sum(1 for _ in job.glob("sampled-*.swz"))
                (job / f"sampled-{number}-{Path(entry.name).name}").write_bytes(content.read())
                taken += 1
    except (OSError, tarfile.TarError) as error:
        if taken == 0 and process.returncode == 0:
            return str(error)
    if taken:
        return ""
    words.seek(0)
    said = words.read().decode(errors="replace").strip().splitlines()
    if said:
        return said[-1]
    return f"ssh ended with status {process.returncode}" if process.returncode else "the run ended before it began"
