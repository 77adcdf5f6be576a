# ruff: noqa: E501 - texts of other programs are as wide as they are
"""What file servers counted by job: the texts of Lustre's versions, and what goes wrong with them."""

import bz2
import gzip
import lzma
import random
import resource
import subprocess
from pathlib import Path

import polars as pl
import pytest
from slicewise.errors import UserError
from slicewise.imports.jobstats import files_of, read_served

MIB = 1 << 20
# A job's entry as versions of Lustre print it: {job}, {at} (s), {start}, {count} writes of 1 MiB, {sum} bytes; one of a
# data target, and one of a metadata target with {count} opens and closes.
TEXTS = Path(__file__).parents[1] / "golden" / "jobstats"
OST = {file.name.removeprefix("ost-"): file.read_text() for file in sorted(TEXTS.glob("ost-*"))}
MDT = (TEXTS / "mdt").read_text()
BEGIN = 1_795_000_000


def entry(version, job, at, mib, start=BEGIN - 100):
    return OST[version].format(job=job, at=at, start=start, count=mib, sum=mib * MIB)


def sample(at, *targets):
    """What was asked at a time: each target's name and its jobs' entries."""
    return f"{at}.5\n" + "".join(f"obdfilter.{name}.job_stats=\njob_stats:\n{jobs}" for name, jobs in targets)


def read(tmp_path, text, name="log"):
    (tmp_path / name).write_text(text)
    return read_served([tmp_path / name])


def moved(found, job):
    return found.filter(found["job"] == job)["write_bytes"].sum() // MIB


def test_pages_in_a_directory_of_logs_are_no_logs(tmp_path):
    (tmp_path / "report-7.html").write_text("<html>")
    (tmp_path / "empty").mkdir()
    assert list(files_of([tmp_path])) == []


@pytest.mark.parametrize("version", OST)
def test_each_version_says_what_a_job_did_between_two_samples(tmp_path, version):
    log = "".join(sample(BEGIN + at, ("lus-OST0000", entry(version, "4711", BEGIN + at, 10 * at))) for at in (0, 4, 8))
    found = read(tmp_path, log)
    # What it had at the first sample was done before, of which only a version with start times says when.
    later = found.filter(found["begin_ns"] >= BEGIN * 10**9)
    assert later["target"].unique().to_list() == ["lus-OST0000"]
    assert moved(later, "4711") == 80
    assert later["meta_ops"].sum() == 0


def test_metadata_is_counted_by_the_targets_that_have_it(tmp_path):
    log = "".join(
        f"{BEGIN + at}.0\nmdt.lus-MDT0000.job_stats=\njob_stats:\n"
        + MDT.format(job="tar.1000", at=BEGIN + at, count=100 * at)
        for at in (1, 2)
    )
    assert read(tmp_path, log)["meta_ops"].sum() == 200


def test_a_rename_is_one_operation(tmp_path):
    """Lustre counts it again by its sort, and how often it had to wait."""
    log = ""
    for at in (1, 2):
        log += f"{BEGIN + at}.0\nmdt.lus-MDT0000.job_stats=\njob_stats:\n" + MDT.format(
            job="mv", at=BEGIN + at, count=at
        )
        for kind in ("rename", "samedir_rename", "parallel_rename_file", "rename_trylocks"):
            log += f"  {kind}: {{ samples: {10 * at}, unit: usecs, min: 1, max: 9, sum: 23, sumsq: 99 }}\n"
    assert read(tmp_path, log)["meta_ops"].sum() == 2 + 10


