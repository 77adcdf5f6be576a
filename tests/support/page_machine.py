"""A machine as the pages speak of it: the reader's jobs and files, directories of a site, and stand-ins for programs of
others (stand_ins/).

Where bubblewrap may make namespaces, a page's shell sees the system's own files read-only. It has its own /tmp, /run,
/etc/slicewise, /opt/slicewise, /scratch, /site and /logs, its own processes, and a network that has 10.0.0.1 alone.
"""

import functools
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from slicewise.analysis.size.points import write_table
from support.certificates import make_certificate
from support.io500_results import write_example
from support.jobs import write_competing_jobs_and_runs_alone
from support.pages import Block
from support.programs import BUILD, ROOT, need_built
from support.size_tables import measured

STAND_INS = Path(__file__).parent / "stand_ins"
ALIASES = {"srun": "mpirun", "podman": "container", "docker": "container", "apptainer": "container"}
# What a page's shell must be in a sandbox for: others' directories and addresses, and what asks for root.
SYSTEM = re.compile(r"/(?:opt|etc|run|scratch|site|logs)/|\b10\.0\.0\.1\b|\bsudo ")
PREFIX = re.compile(r"\bmake install PREFIX=(\S+)")
IN_A_CLONE = re.compile(r"^make\b", re.MULTILINE)
# A clone has what `make` would take long for, and the real folders where nothing writes to them.
BUILT = ("bin", "lib", "objects", "generated", "generate", ".tools")
SHARED = ("tests", "demo")
# Directories of the machine that lie in the reader's: `.opt-slicewise` there is /opt/slicewise.
PLACES = ("opt-slicewise", "opt-darshan", "etc-slicewise", "scratch-me", "logs")
LONGEST_SECONDS = 600
# What a batch system's prologue is given.
JOB, USER = "48213", str(os.getuid())

# Programs of the reader's own. Each process moves some data in a few calls.
PROGRAM = """#!/bin/sh
exec dd if=/dev/zero of="written-$(basename "$0")-${OMPI_COMM_WORLD_RANK:-0}" bs=64K count=8 status=none
"""
WRITTEN = 8 << 16  # bytes, by each process
TESTS = """#!/bin/sh
[ "$1" != all ] || set -- one two
for test in "$@"; do echo "$test ... ok"; done
"""
JOB_SCRIPT = re.compile(r"^```bash\n(#!/bin/bash\n#SBATCH .*?)^```$", re.MULTILINE | re.DOTALL)
BEGIN = 1_700_000_000  # of imported logs, in seconds

STARTED = """
goes-on {shown} {line} & kept_{number}=$!
until [ -s {shown} ]; do kill -0 $kept_{number}; sleep 0.05; done
"""
# Ended by Ctrl-C: it ends well, or of this signal.
ENDED = """
kill $kept_{number}
wait $kept_{number} && status=0 || status=$?
case $status in
    0 | 130 | 254) ;;
    *) echo {line}: $status >&2; cat {shown} >&2; exit 1 ;;
esac
cat {shown}
"""


# Before and after a block with such a word comes what the page leaves to the reader: another machine, shell or job.
BEFORE = {
    "--find-links": "pip uninstall --quiet --yes slicewise",
    "slicewise turns wait --at": "unset ${!SLICEWISE_COORDINATE@}",
}
# Programs do less than a reader's, and as much of it as the tutorial shows the answers of.
LESS = {"count=1000": "count=200", "count=500": "count=100"}
STOP = 'slicewise-collect stop --job "$1" --user "$2"'
AFTER = {
    # What it wrote is on another file system than the jobs that pages go on with.
    "mpirun -n 60 ./simulation input.nml": "rm -r slicewise/mpirun-*",
    "export LD_PRELOAD=/opt/slicewise/lib/libslicewise.so SLICEWISE_DIR=/scratch/me/profiles": (
        'PBS_JOBID="$1" ./program; unset LD_PRELOAD'
    ),
    "--others": STOP,
    "--bpf": STOP,
}


def write_files(directory: Path) -> None:
    """What the pages speak of in the reader's directory: jobs, logs of others, results of benchmarks, tables."""
    write_competing_jobs_and_runs_alone(directory)
    shutil.copytree(directory, directory / "slicewise")
    write_example(directory / "io500" / "results")
    write_table(measured(0.01, 4), directory / "scratch.csv")
    log = "".join(f"{job} {job * 60} 1 {300 + job} 16 -1 -1 16 -1 -1 1 1 1 1 1 1 -1 -1\n" for job in range(1, 40))
    (directory / "machine.swf.gz").write_bytes(gzip.compress(f"; MaxProcs: 64\n{log}".encode()))
    lustre = "/p/lustre1,lustre,10.0.0.1@tcp:/l1"
    rows = "".join(f"{BEGIN + at}.25,{BEGIN + at}.75,write,1048576,n1,1,{lustre}\n" for at in range(20))
    for name in ("calls.csv", "48213.csv", "48214.csv"):
        (directory / name).write_text(f"begin,end,kind,bytes,node,process,mount,type,source\n{rows}")
    programs = dict.fromkeys(("simulation", "post", "program"), PROGRAM) | {"run-tests": TESTS}
    for name, text in programs.items():
        (directory / name).write_text(text)
        (directory / name).chmod(0o755)
    (directory / "tests.txt").write_text("one\ntwo\n")
    (directory / "input.nml").touch()
    (directory / "results").mkdir()
    (directory / "results" / "result").write_bytes(bytes(1 << 20))


