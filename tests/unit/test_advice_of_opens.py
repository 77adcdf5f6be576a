"""Advice about files that are opened for each record: what is written anew as a whole, and what packages do for it."""

from collections.abc import Mapping

import polars as pl
import pytest
from slicewise.analysis.job.sites import SAMPLES_SCHEMA, Sites
from slicewise.report.job.advice_words import advice_lines
from slicewise.symbols.resolve import CodePlace
from support.advised import FIRST, MIB, NS, samples, told

NODE = {"program": "/usr/bin/node", "script": "/home/state.js"}
PYTHON = {"program": "/usr/bin/python3.11", "script": "/home/a.py"}
STATE = {"path": "/d/state.json", "opens": 3000, "write_ops": 3000, "write_bytes": 270 * MIB, "write_ns": NS // 2}
DID = {"meta_ops": 6000, "meta_ns": 4 * NS, "write_ops": 3000, "write_bytes": 270 * MIB, "write_ns": NS // 2}
OPENED = samples((1, "open", 4.0, 3000))


def test_a_file_that_is_written_anew_for_each_record(tmp_path):
    """Node wrote all that was known, and opens waited for what was written before: 14.1 s; once: 0.2 s."""
    state = {"path": "/d/state.json"}
    (one,) = told(tmp_path / "a", DID, [STATE], calls={"open": 3000}, found=OPENED, sizes={state["path"]: MIB // 5})
    assert (one.habit, one.calls, one.file) == ("rewrites", 3000, state["path"])
    (line,) = advice_lines([one], 20.0)
    assert line.startswith(
        "Writing /d/state.json anew as a whole 3,000 times, 92.2 KiB each, took 4.50 s of 20.0 s, by open() called"
    )
    opens = 4 * (1 - 1 / 3000)
    assert (one.saving.low, one.saving.high) == pytest.approx((0.8 * opens + 0.25, 1.2 * opens + 0.5 + 0.003), rel=1e-3)
    (by_script,) = told(
        tmp_path / "b", DID, [STATE], calls={"open": 3000}, found=OPENED, sizes={state["path"]: MIB // 5}, who=NODE
    )
    made = 270 * MIB * 20e-9 + 3000 * 8e-6
    assert by_script.saving.high == pytest.approx(one.saving.high - 0.003 + made, rel=1e-3), "and makes the text"


@pytest.mark.parametrize(
    ("sizes", "renames", "is_told"),
    [({}, 0, False), ({}, 3000, True), ({"/d/state.json": 270 * MIB}, 3000, False)],
)
def test_what_is_gone_was_written_anew_if_it_was_renamed(tmp_path, sizes: Mapping[str, int], renames, is_told):
    """A file that grows is as large as all that was written."""
    found = told(tmp_path, DID, [STATE], calls={"open": 3000, "rename": renames}, found=OPENED, sizes=sizes)
    assert [one.habit for one in found] == ["rewrites"] * is_told


def _opens_by(seconds: float, *files: str) -> Sites:
    """Few samples of opens from a stack of Python's frames."""
    stack = (*(CodePlace("f", "", file, n) for n, file in enumerate(files, 1)), CodePlace("open"))
    row = {
        "stack": 0, "process": 1, "slice": FIRST, "operation": "open", "samples": 9, "seconds": seconds,
        "bytes": 0.0, "calls": 3000.0,
    }  # fmt: skip
    return Sites([stack], pl.DataFrame([row], schema=SAMPLES_SCHEMA), 0.01)


@pytest.mark.parametrize(
    ("files", "is_told"),
    [
        (("/home/a.py", "/v/lib/python3.11/site-packages/pandas/io.py", "/usr/lib/python3.11/pathlib.py"), True),
        (("/home/a.py", "/usr/lib/python3.11/pathlib.py"), False),
        (("/home/a.py", "/usr/lib/python3.11/shelve.py", "/usr/lib/python3.11/dbm/dumb.py"), True),
        (("/home/a.py", "/v/lib/python3.11/site-packages/pandas/io.py", "<frozen importlib._bootstrap>"), False),
    ],
)
def test_a_package_that_opens_a_file_for_each_record(tmp_path, files, is_told):
    """DataFrame.to_csv(mode="a"): 0.05 s were in calls, and 1.4 of 3.8 s were saved by one such call. A shelf reads and
    writes all of its directory each time.
    """
    log = {"path": "/d/all.csv", "opens": 3000, "write_ops": 3000, "write_bytes": 460_000, "write_ns": NS // 100}
    did = {"meta_ops": 9000, "meta_ns": NS // 5, "write_ops": 3000, "write_bytes": 460_000, "write_ns": NS // 100}
    found = told(tmp_path, did, [log], calls={"open": 3000}, found=_opens_by(0.05, *files), who=PYTHON, seconds=4)
    assert [(one.habit, one.calls) for one in found] == [("opens", 3000)] * is_told
    for one in found:
        assert one.saving.low < 0.1
        assert (one.saving.value, one.saving.high) == (pytest.approx(2, rel=0.05), pytest.approx(4, rel=0.01))


def test_pieces_that_a_buffer_takes_wait_for_no_open(tmp_path):
    """awk's print is four calls on a stream, which the kernel sees as one: they go with each open."""
    log = {"path": "/d/part", "opens": 30_000, "write_ops": 120_000, "write_bytes": 900_000, "write_ns": 3 * NS}
    did = {"meta_ops": 60_000, "meta_ns": 5 * NS, "write_ops": 120_000, "write_bytes": 900_000, "write_ns": 3 * NS}
    bins = {"write_size_0": 120_000, "write_latency_12": 30_000}
    (one,) = told(tmp_path, did | bins, [log], calls={"fopen": 30_000}, found=samples((1, "fopen", 5.0, 30_000)))
    assert (one.habit, one.seconds) == ("opens", pytest.approx(8))


def test_processes_one_after_another_are_no_crowd(tmp_path):
    """500 runs of zip, each of which looks at a few files, were said to begin at once."""
    did = {"meta_ops": 1000, "meta_ns": NS // 2}
    assert told(tmp_path / "a", did, processes=20, one_after_another=True, seconds=1) == []
    (one,) = told(tmp_path / "b", {"meta_ops": 1000, "meta_ns": 5 * NS}, processes=20)
    assert one.habit == "metadata at the begin"
