"""What whole nodes did while a job ran: means and highest slices, what is shown of them, and nothing without them."""

import contextlib
import io
import os
import tarfile
from pathlib import Path

import pytest
from slicewise.analysis.nodes.causes import moved
from slicewise.charts import throughput as charts
from slicewise.digest.digest import Digest
from slicewise.profile.reader import read_profile
from slicewise.report.job.job_page import job_page, job_report
from slicewise.report.nodes.node_sections import node_sections
from slicewise.report.nodes.node_words import MOST_DEVICES, MOST_NODES, node_lines, nodes_table, said
from slicewise.running.delta_campaign import hosts_of, sampled
from support.command_line import answer_of, json_of
from support.swz import build_profile

S = 1_000_000_000
MIB = 1 << 20
TAU_NS = 4 * S
FIRST = 425_000_000
RUN = 900
COUNTED = b"what was counted"


def row(run: int, place: int, **counts: float) -> dict:
    return {"process": run, "slice": FIRST + place} | counts


def job(
    directory: Path, tables: dict[str, list[dict]], hosts: tuple[str, ...] = ("n1",), node_slice_ns: int = TAU_NS
) -> Path:
    """Four slices of a job on `hosts`, and what their collectors (RUN, RUN + 1, ...) counted."""
    processes = [
        {"process": 1 + place, "host": host, "start_ns": FIRST * TAU_NS, "end_ns": (FIRST + 4) * TAU_NS}
        for place, host in enumerate(hosts)
    ]
    slices = [
        {"process": 1 + at, "slice": FIRST + place, "write_bytes": MIB, "write_ops": 1, "write_ns": S}
        for at in range(len(hosts))
        for place in range(4)
    ]
    runs = [{"process": RUN + at, "host": host, "slice_ns": node_slice_ns} for at, host in enumerate(hosts)]
    return build_profile(directory, processes, slices, collected={"nodes": runs} | tables if tables else None)


def busy(run: int = RUN) -> dict[str, list[dict]]:
    """Before the job, in a slice of which 1 s was sampled, in three whole ones, and after the job."""
    sampled = {-1: 4, 0: 1, 1: 4, 2: 4, 3: 4, 4: 4}
    stalls = {-1: 4, 0: 0.9, 1: 1, 2: 3, 3: 0, 4: 4}
    return {
        "node_slices": [
            row(run, place, sampled_ns=seconds * S, io_stall_ns=int(stalls[place] * S), dirty_bytes=place * MIB,
                tcp_sent_segments=100, tcp_retransmissions=2 if place == 3 else 0)
            if place >= 0 else row(run, place, sampled_ns=seconds * S, io_stall_ns=int(stalls[place] * S))
            for place, seconds in sampled.items()
        ],
        "node_devices": [
            {"process": run, "device": 0, "kind": "network", "name": "eth0"},
            {"process": run, "device": 1, "kind": "block", "name": "vda"},
            {"process": run, "device": 2, "kind": "nfs", "name": "/home", "source": "server:/home"},
        ],
        "node_networks": [row(run, 2, device=0, sent_bytes=26 * MIB)],
        "node_blocks": [row(run, 1, device=1, write_bytes=8 * MIB, write_ops=2, busy_ns=5 * S)],
        "node_nfs": [
            row(run, 1, device=2, write_bytes=4 * MIB, write_ops=3, write_execute_ns=6 * S, read_ops=1),
            row(run, 2, device=2, other_ops=6, other_execute_ns=S),
        ],
    }  # fmt: skip


@pytest.fixture
def profile(tmp_path):
    return read_profile(job(tmp_path / "48213", busy()), distributions=True)


