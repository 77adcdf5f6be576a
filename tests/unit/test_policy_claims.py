"""What jobs claimed of a coordinator, against what their profiles say."""

import hashlib
import hmac
import json

import pytest
from slicewise.analysis.policies.comparison import claims
from slicewise.digest.digest import Digest
from slicewise.errors import UserError
from slicewise.profile.reader import read_profile
from slicewise.report.policy.policy_report import claims_lines
from support.command_line import refusal_of, slicewise_command
from support.swz import build_profile

MIB = 1 << 20
SLICE_NS = 1_000_000_000
FIRST = 1_700_000_000
USER = 7
SECRET = b"a secret of twenty or so bytes"


def key(name):
    number = hmac.new(hashlib.sha256(SECRET).digest(), f"{USER} {name}".encode(), "sha256").digest()[:8]
    return number[::-1].hex()


def job(folder, name, writes, reads=()):
    process = {
        "process": 1, "user": USER, "slice_ns": SLICE_NS, "start_ns": FIRST * SLICE_NS,
        "end_ns": (FIRST + 60) * SLICE_NS,
    }  # fmt: skip
    moved = [("write", at, mib) for at, mib in writes] + [("read", at, mib) for at, mib in reads]
    slices = [
        {
            "process": 1, "slice": FIRST + at, f"{way}_bytes": mib * MIB, f"{way}_ops": 1, f"{way}_ns": 10**8,
            "threads": 1,
        }
        for way, at, mib in moved
    ]  # fmt: skip
    return Digest(read_profile(build_profile(folder / name, [process], slices)))


def inform(time, job, mib, **more):
    return {
        "time_seconds": time, "event": "inform", "job": job, "processes": 1, "bytes": mib * MIB, "seconds": 1.0,
    } | more  # fmt: skip


def event(time, what, job=None, **more):
    return {"time_seconds": time, "event": what} | ({} if job is None else {"job": job}) | more


def log(*, start=FIRST - 100.0):
    """Jobs 1 and 2 have three phases each and take turns, job 3 one."""
    records = [event(0.0, "start", policy="fcfs") | ({} if start is None else {"unix_seconds": start})]
    for phase, at in enumerate((100.5, 110.5, 120.5)):
        first = {"key": key("honest")} if phase == 0 else {}
        second = {"key": key("modest")} if phase == 0 else {}
        records += [
            inform(at, 1, 1 if phase == 0 else 40, **first), event(at, "authorise", 1), inform(at + 1, 2, 1, **second),
            inform(at + 1.5, 1, 10, remaining=0.2), event(at + 2, "release", 1, remaining=0.0),
            event(at + 2, "authorise", 2), event(at + 3, "timer"), event(at + 3, "pause", 2), event(at + 4, "timer"),
            event(at + 4, "resume", 2), event(at + 5, "leave", 2),
        ]  # fmt: skip
    return [json.dumps(one) for one in [*records, inform(140.0, 3, 1, key=key("gone")), event(140.0, "authorise", 3)]]


@pytest.fixture
def jobs(tmp_path):
    honest = [(0, 40), (2, 1), (10, 15), (11, 15), (12, 10), (15, 500), (20, 20), (22, 20)]
    modest = [(3, 64), (13, 30), (15, 30), (23, 64)]
    return [
        job(tmp_path, "honest", honest),
        job(tmp_path, "modest", modest, [(24, 4)]),
        job(tmp_path, "other", [(1, 1)]),
    ]


def test_claims_are_held_against_the_bytes_of_the_slices_of_later_phases(jobs):
    found = claims(log(), "log", jobs, SECRET + b"\n")
    modest, honest = found.jobs
    assert (honest.job, honest.phases, honest.compared) == ("honest", 3, 2)
    assert (honest.claimed_bytes, honest.moved_bytes, honest.ratio) == (80 * MIB, 80 * MIB, 1.0)
    assert honest.needed_seconds == pytest.approx(4.0)
    assert (modest.job, modest.claimed_bytes, modest.moved_bytes) == ("modest", 2 * MIB, 128 * MIB)
    assert modest.needed_seconds == pytest.approx(4.0)
    assert (modest.is_far_off, honest.is_far_off) == (True, False)
    assert (found.unknown, found.absent) == (1, ["other"])
    assert claims_lines(found, "log") == [
        "2 jobs of log can be compared with a profile; 1 claimed less than half or more than twice of what it moved.",
        "modest claimed 2 MiB and moved 128 MiB in these phases: 64.0 times as much.",
        "1 job of the log has no profile here.",
        "Not in the log, or with another secret: other.",
    ]


def test_with_another_secret_no_job_is_found(jobs):
    found = claims(log(), "log", jobs, b"another secret")
    assert (found.jobs, found.unknown, len(found.absent)) == ([], 3, 3)


def test_a_log_without_the_time_of_day_is_refused(jobs):
    with pytest.raises(UserError, match="line 1: has no unix_seconds"):
        claims(log(start=None), "log", jobs, SECRET)


def test_command(jobs, tmp_path):
    (tmp_path / "log").write_text("\n".join(log()))
    (tmp_path / "secret").write_bytes(SECRET)
    words = ["turns", "claims", tmp_path / "log", *(one.path for one in jobs)]
    done = slicewise_command(*words, "--secret-file", tmp_path / "secret", "--json")
    found = json.loads(done.text)
    assert [(one["job"], one["ratio"], one["is_far_off"]) for one in found["jobs"]] == [
        ("modest", 64.0, True),
        ("honest", 1.0, False),
    ]
    refusal_of(*words, "--secret-file", tmp_path / "none")