class Machine:
    """here: the reader's directory and home, with what `write_files` wrote. The blocks run in one shell, in order."""

    def __init__(self, here: Path, page: Path, blocks: Sequence[Block]) -> None:
        self.here, self._blocks = here, blocks
        self._text = "\n".join(block.lines for block in blocks)
        self.needs_system = SYSTEM.search(self._text) is not None
        self._has_slicewise = "make" not in self._text
        self._path = [BUILD / "bin"]
        self._write_stand_ins()
        for place in PLACES:
            (here / f".{place}").mkdir()
        shutil.copy(here / "scratch.csv", here / ".scratch-me" / "slicewise-size.csv")
        for script in JOB_SCRIPT.findall(page.read_text(encoding="utf-8"))[:1]:
            (here / "job.sh").write_text(script)
        if IN_A_CLONE.search(self._text):
            clone_into(here)
        elif "tests/" in self._text:
            (here / "tests").symlink_to(ROOT / "tests")
        for folder, library in re.findall(r"/opt/(darshan)/(\S+\.so)", self._text):
            made = here / f".opt-{folder}" / library
            made.parent.mkdir(parents=True, exist_ok=True)
            empty = ["gcc", "-shared", "-x", "c", "/dev/null", "-o", str(made)]
            subprocess.run(empty, check=True)
        prefixes = [Path(self._inside_out(prefix)) for prefix in PREFIX.findall(self._text)]
        if here / ".opt-slicewise" not in prefixes:
            for part in ("lib", "bin"):
                (here / ".opt-slicewise" / part).symlink_to(BUILD / part)
        if "import darshan" in self._text:
            self._bring_logs()
        if "pip install" in self._text or prefixes:
            self._make_environments([here / ".venv", *(prefix / "lib/slicewise/venv" for prefix in prefixes)])
        if "--certificate" in self._text:
            for name in ("node", "prometheus-ca"):
                make_certificate(here / ".etc-slicewise", name)

    def run(self) -> subprocess.CompletedProcess[str]:
        """Run the page's blocks, and end what goes on."""
        around = sandbox(self.here) if can_sandbox() else []
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLICEWISE_", "LD_PRELOAD"))}
        environment = {name: value for name, value in kept.items() if not name.startswith(("OMPI_", "PYTHON", "SLURM"))}
        environment |= {
            "HOME": str(self.here), "PATH": ":".join(map(str, [*self._path, environment["PATH"]])),
            "SOURCE_DATE_EPOCH": str(BEGIN), "DEBFULLNAME": "A. Maintainer", "DEBEMAIL": "maintainer@example.org",
        }  # fmt: skip
        return subprocess.run(
            [*around, "bash", "-e", "-c", self._script(bool(around)), "bash", JOB, USER],
            cwd=self.here,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LONGEST_SECONDS,
            check=False,
        )

    def _script(self, is_sandboxed: bool) -> str:
        parts = ["ip address add 10.0.0.1/32 dev lo"] if is_sandboxed and "10.0.0.1" in self._text else []
        ends: list[str] = []
        for block in self._blocks:
            if block.how == "run":
                parts += [step for word, step in BEFORE.items() if word in block.lines]
                lines = block.lines
                for many, fewer in LESS.items():
                    lines = lines.replace(many, fewer)
                parts.append(lines)
                parts += [step for word, step in AFTER.items() if word in block.lines]
                continue
            for command in block.commands:
                told = {"shown": self.here / f".shown-{len(ends)}", "line": _quoted(command), "number": len(ends)}
                parts.append(STARTED.format(**told))
                ends.append(ENDED.format(**told))
        return "\n".join([*parts, *ends])

    def _write_stand_ins(self) -> None:
        place = self.here / ".stand-ins"
        place.mkdir()
        names = [path.name for path in STAND_INS.iterdir()]
        for name, program in [*ALIASES.items(), *zip(names, names, strict=True)]:
            (place / name).symlink_to(STAND_INS / program)
        self._path.insert(0, place)
        # dpkg installs below a directory of the reader's, where no other package is.
        database = self.here / ".root" / "var/lib/dpkg"
        for folder in ("info", "updates"):
            (database / folder).mkdir(parents=True)
        (database / "status").touch()
        settings = f"root={self.here}/.root\nforce-depends\nforce-not-root\nlog={self.here}/.root/log\n"
        (self.here / ".dpkg.cfg").write_text(settings)

    def _bring_logs(self) -> None:
        """A log of Darshan's, of the package's own tests."""
        need_built(BUILD / "peers" / "bin" / "python", how="make build/peers/.installed")
        (log,) = (BUILD / "peers").glob("lib/python*/site-packages/darshan/tests/input/sample-dxt-simple.darshan")
        day = self.here / ".logs" / "2026/11/22"
        day.mkdir(parents=True)
        shutil.copy(log, day)

    def _inside_out(self, path: str) -> str:
        """Where a path of the page's shell lies outside of the sandbox."""
        return path.replace("$HOME", str(self.here)).replace("/opt/slicewise", str(self.here / ".opt-slicewise"))

    def _make_environments(self, places: Sequence[Path]) -> None:
        """Environments with all of the build's packages, and ours if the page does not install it; pip fetches none."""
        packages = self.here / ".packages"
        packages.mkdir()
        (there,) = (BUILD / "venv").glob("lib/python*/site-packages")
        for entry in there.iterdir():
            if "slicewise" not in entry.name:
                (packages / entry.name).symlink_to(entry)
        seen = [packages]
        if self._has_slicewise:
            for about in there.glob("slicewise-*.dist-info"):
                (packages / about.name).symlink_to(about)
            seen += [ROOT / "analyzer", *(BUILD / "peers").glob("lib/python*/site-packages")]
        for place in places:
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
            (own,) = place.glob("lib/python*/site-packages")
            (own / "packages.pth").write_text("".join(f"{path}\n" for path in seen))
            for name in ("pip", *(["slicewise"] if self._has_slicewise else [])):
                (place / "bin" / name).write_text(f'#!/bin/sh\nexec "{place}/bin/python" -I -m {name} "$@"\n')
                (place / "bin" / name).chmod(0o755)
        self._path.insert(1, places[0] / "bin")
        configuration = self.here / ".config" / "pip" / "pip.conf"
        configuration.parent.mkdir(parents=True)
        configuration.write_text(
            "[global]\nno-index = true\ndisable-pip-version-check = true\n[download]\nno-deps = true\n"
        )


