"""Functions that have the names of libc's and are not libc's: each caller reaches the one that it would have reached
without us.
"""

from pathlib import Path

import pytest
from support.programs import LIBRARY, Apps, Job, calls, total


def linked(apps: Apps, program: str, library: Path) -> Path:
    return apps.build(program, "-fno-builtin", "-Wl,--no-as-needed", str(library), f"-Wl,-rpath,{library.parent}")


def built(apps: Apps, name: str, *options: str) -> Path:
    return apps.build(name, "-shared", "-fPIC", "-fno-builtin", *options)


def test_a_librarys_own_functions(job: Job, apps: Apps) -> None:
    """Other prototypes, at the first call and later: results in memory, floating point, more arguments than registers,
    variadic ones.
    """
    program = linked(apps, "namesakes", built(apps, "namesakes", "-DLIBRARY"))
    bare = job.run_plainly([program])
    assert bare.output.splitlines()[0] == b"2031 2 6 9"
    ended = job.run([program])
    assert (ended.status, ended.output, ended.errors) == (bare.status, bare.output, bare.errors)
    assert not {"remove", "splice", "tee", "sync"} & set(calls(job.profile()))


@pytest.mark.parametrize("place", ["before", "behind"])
def test_tool_in_front_of_standard_io(job: Job, apps: Apps, place: str) -> None:
    """It sees each call, with what it returns: libc's functions that lock nothing do not take its place."""
    tool = built(apps, "stdio_tool")
    preload = [tool, LIBRARY] if place == "before" else [LIBRARY, tool]
    ended = job.run([apps.build("stdio_tooled", "-fno-builtin")], LD_PRELOAD=":".join(map(str, preload)))
    assert (ended.status, ended.output, ended.errors) == (0, b"forwarded 6000\n", "")
    profile = job.profile()
    written, read = (total(profile, column, layers=["stdio"], obj="file") for column in ("write_bytes", "read_bytes"))
    assert written == read == 70_000


@pytest.mark.parametrize("place", ["linked", "before", "behind"])
def test_tool_that_forwards(job: Job, apps: Apps, place: str) -> None:
    tool = built(apps, "namesake_tool")
    program = linked(apps, "namesake_forwarded", tool) if place == "linked" else apps.build("namesake_forwarded")
    preload = {"linked": [LIBRARY], "before": [tool, LIBRARY], "behind": [LIBRARY, tool]}[place]
    ended = job.run([program], LD_PRELOAD=":".join(map(str, preload)))
    assert (ended.status, ended.output, ended.errors) == (0, b"forwarded 5\n", "")
    profile = job.profile()
    assert total(profile, "write_bytes", obj="file") == total(profile, "read_bytes", obj="file") == 100
    assert calls(profile)["remove"] == 1
