"""A cluster that profiles every job by Slurm's own prologue and epilogue: real daemons, on one node."""

import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest
from slicewise.profile.reader import Profile, read_profile
from support.programs import BUILD, LIBRARY, ROOT, Apps, need, need_built, total
from testbed.slurm import NoCluster, Slurm, cluster

TALLY = struct.Struct("6Q16x")
ACCOUNT = "physics"


def installed(prefix: Path, name: str) -> Path:
    """A file of scheduler/ as `make install` makes it."""
    made = prefix / "share" / name
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_text((ROOT / "scheduler" / f"{name}.in").read_text().replace("@PREFIX@", str(prefix)))
    made.chmod(0o755)
    return made


@dataclass(frozen=True)
class Site:
    slurm: Slurm
    directory: Path
    tally: Path

    def script(self, name: str, seconds: int, launcher: str = "") -> str:
        """Writes for so long, and counts that in a file of its name. Starts when all jobs of one barrier are there."""
        data = self.directory / f"data-{name}"
        data.mkdir()
        return f"{launcher} {self.tally} steady 1 {seconds} {self.directory}/tally-{name} {data} {data}"

    def own_count(self, name: str) -> tuple[int, int]:
        """Writes and bytes written, as the program counted them itself."""
        rows = list(TALLY.iter_unpack((self.directory / f"tally-{name}").read_bytes()))
        return sum(row[0] for row in rows), sum(row[1] for row in rows)

    def profile(self, job: int) -> Profile:
        profile = read_profile(self.directory / "profiles" / "root" / str(job))
        assert profile.damage == []
        return profile

    def assert_whole(self, job: int, name: str) -> Profile:
        profile = self.profile(job)
        writes, bytes_written = self.own_count(name)
        tallies = profile.processes.filter(pl.col("program") == str(self.tally))
        slices = profile.slices.join(tallies.select("process"), on="process", how="semi")
        counted = int(slices.filter(pl.col("layer") == "posix")["write_ops"].sum())
        assert writes <= counted <= writes + 1
        assert total(profile, "write_bytes") >= bytes_written
        assert set(tallies["job"]) == {str(job)}
        assert set(tallies["user"]) == {os.getuid()}
        assert set(tallies["account"]) == {ACCOUNT}
        assert set(tallies["nodes"]) == {"localhost"}
        assert profile.nodes["host"].unique().to_list() == tallies["host"].unique().to_list()
        assert not list(Path("/dev/shm").glob(f"slicewise-*/{job}.*"))
        return profile


@pytest.fixture(scope="module")
def site(apps: Apps) -> Iterator[Site]:
    need("sbatch", "scontrol", "squeue")
    if os.geteuid() != 0:
        pytest.skip("Slurm's daemons need root")
    directory = Path(tempfile.mkdtemp(prefix="slicewise-slurm-"))
    prefix = directory / "prefix"
    for part in ("lib/libslicewise.so", "bin/slicewise-collect"):
        (prefix / part).parent.mkdir(parents=True)
        shutil.copy(BUILD / part, prefix / part)
    (prefix / "etc").mkdir()
    (prefix / "etc" / "slicewise.conf").write_text(f"SLICEWISE_SITE_DIR={directory}/profiles\n")
    (directory / "cluster").mkdir()
    scripts = {
        setting: installed(prefix, f"slurm-{name}")
        for setting, name in (("Prolog", "prolog"), ("Epilog", "epilog"), ("TaskProlog", "task-prolog"))
    }
    # Identities of jobs that are running here would be taken for those of the cluster's.
    first_job = 1_000_000 + os.getpid() * 100
    try:
        with cluster(directory / "cluster", FirstJobId=str(first_job), PrologFlags="Alloc", **scripts) as slurm:
            yield Site(slurm, directory, apps.build("tally", "-pthread"))
    except NoCluster as reason:
        pytest.skip(f"no Slurm here: {reason}")
    finally:
        shutil.rmtree(directory)


def test_two_jobs_at_once(site: Site) -> None:
    options = [f"--account={ACCOUNT}", f"--output={site.directory}/output"]
    arrive = "touch {0}/at-{1}; while [ ! -e {0}/at-{2} ]; do sleep 0.05; done; "
    jobs = {}
    for name, other in (("one", "two"), ("two", "one")):
        batch, step = site.script(name, 1), site.script(f"{name}-step", 1, "srun")
        script = arrive.format(site.directory, name, other) + f"{batch}; {step}"
        jobs[name] = site.slurm.submit(script, *options)
    assert {site.slurm.wait(job) for job in jobs.values()} == {"COMPLETED"}
    spans = []
    for name, job in jobs.items():
        profile = site.profile(job)
        tallies = profile.processes.filter(pl.col("program") == str(site.tally)).sort("start_ns")
        assert tallies["step"].to_list() == ["", "0"]
        assert tallies["ending"].to_list() == ["exit", "exit"]
        assert set(tallies["job"]) == {str(job)}
        assert set(tallies["account"]) == {ACCOUNT}
        assert set(tallies["nodes"]) == {"localhost"}
        assert set(tallies["user"]) == {os.getuid()}
        for process, part in zip(tallies["process"], (name, f"{name}-step"), strict=True):
            slices = profile.slices.filter((pl.col("process") == process) & (pl.col("layer") == "posix"))
            assert (slices["write_ops"].sum(), slices["write_bytes"].sum()) == site.own_count(part)
        assert profile.node_slices.height > 0
        spans.append((profile.processes["start_ns"].min(), profile.processes["end_ns"].max()))
    assert spans[0][0] < spans[1][1]
    assert spans[1][0] < spans[0][1]