def clone_into(directory: Path) -> None:
    """The sources with their build, as `make` leaves them."""
    for entry in ROOT.glob("[!.]*"):
        if entry.name in SHARED:
            (directory / entry.name).symlink_to(entry)
        elif entry.is_dir() and entry.name not in ("build", "dist"):
            shutil.copytree(entry, directory / entry.name, ignore=shutil.ignore_patterns("__pycache__"))
        elif entry.is_file():
            shutil.copy2(entry, directory)
    built = directory / "build"
    built.mkdir()
    for name in BUILT:
        copy = shutil.copytree if (BUILD / name).is_dir() else shutil.copy2
        copy(BUILD / name, built / name)
    (built / "venv").symlink_to((BUILD / "venv").resolve())


def sandbox(here: Path) -> list[str]:
    """The command line before a command that runs in the sandbox, in `here`."""
    words = ["bwrap", "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-net", "--cap-add", "ALL"]
    own = {"dev", "proc", "tmp", "run", "etc", "opt", "scratch", "site", "logs"}
    for entry in sorted(Path("/").iterdir()):
        if entry.is_symlink():
            words += ["--symlink", str(entry.readlink()), str(entry)]
        elif entry.is_dir() and entry.name not in own:
            words += ["--ro-bind", str(entry), str(entry)]
    words += ["--dev-bind", "/dev", "/dev", "--tmpfs", "/dev/shm", "--proc", "/proc", "--tmpfs", "/tmp"]
    words += ["--dir", "/run/slicewise", "--dir", "/site"]
    words += ["--ro-bind", "/etc", "/.etc", "--dir", "/etc"]
    for entry in sorted(Path("/etc").iterdir()):
        if entry.name != "slicewise":
            words += ["--symlink", f"/.etc/{entry.name}", str(entry)]
    for entry in sorted(Path("/opt").iterdir() if Path("/opt").exists() else []):
        if entry.is_dir():
            words += ["--ro-bind", str(entry), str(entry)]
    for path in sorted({ROOT, BUILD.resolve(), Path(sys.prefix).resolve(), Path(sys.base_prefix)}):
        words += ["--ro-bind", str(path), str(path)]
    words += ["--bind", str(here), str(here)]
    for place in PLACES:
        words += ["--bind", str(here / f".{place}"), "/" + place.replace("-", "/", 1)]
    for place in ("/scratch/you/slicewise", "/scratch/slicewise"):
        words += ["--bind", str(here / "slicewise"), place]
    return [*words, "--chdir", str(here)]


@functools.cache
def can_sandbox() -> bool:
    """Whether this machine lets us make one."""
    if shutil.which("bwrap") is None:
        return False
    with tempfile.TemporaryDirectory() as directory:
        here = Path(directory)
        for place in ("slicewise", *(f".{place}" for place in PLACES)):
            (here / place).mkdir()
        tried = [*sandbox(here), "ip", "address", "add", "10.0.0.1/32", "dev", "lo"]
        return subprocess.run(tried, capture_output=True, check=False).returncode == 0


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
