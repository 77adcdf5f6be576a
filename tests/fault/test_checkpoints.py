"""Programs under DMTCP, which writes a process's memory into checkpoints: we stay away."""

import subprocess
from pathlib import Path

import pytest
from support.programs import LIBRARY, Apps, Job

# What its library exports since version 2. It calls fcntl and opens in a constructor, and at each checkpoint.
STAND_IN = """
#include <fcntl.h>
int dmtcp_checkpoint(void) { return 0; }
__attribute__((constructor)) static void begin(void)
{
    (void)fcntl(0, F_GETFL);
    (void)open("/proc/self/maps", O_RDONLY);
}
"""


@pytest.fixture
def dmtcp(tmp_path: Path) -> Path:
    library = tmp_path / "libdmtcp.so"
    (tmp_path / "dmtcp.c").write_text(STAND_IN)
    subprocess.run(["gcc", "-shared", "-fPIC", tmp_path / "dmtcp.c", "-o", library], check=True)
    return library


@pytest.mark.parametrize("is_first", [True, False])
def test_nothing_of_ours_is_mapped_under_dmtcp(job: Job, dmtcp: Path, is_first: bool) -> None:
    preloaded = [dmtcp, LIBRARY] if is_first else [LIBRARY, dmtcp]
    ended = job.run(["cat", "/proc/self/maps"], LD_PRELOAD=":".join(map(str, preloaded)))
    assert ended.status == 0
    assert str(job.segment_dir).encode() not in ended.output
    assert ended.errors.startswith("slicewise: not profiled: this program runs under DMTCP")
    assert [path.name for path in job.segments()] == [".job.job"]  # says so to `slicewise run`
    assert "1 process not profiled: under DMTCP" in job.recover().stderr


def test_a_program_under_dmtcp_ends_as_it_does_bare(job: Job, apps: Apps, dmtcp: Path) -> None:
    command = [apps.build("life_ending"), "exit"]
    bare = job.run_plainly(command, LD_PRELOAD=str(dmtcp))
    ended = job.run(command, LD_PRELOAD=f"{dmtcp}:{LIBRARY}", SLICEWISE_QUIET="1")
    assert (ended.status, ended.output, ended.errors) == (bare.status, bare.output, bare.errors)
