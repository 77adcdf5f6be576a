"""Collectors on other nodes: whom they sample, and what comes back over a connection (here a shell in place of ssh)."""

from __future__ import annotations

import contextlib
import io
import os
import tarfile
from pathlib import Path

import pytest
from slicewise.running.node_collectors import hosts_of, sampled

COUNTED = b"what was counted"


def test_hosts_are_those_of_mpirun_without_this_node():
    own = os.uname().nodename
    assert hosts_of("n1:8, n2:8,root@server,n1") == ["n1", "n2", "root@server"]
    assert hosts_of(f"{own}:4,me@{own}") == []
    assert hosts_of(",") == []


@pytest.fixture
def nodes(tmp_path, monkeypatch) -> Path:
    """A folder whose ssh runs commands here, and whose slicewise-collect writes a profile when it is ended."""
    commands = tmp_path / "bin"
    commands.mkdir()
    collector = tmp_path / "slicewise-collect"
    programs = {
        commands / "ssh": f'[ "$1" = -oBatchMode=yes ] && echo "$3" >> {tmp_path}/asked; exec sh -c "$4"',
        collector: f"""
            [ "$1 $2 $3" = "node --samples --job" ] || exit 2
            mkdir "$SLICEWISE_DIR/$4"
            trap 'printf "what was counted" > "$SLICEWISE_DIR/$4/server.swz"; exit 0' TERM
            echo "$SLICEWISE_SLICE $SLICEWISE_DIR" > {tmp_path}/told
            while true; do sleep 0.01; done""",
    }
    for path, text in programs.items():
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")
    monkeypatch.setattr(
        "slicewise.running.node_collectors.find_installation", lambda: type("", (), {"collector": collector})
    )
    return tmp_path


def wait_for(file: Path) -> str:
    while not (file.exists() and file.read_text()):
        pass
    return file.read_text()


def test_what_a_node_counted_is_fetched_and_nothing_is_left_there(nodes):
    said: list[str] = []
    with sampled({"dt+0-1-a": ["root@server"]}, nodes, 0.5, said.append):
        slice_seconds, folder = wait_for(nodes / "told").split()
    assert (nodes / "dt+0-1-a" / "sampled-0-server.swz").read_bytes() == COUNTED
    assert (slice_seconds, said) == ("0.5", [])
    assert (nodes / "asked").read_text() == "root@server\n"
    assert not Path(folder).exists()


def test_an_interrupted_run_leaves_nothing_on_the_node(nodes):
    with contextlib.suppress(KeyboardInterrupt), sampled({"a": ["server"]}, nodes, None, print):
        folder = Path(wait_for(nodes / "told").split()[-1])
        raise KeyboardInterrupt
    assert not (nodes / "a").exists()
    while folder.exists():  # the connection is gone, and the node notices that by itself
        pass


def test_a_node_that_is_not_sampled_costs_no_run(nodes):
    (nodes / "slicewise-collect").write_text(f"#!/bin/sh\necho no such job >&2\necho . > {nodes}/told\nexit 2\n")
    said: list[str] = []
    with sampled({"a": ["server"]}, nodes, None, said.append):
        wait_for(nodes / "told")
    assert said == ["server: was not sampled: no such job"]
    (nodes / "bin" / "ssh").write_text("#!/bin/sh\necho 'Permission denied (publickey).' >&2\nexit 255\n")
    with sampled({"a": ["server"]}, nodes, None, said.append):
        pass
    assert said[1:] == ["server: was not sampled: Permission denied (publickey)."]


def test_a_run_that_ends_before_its_collector_begins_says_so(nodes):
    (nodes / "slicewise-collect").write_text("#!/bin/sh\nexec sleep 100\n")
    said: list[str] = []
    with sampled({"a": ["server"]}, nodes, None, said.append):
        pass
    assert said == ["server: was not sampled: the run ended before it began"]


def test_an_archive_writes_nowhere_else(nodes):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name in ("../../escaped.swz", "/escaped.swz", "text.txt"):
            entry = tarfile.TarInfo(name)
            entry.size = len(COUNTED)
            archive.addfile(entry, io.BytesIO(COUNTED))
        link = tarfile.TarInfo("link.swz")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    (nodes / "sent").write_bytes(packed.getvalue())
    (nodes / "bin" / "ssh").write_text(f"#!/bin/sh\ncat > /dev/null; cat {nodes}/sent\n")
    with sampled({"a": ["server"]}, nodes, None, print):
        pass
    assert sorted(path.name for path in (nodes / "a").iterdir()) == ["sampled-0-escaped.swz", "sampled-1-escaped.swz"]