def test_a_job_that_is_left_alone(site: Site) -> None:
    script = site.script("off", 1)
    job = site.slurm.submit(script, f"--output={site.directory}/output", SLICEWISE_OFF="1")
    assert site.slurm.wait(job) == "COMPLETED"
    assert not list((site.directory / "profiles" / "root").glob(f"{job}/*"))


def test_a_cancelled_job(site: Site) -> None:
    """Slurm ends it as one that hits its time limit."""
    script = site.script("cancelled", 600)
    job = site.slurm.submit(script, f"--account={ACCOUNT}", f"--output={site.directory}/output")
    while not (site.directory / "tally-cancelled").exists() or not site.own_count("cancelled")[0]:
        assert site.slurm.state(job) in ("PENDING", "RUNNING", "CONFIGURING")
    site.slurm.call("scancel", str(job))
    assert site.slurm.wait(job) == "CANCELLED"
    profile = site.assert_whole(job, "cancelled")
    assert "killed" in profile.processes["ending"].to_list()


def modules(tmp_path: Path, script: str, **more: str) -> subprocess.CompletedProcess[str]:
    """A script of a shell that knows `module load`, with our module file."""
    found = [*Path("/usr/lib").glob("*/modulecmd.tcl"), *Path("/usr/share/modules").glob("libexec/modulecmd.tcl")]
    if not found:
        pytest.skip("not installed: environment-modules")
    (tmp_path / "modules").mkdir()
    shutil.copy(installed(tmp_path, "modulefile"), tmp_path / "modules" / "slicewise")
    environment = {"PATH": "/usr/bin:/bin", "MODULEPATH": str(tmp_path / "modules"), **more}
    script = f'module() {{ eval "$(tclsh {found[0]} sh "$@")"; }}\n{script}'
    return subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True, check=True)


def test_module_file(tmp_path: Path) -> None:
    """`module load` sets the paths, and nothing that profiles by itself."""
    shown = modules(tmp_path, 'module load slicewise; echo "$PATH"; echo "$SLICEWISE_LIBRARY"; echo "$LD_PRELOAD"')
    path, library, preloaded = shown.stdout.splitlines()[-3:]
    assert path.startswith(f"{tmp_path}/bin:")
    assert (library, preloaded) == (f"{tmp_path}/lib/libslicewise.so", "")
    assert shown.stderr == ""


def test_module_file_hands_the_users_settings_to_the_library(tmp_path: Path) -> None:
    """And takes them back; what the environment said goes before the file; a mistake is told, and stops nothing."""
    need_built(BUILD / "bin" / "slicewise")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "slicewise").symlink_to(BUILD / "bin" / "slicewise")
    (tmp_path / "lib").mkdir(exist_ok=True)
    (tmp_path / "lib" / "libslicewise.so").symlink_to(LIBRARY)
    file = tmp_path / ".config" / "slicewise" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(f"slice = 0.5\nsite_ms = 20\nslcie = 3\ndir = \"{tmp_path}/my 'profiles'; $HOME [exit 1]\"\n")
    script = """module load slicewise
        LD_PRELOAD=$SLICEWISE_LIBRARY /bin/cat /etc/passwd > /dev/null
        echo "loaded $SLICEWISE_SLICE $SLICEWISE_SITE_MS"
        module unload slicewise
        echo "unloaded $SLICEWISE_SLICE $SLICEWISE_SITE_MS$SLICEWISE_DIR$SLICEWISE_LIBRARY"; env | grep -c FROM_FILE"""
    shown = modules(tmp_path, f"{script} || true", HOME=str(tmp_path), SLICEWISE_SLICE="0.25")
    assert shown.stdout.splitlines() == ["loaded 0.25 20", "unloaded 0.25 ", "0"]
    assert "slcie: no such setting; did you mean slice?" in shown.stderr
    (job,) = (tmp_path / "my 'profiles'; $HOME [exit 1]").iterdir()
    assert read_profile(job).slice_ns == 250_000_000
