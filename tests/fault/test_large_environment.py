"""Programs that are started with large environments, from stacks that have no room for a copy."""

import pytest
from support.programs import Apps, Job

ROUNDS = 20


@pytest.mark.parametrize("way", ["fork", "vfork", "spawn", "failing", "system"])
def test_large_environment_on_small_stack(job: Job, apps: Apps, way: str) -> None:
    program = [apps.build("large_environment", "-pthread"), way, "/bin/sh", "-c", ": > file; exit 7"]
    bare = job.run_plainly(program)
    assert (bare.status, bare.errors) == (0, "")
    ended = job.must_run(program)
    assert ended.told["pages_more"] < ROUNDS
    assert job.profile().processes.height == ROUNDS + 1
