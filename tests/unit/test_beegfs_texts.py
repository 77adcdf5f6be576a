"""What beegfs-ctl 7.4.6 printed of real servers by client, with a time before each line."""

import time

import polars as pl
import pytest
from slicewise.errors import UserError
from slicewise.imports.jobstats import read_served

MIB = 1 << 20
BEGIN = 1_795_854_022
# Every 2 s; 10.9.0.1 is a metadata server, and 10.9.0.13 was not known before.
STORAGE = """
====== 0 s ======
Sum:            2340 [sum]  2 [ack]  1 [sChDrct]  2337 [ops-wr]  1168.5 [MiB-wr]  2 [hrtbeat]
0.0.0.0         4 [sum]  2 [ack]  2 [hrtbeat]
10.9.0.12       2337 [sum]  2337 [ops-wr]  1168.5 [MiB-wr]

====== 2 s ======
Sum:            17 [sum]  1 [getFSize]  16 [ops-wr]  4 [MiB-wr/s]
10.9.0.11       16 [sum]  16 [ops-wr]  4 [MiB-wr/s]
10.9.0.1        1 [sum]  1 [getFSize]

====== 4 s ======

====== 6 s ======
Sum:            33 [sum]  1 [fsync]  32 [ops-rd]  8 [MiB-rd/s]  1 [close]
10.9.0.11       33 [sum]  1 [fsync]  32 [ops-rd]  8 [MiB-rd/s]
"""
META = """
====== 0 s ======
Sum:            2340 [sum]  2 [ack]
====== 2 s ======
Sum:            6 [sum]  1 [ack]  1 [open]  2 [stat]  1 [statLI]  1 [createLI]
10.9.0.13       6 [sum]  1 [ack]  1 [open]  2 [stat]  1 [statLI]  1 [createLI]
"""


def read(tmp_path, text, stamp="{}.5 "):
    """Each batch comes 2 s after the one before. Behind the last count there are blanks."""
    now, lines = BEGIN - 2, []
    for line in text.split("\n"):
        now += 2 if line.startswith("======") else 0
        lines.append(stamp.format(now) + line + ("  " if line.endswith("]") else ""))
    (tmp_path / "log").write_text("\n".join(lines))
    return read_served([tmp_path / "log"])


def rows(found, *columns):
    seconds = [(pl.col(name) - BEGIN * 10**9) / 10**9 for name in ("begin_ns", "end_ns")]
    return found.select("target", "job", "is_client", *seconds, *columns).rows()


def test_bytes_of_clients_are_those_between_two_batches(tmp_path):
    found = read(tmp_path, STORAGE)
    assert rows(found, pl.col("write_bytes") // MIB, "write_ops", pl.col("read_bytes") // MIB, "read_ops") == [
        ("beegfs/storage", "10.9.0.11", True, 0.5, 2.5, 8, 16, 0, 0),
        ("beegfs/storage", "10.9.0.11", True, 4.5, 6.5, 0, 0, 16, 32),
    ]
    assert found["meta_ops"].sum() == 0


@pytest.mark.parametrize(("unit", "value"), [("B-wr/s", "4.1943e+06"), ("B-wr", "8.38861e+06"), ("MiB-wr", "8")])
def test_units_of_other_options(tmp_path, unit, value):
    """--rwunit=B, --perinterval, or both."""
    found = read(tmp_path, STORAGE.replace("4 [MiB-wr/s]", f"{value} [{unit}]"))
    assert found["write_bytes"][0] == pytest.approx(8 * MIB, rel=1e-5)


def test_operations_on_metadata(tmp_path):
    assert rows(read(tmp_path, META), "meta_ops") == [("beegfs/meta", "10.9.0.13", True, 0.5, 2.5, 5)]


def test_a_batch_after_a_server_was_away_says_nothing(tmp_path):
    found = read(tmp_path, STORAGE.replace("16 [sum]  16 [ops-wr]  4 [", "-16 [sum]  -16 [ops-wr]  -4 ["))
    assert found["write_bytes"].sum() == 0


@pytest.mark.parametrize(
    ("text", "stamp", "said"),
    [
        (STORAGE, "", "ts %.s"),
        (STORAGE.replace("10.9.0.11 ", "n11 "), "{}.5 ", "without --names"),
        (STORAGE.replace("10.9.0.11 ", "1000 "), "{}.5 ", "without --names"),
        (STORAGE.replace("10.9.0.11 ", "-1 "), "{}.5 ", "without --names"),
    ],
)
def test_what_cannot_be_counted_is_one_line(tmp_path, text, stamp, said):
    with pytest.raises(UserError, match=said):
        read(tmp_path, text, stamp)


@pytest.mark.parametrize("value", ["..", "1e999", "1.2.3", "9" * 40, "1e30", "nan"])
def test_damaged_numbers_are_no_counts(tmp_path, value):
    assert read(tmp_path, STORAGE.replace("  4 [", f"  {value} ["))["write_bytes"].sum() == 0


@pytest.mark.parametrize("line", [" " * 60_000, "1.1.1.1 1 [" * 5_000, "1 a" * 20_000, "= " * 30_000])
def test_a_long_line_takes_no_time(tmp_path, line):
    began = time.monotonic()
    assert read(tmp_path, STORAGE.replace("\n\n", f"\n{line}\n")).height == 2
    assert time.monotonic() - began < 2
