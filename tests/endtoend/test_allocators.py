"""Programs whose allocator calls what we wrap while it is locked: nothing of ours may need it, or what it needs."""

from pathlib import Path

import pytest
from support.programs import LIBRARY, Apps, Job, total

PACKAGED = [
    "libjemalloc.so.2", "libtcmalloc.so.4", "libtcmalloc_minimal.so.4", "libmimalloc.so.2", "libtbbmalloc_proxy.so.2",
]  # fmt: skip
WRITTEN = {"once": 0, "threads": 8000, "fork": 1000}


@pytest.fixture(params=["ours", *PACKAGED])
def allocator(request: pytest.FixtureRequest, apps: Apps) -> Path:
    if request.param == "ours":
        return apps.build("allocator", "-shared", "-fPIC", "-pthread", "-fno-builtin")
    found = [path for folder in ("/usr/lib", "/usr/lib64") for path in Path(folder).glob(f"**/{request.param}")]
    if not found:
        pytest.skip(f"not installed: {request.param}")
    return found[0]


@pytest.mark.parametrize("way", WRITTEN)
@pytest.mark.parametrize("place", ["linked", "before", "behind"])
def test_allocator_that_reads_files(job: Job, apps: Apps, allocator: Path, place: str, way: str) -> None:
    link = ["-Wl,--no-as-needed", str(allocator), f"-Wl,-rpath,{allocator.parent}"] if place == "linked" else []
    program = apps.build("allocating", "-pthread", *link)
    preload = {"linked": [LIBRARY], "before": [allocator, LIBRARY], "behind": [LIBRARY, allocator]}[place]
    job.must_run([program, way], LD_PRELOAD=":".join(map(str, preload)))
    assert job.segments() == []
    if WRITTEN[way] == 0 and not job.spool_dir.exists():  # an allocator that does no I/O, in a program that does none
        return
    profile = job.profile()
    assert total(profile, "write_bytes", obj="file") == WRITTEN[way]
    assert set(profile.processes["ending"]) == {"exit"}
