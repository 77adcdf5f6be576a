"""podman, as docs/containers.md says: the library bound in, the profile out, and bytes as the program wrote them."""

import subprocess
from pathlib import Path

import polars as pl
import pytest
from slicewise.analysis.coverage import coverage
from slicewise.digest.digest import Digest
from slicewise.profile.reader import read_profile
from support.programs import BUILD, LIBRARY, need, need_built

SLICEWISE = BUILD / "bin" / "slicewise"
MIB = 1 << 20
WRITTEN = 64 * MIB
TOLERANCE = 0.05
# What a container in a container lacks: limits of its own, control groups of two kinds.
PODMAN = [
    *("podman", "--cgroup-manager=cgroupfs", "run", "--rm", "--network=none", "--cgroups=disabled"),
    *("--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096", "--uts=host"),
]
HANDED_ON = [
    word for name in ("LD_PRELOAD", "SLICEWISE_DIR", "SLICEWISE_JOB", "SLICEWISE_SLICE") for word in ("-e", name)
]
OF_ONE_KIND = "umount /sys/fs/cgroup/unified 2> /dev/null; exec"


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root whose programs are the node's own."""
    root = tmp_path_factory.mktemp("root")
    for name in ("usr", "proc", "sys", "dev", "tmp", "etc", "run"):
        (root / name).mkdir()
    for name in ("bin", "lib", "lib64", "sbin"):
        (root / name).symlink_to(f"usr/{name}")
    return root


def in_podman(image: Path, folder: Path, handed_on: list[str], command: list[str]) -> list[str]:
    """The command in a container that has `folder` and the library where they are."""
    bound = [word for path in (LIBRARY.parent, folder, "/dev/shm", "/usr") for word in ("-v", f"{path}:{path}")]
    podman = [*PODMAN, *bound, *handed_on, "--rootfs", str(image), *command]
    return ["unshare", "-m", "sh", "-c", f'{OF_ONE_KIND} "$@"', "podman", *podman]


@pytest.fixture(scope="module")
def podman(image: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    need("podman", "unshare")
    tried = subprocess.run(
        in_podman(image, tmp_path_factory.mktemp("tried"), [], ["/bin/true"]),
        capture_output=True,
        text=True,
        check=False,
    )
    if tried.returncode != 0:
        pytest.skip(f"podman can start no container here: {tried.stderr.strip()[-200:]}")


@pytest.mark.usefixtures("podman")
def test_a_program_in_podman_is_profiled_into_the_nodes_profile(image, tmp_path):
    need_built(SLICEWISE, LIBRARY)
    writing = ["/bin/dd", "if=/dev/zero", f"of={tmp_path}/data", f"bs={MIB}", f"count={WRITTEN // MIB}"]
    command = in_podman(image, tmp_path, HANDED_ON, writing)
    run = [SLICEWISE, "run", "--dir", tmp_path / "profiles", "--job", "job", "--", *command]
    subprocess.run(run, cwd=tmp_path, stderr=subprocess.PIPE, check=True)
    profile = read_profile(tmp_path / "profiles" / "job")
    assert profile.damage == []
    digest = Digest(profile)
    assert [path.name for path in (tmp_path / "profiles" / "job").iterdir()] == [f"{digest.processes['node'][0]}.swz"]
    own = digest.processes.filter(pl.col("program") == "dd")
    assert own["write_bytes"].to_list() == [WRITTEN]
    counted = digest.coverage.join(own, on="process", how="semi")
    assert counted["write_kernel"].sum() == pytest.approx(WRITTEN, rel=TOLERANCE)
    assert "dd" not in [Path(one.program).name for one in coverage(digest).sampled]
