"""Synthetic profiles of the sizes that the analyzer is measured with.

Payloads repeat themselves from process to process, since making them takes longer than all else; each frame is its own
process's none the less, and unpacks and decodes as any other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from support.swz import LAST_FRAME, START_NS, Writer

SLICE_NS = 4_000_000_000
FIRST_SLICE = START_NS // SLICE_NS
SLICES_A_FRAME = 32
DIFFERENT = 16


@dataclass(frozen=True)
class Shape:
    """A kind of job. slices: of each process; has_collector: whether each node was sampled over these slices;
    samples_a_frame: how many samples a collector's frame holds; processes_a_node: its last node may have fewer."""

    processes: int
    slices: int
    jobs: int = 1
    has_collector: bool = False
    samples_a_frame: int = 1
    processes_a_node: int = 52

    def doubled(self) -> Shape:
        """Twice the processes, or twice the slices of one."""
        if self.processes == 1:
            return replace(self, slices=2 * self.slices)
        return replace(self, processes=2 * self.processes)


def build(directory: Path, shape: Shape) -> list[Path]:
    """Write the jobs and give their directories."""
    writer, random = Writer(), np.random.default_rng(1)
    bodies = [_bodies(writer, shape.slices, random) for _ in range(min(DIFFERENT, shape.processes))]
    return [_job(directory / f"{48_000 + job}", writer, bodies, shape, job << 24) for job in range(shape.jobs)]


def _job(directory: Path, writer: Writer, bodies: list[list[bytes]], shape: Shape, first_id: int) -> Path:
    directory.mkdir(parents=True)
    for node in range(-(-shape.processes // shape.processes_a_node)):
        first = node * shape.processes_a_node
        processes = range(first + 1, min(first + shape.processes_a_node, shape.processes) + 1)
        with (directory / f"n{node:03}.swz").open("wb") as file:
            file.write(writer.schema_frame())
            for process in processes:
                own = bodies[process % len(bodies)]
                file.write(_process(writer, first_id, process, directory.name, f"n{node:03}", own))
            if shape.has_collector:
                file.writelines(_samples(writer, 1 << 40 | node, f"n{node:03}", shape))
    return directory


def _process(writer: Writer, first_id: int, process: int, job: str, host: str, bodies: list[bytes]) -> bytes:
    head = writer.rows("processes", [{"job": job, "pid": process, "rank": process - 1, "host": host}])
    head += writer.rows("mounts", [{"mount": 0, "object": "process", "point": "", "type": "", "source": ""}, {}])
    end = writer.rows("files", [{"file": number, "path": f"/scratch/output/step-{number}"} for number in range(8)])
    end += writer.rows("calls", [{"operation": name, "calls": 9} for name in ("open", "read", "write", "close")])
    unique = first_id + process
    frames = [writer.frame(unique, 0, head)]
    frames += [writer.packed_frame(unique, number, body) for number, body in enumerate(bodies, 1)]
    return b"".join(frames) + writer.frame(unique, len(frames), end, LAST_FRAME)


def _bodies(writer: Writer, slices: int, random: np.random.Generator) -> list[bytes]:
    """The packed payloads of a process's slices."""
    return [
        writer.packed(writer.chunk("slices", _rows(np.arange(begin, min(begin + SLICES_A_FRAME, slices)), random)))
        for begin in range(0, slices, SLICES_A_FRAME)
    ]


def _rows(slices: np.ndarray, random: np.random.Generator) -> dict[str, np.ndarray]:
    """A POSIX row and a kernel row of each slice, with every kind of value a busy process has."""
    count = len(slices)
    is_posix = np.repeat([1, 0], count)

    def values(most: int, kernel_too: bool = False) -> np.ndarray:
        return random.integers(1, most, 2 * count) * (1 if kernel_too else is_posix)

    ops = values(400)
    return {
        "mount": is_posix,
        "layer": np.where(is_posix, 0, 4),
        "slice": np.tile(slices + FIRST_SLICE, 2),
        "read_ops": values(50, kernel_too=True),
        "write_ops": values(400, kernel_too=True),
        "meta_ops": values(20),
        "sync_ops": values(3),
        "read_bytes": values(1 << 22, kernel_too=True),
        "write_bytes": values(1 << 30, kernel_too=True),
        "read_ns": values(1 << 28),
        "write_ns": values(1 << 31),
        "meta_ns": values(1 << 24),
        "sync_ns": values(1 << 24),
        "read_slowest_ns": values(1 << 24),
        "write_slowest_ns": values(1 << 28),
        "write_sequential": ops // 2,
        "write_consecutive": ops // 3,
        "threads": is_posix,
        "kernel_read_bytes": values(1 << 22, kernel_too=True) * (1 - is_posix),
        "kernel_write_bytes": values(1 << 30, kernel_too=True) * (1 - is_posix),
        "write_size_6": ops,
        "read_size_2": values(50),
        **{f"write_latency_{number}": values(100) for number in range(10, 16)},
        **{f"read_latency_{number}": values(20) for number in range(8, 12)},
        **{f"meta_latency_{number}": values(20) for number in range(4, 8)},
    }


def _samples(writer: Writer, run: int, host: str, shape: Shape) -> list[bytes]:
    """What a node's collector writes: its own row, pressure, an interface and a disk, in every slice."""
    frames = []
    for number, begin in enumerate(range(0, shape.slices, shape.samples_a_frame)):
        slices = range(begin + FIRST_SLICE, min(begin + shape.samples_a_frame, shape.slices) + FIRST_SLICE)
        payload = writer.rows("nodes", [{"host": host, "pid": 7, "slice_ns": SLICE_NS, "start_ns": START_NS}])
        if number == 0:
            payload += writer.rows("node_devices", [{"device": 0, "name": "eth0"}, {"device": 1, "name": "sda"}])
        sampled = {"sampled_ns": SLICE_NS, "cpu_stall_ns": 10**8, "io_stall_ns": 10**7, "tcp_sent_segments": 900}
        payload += writer.rows("node_slices", [{"slice": number} | sampled for number in slices])
        moved = {"device": 0, "received_bytes": 10**6, "received_packets": 700, "sent_bytes": 10**8}
        payload += writer.rows("node_networks", [{"slice": number} | moved for number in slices])
        written = {"device": 1, "write_ops": 100, "write_bytes": 10**8, "write_ns": 10**9, "busy_ns": 10**9}
        payload += writer.rows("node_blocks", [{"slice": number} | written for number in slices])
        frames.append(writer.frame(run, number, payload, LAST_FRAME))
    return frames
