"""More threads and processes than anybody expects, by themselves: none is lost, and what is not counted is told."""

from slicewise.analysis.coverage import coverage
from slicewise.digest.digest import Digest
from support.programs import Apps, Job, total


def test_more_threads_than_can_be_counted(job: Job, apps: Apps) -> None:
    """Calls of the last ones are missing, and the profile says how many and why."""
    ended = job.run([apps.build("life_crowd", "-pthread"), "4200"])
    assert (ended.status, ended.errors.count("\n")) == (5, 1)
    profile = job.profile()
    counted = coverage(Digest(profile))
    ((mishap, dropped),) = profile.mishaps.select("mishap", "count").rows()
    assert (mishap, dropped) == ("calls_dropped", 4200 * 10 - total(profile, "write_ops", obj="file"))
    assert total(profile, "write_bytes", obj="file") == 4200 * 1000 - dropped * 100
    assert [(gap.cause, gap.bytes) for gap in counted.gaps if gap.direction == "write"] == [("dropped", dropped * 100)]


def test_a_thousand_threads_at_once(job: Job, apps: Apps) -> None:
    """None is lost, and exit from one that is not the first ends it all in order."""
    ended = job.run([apps.build("life_crowd", "-pthread"), "1000"])
    assert (ended.status, ended.errors) == (5, "")
    profile = job.profile()
    assert total(profile, "write_bytes", obj="file") == 1000 * 1000
    assert total(profile, "write_ops", obj="file") == 1000 * 10
    assert profile.processes["ending"].to_list() == ["exit"]
    assert profile.mishaps.is_empty()
    assert job.segments() == []


def test_five_thousand_processes(job: Job) -> None:
    """As configure and make have them; on a job of which every process is accounted for."""
    script = 'for i in {1..5000}; do (echo $i > "n$((i % 100))") & (( i % 50 )) || wait; done; wait'
    profile = job.profiled(["bash", "-c", script])
    assert profile.processes.height == 5001
    assert total(profile, "write_bytes", layers=["stdio"], obj="file") == sum(len(f"{i}\n") for i in range(1, 5001))
    assert set(profile.processes["ending"]) <= {"exit", "underscore_exit"}
    assert job.segments() == []
