"""Serves sftp on a port, a process a connection, as inetd would; `python -m testbed.sftp PORT SERVER [options]`.

--turns: connections are served one after the other: the first that sends much keeps its turn until it has been quiet
for a while. --mib-s RATE: all connections together are read no faster than that, as by a server with a slow device.
--workers N: so many threads serve all connections, and each keeps the one that it has for as long as something has
arrived there: with a slow device, who came first keeps them all, and the others' windows stay closed.
--slower PART: for each further connection that is at it the device takes so much longer for a byte, as a disk that has
to seek.
"""

import argparse
import queue
import select
import socket
import subprocess
import threading
import time

QUIET_SECONDS = 0.3
# What a connection may send out of turn: enough for names and attributes, and to begin.
OUT_OF_TURN_BYTES = 512 << 10
CHUNK_BYTES = 256 << 10
# How long a thread of a pool waits for more of a connection, and what is under way to its server.
KEEP_SECONDS = 0.5
PIPE_BYTES = 4096


class Gate:
    """Lets bytes of connections through: in turns, at a rate, or both. Shared by the threads of all connections."""

    def __init__(self, in_turns: bool, bytes_per_second: float | None, slower: float) -> None:
        self._in_turns = in_turns
        self._rate = bytes_per_second
        self._slower = slower
        self._seen: dict[int, float] = {}
        self._condition = threading.Condition()
        self._holder: int | None = None
        self._last = 0.0
        self._free_at = 0.0

    def is_held_by_another(self, who: int) -> bool:
        return self._holder not in (None, who) and time.monotonic() - self._last < QUIET_SECONDS

    def take_turn(self, who: int) -> None:
        """Waits until it is this connection's turn."""
        if not self._in_turns:
            return
        with self._condition:
            while self.is_held_by_another(who):
                self._condition.wait(0.02)
            self._holder, self._last = who, time.monotonic()

    def pace(self, who: int, count: int) -> None:
        """Waits as long as the device takes for so many bytes."""
        if self._rate is None:
            return
        with self._condition:
            now = time.monotonic()
            self._seen[who] = now
            others = sum(other != who and now - last < QUIET_SECONDS for other, last in self._seen.items())
            self._free_at = max(self._free_at, now) + count / self._rate * (1 + self._slower * others)
            wait = self._free_at - time.monotonic()
        time.sleep(max(wait, 0.0))


def serve(connection: socket.socket, server: str, gate: Gate, who: int) -> None:
    """Passes a connection's bytes to a server of its own, and its answers back."""
    process = subprocess.Popen([server], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    threading.Thread(target=answer, args=(connection, process), daemon=True).start()
    sent, last = 0, time.monotonic()
    while chunk := connection.recv(CHUNK_BYTES):
        if time.monotonic() - last > QUIET_SECONDS:
            sent = 0
        sent += len(chunk)
        if sent > OUT_OF_TURN_BYTES:
            gate.take_turn(who)
        gate.pace(who, len(chunk))
        pass_on(chunk, process)
        last = time.monotonic()
    process.stdin.close()


def answer(connection: socket.socket, process: subprocess.Popen[bytes]) -> None:
    while chunk := process.stdout.read(CHUNK_BYTES):
        connection.sendall(chunk)


class Pool:
    """So many threads that serve all connections: each keeps its connection while there is something to read."""

    def __init__(self, workers: int, server: str) -> None:
        self._server = server
        self._ready: queue.SimpleQueue[tuple[socket.socket, subprocess.Popen[bytes]]] = queue.SimpleQueue()
        self._polled = select.epoll()
        for _ in range(workers):
            threading.Thread(target=self._work, daemon=True).start()

    def serve(self, listening: socket.socket) -> None:
        """Accepts connections, and hands those that have something to read to the threads in this order, for ever."""
        self._polled.register(listening, select.EPOLLIN)
        served = {}
        while True:
            for number, _ in self._polled.poll():
                if number != listening.fileno():
                    self._ready.put(served[number])
                    continue
                connection = accepted(listening)
                process = subprocess.Popen(
                    [self._server], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, pipesize=PIPE_BYTES
                )
                threading.Thread(target=answer, args=(connection, process), daemon=True).start()
                served[connection.fileno()] = connection, process
                self._polled.register(connection, select.EPOLLIN | select.EPOLLONESHOT)

    def _work(self) -> None:
        while True:
            connection, process = self._ready.get()
            while select.select([connection], [], [], KEEP_SECONDS)[0]:
                chunk = connection.recv(CHUNK_BYTES)
                if not chunk:
                    process.stdin.close()
                    break
                pass_on(chunk, process)
            else:
                self._polled.modify(connection, select.EPOLLIN | select.EPOLLONESHOT)


def pass_on(chunk: bytes, process: subprocess.Popen[bytes]) -> None:
    view = memoryview(chunk)
    while view:
        view = view[process.stdin.write(view) :]


def accepted(listening: socket.socket) -> socket.socket:
    connection, _ = listening.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def main() -> None:
    parser = argparse.ArgumentParser(prog="testbed.sftp")
    parser.add_argument("port", type=int)
    parser.add_argument("server")
    parser.add_argument("--turns", action="store_true")
    parser.add_argument("--mib-s", type=float)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--slower", type=float, default=0)
    arguments = parser.parse_args()
    gate = Gate(arguments.turns, arguments.mib_s and arguments.mib_s * (1 << 20), arguments.slower)
    listening = socket.create_server(("", arguments.port))
    if arguments.workers:
        Pool(arguments.workers, arguments.server).serve(listening)
    for who in range(1 << 30):
        connection = accepted(listening)
        if arguments.turns or arguments.mib_s:
            threading.Thread(target=serve, args=(connection, arguments.server, gate, who), daemon=True).start()
            continue
        subprocess.Popen([arguments.server], stdin=connection, stdout=connection)
        connection.close()


if __name__ == "__main__":
    main()
