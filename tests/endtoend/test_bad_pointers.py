"""Each interposed function, given bad pointers, does what it does bare: it returns the same, with the same errno,
or dies of the same signal.
"""

import shutil
import subprocess
from pathlib import Path

import pytest
from support.arguments import write_table
from support.mpi import BOTH_MPIS, Mpi, by_name
from support.programs import APPS, Apps, Job

RUN_SECONDS = 300
WITH_LIBRARIES = ("-DWITH_LIBURING", "-Wl,--no-as-needed", "-laio", "-luring")
SITES = {"sites_off": {"SLICEWISE_SITE_MS": "0"}, "sites_on": {"SLICEWISE_SITE_MS": "1", "SLICEWISE_SLICE": "0.1"}}
SEEDS = {"seed_1": ("1", "8", "150"), "seed_1000": ("1000", "40", "50")}  # first seed, calls a sequence, sequences


class Probes:
    """Runs the program in an empty directory of its own each time, so that names are always free."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.program = program
        self.folder = folder
        self.table = write_table(folder / "table.txt")

    def run(self, job: Job | None, *options: str, **settings: str) -> list[str]:
        """What it printed: a line a call."""
        place = self.folder / "place"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        command = [self.program, self.table, *options]
        if job is None:
            done = subprocess.run(command, cwd=place, capture_output=True, timeout=RUN_SECONDS, check=True)
            return done.stdout.decode().splitlines()
        ended = job.run(command, cwd=place, timeout_seconds=RUN_SECONDS, **settings)
        assert (ended.status, ended.errors) == (0, "")
        job.recover(job.spool_dir)  # of its children that were killed
        job.profile()
        return ended.output.decode().splitlines()


@pytest.fixture(scope="module", name="probes")
def make_probes(apps: Apps, tmp_path_factory: pytest.TempPathFactory) -> Probes:
    return Probes(apps.build("bad_pointers", *WITH_LIBRARIES), tmp_path_factory.mktemp("probes"))


@pytest.fixture(scope="module", name="bare")
def run_bare(probes: Probes) -> list[str]:
    return probes.run(None)


def different(bare: list[str], profiled: list[str]) -> list[tuple[str, str]]:
    assert len(bare) == len(profiled)
    return [(line, other) for line, other in zip(bare, profiled, strict=True) if line != other]


def test_good_pointers_are_good(bare: list[str]) -> None:
    good = [line for line in bare if "(" in line and "=" not in line.split(")")[0]]
    assert len(good) > 350
    assert [line for line in good if "killed" in line] == []
    assert [line for line in good if "EFAULT" in line] == []
    assert sum("EFAULT" in line for line in bare) > 900


@pytest.mark.parametrize("sites", SITES)
def test_bad_pointers_are_as_bad_as_bare(probes: Probes, bare: list[str], job: Job, sites: str) -> None:
    assert different(bare, probes.run(job, **SITES[sites])) == []


@pytest.mark.parametrize("seed", SEEDS)
def test_sequences_of_calls_with_bad_pointers(probes: Probes, job: Job, seed: str) -> None:
    bare = probes.run(None, *SEEDS[seed])
    assert any("killed" in line for line in bare)
    assert any("EFAULT" in line for line in bare)
    assert different(bare, probes.run(job, *SEEDS[seed])) == []


@pytest.mark.parametrize("mpi", BOTH_MPIS, ids=by_name)
def test_bad_pointers_in_mpi(job: Job, tmp_path: Path, mpi: Mpi) -> None:
    program = tmp_path / "program"
    command = [mpi.tool("mpicc"), "-std=gnu17", "-D_GNU_SOURCE", "-DWITH_MPI", "-O1", "-g", "-w"]
    subprocess.run([*command, APPS / "bad_pointers.c", "-o", program], check=True)
    probes = Probes(program, tmp_path)
    bare = probes.run(None)
    assert len(bare) > 700
    assert different(bare, probes.run(job)) == []


def test_memory_that_another_thread_takes_away(apps: Apps, job: Job) -> None:
    ended = job.run([apps.build("pages_come_and_go", "-pthread")])
    assert (ended.status, ended.errors) == (0, "")
    assert ended.told["failed"] > 1000