def test_a_job_that_comes_is_counted_from_its_start(tmp_path):
    log = sample(BEGIN, ("f-OST0", entry("2.17", "old", BEGIN, 5)))
    new = entry("2.17", "new", BEGIN + 3, 40, start=BEGIN + 2)
    found = read(tmp_path, log + sample(BEGIN + 4, ("f-OST0", entry("2.17", "old", BEGIN, 5) + new)))
    row = found.filter(found["job"] == "new").row(0, named=True)
    assert (row["begin_ns"] // 10**9, row["end_ns"] // 10**9) == (BEGIN + 2, BEGIN + 3)
    assert moved(found, "new") == 40


@pytest.mark.parametrize("version", OST)
def test_counters_that_begin_anew(tmp_path, version):
    """Cleared, cleaned up, a restarted server, or another one that took over: what it has since then counts."""
    amounts = [(0, 10, BEGIN - 100), (4, 30, BEGIN - 100), (8, 6, BEGIN + 6), (12, 16, BEGIN + 6)]
    log = "".join(
        sample(BEGIN + at, ("f-OST0", entry(version, "j", BEGIN + at, mib, start))) for at, mib, start in amounts
    )
    found = read(tmp_path, log)
    assert moved(found.filter(found["begin_ns"] >= BEGIN * 10**9), "j") == 20 + 6 + 10


def test_texts_without_times_and_names(tmp_path):
    """As `lctl get_param -n` prints them, with the shell's own lines between."""
    log = ""
    for at in (0, 5):
        log += f"+ date +%s.%N\n{BEGIN + at}.25\n+ lctl get_param -n obdfilter.*.job_stats\n"
        log += "".join("job_stats:\n" + entry("2.17", "j", BEGIN + at, (target + 1) * at) for target in range(2))
    found = read(tmp_path, log)
    assert found["target"].unique().sort().to_list() == ["#0", "#1"]
    assert moved(found, "j") >= 15


@pytest.mark.parametrize("cut", [0.3, 0.5, 0.77, 0.99])
def test_a_text_that_is_cut_keeps_what_is_whole(tmp_path, cut):
    log = "".join(sample(BEGIN + at, ("f-OST0", entry("2.17", "j", BEGIN + at, at))) for at in range(20))
    found = read(tmp_path, log[: int(cut * len(log))])
    assert 0 < moved(found, "j") <= 20


def test_numbers_past_what_a_counter_holds(tmp_path):
    log = "".join(
        sample(BEGIN + at, ("f-OST0", OST["2.12"].format(job="j", at=BEGIN + at, count=1, sum=at * 10**30)))
        for at in (1, 2)
    )
    assert read(tmp_path, log).is_empty()  # both are the most that is told


def test_a_table_of_anybodys_counts(tmp_path):
    table = "begin,end,job,write_bytes,client\n1795000000,1795000004,n1,4096,10.0.0.1\n1795000004.5,1795000008,n2,1,x\n"
    found = read(tmp_path, table, "counts.csv")
    assert found["job"].to_list() == ["n1", "n2"]
    assert found["write_bytes"].to_list() == [4096, 1]
    assert found["begin_ns"][1] == 1_795_000_004_500_000_000


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("log", "", "holds no job_stats"),
        ("log", "nothing of the kind\n" * 1000, "holds no job_stats"),
        ("log.gz", "\x1f\x8b broken", "cannot be read"),
        ("a.csv", "x,y\n1,2\n", "has no column begin"),
        ("a.csv", "begin,end,job\na,b,c\n", "is no table of counts"),
    ],
)
def test_what_is_no_count_is_refused_in_one_line(tmp_path, name, text, said):
    (tmp_path / name).write_bytes(text.encode("latin-1"))
    with pytest.raises(UserError, match=said):
        read_served([tmp_path / name])


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match="cannot be read"):
        read_served([tmp_path / "missing"])


def at_times(*amounts, version="2.17", name="f-OST0", job="j"):
    """Samples of one job: (seconds after BEGIN, MiB so far)."""
    return [sample(BEGIN + at, (name, entry(version, job, BEGIN + at, mib))) for at, mib in amounts]


