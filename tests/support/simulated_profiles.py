"""Simulated jobs as profiles on disk, as the profiler would have written them."""

import zlib
from collections import defaultdict
from itertools import product
from pathlib import Path

from support.simulated_storage import Outcome, SimulatedJob
from support.swz import build_profile

BEGIN_SECONDS = 1_700_000_000
NS = 1_000_000_000


def write_profile(
    outcome: Outcome,
    job: str,
    directory: Path,
    slice_seconds: int = 4,
    begin_seconds: int = BEGIN_SECONDS,
    has_collectors: bool = False,
) -> Path:
    """Write the profile of one job, and give its directory back.

    begin_seconds: UNIX time at which the simulation began, a multiple of slice_seconds. has_collectors: the job's nodes
    have collectors, which see what moved on the node's disks, whoever moved it.
    """
    own = outcome.of(job)
    processes, slices, mounts = [], [], []
    for process, turn in product(own, range(own[0].job.in_turn)):
        of = process.job.in_turn
        key = process_id(directory.name, process.place * of + turn)
        start, end = (process.start + (process.end - process.start) * at / of for at in (turn, turn + 1))
        counts = {
            (storage, second): row
            for (storage, second), row in process.counts.items()
            if (turn == 0 or second >= start) and (turn == of - 1 or second < end)
        }
        processes.append(
            {
                "process": key, "pid": 1000 + process.place * of + turn, "host": process.job.node(process.place),
                "program": process.job.program or f"/opt/{job}", "rank": process.place if process.job.is_mpi else -1,
                "ranks": process.job.processes if process.job.is_mpi else 0, "slice_ns": slice_seconds * NS,
                "start_ns": begin_seconds * NS + round(start * NS), "end_ns": begin_seconds * NS + round(end * NS),
                "profiler_ns": 1_000_000,
            }
        )  # fmt: skip
        mounts += [{"process": key} | _mount(outcome, number) for number in range(len(outcome.storages))]
        slices += _slices(counts, key, slice_seconds, begin_seconds)
    collected = _collected(outcome, own[0].job, slice_seconds, begin_seconds) if has_collectors else None
    return build_profile(directory, processes, slices, mounts, collected=collected)


def process_id(profile: str, place: int) -> int:
    """The unique id of a process, by the name of its profile's directory."""
    return (zlib.crc32(profile.encode()) << 16) + place + 1


def _mount(outcome: Outcome, number: int) -> dict:
    """A network file system each: the same storage on all nodes."""
    name = outcome.storages[number].name
    return {"mount": number + 1, "point": f"/{name}", "type": "nfs4", "source": f"{name}:/export"}


def _slices(counts: dict, key: int, slice_seconds: int, begin_seconds: int) -> list[dict]:
    """The rows of one process. What is cut at slices' ends is rounded so that sums stay what they are."""
    sums: dict[tuple[int, int], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for (storage, second), row in counts.items():
        into = sums[storage, (begin_seconds + second) // slice_seconds]
        for name, value in row.items():
            into[name] += value
    rows = []
    exact: dict[tuple[int, str], float] = defaultdict(float)
    told: dict[tuple[int, str], int] = defaultdict(int)
    for (storage, number), row in sorted(sums.items()):
        out = {"process": key, "mount": storage + 1, "slice": number, "threads": 1}
        for name, value in row.items():
            column = name.replace("_seconds", "_ns")
            exact[storage, column] += value * (NS if name.endswith("_seconds") else 1)
            out[column] = round(exact[storage, column]) - told[storage, column]
            told[storage, column] += out[column]
        rows.append(out)
    return rows


def _collected(outcome: Outcome, job: SimulatedJob, slice_seconds: int, begin_seconds: int) -> dict[str, list[dict]]:
    """The tables of collectors on a job's nodes: the traffic of each NFS mount, from everybody on the node."""
    nodes, devices, samples, traffic = [], [], [], []
    last = int(max(process.end for process in outcome.processes)) + 1
    for run, node in enumerate(sorted({job.node(place) for place in range(job.processes)}), start=1):
        key = {"process": run}
        first_slice, end_slice = begin_seconds // slice_seconds, (begin_seconds + last) // slice_seconds + 1
        times = {"start_ns": first_slice * slice_seconds * NS, "end_ns": end_slice * slice_seconds * NS}
        nodes.append(key | times | {"host": node, "slice_ns": slice_seconds * NS})
        samples += [
            key | {"slice": number, "sampled_ns": slice_seconds * NS} for number in range(first_slice, end_slice)
        ]
        for number, storage in enumerate(outcome.storages):
            where = {"kind": "nfs", "name": f"/{storage.name}", "source": f"{storage.name}:/export"}
            devices.append(key | {"device": number} | where)
            moved: dict[int, dict[str, float]] = defaultdict(lambda: defaultdict(float))
            for (host, served, second), row in outcome.served.items():
                if host == node and served == number:
                    for name, value in row.items():
                        moved[(begin_seconds + second) // slice_seconds][name] += value
            traffic += [
                key | {"slice": at, "device": number} | {name: round(value) for name, value in row.items()}
                for at, row in sorted(moved.items())
            ]
    return {"nodes": nodes, "node_devices": devices, "node_slices": samples, "node_nfs": traffic}
