"""A job that reads from a disk without a pause, and a control group with a limit."""

from collections.abc import Sequence
from pathlib import Path

from support.swz import build_profile, of_disk

NS, MIB = 1_000_000_000, 1 << 20
FIRST = 1_700_000_000
LIMIT = 40 * MIB
SECONDS = 10


def reader(
    directory: Path,
    rate: int,
    group: str = "/users/anna",
    group_rate: int = LIMIT,
    disk_rate: int = 2 * LIMIT,
    seconds: int = SECONDS,
    start: int = FIRST,
    at_limit: tuple[float, ...] = (1.0,),
    limited: str = "sda",
    above: str = "",
    first_known: int = 0,
    requests: int = 0,
    rates: Sequence[int] = (),
    group_rates: Sequence[int] = (),
    command: str = "cat big",
    size: int = MIB,
    disk_requests: int = 0,
    disk_ns: int = 0,
    fetched: int | None = None,
    on_names: int = 0,
    wrote: int = 0,
    late: float = 0.0,
    at_once: int = 1,
    delayed: float | None = None,
) -> Path:
    """A job that reads from a partition without a pause, and what its collector counted of the disk and of its group.
    at_limit: seconds a slice, in turn. above: a group that is at its limit all the time. first_known: the slice of
    the group's first row. requests, disk_requests: of the group and the disk, by slice; disk_ns: their time. size:
    of a call. rates, group_rates: in slices in turn, instead of one rate. fetched: bytes, by the kernel; None: it
    did not count. on_names: calls on names, by slice. wrote: what others of the group wrote, by slice. late: seconds
    of the first slice in which it had not begun. at_once: so many threads read. delayed: seconds of each slice in which
    it waited for a processor, as some task of its node; None: not counted.
    """
    number = 1 + sum(map(ord, directory.name))
    process = {"process": number, "host": "n1", "program": "/usr/bin/cat", "slice_ns": NS, "command": command}
    process |= {"start_ns": NS * start + int(late * NS), "end_ns": NS * (start + seconds)}
    slices = range(start, start + seconds)
    own = {"process": number, "read_ns": NS * at_once, "threads": at_once}
    run = {"process": 5000 + number}
    collected = of_disk(
        run["process"], slices, lambda _: {"read_bytes": disk_rate, "read_ops": disk_requests, "read_ns": disk_ns}
    )
    collected["node_devices"] += [
        run | {"device": 3, "kind": "waiting", "name": "io_schedule"},
        run | {"device": 2, "kind": "limit", "name": f"{limited} in {above}", "source": "cgroup v2"},
        run | {"device": 1, "kind": "limit", "name": f"{limited} in {group}", "source": "cgroup v2"},
    ]
    waited = {"sampled_ns": NS, "cpu_stall_ns": round((delayed or 0) * NS)}
    collected |= {
        "node_slices": [run | waited | {"slice": at} for at in slices],
        "node_waits": [run | {"device": 3, "slice": at, "waiting_ns": NS} for at in slices],
        "node_limits": [
            run | {"device": 2, "slice": at, "read_bytes": disk_rate, "at_limit_ns": NS} for at in slices if above
        ]
        + [
            run
            | {
                "device": 1, "slice": at,
                "read_bytes": group_rates[at % len(group_rates)] if group_rates else group_rate, "read_ops": requests,
                "write_bytes": wrote, "at_limit_ns": int(at_limit[at % len(at_limit)] * NS),
            }
            for at in slices[first_known:]
        ],
    }  # fmt: skip
    mounts = [{"process": number, "type": "ext4", "source": "/dev/sda1"}]
    read = [rates[at % len(rates)] if rates else rate for at in slices]
    did = [
        own | {"slice": at, "read_bytes": its, "read_ops": max(1, its // size), "meta_ops": on_names}
        for at, its in zip(slices, read, strict=True)
    ]
    if fetched is not None:
        kernel = {"process": number, "layer": "kernel", "mount": 0, "slice": start}
        did.append(kernel | {"read_bytes": sum(read), "kernel_read_bytes": fetched})
    used = {"process": number, "user_ns": NS // 50, "first_thread_ns": NS // 50, "sampled_ns": NS}
    used["delayed_ns"] = waited["cpu_stall_ns"]
    usage = [used | {"number": at - start, "slice": at} for at in slices if delayed is not None]
    return build_profile(directory, [process], did, mounts, collected=collected, usage=usage)
