"""GROMACS, which has files of its own formats: each byte that it moves is in the profile, as strace has it."""

import shutil
import subprocess
from pathlib import Path

import pytest
from support.programs import Job, need
from support.witness import differences, witness

WATER = Path("/usr/share/gromacs/top/spc216.gro")
TOPOLOGY = """
#include "oplsaa.ff/forcefield.itp"
#include "oplsaa.ff/spc.itp"
[ system ]
water
[ molecules ]
SOL 216
"""
SETTINGS = """
nsteps = 100
nstxout = 20
nstenergy = 20
nstxout-compressed = 10
coulombtype = reaction-field
rcoulomb = 0.6
rvdw = 0.6
gen_vel = yes
gen_seed = 1
"""
PREPARE = ["gmx", "grompp", "-f", "settings.mdp", "-c", WATER, "-p", "topology.top", "-o", "run.tpr", "-maxwarn", "9"]
SIMULATE = ["gmx", "mdrun", "-s", "run.tpr", "-deffnm", "out", "-nt", "1"]
COMMANDS = {
    "check": ([*["gmx", "check", "-f", "out.trr", "-e", "out.edr"]], b""),
    "trjconv": ([*["gmx", "trjconv", "-f", "out.trr", "-s", "run.tpr", "-o", "new.xtc", "-pbc", "mol"]], b"0\n"),
    "trjconv_apart": ([*["gmx", "trjconv", "-f", "out.xtc", "-s", "run.tpr", "-o", "new.gro", "-sep"]], b"0\n"),
    "energy": ([*["gmx", "energy", "-f", "out.edr", "-o", "energy.xvg"]], b"Potential\nTemperature\n\n"),
    "mdrun": ([*["gmx", "mdrun", "-s", "run.tpr", "-deffnm", "again", "-nt", "2"]], b""),
}
# Streams' own calls underneath: their bytes are counted, and not how many there were.
OF_STREAMS = {"file read calls", "file write calls", "lseek"}


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of a small simulation."""
    need("gmx")
    if not WATER.exists():
        pytest.skip(f"needs {WATER}")
    folder = tmp_path_factory.mktemp("simulated")
    (folder / "topology.top").write_text(TOPOLOGY)
    (folder / "settings.mdp").write_text(SETTINGS)
    for command in (PREPARE, SIMULATE):
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("name", COMMANDS)
def test_each_byte_is_counted(job: Job, simulated: Path, name: str) -> None:
    command, words = COMMANDS[name]
    shutil.copytree(simulated, job.data, dirs_exist_ok=True)
    seen = witness(job, command, stdin=words, cwd=job.data)
    assert seen.ended.status == 0, seen.ended.errors
    assert differences(job.profile(), seen).keys() <= OF_STREAMS
