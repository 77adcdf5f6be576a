"""Profiles after those of real jobs, where `profiles.py` has regular ones: ranks that burst and idle, four mounts, all
layers, hundreds of files, call sites, MPI, processor time, and helpers of a slice among ranks of an hour.

As there, payloads repeat themselves from process to process, and each frame is its own process's.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from bench.profiles import FIRST_SLICE, SLICE_NS
from support.swz import LAST_FRAME, Writer

SLICES_A_FRAME, DIFFERENT, HELPER_EVERY = 32, 16, 8
MOUNTS = (
    ("/scratch", "lustre", "mds1:/scratch"), ("/home", "nfs4", "nas:/home"), ("/sw", "squashfs", "/dev/loop3"),
    ("/tmp", "ext4", "/dev/nvme0n1p2"),
)  # fmt: skip
# Layer, mount, in how many of ten slices there is a row.
ROWS = (
    ("posix", 1, 7), ("posix", 2, 3), ("posix", 3, 1), ("stdio", 2, 4), ("stdio", 4, 2), ("mpiio", 1, 5),
    ("kernel", 0, 10),
)  # fmt: skip
CALLS = (
    "open", "openat", "close", "read", "pread", "write", "pwrite", "lseek", "fsync", "stat", "fstat", "unlink",
    "mkdir", "access",
)  # fmt: skip
CLASSES = ("message", "wait", "collective", "barrier")


@dataclass(frozen=True)
class Varied:
    """A job. slices: of its ranks; first: the slice in which it begins, from the jobs' common begin; files, sites: of
    each rank; host: what its nodes' names begin with. Of HELPER_EVERY processes one is a helper of one slice.
    """

    processes: int
    slices: int
    first: int = 0
    files: int = 120
    sites: int = 24
    host: str = "n"
    processes_a_node: int = 52


def write(directory: Path, shape: Varied, number: int = 1) -> Path:
    """Write the job, whose processes' ids begin at a place of their own by its number, and give its directory."""
    writer, random = Writer(), np.random.default_rng(number)
    directory.mkdir(parents=True)
    ranks = [_rank(writer, shape, random) for _ in range(min(DIFFERENT, shape.processes))]
    helper = writer.chunk("slices", _helper_rows(shape))
    for node in range(-(-shape.processes // shape.processes_a_node)):
        host = f"{shape.host}{node:03}"
        first = node * shape.processes_a_node
        with (directory / f"{host}.swz").open("wb") as file:
            file.write(writer.schema_frame())
            for process in range(first, min(first + shape.processes_a_node, shape.processes)):
                is_helper = process % HELPER_EVERY == HELPER_EVERY - 1
                bodies, end = ((), b"") if is_helper else ranks[process % len(ranks)]
                head = _head(writer, shape, directory.name, host, process, is_helper)
                unique = (number << 24) + process + 1
                if is_helper:
                    file.write(writer.frame(unique, 0, head + helper, LAST_FRAME))
                    continue
                file.write(writer.frame(unique, 0, head))
                for at, body in enumerate(bodies, 1):
                    file.write(writer.packed_frame(unique, at, body))
                file.write(writer.packed_frame(unique, len(bodies) + 1, end, LAST_FRAME))
    return directory


def _head(writer: Writer, shape: Varied, job: str, host: str, process: int, is_helper: bool) -> bytes:
    begin_ns = (FIRST_SLICE + shape.first) * SLICE_NS
    about = {
        "job": job, "host": host, "pid": process + 1, "start_ns": begin_ns, "program": "/usr/bin/model",
        "site_ns": 10_000_000,
    }  # fmt: skip
    about |= {"rank": process, "ranks": shape.processes, "end_ns": begin_ns + shape.slices * SLICE_NS}
    if is_helper:
        about |= {"rank": -1, "program": "/bin/sh", "end_ns": begin_ns + SLICE_NS}
    own = {"mount": 0, "object": "process", "point": "", "type": "", "source": ""}
    mounts = [own, *({"mount": at, "point": p, "type": t, "source": s} for at, (p, t, s) in enumerate(MOUNTS, 1))]
    return writer.rows("processes", [about]) + writer.rows("mounts", mounts)


def _rank(writer: Writer, shape: Varied, random: np.random.Generator) -> tuple[list[bytes], bytes]:
    """The packed payloads of a rank's slices, and of its last frame."""
    bodies, usage, sites = [], 0, 0
    for begin in range(0, shape.slices, SLICES_A_FRAME):
        slices = np.arange(begin, min(begin + SLICES_A_FRAME, shape.slices)) + FIRST_SLICE + shape.first
        body = writer.chunk("slices", _rows(slices, random))
        spoken = np.repeat(slices, len(CLASSES))
        body += writer.chunk("communication", {
            "slice": spoken, "class": list(CLASSES) * len(slices), "calls": random.integers(1, 4000, len(spoken)),
            "ns": random.integers(1, 1 << 30, len(spoken)), "bytes": random.integers(0, 1 << 24, len(spoken)),
        })  # fmt: skip
        body += writer.chunk("usage", {
            "number": np.arange(usage, usage + len(slices)), "slice": slices,
            "sampled_ns": np.full(len(slices), SLICE_NS), "user_ns": random.integers(1, SLICE_NS, len(slices)),
            "system_ns": random.integers(1, 1 << 28, len(slices)), "peak_bytes": np.full(len(slices), 1 << 30),
        })  # fmt: skip
        sampled = 3 * len(slices)
        body += writer.chunk("sites", {
            "number": np.arange(sites, sites + sampled), "site": random.integers(1, shape.sites + 1, sampled),
            "operation": random.choice(["read", "write", "open", "stat"], sampled).tolist(),
            "slice": np.repeat(slices, 3), "samples": random.integers(1, 9, sampled),
            "likely_calls": random.integers(1000, 90_000, sampled),
            "likely_bytes": random.integers(1, 1 << 24, sampled),
        })  # fmt: skip
        usage, sites = usage + len(slices), sites + sampled
        bodies.append(writer.packed(body))
    return bodies, writer.packed(_end(writer, shape, random))


def _end(writer: Writer, shape: Varied, random: np.random.Generator) -> bytes:
    mounts = random.integers(1, len(MOUNTS) + 1, shape.files)
    end = writer.chunk("files", {
        "file": np.arange(shape.files), "mount": mounts,
        "path": [f"{MOUNTS[mount - 1][0]}/set-{at % 7}/part-{at:05}.dat" for at, mount in enumerate(mounts)],
        "opens": random.integers(1, 40, shape.files), "write_ops": random.integers(1, 9000, shape.files),
        "write_bytes": random.integers(1, 1 << 32, shape.files), "write_ns": random.integers(1, 1 << 34, shape.files),
    })  # fmt: skip
    end += writer.rows("calls", [{"operation": name, "calls": int(random.integers(1, 90_000))} for name in CALLS])
    end += writer.rows(
        "modules", [{"module": at, "path": f"/sw/lib/lib{at}.so", "build_id": "00" * 8} for at in range(4)]
    )
    depth = 12
    stacks = shape.sites * depth
    return end + writer.chunk("frames", {
        "site": np.repeat(np.arange(1, shape.sites + 1), depth), "depth": np.tile(np.arange(depth), shape.sites),
        "module": random.integers(0, 4, stacks), "offset": random.integers(1, 1 << 20, stacks),
        "function": [f"step_{at % 40}" for at in range(stacks)],
    })  # fmt: skip


def _rows(slices: np.ndarray, random: np.random.Generator) -> dict[str, list | np.ndarray]:
    """Rows of the slices, of which each (layer, mount) has some: a checkpoint every twelfth slice, little between."""
    own = [(layer, mount, slices[random.random(len(slices)) * 10 < often]) for layer, mount, often in ROWS]
    count = sum(len(active) for *_, active in own)
    layers = [layer for layer, _, active in own for _ in active]
    every = np.concatenate([active for *_, active in own])
    is_call = np.array([layer != "kernel" for layer in layers])
    burst = np.where(every % 12 == 0, 1 << 26, 1 << 12)

    def values(most: int, of: np.ndarray | int = 1) -> np.ndarray:
        return random.integers(1, most, count) * of

    writes = values(400, is_call)
    columns: dict[str, list | np.ndarray] = {
        "layer": layers, "mount": np.concatenate([np.full(len(active), mount) for _, mount, active in own]),
        "slice": every, "read_ops": values(50), "write_ops": writes, "meta_ops": values(90, is_call),
        "sync_ops": values(3, is_call), "read_bytes": values(1 << 20), "write_bytes": values(64) * burst,
        "read_ns": values(1 << 24, is_call), "write_ns": values(1 << 22, is_call) * (burst >> 10).clip(1, 256),
        "meta_ns": values(1 << 24, is_call), "sync_ns": values(1 << 20, is_call),
        "read_slowest_ns": values(1 << 20, is_call), "write_slowest_ns": values(1 << 24, is_call),
        "meta_slowest_ns": values(1 << 22, is_call), "errors": values(9, is_call), "threads": values(4, is_call),
        "read_sequential": values(40, is_call), "write_sequential": writes // 2, "write_consecutive": writes // 3,
        "kernel_write_bytes": values(1 << 22, ~is_call), "mapped_bytes": values(1 << 20, is_call),
    }  # fmt: skip
    for kind, bins in (("read_latency", range(4, 14)), ("write_latency", range(6, 18)), ("meta_latency", range(2, 12))):
        columns |= {f"{kind}_{at}": values(40, is_call) for at in bins}
    return columns | {f"{way}_size_{at}": values(90, is_call) for way in ("read", "write") for at in (1, 3, 5, 6)}


def _helper_rows(shape: Varied) -> dict[str, list]:
    return {
        "mount": [2], "layer": ["posix"], "slice": [FIRST_SLICE + shape.first], "read_ops": [4],
        "read_bytes": [1 << 12], "read_ns": [1 << 18], "meta_ops": [30], "meta_ns": [1 << 20], "threads": [1],
    }  # fmt: skip
