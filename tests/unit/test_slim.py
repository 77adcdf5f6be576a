"""Recordings without what no model of sharing looks at hold all else as it was."""

from slicewise.digest.digest import Digest
from slicewise.profile.reader import read_profile
from support.swz import build_profile
from testbed.slim import slim

MIB = 1 << 20


def test_a_slim_profile_has_the_same_slices_without_histograms(tmp_path):
    processes = [{"process": number, "rank": number, "program": "/opt/writer"} for number in (1, 2)]
    rows = [
        {"process": number, "slice": 425_000_000 + at, "write_bytes": MIB * at, "write_ops": at, "write_ns": 10**6 * at}
        | {"write_latency_3": at, "write_size_5": at}
        for number in (1, 2)
        for at in range(1, 6)
    ]
    path = build_profile(tmp_path / "job", processes, rows)
    before = Digest(read_profile(path)).process_slices
    files = sorted(path.rglob("*.swz"))
    size = sum(file.stat().st_size for file in files)
    slim(path)
    after = Digest(read_profile(path))
    kept = ["process", "slice", "write_bytes", "write_ops", "write_ns"]
    assert after.process_slices.select(kept).equals(before.select(kept))
    assert after.processes["program"].to_list() == ["writer"] * 2
    assert sum(file.stat().st_size for file in files) != size