def test_mean_and_highest_are_over_the_time_that_was_sampled_while_the_job_ran(profile):
    found = {(one["device"], one["signal"]): one for one in moved(Digest(profile)).iter_rows(named=True)}
    assert {signal for _, signal in found} == {
        "io_stall", "dirty_bytes", "tcp_sent", "tcp_retransmissions", "network_sent", "disk_written", "disk_busy",
        "disk_writes", "nfs_written", "nfs_request",
    }  # fmt: skip
    expected = {  # mean, highest and the highest slice's place
        ("", "io_stall"): (4.9 / 13, 0.75, 2),  # not the 90 % of the second that was sampled first
        ("", "dirty_bytes"): ((4 + 8 + 12) * MIB / 13, 3 * MIB, 3),
        ("", "tcp_retransmissions"): (2 / 13, 0.5, 3),
        ("eth0", "network_sent"): (2 * MIB, 6.5 * MIB, 2),
        ("vda", "disk_written"): (8 * MIB / 13, 2 * MIB, 1),
        ("vda", "disk_busy"): (5 / 13, 1.0, 1),
        ("/home", "nfs_written"): (4 * MIB / 13, MIB, 1),
        ("/home", "nfs_request"): (0.7, 1.5, 1),
    }
    for key, (mean, highest, place) in expected.items():
        assert (found[key]["mean"], found[key]["highest"]) == pytest.approx((mean, highest)), key
        assert found[key]["highest_ns"] == (FIRST + place) * TAU_NS, key
    assert {one["node"] for one in found.values()} == {"n1"}


def test_the_table_says_the_unit_of_each_signal_and_that_it_is_of_the_whole_node(profile):
    samples = Digest(profile)
    rows = [[cell.text for cell in cells] for cells in nodes_table(moved(samples), samples.node_slice_ns).rows]
    assert [cells[:5] for cells in rows] == [
        ["n1", "", "some task waited for I/O", "37.7 %", "75.0 %"],
        ["", "", "page cache to be written", "1.85 MiB", "3 MiB"],
        ["", "", "TCP segments sent", "30.8/s", "25.0/s"],
        ["", "", "TCP segments sent again", "0.154/s", "0.500/s"],
        ["", "eth0", "sent", "2.00 MiB/s", "6.50 MiB/s"],
        ["", "vda", "written", "0.615 MiB/s", "2.00 MiB/s"],
        ["", "", "busy", "38.5 %", "100 %"],
        ["", "", "writes", "0.154/s", "0.500/s"],
        ["", "/home", "written to the server", "0.308 MiB/s", "1.00 MiB/s"],
        ["", "", "time of a request", "700 ms", "1.50 s"],
    ]
    assert node_lines(moved(samples)) == ["Of the whole node, with all that ran there besides this job:"]


def test_a_collector_that_was_begun_anew_goes_on_in_the_same_node(tmp_path):
    tables = {
        "nodes": [{"process": run, "host": "n1", "slice_ns": TAU_NS} for run in (RUN, RUN + 1)],
        "node_slices": [row(RUN, 1, sampled_ns=S, io_stall_ns=S), row(RUN + 1, 1, sampled_ns=3 * S, io_stall_ns=S)],
    }
    (one,) = moved(Digest(read_profile(job(tmp_path / "job", tables)))).iter_rows(named=True)
    assert (one["mean"], one["highest"]) == pytest.approx((0.5, 0.5))


