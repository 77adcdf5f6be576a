"""Programs that a user looks into with valgrind: it reports nothing of ours."""

import re

from support.programs import Apps, Job, need, total

# One child writes 10 bytes more.
WRITTEN = 4 * 100 * (100 + 50) + 10


def test_memcheck_has_nothing_to_report(job: Job, apps: Apps) -> None:
    need("valgrind")
    leaks = ["--leak-check=full", "--show-leak-kinds=all", "--errors-for-leak-kinds=all"]
    command = ["valgrind", "--error-exitcode=9", *leaks]
    program = [apps.build("sanitized", "-pthread", "-Wno-stringop-overflow"), job.data]
    ended = job.run([*command, *program], SLICEWISE_SLICE="0.1", SLICEWISE_SITE_MS="1")
    assert ended.status == 3, ended.errors
    summaries = re.findall(r"ERROR SUMMARY: (\d+) errors", ended.errors)
    assert set(summaries) == {"0"}
    assert "unhandled" not in ended.errors  # a system call that this valgrind does not know
    assert total(job.profile(), "write_bytes", obj="file") == WRITTEN
