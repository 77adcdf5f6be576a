"""The advice for shells and scripts: what they read line by line, open for each command, look for, and pipe."""

import pytest
from slicewise.report.job.advice_words import advice_lines
from support.advised import MIB, NS, samples, told


def test_lines_that_a_shell_reads(tmp_path):
    """`while read`: it fetches 4 KiB for each, and moves back. awk took 0.1 s where bash took 4.9."""
    table = {"path": "/scratch/table", "opens": 1, "read_ops": 300_000, "read_bytes": 300_000 * 4096, "read_ns": NS}
    did = {name: table[name] for name in ("read_ops", "read_bytes", "read_ns")} | {"meta_ops": 600_000}
    did |= {"meta_ns": NS // 2, "read_consecutive": 1, "read_sequential": 1}
    bash = {"program": "/bin/bash", "script": "/home/a.sh"}
    sizes, calls = {"/scratch/table": 2_000_000}, {"lseek": 600_000}
    (one,) = told(tmp_path / "a", did, [table], calls=calls, who=bash, sizes=sizes)
    assert (one.habit, one.file, one.seconds) == ("small reads", "/scratch/table", pytest.approx(1.5))
    assert (one.saving.low, one.saving.value, one.saving.high) == pytest.approx((0.75, 3.075, 3.6))
    (line,) = advice_lines([one], 20.0)
    assert "for a shell's read: awk" in line
    assert told(tmp_path / "b", did, [table], calls=calls, sizes=sizes) == [], "no shell"


def test_what_a_shell_opens_for_each_command(tmp_path):
    """`echo >> log`: it moves its own output, a pipe, away and back, and does less around than Python."""
    log = {"path": "/scratch/log", "opens": 100_000, "write_ops": 100_000, "write_bytes": 10**6, "write_ns": NS // 4}
    did = {"meta_ops": 200_000, "meta_ns": NS, "write_ops": 100_000, "write_bytes": 10**6, "write_ns": NS // 4}
    called = {"open": 100_000, "close": 100_000, "fcntl": 500_000, "dup2": 200_000}
    found = samples((1, "open", 1.0, 100_000), (1, "fcntl", 0.5, 500_000), (1, "dup2", 0.5, 200_000))
    bash = {"program": "/bin/bash", "script": "/home/a.sh"}
    (one,) = told(tmp_path / "a", did, [log], calls=called, found=found, who=bash)
    assert (one.habit, one.seconds, one.saving.high) == ("opens", *(pytest.approx(s, rel=0.001) for s in (2.25, 2.9)))
    (one,) = told(tmp_path / "b", did, [log], calls=called, found=found)
    assert one.seconds == pytest.approx(1.25, rel=0.001), "another program may lock by fcntl"


def test_looks_for_a_file_that_is_to_come_save_nothing_perhaps(tmp_path):
    """A shell that polls: next to all looks failed, and its calls of fflush name nothing."""
    did = {"meta_ops": 816_000, "meta_ns": 12 * NS, "errors": 272_000}
    calls = {"stat": 272_000, "fflush": 544_000}
    (one,) = told(tmp_path, did, calls=calls, found=samples((1, "stat", 12.0, 272_000)))
    assert (one.habit, one.seconds) == ("failing calls", pytest.approx(12, rel=0.01))
    assert (one.saving.low, one.saving.high) == (0, pytest.approx(14.4, rel=0.01))


def test_a_script_s_interpreter_computes_around_calls(tmp_path):
    """2 us around each look: 12 of 20 s at most, as far as it was out of calls for as long."""
    script = {"program": "/usr/bin/python3.11", "script": "/home/a.py"}
    looks = {"meta_ops": 6_000_000, "meta_ns": 8 * NS, "errors": 6_000_000}
    (one,) = told(tmp_path / "a", looks, who=script)
    assert (one.seconds, one.saving.low, one.saving.value, one.saving.high) == pytest.approx((8, 6.4, 17, 20))
    (line,) = advice_lines([one], 20.0)
    assert (
        "took 8.00 s of 20.0 s. About 17.0 s [6.40-20.0] can be saved, with what the program does around each call: "
        in line
    )
    (one,) = told(tmp_path / "b", looks)
    assert one.saving.high == pytest.approx(9.6 + 0.6), "0.1 us around each"


@pytest.mark.parametrize(("program", "read_s", "saved"), [("cat", 1, 3), ("cat", 3.5, None), ("sort", 1, None)])
def test_a_copy_through_a_pipe(tmp_path, program, read_s, saved):
    """Whoever reads the pipe waits 4 s; the file itself took that long less what it saves."""
    mounts = [{"mount": 1}, {"mount": 2, "object": "pipe", "point": "", "type": "", "source": ""}]
    piped = {"mount": 2, "read_ops": 9, "read_bytes": 900 * MIB, "read_ns": 4 * NS}
    piped |= {"write_ops": 9, "write_bytes": 900 * MIB, "write_ns": NS}
    did = {"read_ops": 9, "read_bytes": 900 * MIB, "read_ns": int(read_s * NS)}
    found = told(tmp_path, did, mounts=mounts, more=[piped], who={"program": f"/bin/{program}"})
    assert [one.habit for one in found] == ["piped copies"] * (saved is not None)
    for one in found:
        assert (one.saving.low, one.saving.value, one.saving.high) == pytest.approx((saved / 2, saved, 4))