def test_slices_of_a_collector_need_not_be_the_jobs(tmp_path):
    tables = {"node_slices": [{"process": RUN, "slice": FIRST * 4 + 6, "sampled_ns": S, "io_stall_ns": S // 2}]}
    read = read_profile(job(tmp_path / "job", tables, node_slice_ns=S), distributions=True)
    samples = Digest(read)
    assert moved(samples)["highest_ns"].to_list() == [FIRST * TAU_NS + 6 * S]
    (section,) = node_sections(samples, range(FIRST, FIRST + 4), TAU_NS)
    (line,) = section.chart.data
    drawn = [value for value in line.y if value == value]
    assert drawn == [50, 50]  # from its begin to its end
    assert len(line.x) == 17


def sections_of(profile):
    return {section.heading: section for section in node_sections(Digest(profile), range(FIRST, FIRST + 4), TAU_NS)}


def test_charts_are_on_the_axis_of_the_job_and_only_of_what_moved(profile):
    sections = sections_of(profile)
    assert list(sections) == [
        "Whole node: pressure, tasks that waited", "Whole node: network interfaces", "Whole node: network mounts",
        "Whole node: disks", "Whole node: disks, time in which they were busy", "Whole node: page cache",
        "Whole node: TCP, segments sent again and windows closed",
    ]  # fmt: skip
    (line,) = sections["Whole node: pressure, tasks that waited"].chart.data
    assert [round(value, 1) for value in line.y] == [90, 25, 75, 0, 0]
    (line,) = sections["Whole node: network interfaces"].chart.data
    assert (line.name, list(line.y)) == ("eth0: sent", [0, 0, 6.5, 0, 0])
    for section in sections.values():
        assert section.is_linked
        assert "the whole node, with all that ran there besides this job" in section.note
    headings = [section.heading for section in job_page(job_report(Digest(profile)), []).sections]
    assert headings[:3] == ["Throughput", "Metadata and sync calls", "Whole node: pressure, tasks that waited"]


def test_several_nodes_are_the_highest_or_the_sum(tmp_path):
    first, second = busy(RUN), busy(RUN + 1)
    second["node_slices"][3]["io_stall_ns"] = 4 * S
    tables = {name: first[name] + second[name] for name in first}
    read = read_profile(job(tmp_path / "job", tables, hosts=("n1", "n2")), distributions=True)
    sections = sections_of(read)
    (line,) = sections["Whole node: pressure, tasks that waited"].chart.data
    assert list(line.y)[2] == 100
    (line,) = sections["Whole node: network interfaces"].chart.data
    assert list(line.y)[2] == 13
    assert "2 nodes, their sum: whole nodes" in sections["Whole node: network interfaces"].note
    samples = Digest(read)
    rows = [[cell.text for cell in cells] for cells in nodes_table(moved(samples), samples.node_slice_ns).rows]
    assert [cells[0] for cells in rows if cells[0]] == ["n2", "n1"]


def test_few_nodes_and_devices_are_shown_of_many(tmp_path):
    hosts = tuple(f"n{number:02}" for number in range(MOST_NODES + 3))
    disks = 5
    tables = {
        "node_slices": [row(RUN + at, 1, sampled_ns=4 * S, io_stall_ns=S) for at in range(len(hosts))],
        "node_devices": [
            {"process": RUN + at, "device": disk, "kind": "block", "name": f"sd{disk}"}
            for at in range(len(hosts)) for disk in range(disks)
        ],
        "node_blocks": [
            row(RUN + at, 1, device=disk, write_bytes=(disk + 1) * MIB)
            for at in range(len(hosts)) for disk in range(disks)
        ],
    }  # fmt: skip
    read = read_profile(job(tmp_path / "job", tables, hosts=hosts), distributions=True)
    samples = Digest(read)
    rows = [[cell.text for cell in cells] for cells in nodes_table(moved(samples), samples.node_slice_ns).rows]
    assert len(rows) == MOST_NODES * (1 + MOST_DEVICES) + 1
    assert [cells[1] for cells in rows[:4]] == ["", "sd4", "sd3", "sd2"]
    assert rows[-1][0] == "and 3 more"
    assert len(sections_of(read)["Whole node: disks"].chart.data) == MOST_DEVICES


def test_without_samples_there_is_nothing(tmp_path):
    directory = job(tmp_path / "job", {})
    read = read_profile(directory, distributions=True)
    samples = Digest(read)
    assert moved(samples).is_empty()
    assert node_lines(moved(samples)) == []
    assert node_sections(samples, range(FIRST, FIRST + 4), TAU_NS) == []
    said = answer_of("report", "--detail", directory)
    assert "whole node" not in said


def test_commands_have_it(tmp_path):
    directory = job(tmp_path / "job", busy())
    for command in (["report", "--detail"], ["report", "--html", tmp_path / "page.html"]):
        record = json_of(command[0], directory, *command[1:])
        assert {one["signal"] for one in record["nodes"]} > {"io_stall", "disk_busy"}
        documented = (Path(__file__).resolve().parents[2] / "docs/commands.md").read_text()
        for key in record["nodes"][0]:
            assert f"`{key}`" in documented, key
    said = answer_of("report", "--detail", directory)
    assert "Of the whole node, with all that ran there besides this job:" in said


def test_time_in_which_a_collector_looked_for_threads_asleep(profile):
    """All that it sampled: the table of what it saw is there."""
    seconds = Digest(profile).node_samples.select("seconds", "watched_seconds")
    assert seconds["seconds"].to_list() == seconds["watched_seconds"].to_list() == [1, 4, 4, 4]


def test_a_line_has_gaps_where_nothing_was_sampled(profile):
    rows = moved(Digest(profile)).head(0).select(slice="highest_ns", value="mean")
    chart = charts.over_time([charts.NodeLine("a", "#000000", rows)], [1, 2, 6], S, range(8), S, "x")
    assert [value == value for value in chart.data[0].y] == [False, True, True, True, False, False, True, True, False]


def test_connections_to_storage_are_told_one_by_one(tmp_path):
    """Two of a node: the time that one was held up is the node's, segments under way are told as they stood."""
    tables = busy() | {
        "node_devices": [
            {"process": RUN, "device": at, "kind": "connection", "name": name, "source": "10.0.0.9"}
            for at, name in enumerate(("10.0.0.1:2049 from port 700", "10.0.0.2:2049 from port 701"))
        ],
        "node_networks": [], "node_blocks": [], "node_nfs": [],
        "node_connections": [
            row(RUN, 1, device=0, sent_bytes=8 * MIB, busy_ns=4 * S, window_limited_ns=3 * S, connections=1)
            | {"round_trip_ns": 20_000_000, "congestion_window": 40, "unacknowledged": 10},
            row(RUN, 2, device=1, sent_bytes=MIB, retransmissions=8, busy_ns=S, connections=1)
            | {"round_trip_ns": 1_000_000, "congestion_window": 10},
        ],
    }  # fmt: skip
    digest = Digest(read_profile(job(tmp_path / "48213", tables)))
    found = {(one["device"][:8], one["signal"]): one for one in moved(digest).iter_rows(named=True)}
    held = found["10.0.0.1", "connection_window_limited"]
    assert (held["mean"], held["highest"]) == pytest.approx((3 / 13, 0.75))
    assert found["10.0.0.2", "connection_retransmissions"]["highest"] == pytest.approx(2)
    assert found["10.0.0.1", "connection_round_trip"]["mean"] == pytest.approx(0.02)
    assert found["10.0.0.1", "connection_congestion_window"]["mean"] == pytest.approx(40)
    assert ("10.0.0.2", "connection_window_limited") not in found
    shown = [[getattr(cell, "text", cell) for cell in row] for row in nodes_table(moved(digest), TAU_NS).rows]
    assert any("held up by the receiver's window" in cells for cells in shown)
    headings = [section.heading for section in node_sections(digest, range(FIRST, FIRST + 4), TAU_NS)]
    assert [heading for heading in headings if "TCP connections to storage" in heading] == [
        "Whole node: TCP connections to storage, time with data under way",
        "Whole node: TCP connections to storage, round trip",
        "Whole node: TCP connections to storage, segments under way",
        "Whole node: TCP connections to storage, segments sent again",
    ]


def test_hosts_are_those_of_mpirun_without_this_node():
    own = os.uname().nodename
    assert hosts_of("n1:8, n2:8,root@server,n1") == ["n1", "n2", "root@server"]
    assert hosts_of(f"{own}:4,me@{own}") == []
    assert hosts_of(",") == []


@pytest.fixture
def nodes(tmp_path, monkeypatch) -> Path:
    """A folder whose ssh runs commands here, and whose slicewise-collect writes a profile when it is ended."""
    commands = tmp_path / "bin"
    commands.mkdir()
    collector = tmp_path / "slicewise-collect"
    programs = {
        commands / "ssh": f'[ "$1" = -oBatchMode=yes ] && echo "$3" >> {tmp_path}/asked; exec sh -c "$4"',
        collector: f"""
            [ "$1 $2 $3" = "node --samples --job" ] || exit 2
            mkdir "$SLICEWISE_DIR/$4"
            trap 'printf "what was counted" > "$SLICEWISE_DIR/$4/server.swz"; exit 0' TERM
            echo "$SLICEWISE_SLICE $SLICEWISE_DIR" > {tmp_path}/told
            while true; do sleep 0.01; done""",
    }
    for path, text in programs.items():
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{commands}:{os.environ['PATH']}")
    monkeypatch.setattr(
        "slicewise.running.delta_campaign.find_installation", lambda: type("", (), {"collector": collector})
    )
    return tmp_path


def wait_for(file: Path) -> str:
    while not (file.exists() and file.read_text()):
        pass
    return file.read_text()


def test_what_a_node_counted_is_fetched_and_nothing_is_left_there(nodes):
    said: list[str] = []
    with sampled({"dt+0-1-a": ["root@server"]}, nodes, 0.5, said.append):
        slice_seconds, folder = wait_for(nodes / "told").split()
    assert (nodes / "dt+0-1-a" / "sampled-0-server.swz").read_bytes() == COUNTED
    assert (slice_seconds, said) == ("0.5", [])
    assert (nodes / "asked").read_text() == "root@server\n"
    assert not Path(folder).exists()


def test_an_interrupted_run_leaves_nothing_on_the_node(nodes):
    with contextlib.suppress(KeyboardInterrupt), sampled({"a": ["server"]}, nodes, None, print):
        folder = Path(wait_for(nodes / "told").split()[-1])
        raise KeyboardInterrupt
    assert not (nodes / "a").exists()
    while folder.exists():  # the connection is gone, and the node notices that by itself
        pass


def test_a_node_that_is_not_sampled_costs_no_run(nodes):
    (nodes / "slicewise-collect").write_text(f"#!/bin/sh\necho no such job >&2\necho . > {nodes}/told\nexit 2\n")
    said: list[str] = []
    with sampled({"a": ["server"]}, nodes, None, said.append):
        wait_for(nodes / "told")
    assert said == ["server: was not sampled: no such job"]
    (nodes / "bin" / "ssh").write_text("#!/bin/sh\necho 'Permission denied (publickey).' >&2\nexit 255\n")
    with sampled({"a": ["server"]}, nodes, None, said.append):
        pass
    assert said[1:] == ["server: was not sampled: Permission denied (publickey)."]


def test_a_run_that_ends_before_its_collector_begins_says_so(nodes):
    (nodes / "slicewise-collect").write_text("#!/bin/sh\nexec sleep 100\n")
    said: list[str] = []
    with sampled({"a": ["server"]}, nodes, None, said.append):
        pass
    assert said == ["server: was not sampled: the run ended before it began"]


def test_an_archive_writes_nowhere_else(nodes):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name in ("../../escaped.swz", "/escaped.swz", "text.txt"):
            entry = tarfile.TarInfo(name)
            entry.size = len(COUNTED)
            archive.addfile(entry, io.BytesIO(COUNTED))
        link = tarfile.TarInfo("link.swz")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    (nodes / "sent").write_bytes(packed.getvalue())
    (nodes / "bin" / "ssh").write_text(f"#!/bin/sh\ncat > /dev/null; cat {nodes}/sent\n")
    with sampled({"a": ["server"]}, nodes, None, print):
        pass
    assert sorted(path.name for path in (nodes / "a").iterdir()) == ["sampled-0-escaped.swz", "sampled-1-escaped.swz"]


def test_a_figure_is_a_rate_only_if_its_unit_is():
    assert [said(2, unit) for unit in ("times/s", "segments", "tasks", "s")] == ["2.00/s", "2.00", "2.00", "2.00 s"]
