"""What listens where GlusterFS does, and two clients, sampled by `slicewise-collect servers`.

`python -m testbed.served_clients BUILD PROFILES`: n1 sends SENT_MIB and n2 is sent as much, each by a connection that
ends within a slice.
"""

import os
import sys
import time
from pathlib import Path

from testbed import nodes

PORT = 24007
SENT_MIB = 16
SERVE = f"""
import os, socket
server = socket.create_server(("", {PORT}))
while True:
    client, _ = server.accept()
    if os.fork() == 0:
        if client.recv(1, socket.MSG_WAITALL) == b"r":
            client.sendall(bytes({SENT_MIB} << 20))
        while client.recv(1 << 20):
            pass
        os._exit(0)
    client.close()
"""
ASK = f"""
import socket, sys, time
with socket.create_connection(("{nodes.SERVER_ADDRESS}", {PORT})) as server:
    server.sendall(sys.argv[1].encode())
    if sys.argv[1] == "r":
        server.recv({SENT_MIB} << 20, socket.MSG_WAITALL)
    else:
        server.sendall(bytes({SENT_MIB} << 20))
"""


def main() -> None:
    build, profiles = (Path(argument) for argument in sys.argv[1:])
    cluster = nodes.Cluster(profiles.parent / "cluster", 2, link="1gbit")
    server, log = cluster.server, cluster.folder / "log"
    server.start(log, sys.executable, "-c", SERVE)
    nodes.wait_for_port(server, PORT)
    settings = {"DIR": profiles, "SLICE": 1, "SEGMENT_DIR": cluster.folder}
    given = ["env", *(f"SLICEWISE_{name}={value}" for name, value in settings.items())]
    sampler = server.start(log, *given, build / "bin" / "slicewise-collect", "servers", "--source", "server:/volume")
    time.sleep(1.0)
    clients = [node.start(log, sys.executable, "-c", ASK, way) for node, way in zip(cluster.nodes, "wr", strict=True)]
    failed = [client.wait(60) for client in clients]
    sampler.terminate()
    sampler.wait(60)
    os._exit(max(failed))


if __name__ == "__main__":
    main()
