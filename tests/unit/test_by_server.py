"""A storage of two servers: each shares itself out, and a job ends with the last of its parts. By hand."""

import json
from pathlib import Path

import pytest
from slicewise.analysis.campaign.result import result_of
from slicewise.analysis.runs.campaign import campaign
from slicewise.analysis.sharing.by_server import AT, by_server
from slicewise.digest.digest import Digest
from slicewise.errors import UserError
from slicewise.profile.reader import read_profile
from support.command_line import refusal_of, slicewise_command
from support.swz import build_profile
from support.tabled_jobs import EPOCH, MIB
from testbed.placement import name_hash

SECOND = 10**9
MOUNT = {"mount": 1, "type": "fuse.glusterfs", "source": "server:/volume", "point": "/mnt/volume", "object": "file"}
SERVED = 10  # MiB/s of each server


def shared_out(jobs: dict[str, tuple[int, list[str]]]) -> dict[str, list[list[float]]]:
    """MiB/s of each process of each job in each second: each server gives equal shares to jobs, and these to their
    files there. jobs: MiB of a process, and the servers of the files of its processes.
    """
    left = {name: [float(volume)] * len(servers) for name, (volume, servers) in jobs.items()}
    moved: dict[str, list[list[float]]] = {name: [[] for _ in servers] for name, (_, servers) in jobs.items()}
    while any(map(any, left.values())):
        for server in sorted({server for _, servers in jobs.values() for server in servers}):
            there = {
                name: [k for k, own in enumerate(servers) if own == server and left[name][k] > 0]
                for name, (_, servers) in jobs.items()
            }
            active = [name for name, places in there.items() if places]
            for name, (_, servers) in jobs.items():
                for k, own in enumerate(servers):
                    if own != server:
                        continue
                    rate = SERVED / len(active) / len(there[name]) if k in there[name] else 0.0
                    rate = min(rate, left[name][k])
                    left[name][k] -= rate
                    moved[name][k].append(rate)
    return moved


def write_runs(folder: Path, runs: list[dict[str, tuple[int, list[str]]]]) -> dict[str, str]:
    """Profiles of jobs on nodes of their own; gives the server of each file."""
    placed, process = {}, 0
    for place, run in enumerate(runs):
        start = EPOCH + 1000 * place
        for node, (job, rows) in enumerate(shared_out(run).items()):
            members, slices, files, mounts = [], [], [], []
            name = f"{'+'.join(run)}-{place}-{job}"
            for rank, rates in enumerate(rows):
                process += 1
                path = f"/mnt/volume/{name}.{rank}"
                placed[path] = run[job][1][rank]
                busy = [at for at, rate in enumerate(rates) if rate]
                ends = {"start_ns": start * SECOND, "end_ns": (start + busy[-1] + 1) * SECOND, "slice_ns": SECOND}
                identity = {"rank": rank, "ranks": len(rows), "host": f"n{node}", "program": "/opt/writer"}
                members.append({"process": process} | identity | ends)
                mounts.append({"process": process} | MOUNT)
                moved = [round(rates[at] * MIB) for at in busy]
                slices += [
                    {"process": process, "mount": 1, "slice": start + at, "threads": 1}
                    | {"write_bytes": own, "write_ops": own // 4096, "write_ns": SECOND}
                    for at, own in zip(busy, moved, strict=True)
                ]
                files.append({"process": process, "mount": 1, "path": path, "write_bytes": sum(moved)})
            build_profile(folder / name, members, slices, mounts=mounts, files=files)
    return placed


# 40 MiB of a process; `one` and `two` are all on a; `wide` has 3 files on a and 3 on b, `tilted` has 4 and 2.
ONE, TWO = (120, ["a"]), (60, ["a", "a"])
WIDE, TILTED = (40, ["a", "a", "a", "b", "b", "b"]), (40, ["a", "a", "a", "a", "b", "b"])
RUNS = [
    *({"one": ONE}, {"two": TWO}, {"wide": WIDE}, {"tilted": TILTED}),
    *({"one": ONE, "two": TWO}, {"one": ONE, "wide": WIDE}, {"two": TWO, "wide": WIDE}, {"one": ONE, "tilted": TILTED}),
    {"two": TWO, "tilted": TILTED},
]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("servers")
    placed = write_runs(folder, RUNS)
    return folder, placed, campaign([Digest(read_profile(path)) for path in sorted(folder.iterdir())], "write")


def test_parts_add_up_to_jobs(recorded):
    _, placed, data = recorded
    parts = by_server(data, placed)
    whole = dict(data.jobs.select("job", "bytes").iter_rows())
    by_part = dict(parts.jobs.select("job", "bytes").iter_rows())
    for job, rows in parts.of.group_by("job"):
        assert sum(by_part[part] for part in rows["part"]) == pytest.approx(whole[str(job[0])], abs=2)
    tilted = [part for part in by_part if part.partition(AT)[0].endswith("tilted")]
    assert sorted({round(by_part[part] / MIB) for part in tilted}) == [80, 160]
    assert parts.of["delay"].abs().max() == 0


def test_jobs_on_several_servers_are_predicted_by_their_last_part(recorded):
    """One process beside `tilted`, 120 and 160 MiB on a: the first ends after 24 s, the other after 28 s, whatever is
    on b. A single storage of twice the rate would have both end after 18 and 24 s.
    """
    _, placed, data = recorded
    found = result_of(data, placed)
    assert found.is_by_server
    assert found.checked["relative_error"].abs().max() < 0.03
    blind = result_of(data)
    assert blind.checked["relative_error"].abs().max() > 0.1
    assert len(found.checked) == len(blind.checked) == 10
    beside = found.checked.filter(found.checked["job"].str.ends_with("7-tilted"))
    assert beside["predicted"].to_list() == pytest.approx([28], rel=0.03)


def test_a_file_that_nobody_placed_is_named(recorded):
    _, placed, data = recorded
    some = {path: server for path, server in placed.items() if not path.endswith("wide.5")}
    with pytest.raises(UserError, match="no file of 1 process that moved bytes"):
        by_server(data, some)


def test_the_command_reads_where_files_are(recorded, tmp_path):
    folder, placed, _ = recorded
    table = tmp_path / "placement.csv"
    table.write_text("".join(f"{path},{server}\n" for path, server in placed.items()))

    command = ("study", "campaign", folder, "--html", tmp_path / "page.html", "--placement", table)
    done = slicewise_command(*command, "--json")
    assert done.status == 0, done.errors
    assert max(row["largest"] for row in json.loads(done.output)["figures"]) < 0.03
    table.write_text("/mnt/volume/x\n")
    refused = refusal_of(*command)
    assert "placement.csv:1" in refused


def test_names_have_the_hash_of_glusterfs():
    """Of two servers, a job of one process and 12 others met on one for 192 MiB and 5/12 of 192 MiB at its rate: files
    n1.0 and n2.0 to n2.11 of usual-servers. n2.0 to n2.5: 4 of 6.
    """
    on = [name_hash(f"n{node}.{rank}") >> 31 for node, ranks in ((1, 1), (2, 12)) for rank in range(ranks)]
    assert on[0] == 1
    assert (sum(on[1:]), sum(on[1:7])) == (5, 4)
