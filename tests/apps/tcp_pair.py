"""A server that reads slowly or quickly, and a client that writes to it: `tcp_pair.py PORT BYTES READS_PER_SECOND`.

It says `written` when the client has written its bytes or, with a slow reader, after half a second. It ends with its
standard input; until then the connection stays open. READS_PER_SECOND, of 4 KiB each; 0: as quickly as it can.
"""

import contextlib
import socket
import sys
import threading
import time

CHUNK_BYTES = 4096


def read_all(listener: socket.socket, reads_per_second: float) -> None:
    """Reads what one client sends, until that ends."""
    connection, _ = listener.accept()
    with connection:
        while connection.recv(CHUNK_BYTES):
            time.sleep(1 / reads_per_second if reads_per_second else 0)


def main() -> None:
    """Writes; what the slow reader does not take stays in the sockets' buffers."""
    port, size, reads_per_second = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    listener = socket.create_server(("127.0.0.1", port))
    threading.Thread(target=read_all, args=(listener, reads_per_second), daemon=True).start()
    client = socket.create_connection(("127.0.0.1", port))
    client.settimeout(0.5 if reads_per_second else None)
    with contextlib.suppress(TimeoutError):
        client.sendall(bytes(size))
    print("written", flush=True)
    sys.stdin.read()


main()
