"""What `slicewise export` writes, read back by the tools that it is for (in tests/peers.lock; polars reads its own)."""

import io
import json
import os
import re
import subprocess
from pathlib import Path

import polars as pl
import pytest
from support.command_line import refusal_of, slicewise_command
from support.programs import BUILD, need_built
from support.swz import build_profile

PEERS = BUILD / "peers" / "bin"
MIB = 1 << 20
S = 1_000_000_000
TAU = 4
FIRST = 425_000_000


@pytest.fixture
def _needs_peers() -> None:
    """FTIO, to open exports with."""
    need_built(PEERS / "python", how="make build/peers/.installed")


@pytest.fixture(scope="module")
def profile(tmp_path_factory) -> Path:
    """Two ranks on two nodes with equal pids: a checkpoint every 312 s, reads in one slice, events, two call sites."""
    slices, sites, hardware = [], [], []
    for process in (1, 2):
        slices += [
            {"process": process, "slice": FIRST + place, "write_bytes": 100 * MIB, "write_ops": 25, "write_ns": 3 * S}
            for start in range(0, 780, 78)
            for place in range(start, start + 5)
        ]
        slices.append({"process": process, "slice": FIRST + 20, "read_bytes": 8 * MIB, "read_ops": 2, "read_ns": S})
        sites += [
            {"process": process, "number": 0, "site": 1, "operation": "pwrite", "slice": FIRST, "samples": 30,
             "likely_bytes": 100 * MIB, "likely_calls": 25_000, "calls": 25, "ns": S},
            {"process": process, "number": 1, "site": 2, "operation": "read", "slice": FIRST + 20, "samples": 10,
             "likely_bytes": 8 * MIB, "likely_calls": 2_000, "calls": 2, "ns": S},
        ]  # fmt: skip
        hardware += [{"process": process, "number": place, "slice": FIRST + place, "event_0": 5_000,
                      "event_1": 7 + place} for place in range(3)]  # fmt: skip
    both = (1, 2)
    return build_profile(
        tmp_path_factory.mktemp("export") / "48213",
        [{"process": process, "rank": process - 1, "ranks": 2, "host": f"n{process}", "pid": 99, "site_ns": S // 100,
          "start_ns": FIRST * TAU * S, "end_ns": (FIRST + 790) * TAU * S} for process in both],
        slices,
        events=[{"process": process, "event": event, "name": name, "unit": unit, "meaning": "as told"}
                for process in both for event, name, unit in ((0, "perf::TASK-CLOCK", "ns"), (1, "PAPI_TOT_INS", ""))],
        hardware=hardware,
        modules=[{"process": process, "module": 0, "path": "", "build_id": ""} for process in both],
        frames=[{"process": process, "site": site, "depth": depth, "function": name, "file": "a.py", "line": 3}
                for process in both for site, names in ((1, ("checkpoint", "main")), (2, ("load;all", "main")))
                for depth, name in enumerate(names)],
        sites=sites,
    )  # fmt: skip


def export(profile: Path, *arguments: object) -> bytes:
    done = slicewise_command("export", profile, *arguments)
    assert done.status == 0, done.errors
    return done.output


@pytest.mark.usefixtures("_needs_peers")
def test_ftio_reads_its_json_and_finds_the_period(profile, tmp_path):
    file = tmp_path / "job.json"
    export(profile, "--format", "ftio", "-o", file)
    done = subprocess.run(
        [PEERS / "ftio", file, "-m", "write_sync", "-e", "no", "-f", str(1 / TAU)],
        check=True, capture_output=True, text=True, timeout=120, cwd=tmp_path,
        env=os.environ | {"COLUMNS": "200", "NO_COLOR": "1"},
    )  # fmt: skip
    period = re.search(r"-> *([\d.]+) *s", done.stdout)
    assert period, done.stdout + done.stderr
    assert float(period.group(1)) == pytest.approx(312, rel=0.02)


def test_the_bandwidth_for_ftio_adds_up_to_the_bytes(profile):
    record = json.loads(export(profile, "--format", "ftio"))
    for direction, total in (("write", 2 * 50 * 100 * MIB), ("read", 2 * 8 * MIB)):
        told = record[f"{direction}_sync"]
        assert told["total_bytes"] == total
        assert sum(told["bandwidth"]["b_overlap_avr"]) * TAU == total
        assert told["number_of_ranks"] == 2
        assert told["bandwidth"]["t_overlap"][:3] == [0, 4, 8]
        assert told["bandwidth"]["b_overlap_avr"][-1] == 0


def test_folded_stacks_by_time_bytes_and_calls(profile):
    by = {cost: export(profile, "--format", "folded", "--cost", cost).decode() for cost in ("time", "bytes", "calls")}
    assert by["time"] == "main;checkpoint;pwrite 600000\nmain;load:all;read 200000\n"
    assert by["bytes"] == f"main;checkpoint;pwrite {200 * MIB}\nmain;load:all;read {16 * MIB}\n"
    assert by["calls"] == "main;checkpoint;pwrite 50\nmain;load:all;read 4\n"


def test_parquet_and_csv_are_the_same_table_with_units_in_the_file(profile, tmp_path):
    file = tmp_path / "slices.parquet"
    export(profile, "--format", "parquet", "-o", file)
    frame = pl.read_parquet(file)
    assert frame["write_bytes"].sum() == 2 * 50 * 100 * MIB
    assert frame["start_ns"].min() == FIRST * TAU * S
    assert set(frame["host"]) == {"n1", "n2"}
    assert frame["point"].unique().to_list() == ["/scratch"]
    about = json.loads(pl.read_parquet_metadata(file)["slicewise"])
    assert about["columns"]["write_bytes"] == {"unit": "bytes", "meaning": "bytes the callee said it wrote"}
    assert about["slice_ns"] == TAU * S
    again = pl.read_csv(io.BytesIO(export(profile, "--format", "csv")), schema_overrides=frame.schema)
    assert again.equals(frame)


def test_hardware_counters_are_columns_of_their_own(profile):
    frame = pl.read_csv(io.BytesIO(export(profile, "--format", "csv", "--table", "hardware")))
    assert frame.columns[-3:] == ["perf::TASK-CLOCK", "PAPI_TOT_INS", "start_ns"]
    assert frame.filter(pl.col("rank") == 1)["PAPI_TOT_INS"].to_list() == [7, 8, 9]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--format", "csv", "--table", "nonsense"], "invalid value for '--table': 'nonsense' is not one of 'slices'"),
        (["--format", "nonsense"], "nonsense"),
        (["--format", "csv", "-o", "/no/such/directory/x"], "/no/such/directory/x: cannot be written"),
    ],
)
def test_mistakes_are_one_line(profile, arguments, said):
    done = refusal_of("export", profile, *arguments)
    assert said in done


def test_a_profile_without_call_sites_or_events_exports_to_every_format(tmp_path):
    bare = build_profile(tmp_path / "bare", [{"process": 1}])
    for name in ("ftio", "folded", "csv", "parquet"):
        export(bare, "--format", name)
