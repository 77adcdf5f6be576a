"""Synthetic jobs that compete for a file system, as profiles on disk."""

import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from support.swz import build_profile

MIB = 1 << 20
SLICE_NS = 4_000_000_000
FIRST_SLICE = 425_000_000


def write_job(
    directory: Path,
    processes: int,
    per_node: int,
    rates: dict[range, float],
    first_node: int = 1,
    program: str = "/opt/simulation",
    direction: str = "write",
    ending: str = "exit",
    mishaps: int = 0,
    interface: str = "",
    regions: Sequence[range] = (),
) -> Path:
    """A job of ranks that moves `rates` MiB/s in 4 s slices, counted from FIRST_SLICE, evenly but for some noise.

    interface: if named, its first node has a collector, which sees the job's bytes pass there. regions: the slices of
    each checkpoint.
    """
    noise = np.random.default_rng(processes)
    begin, end = min(span.start for span in rates), max(span.stop for span in rates)
    members, slices, files, marked = [], [], [], []
    for rank in range(processes):
        process = (zlib.crc32(directory.name.encode()) << 16) + rank + 1
        members.append(
            {
                "process": process, "pid": 4000 + rank, "host": f"n{first_node + rank // per_node}", "rank": rank,
                "ranks": processes, "program": program, "start_ns": (FIRST_SLICE + begin) * SLICE_NS,
                "end_ns": (FIRST_SLICE + end) * SLICE_NS, "ending": ending, "profiler_ns": 2_000_000,
            }
        )  # fmt: skip
        total = 0
        for span, rate in rates.items():
            for place in span:
                moved = int(rate / processes * 4 * MIB * (1 + 0.08 * noise.standard_normal()))
                total += moved
                slices += _rows(process, FIRST_SLICE + place, moved, direction, is_first=place == begin)
        path = f"/scratch/out/{directory.name}.{rank:04}"
        moved_there = {f"{direction}_bytes": total, f"{direction}_ns": total}
        files.append({"process": process, "file": 1, "path": path, "opens": 1} | moved_there)
        marked += [
            {
                "process": process, "number": 64 + number, "name": "checkpoint", "occurrence": number, "occurrences": 1,
                "begin_ns": (FIRST_SLICE + span.start) * SLICE_NS, "end_ns": (FIRST_SLICE + span.stop) * SLICE_NS,
                "ns": len(span) * SLICE_NS, "slowest_ns": len(span) * SLICE_NS, "io_ns": len(span) * 3_900_000_000,
            }
            for number, span in enumerate(regions, 1)
        ]  # fmt: skip
    met = [{"process": members[0]["process"], "mishap": "segment_full", "count": mishaps}] if mishaps else []
    collected = _samples(f"n{first_node}", rates, interface) if interface else None
    return build_profile(directory, members, slices, files=files, mishaps=met, collected=collected, regions=marked)


def _samples(host: str, rates: dict[range, float], interface: str) -> dict[str, list[dict]]:
    """The tables of a node's collector."""
    run = {"process": 1}
    nodes, networks = [], []
    for place, rate in ((place, rate) for span, rate in rates.items() for place in span):
        key = run | {"slice": FIRST_SLICE + place}
        waited = {f"{what}_stall_ns": int(share * SLICE_NS) for what, share in (("io", 0.6), ("io_full", 0.2))}
        nodes.append(key | waited | {"sampled_ns": SLICE_NS, "dirty_bytes": place * MIB, "tcp_retransmissions": place})
        networks.append(key | {"device": 0, "sent_bytes": int(rate * 4 * MIB), "received_bytes": place * MIB})
    return {
        "nodes": [run | {"host": host, "slice_ns": SLICE_NS}],
        "node_devices": [run | {"device": 0, "kind": "network", "name": interface}],
        "node_slices": nodes,
        "node_networks": networks,
    }


def _rows(process: int, number: int, moved: int, direction: str, is_first: bool) -> list[dict]:
    """What one process did in one slice, and the kernel's count of it: calls of 1 MiB, and two opens in the first."""
    calls = moved // MIB + 1
    own = {
        f"{direction}_bytes": moved, f"{direction}_ops": calls, f"{direction}_ns": 3_900_000_000,
        f"{direction}_size_4": calls, f"{direction}_latency_20": calls // 2,
        f"{direction}_latency_21": calls - calls // 2, "threads": 1,
    }  # fmt: skip
    opens = {"meta_ops": 2, "meta_ns": 1_000_000, "meta_latency_13": 2} if is_first else {}
    key = {"process": process, "slice": number}
    return [key | own | opens, key | {"mount": 0, "layer": "kernel", f"{direction}_bytes": moved}]


def write_competing_jobs(
    directory: Path, first: str = "48213", second: str = "48190", interface: str = "", quiet_runs: int = 0
) -> tuple[Path, Path]:
    """60 processes on 5 nodes that write 83 MiB/s while 12 on 1 node write 19, and 102 before and after.

    interface: of the one node, see `write_job`. quiet_runs: so many earlier runs of the smaller job, 48001 onwards.
    """
    large = write_job(directory / first, 60, 12, {range(20, 71): 83.1})
    rates = {range(15, 20): 102.0, range(20, 71): 19.0, range(71, 95): 102.0}
    small = write_job(
        directory / second, 12, 12, rates, first_node=6, program="/opt/postproc", mishaps=3, interface=interface
    )
    for number in range(1, quiet_runs + 1):
        earlier = range(-400 * number, -400 * number + 40)
        write_job(directory / f"4800{number}", 12, 12, {earlier: 102.0}, first_node=6, program="/opt/postproc")
    return large, small


def write_competing_jobs_and_runs_alone(directory: Path) -> None:
    """The competing jobs simulation-7 and post-3, and a run alone of each: simulation-alone and post-alone."""
    write_competing_jobs(directory, "simulation-7", "post-3")
    write_job(directory / "simulation-alone", 60, 12, {range(1000, 1042): 102.0})
    write_job(directory / "post-alone", 12, 12, {range(2000, 2063): 102.0}, first_node=6, program="/opt/postproc")
