"""Runs a plan of `slicewise delta sweep` as it is shipped, on nodes n1 to n4 and a file server that are namespaces.

`python -m testbed.sweep BUILD DIR SERVER PLAN [--set WORD=VALUE ...]`: as `slicewise delta sweep PLAN --dir DIR` on
node n1, with the directory, the launcher and ssh of the testbed. SERVER: one of `servers.SERVERS`.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from support.workload import MPIRUN

from testbed import nodes, plants, servers

NODES = 4
LINK = "4gbit"
TIMEOUT_SECONDS = 1800


def main() -> None:
    """Runs it; exits with its status, or with 1 and one line where the testbed cannot."""
    if nodes.is_isolated():
        build, directory, folder, server, *words = sys.argv[1:]
        sys.exit(_sweep(Path(build), Path(directory), Path(folder), server, words))
    build, directory = (Path(word).resolve() for word in sys.argv[1:3])
    server, *words = sys.argv[3:]
    try:
        nodes.require(MPIRUN[0], *servers.needs(server), str(build / "bin" / "slicewise-load"))
    except nodes.Missing as reason:
        sys.exit(f"testbed: {reason}")
    with tempfile.TemporaryDirectory(prefix="slicewise-testbed-") as folder, plants.groups() as made:
        os.environ |= made.told()
        arguments = (str(build), str(directory), folder, server, *words)
        sys.exit(nodes.isolated("testbed.sweep", *arguments, timeout=TIMEOUT_SECONDS))


def _sweep(build: Path, directory: Path, folder: Path, server: str, words: list[str]) -> int:
    cluster = nodes.Cluster(folder, NODES, LINK, nodes.NETWORKS["usual"])
    made = plants.Groups.found()
    for node in (*cluster.servers, *cluster.nodes):
        node.__class__ = plants.Planted
        node.groups = {}
        node.take(made.of(node.name), is_disk_shown=False)
    servers.SERVERS[server](cluster)
    commands = folder / "bin"
    commands.mkdir()
    launcher = shutil.which(MPIRUN[0])
    assert launcher is not None
    (commands / "mpirun").symlink_to(launcher)
    _write_ssh(cluster, commands / "ssh")
    of_launcher = {
        "plm_rsh_agent": str(commands / "ssh"), "plm_rsh_no_tree_spawn": "1", "btl_tcp_if_include": "eth0",
        "oob_tcp_if_include": "eth0", "mpi_yield_when_idle": "1", "rmaps_base_oversubscribe": "1",
    }  # fmt: skip
    environment = os.environ | {f"OMPI_MCA_{name}": value for name, value in of_launcher.items()}
    environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    environment["PATH"] = os.pathsep.join([str(commands), str(build / "bin"), environment["PATH"]])
    own = ["--set", f"directory={servers.MOUNT_POINT}", "--dir", directory]
    command = [build / "bin" / "slicewise", "delta", "sweep", *words, *own]
    return subprocess.run(cluster.nodes[0].command(*command), env=environment, check=False).returncode


def _write_ssh(cluster: nodes.Cluster, ssh: Path) -> None:
    """What a plan calls to set up the server, and mpirun to start ranks: [OPTIONS] [USER@]NAME COMMAND..."""
    cases = []
    for node in (*cluster.servers, *cluster.nodes):
        own = shlex.join(node.command())
        cases.append(f'  {node.name}) exec {own} sh -c "$*" ;;')
    ssh.write_text(
        "#!/bin/sh\nwhile case $1 in -*) true ;; *) false ;; esac; do shift; done\nhost=${1#*@}\nshift\n"
        + "case $host in\n"
        + "\n".join(cases)
        + '\nesac\necho "no node $host" >&2; exit 1\n'
    )
    ssh.chmod(0o755)


if __name__ == "__main__":
    main()