def intervals(found):
    return [
        ((begin - BEGIN * 10**9) // 10**9, (end - BEGIN * 10**9) // 10**9, moved >> 20)
        for begin, end, moved in found.select("begin_ns", "end_ns", "write_bytes").rows()
        if begin >= BEGIN * 10**9
    ]


def test_samples_in_any_order_and_doubled_say_the_same(tmp_path):
    log = at_times((0, 1), (4, 5), (8, 5), (12, 25), (16, 26))
    wanted = intervals(read(tmp_path, "".join(log)))
    assert wanted == [(0, 4, 4), (8, 12, 20), (12, 16, 1)]
    for seed in range(8):
        mixed = [*log, *log[1:3]]
        random.Random(seed).shuffle(mixed)
        assert intervals(read(tmp_path, "".join(mixed))) == wanted


def test_a_log_in_pieces_and_servers_apart_say_the_same(tmp_path):
    log = at_times((0, 1), (4, 5), (12, 25))
    other = at_times((1, 0), (5, 50), name="f-OST1")
    whole = read(tmp_path, "".join(log))
    for number, part in enumerate(log):
        (tmp_path / f"piece{9 - number}").write_text(part)
    (tmp_path / "other").write_text("".join(other))
    (tmp_path / "log").unlink()
    found = read_served([tmp_path])
    assert found.filter(found["target"] == "f-OST0").equals(whole)
    assert moved(found, "j") == moved(whole, "j") + 50


@pytest.mark.parametrize(
    "stamp",
    [
        "{epoch}",
        "{epoch}.25",
        "{epoch}000",
        "{epoch}000000000",
        "@{epoch}",
        "# {epoch} #",
        "%a %b %d %H:%M:%S UTC %Y",
        "%a %d %b %Y %I:%M:%S %p UTC",
        "%a, %d %b %Y %H:%M:%S +0000",
        "%Y-%m-%dT%H:%M:%S+00:00",
        "%Y-%m-%dT%H:%M:%S,123456789+00:00",
        "%Y-%m-%d %H:%M:%S.5 Z",
        "oss1 {epoch}.5",
        "{epoch} oss1.site.org",
        "[%Y-%m-%dT%H:%M:%SZ]",
        "snapshot_time: {epoch}",
        "ts={epoch}",
        '"%Y-%m-%dT%H:%M:%SZ"',
        "=== %Y%m%dT%H%M%SZ ===",
        # Zones that are not certain: the servers' own clocks say what is meant, wherever this is read.
        "%Y-%m-%d %H:%M:%S",
        "%a %b %d %H:%M:%S CST %Y",
        "Fr %d. %b %H:%M:%S CEST %Y",
        "%Y-%m-%d_%H-%M-%S",
        "%Y%m%d%H%M%S",
        "%d.%m.%Y %H:%M:%S",
    ],
)
def test_times_between_samples(tmp_path, stamp, monkeypatch):
    from datetime import datetime, timezone

    monkeypatch.setenv("TZ", "Asia/Kathmandu")
    log = ""
    for at, mib in ((0, 1), (4, 5), (8, 11)):
        moment = datetime.fromtimestamp(BEGIN + at, timezone.utc)
        text = stamp.format(epoch=BEGIN + at) if "{" in stamp else moment.strftime(stamp)
        log += f"{text}\nobdfilter.f-OST0.job_stats=\njob_stats:\n{entry('2.12', 'j', BEGIN + at - 1, mib)}"
    found = intervals(read(tmp_path, log))
    assert [(end - begin, mib) for begin, end, mib in found] == [(3, 4), (3, 6)]
    assert [begin for begin, _, _ in found] == [0, 4]


@pytest.mark.parametrize(
    "head", ["obdfilter.{}.job_stats=", "obdfilter.{}.job_stats: ", "==> /proc/fs/lustre/obdfilter/{}/job_stats <=="]
)
def test_heads(tmp_path, head):
    log = ""
    for at in (0, 4):
        log += f"{BEGIN + at}.5\n" + "".join(
            head.format(name) + "\njob_stats:\n" + entry("2.15", "j", BEGIN + at, mib * at)
            for name, mib in (("lus-OST0000", 1), ("lus-OST000a", 2))
        )
    found = read(tmp_path, log).filter(pl.col("begin_ns") >= BEGIN * 10**9)
    assert dict(found.select("target", pl.col("write_bytes") // MIB).iter_rows()) == {
        "lus-OST0000": 4,
        "lus-OST000a": 8,
    }


@pytest.mark.parametrize("has_times", [True, False])
def test_a_head_in_front_of_each_line(tmp_path, has_times):
    """As lctl get_param -H prints them: of nothing, too, at the end."""
    log = ""
    for at in (0, 4, 300):
        log += f"{BEGIN + at}\n" if has_times else ""
        for number in (0, 1):
            jobs = entry("2.12", "a", BEGIN + at, at) + entry("2.12", "b", BEGIN + at % 300, 3 * (at % 300))
            text = "job_stats:\n" + (jobs if number else jobs.replace(str(BEGIN + at), str(BEGIN + at - 1))) + "\n"
            log += "".join(f"obdfilter.f-OST{number}.job_stats={line}\n" for line in text.split("\n")[:-1])
    found = read(tmp_path, log)
    assert (moved(found, "a"), moved(found, "b")) == (600, 24)
    log = ""
    for at in (0, 4):
        for nid, mib in (("10.0.0.1@tcp", 1), ("10.0.0.2@tcp", 7)):
            head = f"obdfilter.f-OST0.exports.{nid}.stats="
            log += f"{BEGIN + at}\n" if has_times and nid == "10.0.0.1@tcp" else ""
            log += f"{head}snapshot_time {BEGIN + at}.5 secs.nsecs\n"
            log += f"{head}write_bytes {9 + at} samples [bytes] 1 9 {(9 + at) * mib * MIB} 5\n{head}\n"
    found = read(tmp_path, log)
    assert (moved(found, "10.0.0.1@tcp"), moved(found, "10.0.0.2@tcp")) == (4, 28)


@pytest.mark.parametrize("has_names", [True, False])
def test_a_server_in_front_of_each_line(tmp_path, has_names):
    """As pdsh and clush print them, in any order, behind a time of the shell's own."""
    log = ""
    for at in (0, 4):
        of_server = [
            f"oss{number}: {line}\n"
            for number in (1, 2)
            for line in sample(
                BEGIN + at, (f"f-OST{number}", entry("2.12", "j", BEGIN + at, number * at))
            ).splitlines()[1 if has_names else 2 :]
        ]
        half = len(of_server) // 2
        log += f"{BEGIN + at}\npdsh@admin: oss3: Connection refused\n"
        log += "".join(line for pair in zip(of_server[:half], of_server[half:], strict=True) for line in pair)
    found = read(tmp_path, log)
    names = ["f-OST1", "f-OST2"] if has_names else ["#oss1:0", "#oss2:0"]
    assert found.select("target", pl.col("write_bytes") // MIB).rows() == [(names[0], 4), (names[1], 8)]


def test_a_job_that_the_server_forgot_counts_from_zero(tmp_path):
    """It was idle for longer than job_cleanup_interval, and came back with as many bytes as before."""
    log = "".join(
        sample(
            BEGIN + at,
            ("f-OST0", entry("2.12", "other", BEGIN + at, at) + (entry("2.12", "j", changed, 50) if changed else "")),
        )
        for at, changed in ((0, None), (300, BEGIN + 10), (600, BEGIN + 10), (900, None), (1200, BEGIN + 1100))
    )
    own = read(tmp_path, log).filter(pl.col("job") == "j")
    assert intervals(own) == [(0, 10, 50), (900, 1100, 50)]


def test_targets_without_names(tmp_path):
    """A sample that lacks one, as 2.17 leaves out those without jobs, is left out: nobody knows which one it lacks."""
    log = ""
    for at in (0, 4, 8, 12):
        both = ["job_stats:\n" + entry("2.17", "j", BEGIN + at, size * at, BEGIN - size) for size in (1, 100)]
        log += f"{BEGIN + at}.5\n" + "".join(both[at == 8 :])
    found = read(tmp_path, log).filter(pl.col("begin_ns") >= BEGIN * 10**9)
    assert dict(found.group_by("target").agg(pl.col("write_bytes").sum() // MIB).iter_rows()) == {"#0": 12, "#1": 1200}
    (tmp_path / "log").write_text("".join(line + "\n" for line in log.splitlines() if not line[0].isdigit()))
    with pytest.raises(UserError, match="neither times nor names"):
        read_served([tmp_path / "log"])


@pytest.mark.parametrize("name", ["oss{}.log", "{}.log"])
def test_logs_of_two_servers_without_names_of_targets(tmp_path, name):
    for server in (1, 2):
        parts = (f"{BEGIN + at}.5\njob_stats:\n" + entry("2.12", "j", BEGIN + at, server * at) for at in (0, 4, 8))
        (tmp_path / name.format(server)).write_text("".join(parts))
    found = read_served([tmp_path])
    assert found.group_by("target").agg(pl.col("write_bytes").sum() // MIB).sort("target").rows() == [
        ("#0", 8),
        ("#1.0", 16),
    ]


@pytest.mark.parametrize("empty", ["", "job_stats:", "job_stats: null", "job_stats: []", "job_stats:\n"])
def test_targets_without_jobs(tmp_path, empty):
    log = ""
    for at in (0, 4):
        log += f"{BEGIN + at}\nobdfilter.f-OST0.job_stats={empty}\nobdfilter.f-OST1.job_stats=\njob_stats:\n"
        log += entry("2.12", "j", BEGIN + at, at)
    found = read(tmp_path, log)
    assert found["target"].unique().to_list() == ["f-OST1"]
    (tmp_path / "log").write_text(f"{BEGIN}\nobdfilter.f-OST0.job_stats={empty}\n")
    assert read_served([tmp_path / "log"]).is_empty()


def test_bytes_that_a_metadata_target_of_2_12_counts_as_requests(tmp_path):
    """Data on MDT: read_bytes and write_bytes have the unit reqs there, and a sum."""
    log = ""
    for at in (1, 2):
        log += f"{BEGIN + at}\nmdt.f-MDT0000.job_stats=\njob_stats:\n- job_id:          j\n  snapshot_time:   {BEGIN + at}\n"
        log += "  open:            { samples:           1, unit:  reqs }\n"
        log += f"  getattr:         {{ samples:         {100 * at:3d}, unit:  reqs }}\n"
        log += "  read_bytes:      { samples: 0, unit:  reqs, min:       0, max:       0, sum:               0 }\n"
        log += (
            f"  write_bytes:     {{ samples: {at:2d}, unit:  reqs, min:    4096, max:    4096, sum:{at * MIB:16d} }}\n"
        )
    (row,) = read(tmp_path, log).rows(named=True)
    assert (row["write_bytes"], row["write_ops"], row["meta_ops"]) == (MIB, 1, 100)


def test_the_time_that_a_server_took(tmp_path):
    log = sample(BEGIN, ("f-OST0", entry("2.17", "j", BEGIN, 0)))
    log += sample(BEGIN + 4, ("f-OST0", entry("2.17", "j", BEGIN + 4, 3).replace("sum: 4711", "sum: 9711")))
    (row,) = read(tmp_path, log).filter(pl.col("begin_ns") >= BEGIN * 10**9).rows(named=True)
    assert (row["busy_ns"], row["write_ops"]) == (5000 * 1000, 3)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ('"a job, 7%"', "a job, 7%"),
        ("dd.1000.node-1", "dd.1000.node-1"),
        ("4711@cluster:5", "4711@cluster:5"),
        ("'it'", "it"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        (r'"dd\x20if\x3Dx.1000"', "dd if=x.1000"),
        (r'"caf\xC3\xA9"', "café"),
        (b'"caf\xc3\\xA9"', "café"),  # the kernel takes the first byte of an é for a letter
        (r'"\x1B[2J\x0Aroot"', "\x1b[2J\nroot"),
        (r'"\xFF\xFE"', "\ufffd\ufffd"),
        ("%j.%u.%h", "%j.%u.%h"),
        ("a: b { samples: 7 }", "a: b { samples: 7 }"),
        ("x" * 31, "x" * 31),
        ("obdfilter.f-OST9.job_stats=", "obdfilter.f-OST9.job_stats="),
        ("1795000000.5", "1795000000.5"),
    ],
)
def test_names_that_are_hard_to_tell(tmp_path, written, meant):
    raw = written if isinstance(written, bytes) else written.encode()
    log = "".join(sample(BEGIN + at, ("f-OST0", entry("2.15", "@@", BEGIN + at, at))) for at in (1, 3))
    (tmp_path / "log").write_bytes(log.encode().replace(b"@@", raw))
    found = read_served([tmp_path / "log"])
    assert found["job"].unique().to_list() == [meant]
    assert moved(found.filter(found["begin_ns"] >= BEGIN * 10**9), meant) == 2


@pytest.mark.parametrize("version", OST)
def test_no_cut_makes_counts_begin_anew(tmp_path, version):
    """Wherever a log ends, or a sample breaks off and the next one follows: no more is told than was done. Each version
    is cut at other places.
    """
    parts = [
        sample(
            BEGIN + at, ("f-OST0", entry(version, "a", BEGIN + at, 1000 + at) + entry(version, "b", BEGIN + at, 5 * at))
        )
        for at in (0, 4, 8)
    ]
    size = len(parts[1])
    for cut in range(41 * ([*OST].index(version) % 3), size, 41 * 3):
        for between in ("", "\n"):
            for log in (parts[0] + parts[1][:cut] + between, parts[0] + parts[1][:cut] + between + parts[2]):
                found = read(tmp_path, log)
                found = found.filter(found["begin_ns"] >= BEGIN * 10**9)
                assert moved(found, "a") in (0, 4, 8), (cut, between)
                assert moved(found, "b") in (0, 20, 40), (cut, between)
    told = []
    (tmp_path / "log").write_text(parts[0] + parts[1][: int(0.6 * size)])
    read_served([tmp_path / "log"], told.append)
    assert len(told) == 1
    assert "left out" in told[0]


@pytest.mark.parametrize("number", ["9" * 19, "9" * 30, "9" * 5000, "-5", "1e9", "0x10", str(2**63), str(2**64 - 1)])
def test_no_number_is_too_odd(tmp_path, number):
    good = at_times((0, 1), (4, 5), (8, 11))
    bad = sample(
        BEGIN + 6, ("f-OST0", OST["2.17"].format(job="j", at=BEGIN + 6, start=BEGIN - 100, count=1, sum=number))
    )
    told = []
    (tmp_path / "log").write_text(good[0] + good[1] + bad + good[2])
    found = read_served([tmp_path / "log"], told.append)
    assert moved(found.filter(found["begin_ns"] >= BEGIN * 10**9), "j") == 10
    assert len(told) == 1


def test_times_that_no_clock_says(tmp_path):
    log = at_times((0, 1), (4, 5))
    log[1] = log[1].replace(f"start_time:      {BEGIN - 100}", "start_time:      1")
    log.append(sample(BEGIN + 8, ("f-OST0", entry("2.17", "new", "99999999999999999999", 5, start=1))))
    found = read(tmp_path, "".join(log))
    assert moved(found.filter(found["begin_ns"] >= BEGIN * 10**9), "j") == 4
    assert found["end_ns"].max() <= (BEGIN + 9) * 10**9


@pytest.mark.parametrize("time", ["9" * 19, "9999-12-31T23:59:59Z", "1970-01-01T00:00:00Z", ""])
def test_a_sample_at_no_time(tmp_path, time):
    """Its jobs' changes have times."""
    log = at_times((0, 1), (4, 5))
    log[1] = log[1].replace(f"{BEGIN + 4}.5", time, 1)
    assert moved(read(tmp_path, "".join(log)).filter(pl.col("begin_ns") >= BEGIN * 10**9), "j") == 4


def test_clients_where_no_job_is_known(tmp_path):
    """Exports by NID count what clients without a job id did; where targets count by job, it is the same once more."""
    log = ""
    for at in (0, 4):
        log += f"{BEGIN + at}\n"
        for nid, mib in (("10.0.0.1@tcp", 5), ("0@lo", 1)):
            log += (
                f"obdfilter.f-OST0.exports.{nid}.stats=\nsnapshot_time             {BEGIN + at}.123456789 secs.nsecs\n"
            )
            log += f"start_time                {BEGIN - 50}.123456789 secs.nsecs\nelapsed_time              {50 + at}.0 secs.nsecs\n"
            log += (
                f"write_bytes               {at} samples [bytes] 1048576 1048576 {at * mib * MIB} 1099511627776\n"
                * bool(at)
            )
            log += "statfs                    3 samples [usecs] 1 2 6 12\nping                      9 samples [reqs]\n"
        log += f"mdt.f-MDT0000.exports.10.0.0.1@tcp.stats=\nopen                      {at} samples [reqs]\nclose                     {at} samples [reqs]\n"
    found = read(tmp_path, log).filter(pl.col("begin_ns") >= BEGIN * 10**9)
    by_client = found.group_by("job").agg(pl.col("write_bytes", "meta_ops").sum()).sort("job").rows()
    assert by_client == [("0@lo", 4 * MIB, 0), ("10.0.0.1@tcp", 20 * MIB, 8)]
    assert found["is_client"].all()
    both = read(tmp_path, log + "".join(at_times((0, 1), (4, 7))))
    assert both.filter(both["target"] == "f-OST0")["job"].unique().to_list() == ["j"]


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress, "zstd", "cut"])
def test_packed_logs(tmp_path, pack):
    log = "".join(at_times(*((at, at) for at in range(0, 400, 4)))).encode()
    if pack == "zstd":
        packed = subprocess.run(["zstd", "-qc"], input=log, stdout=subprocess.PIPE, check=True).stdout
    else:
        packed = gzip.compress(log)[:-200] if pack == "cut" else pack(log)
    (tmp_path / "log").write_bytes(packed)
    found = read_served([tmp_path / "log"])
    found = found.filter(found["begin_ns"] >= BEGIN * 10**9)
    assert 300 < moved(found, "j") <= 396
    assert pack == "cut" or moved(found, "j") == 396


def test_many_jobs_take_bounded_memory_and_time(tmp_path):
    """A text of 30,000 jobs, twice; one of them moved."""
    with (tmp_path / "log").open("w") as file:
        for at in (0, 4):
            file.write(f"{BEGIN + at}\nobdfilter.f-OST0.job_stats=\njob_stats:\n")
            file.writelines(entry("2.17", f"job.{job}", BEGIN, 7 + at * (job == 5)) for job in range(30_000))
    before = resource.getrusage(resource.RUSAGE_SELF)
    found = read_served([tmp_path / "log"])
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert moved(found.filter(found["begin_ns"] >= BEGIN * 10**9), "job.5") == 4
    assert after.ru_utime - before.ru_utime < 20
    assert after.ru_maxrss - before.ru_maxrss < 200 << 10


def test_hostile_lines(tmp_path):
    log = at_times((0, 1), (4, 5))
    hostile = "".join(
        one + "\n"
        for one in ("x" * 300_000, "/" * 100_000 + "job_stats", "samples: {" * 10_000, "- job_id:" + " " * 100_000, "\0\x1b[2J" * 1000,
                    "  a_time: " + "1" * 100_000, "  samples: " + "}" * 60_000)
    )  # fmt: skip
    found = read(tmp_path, hostile + log[0] + hostile + log[1] + hostile)
    assert moved(found.filter(found["begin_ns"] >= BEGIN * 10**9), "j") in (0, 4)
